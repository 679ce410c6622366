#include "isthmus/infra/instance_record.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

InstanceRecord a_record() {
  InstanceRecord record;
  record.instance.uid = "m1";
  record.instance.name = "node1";
  record.instance.labels = {{"rack", "7"}};
  record.instance.generation = 3;
  record.instance.presence = api::Presence::unknown;
  record.source = Source::file;
  return record;
}

TEST(instance_record, is_read_as_it_was_written_at_the_stores_revision) {
  InstanceRecord expected = a_record();
  expected.instance.revision = 12;
  EXPECT_EQ(decode_record(encode(a_record()), 12).value(), expected);
}

TEST(instance_record, that_is_damaged_is_lost) {
  EXPECT_EQ(decode_record("", 1).outcome(), Outcome::lost);
  EXPECT_EQ(decode_record("{}", 1).outcome(), Outcome::lost);
  EXPECT_EQ(decode_record(R"({"source":"wind","instance":{}})", 1).outcome(), Outcome::lost);
}

TEST(instance_record, of_a_machine_whose_line_vanished_is_no_longer_in_the_file) {
  EXPECT_FALSE(a_record().is_in_file());
  InstanceRecord present = a_record();
  present.instance.presence = api::Presence::present;
  EXPECT_TRUE(present.is_in_file());
  present.source = Source::api;
  EXPECT_FALSE(present.is_in_file());
}

TEST(instance_snapshot, finds_by_uid_only) {
  InstanceSnapshot snapshot;
  snapshot.records["m1"] = std::make_shared<const InstanceRecord>(a_record());
  EXPECT_EQ(snapshot.find("m1")->instance.name, "node1");
  EXPECT_EQ(snapshot.find("node1"), nullptr);
}

}  // namespace
}  // namespace isthmus::infra
