// A cloud in memory, for tests: the machines are what the test says, and so are the faults.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::providers::fake {

// What goes wrong until the test says otherwise. All are as a caller would meet them.
struct Faults {
  Duration delay = {};                     // Before every answer.
  std::optional<Error> error = {};         // Instead of every answer…
  std::optional<std::size_t> errors = {};  // …or only of so many.
  bool silent = false;                     // No answer at all, until the caller gives up.

  // Lists skip the machines beyond, and say so, or do not.
  std::optional<std::size_t> list_only = {};
  bool partial_list_claims_to_be_complete = false;

  // Calls allowed at all; further ones are busy for `busy_for`.
  std::optional<std::size_t> calls_until_limit = {};
  Duration busy_for = std::chrono::seconds(30);
};

// A resource.
class FakeProvider final : public cloud::Provider, private cloud::Instances {
 public:
  explicit FakeProvider(std::string scheme = "fake") : scheme_(std::move(scheme)) {}

  const std::string& name() const override { return scheme_; }
  const std::string& scheme() const override { return scheme_; }
  cloud::Capabilities capabilities() override { return {.instances = this}; }
  Task<Result<>> check() override;

  // Adds a machine that is present and running, `scheme://id`, and answers it for further changes;
  // the reference holds until machines are added or removed.
  cloud::Instance& add(const std::string& id, std::string name, std::vector<cloud::Address> = {});
  void remove(const std::string& id);

  std::vector<cloud::Instance> machines;
  Faults faults;

  // Calls that came in, whatever became of them.
  std::size_t gets = 0;
  std::size_t lists = 0;
  std::size_t checks = 0;

  // Calls now waiting for their answer, and the most there ever were.
  std::size_t in_flight = 0;
  std::size_t most_in_flight = 0;

 private:
  Task<Result<cloud::Instance>> get(cloud::ProviderId id) override;
  Task<Result<cloud::Listing<cloud::Instance>>> list(cloud::InstanceQuery query) override;
  Task<Result<>> suffer();

  const std::string scheme_;
};

}  // namespace isthmus::providers::fake
