// A recorder that keeps what it is told, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/kube/recorder.h"

namespace isthmus::controllers::testing {

// "Warning FailedToInitialize node1: no machine …".
class Diary final : public kube::Recorder {
 public:
  void record(kube::Note note) override {
    lines.push_back(std::string(note.type) + " " + note.reason + " " + note.about.key.name + ": " +
                    note.message);
  }

  // Lines with these words in them.
  std::size_t count(std::string_view words) const {
    std::size_t found = 0;
    for (const std::string& line : lines) found += line.find(words) != std::string::npos;
    return found;
  }

  std::vector<std::string> lines;
};

}  // namespace isthmus::controllers::testing
