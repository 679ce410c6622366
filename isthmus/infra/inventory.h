// The inventory file: the machines there are, as somebody wrote them down.
//
//   instances:
//   - {uid: 7c9e66, name: node1, addresses: [{type: InternalIP, address: 10.0.0.11}], type: r640,
//      region: home, zone: rack-7, labels: {rack: "7"}, power: running, state: active,
//      systemUUID: 4c4c4544-0042-4a10-8056-b4c04f4d5a32}
//
// Only uid and name are required. The uid is permanent: a name, rack or address may change, a uid
// stays with its machine and never names another one. `state: retired` says that a machine is gone
// for good; a line that is only taken out says nothing.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/yaml_reader.h"

namespace isthmus::infra {

// Of the file: a machine takes some 400 bytes as JSON, so this is room for 40,000.
inline constexpr std::size_t kInventoryBytesMax = 16 * 1024 * 1024;
inline constexpr std::size_t kInventoryMachinesMax = 40'000;

struct InventoryLine {
  api::Instance instance;  // Without what the server owns: revision, generation, presence, time.
  int line = 0;
};

// Every mistake of the whole file is added: unknown and doubled keys, wrong types, bad names,
// addresses, labels and words, a uid given twice, and a name, systemUUID or IP address of two
// machines that are not retired. With a mistake, nothing of the answer may be used.
std::vector<InventoryLine> parse_inventory(std::string_view text, YamlMistakes& mistakes);

}  // namespace isthmus::infra
