#include "isthmus/infra/api/server_info.h"

#include <algorithm>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {

bool ServerInfo::has(std::string_view capability) const {
  return std::ranges::find(capabilities, capability) != capabilities.end();
}

std::string encode(const ServerInfo& info) {
  json::object document{
      {"kind", "ServerInfo"},
      {"protocolVersion", info.protocol_version},
      {"providerName", info.provider_name},
      {"providerIDScheme", info.provider_id_scheme},
      {"capabilities", json::array(info.capabilities.begin(), info.capabilities.end())},
      {"serverVersion", info.server_version}};
  if (!info.owner.empty()) document["owner"] = info.owner;
  return compact_json(document);
}

Result<ServerInfo> decode_server_info(std::string_view text) {
  constexpr std::size_t kCapabilitiesMax = 256;
  Result<json::value> document = parse_json(text);
  if (!document) return fail(Outcome::lost, "not a ServerInfo: " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  ServerInfo info;
  info.protocol_version = reader.required("protocolVersion").text();
  info.provider_name = reader.required("providerName").text();
  info.provider_id_scheme = reader.required("providerIDScheme").text();
  for (JsonReader& capability : reader.required("capabilities").elements(kCapabilitiesMax)) {
    info.capabilities.push_back(capability.text());
  }
  if (auto version = reader.optional("serverVersion")) {
    info.server_version = version->text(4096, JsonReader::Empty::allowed);
  }
  if (auto owner = reader.optional("owner")) {
    info.owner = read_ruled(*owner, wrong_name);
  }
  if (!mistakes.empty()) return fail(Outcome::lost, "not a ServerInfo: " + mistakes.text());
  return info;
}

}  // namespace isthmus::infra::api
