#include "isthmus/infra/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "isthmus/infra/api/instance_input.h"
#include "isthmus/infra/api/instance_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra {
namespace {

using Rule = std::optional<std::string> (*)(std::string_view);

constexpr std::string_view kWhyUid =
    "it is permanent, stays with its machine and is never used again; choose one (a serial number, "
    "or the output of uuidgen)";

std::string ruled(YamlReader value, Rule wrong) {
  std::string text = value.text();
  std::optional<std::string> mistake = text.empty() ? std::nullopt : wrong(text);
  if (mistake) value.refuse(*mistake);
  return text;
}

std::string optional_ruled(YamlReader& machine, std::string_view key, Rule wrong) {
  std::optional<YamlReader> value = machine.optional(key);
  return value ? ruled(*value, wrong) : "";
}

void read_addresses(YamlReader& machine, api::Instance& instance) {
  std::optional<YamlReader> list = machine.optional("addresses");
  if (!list) return;
  for (YamlReader& element : list->elements(api::kAddressesMax)) {
    std::string word = element.required("type").choice(
        {"InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"});
    YamlReader text = element.required("address");
    api::Address address{api::address_type_of(word).value_or(api::AddressType::hostname),
                         text.text()};
    element.no_other_keys();
    if (word.empty() || address.address.empty()) continue;
    if (auto mistake = api::canonicalize(address)) text.refuse(*mistake);
    if (std::ranges::find(instance.addresses, address) != instance.addresses.end()) {
      element.refuse_plainly("is given twice");
      continue;
    }
    instance.addresses.push_back(std::move(address));
  }
}

void read_labels(YamlReader& machine, api::Instance& instance) {
  std::optional<YamlReader> labels = machine.optional("labels");
  if (!labels) return;
  for (YamlReader::Entry& entry : labels->members(api::kLabelsMax)) {
    if (auto mistake = api::wrong_label_key(entry.key)) entry.value.refuse_plainly(*mistake);
    std::string text = entry.value.text_or_empty();
    if (auto mistake = api::wrong_label_value(text)) entry.value.refuse(*mistake);
    instance.labels[entry.key] = std::move(text);
  }
}

api::Instance read_machine(YamlReader machine) {
  api::Instance instance;
  instance.uid = ruled(machine.required("uid", kWhyUid), api::wrong_uid);
  instance.name = ruled(machine.required("name"), api::wrong_name);
  read_addresses(machine, instance);
  instance.type = optional_ruled(machine, "type", api::wrong_label_value);
  instance.region = optional_ruled(machine, "region", api::wrong_label_value);
  instance.zone = optional_ruled(machine, "zone", api::wrong_label_value);
  read_labels(machine, instance);
  if (auto power = machine.optional("power")) {
    instance.power = api::power_of(power->choice({"running", "stopped", "unknown"}))
                         .value_or(api::Power::unknown);
  }
  if (auto state = machine.optional("state")) {
    instance.state =
        api::state_of(state->choice({"active", "retired"})).value_or(api::State::active);
  }
  instance.system_uuid =
      api::canonical_system_uuid(optional_ruled(machine, "systemUUID", api::wrong_system_uuid));
  machine.no_other_keys();
  return instance;
}

// Finds what two machines cannot both have.
class Holders {
 public:
  explicit Holders(YamlMistakes& mistakes) : mistakes_(mistakes) {}

  void claim(const InventoryLine& line, std::string_view what, const std::string& value) {
    if (value.empty()) return;
    auto [holder, first] = holders_.emplace(std::pair(std::string(what), value), &line);
    if (first) return;
    mistakes_.add(line.line, fmt::format("{} {} is already that of the machine in line {}", what,
                                         value, holder->second->line));
  }

 private:
  YamlMistakes& mistakes_;
  std::map<std::pair<std::string, std::string>, const InventoryLine*> holders_;
};

void check_unique(const std::vector<InventoryLine>& lines, YamlMistakes& mistakes) {
  Holders holders(mistakes);
  for (const InventoryLine& line : lines) {
    holders.claim(line, "uid", line.instance.uid);
    if (line.instance.state == api::State::retired) continue;
    holders.claim(line, "name", line.instance.name);
    holders.claim(line, "systemUUID", line.instance.system_uuid);
    for (const api::Address& address : line.instance.addresses) {
      bool is_ip = address.type == api::AddressType::internal_ip ||
                   address.type == api::AddressType::external_ip;
      if (is_ip) holders.claim(line, to_string(address.type), address.address);
    }
  }
}

}  // namespace

std::vector<InventoryLine> parse_inventory(std::string_view text, YamlMistakes& mistakes) {
  std::vector<InventoryLine> lines;
  std::optional<YamlNode> document = parse_yaml(text, mistakes);
  if (!document) return lines;
  if (document->kind == YamlNode::Kind::null) {
    // An empty file is far more often an accident than a data centre without machines.
    mistakes.add(1, "the file is empty; where there are no machines, write: instances: []");
    return lines;
  }
  YamlReader file(*document, mistakes);
  for (YamlReader& machine : file.required("instances").elements(kInventoryMachinesMax)) {
    lines.push_back({read_machine(machine), machine.line()});
  }
  file.no_other_keys();
  check_unique(lines, mistakes);
  return lines;
}

}  // namespace isthmus::infra
