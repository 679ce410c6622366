#include "isthmus/cloud/route.h"

namespace isthmus::cloud {

std::string_view to_string(RouteState::Standing standing) {
  switch (standing) {
    case RouteState::Standing::applied:
      return "applied";
    case RouteState::Standing::pending:
      return "pending";
    case RouteState::Standing::conflict:
      return "conflict";
    case RouteState::Standing::refused:
      return "refused";
  }
  return {};
}

bool is_about(const RouteState& state, const Route& route) {
  return state.destination == route.destination && state.instance == route.instance &&
         state.next_hop == route.next_hop;
}

}  // namespace isthmus::cloud
