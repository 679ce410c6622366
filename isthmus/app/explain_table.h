// What `isthmus explain` shows people.
#pragma once

#include <string>

#include "isthmus/controllers/explanation.h"

namespace isthmus::app {

// Lines with a line feed each: the object, a line per link, under one that is not ok what to do,
// and what the manager has told about the object lately.
std::string explain_table(const controllers::Explanation& explanation);

}  // namespace isthmus::app
