#include "isthmus/controllers/outlook.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "isthmus/base/json.h"

namespace isthmus::controllers {

std::string_view to_string(Act act) {
  switch (act) {
    case Act::none:
      return "none";
    case Act::initialize:
      return "initialize";
    case Act::refresh:
      return "refresh";
    case Act::taint:
      return "taint";
    case Act::create:
      return "create";
    case Act::update:
      return "update";
    case Act::publish:
      return "publish";
    case Act::release:
      return "release";
    case Act::remove:
      return "delete";
    case Act::wait:
      return "wait";
    case Act::withhold:
      return "withhold";
    case Act::refuse:
      return "refuse";
    case Act::unknown:
      return "unknown";
  }
  return "unknown";
}

bool is_to_do(const Outlook& outlook) {
  switch (outlook.act) {
    case Act::none:
    case Act::wait:
    case Act::withhold:
    case Act::refuse:
    case Act::unknown:
      return false;
    default:
      return true;
  }
}

std::string name_of(const Outlook& outlook) {
  std::string kind = outlook.kind;
  std::ranges::transform(kind, kind.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return kind + "/" + to_string(outlook.key);
}

std::string encode(const std::vector<Outlook>& outlooks) {
  json::array items;
  std::map<std::string_view, std::size_t> counts;
  for (const Outlook& each : outlooks) {
    ++counts[to_string(each.act)];
    items.push_back(json::object{
        {"object",
         {{"kind", each.kind}, {"namespace", each.key.name_space}, {"name", each.key.name}}},
        {"action", to_string(each.act)},
        {"reason", each.reason},
        {"message", each.message},
        {"details", json::array(each.details.begin(), each.details.end())}});
  }
  json::object summary;
  for (const auto& [act, count] : counts) summary[act] = count;
  return compact_json(
      json::object{{"kind", "Plan"}, {"items", std::move(items)}, {"summary", std::move(summary)}});
}

// No value that a plan describes has this separator in it.
std::vector<std::string> parts_of(std::string_view description) {
  constexpr std::string_view kSeparator = "; ";
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = description.find(kSeparator);
    parts.emplace_back(description.substr(0, end));
    if (end != std::string_view::npos) description.remove_prefix(end + kSeparator.size());
  }
  return parts;
}

}  // namespace isthmus::controllers
