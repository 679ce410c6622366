// Keeps the machines as the inventory file says.
//
// A file with a mistake, or one that cannot be read, changes nothing: the machines stay as they
// were. When the file is looked at, and who is told of what is wrong with it, is watched_file.h's.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/infra/instances.h"
#include "isthmus/infra/watched_file.h"

namespace isthmus::infra {

// load() answers invalid with every mistake of the file; absent, denied or invalid when it cannot
// be read; else the errors of the store. Everything passed by reference outlives it.
class InventoryFile final : public WatchedFile {
 public:
  InventoryFile(Files& files, std::string path, Instances& instances, const Clock& clock,
                Metrics& metrics, Logger& log);

 private:
  Task<Result<>> load_text(std::size_t& mistakes) override;
  std::string_view refusal() const override {
    return "inventory not loaded, the last good one stays";
  }
  void log_loaded(const Instances::Loaded& loaded);

  Instances& instances_;
};

}  // namespace isthmus::infra
