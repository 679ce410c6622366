// What `isthmus plan` shows people.
#pragma once

#include <string>
#include <vector>

#include "isthmus/controllers/outlook.h"

namespace isthmus::app {

// Lines with a line feed each: an object, what would become of it and why; below it what would
// change. At the end a line that counts them.
std::string plan_table(const std::vector<controllers::Outlook>& outlooks);

}  // namespace isthmus::app
