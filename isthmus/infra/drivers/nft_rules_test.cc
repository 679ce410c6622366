#include "isthmus/infra/drivers/nft_rules.h"

#include <gtest/gtest.h>

#include <set>

namespace isthmus::infra::drivers {
namespace {

std::string text_of_chain(const std::string& name) {
  std::string text;
  for (const Chain& chain : wanted_chains()) {
    if (chain.name != name) continue;
    for (const Rule& rule : chain.rules) text += text_of(rule) + "--\n";
  }
  return text;
}

TEST(nft_rules, a_slot_is_drawn_and_its_owner_is_the_destination) {
  EXPECT_EQ(text_of_chain("random4_0"),
            "meta load nfproto => reg 1 \n"
            "cmp eq reg 1 0x00000002 \n"
            "payload load 4b @ network header + 16 => reg 1 \n"
            "meta load l4proto => reg 9 \n"
            "payload load 2b @ transport header + 2 => reg 10 \n"
            "numgen reg 11 = random mod 128 \n"
            "lookup reg 1 set slots4_0 dreg 1 0x0 \n"
            "nat dnat ip addr_min reg 1 addr_max reg 1 proto_min reg 9 proto_max reg 9 flags 0x3 \n"
            "--\n");
}

TEST(nft_rules, with_affinity_the_slot_is_a_hash_of_the_client_alone) {
  EXPECT_TRUE(text_of_chain("client6_0")
                  .contains("payload load 16b @ network header + 8 => reg 3 \n"
                            "hash reg 14 = jhash(reg 3, 16, 0x69737468) % mod 128 \n"));
}

TEST(nft_rules, a_restricted_listener_ends_in_silence) {
  EXPECT_TRUE(text_of_chain("restricted_random4_7").ends_with("immediate reg 0 drop \n--\n"));
}

TEST(nft_rules, no_rule_reads_or_writes_a_mark) {
  for (const Chain& chain : wanted_chains()) {
    for (const Rule& rule : chain.rules) EXPECT_FALSE(text_of(rule).contains("mark"));
  }
}

TEST(nft_rules, a_chain_stands_before_those_that_lead_to_it) {
  std::set<std::string> seen;
  for (const Chain& chain : wanted_chains()) {
    for (const Rule& rule : chain.rules) {
      std::string text = text_of(rule);
      std::size_t at = text.find("goto -> ");
      if (at == text.npos) continue;
      std::string name = text.substr(at + 8, text.find(' ', at + 8) - at - 8);
      EXPECT_TRUE(seen.contains(name)) << name;
    }
    EXPECT_TRUE(seen.insert(chain.name).second) << chain.name;
  }
}

}  // namespace
}  // namespace isthmus::infra::drivers
