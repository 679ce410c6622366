#include "isthmus/kube/api/managed_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

const FieldPath kZone{"metadata", "labels", "topology.kubernetes.io/zone"};
const FieldPath kAddresses{"status", "addresses"};
const FieldPath kTaints{"spec", "taints"};

// As a real API server (1.37) has it, shortened.
constexpr std::string_view kNode = R"({"kind": "Node", "metadata": {"name": "n1", "managedFields": [
  {"manager": "isthmus", "operation": "Update", "apiVersion": "v1", "time": "2026-11-30T07:00:00Z",
   "fieldsType": "FieldsV1", "fieldsV1": {
     "f:metadata": {"f:labels": {"f:topology.kubernetes.io/zone": {}}},
     "f:spec": {"f:providerID": {}, "f:taints": {}}}},
  {"manager": "kubelet", "operation": "Update", "time": "2026-11-30T07:10:00Z",
   "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {
     "f:status": {"f:addresses": {".": {}, "k:{\"type\":\"InternalIP\"}": {"f:address": {}}}}}},
  {"manager": "kubectl-label", "operation": "Update", "time": "2026-11-30T07:20:00Z",
   "fieldsV1": {"f:metadata": {"f:labels": {"f:rack": {}, "f:topology.kubernetes.io/zone": {}}}}},
  {"manager": "odd", "operation": "Update", "time": "2026-11-30T07:30:00Z", "fieldsV1": {}}
]}})";

std::vector<FieldWriter> writers(const FieldPath& path, std::string_view document = kNode) {
  return writers_of(document, path).value();
}

TEST(managed_fields, names_all_who_have_a_field_and_the_latest_first) {
  EXPECT_THAT(writers(kZone), ElementsAre(Field(&FieldWriter::manager, "kubectl-label"),
                                          Field(&FieldWriter::manager, "isthmus")));
}

TEST(managed_fields, says_how_and_when_it_was_written) {
  EXPECT_EQ(writers(kAddresses),
            (std::vector<FieldWriter>{{"kubelet", "Update", "status", "2026-11-30T07:10:00Z"}}));
}

TEST(managed_fields, a_list_that_is_had_as_a_whole_counts_for_what_is_in_it) {
  EXPECT_THAT(writers({"spec", "taints", "0"}),
              ElementsAre(Field(&FieldWriter::manager, "isthmus")));
  EXPECT_THAT(writers(kTaints), ElementsAre(Field(&FieldWriter::manager, "isthmus")));
}

TEST(managed_fields, an_element_of_a_list_by_types_is_named_by_its_type) {
  EXPECT_THAT(writers({"status", "addresses", "InternalIP"}),
              ElementsAre(Field(&FieldWriter::manager, "kubelet")));
  EXPECT_THAT(writers({"status", "addresses", "ExternalIP"}), IsEmpty());
}

TEST(managed_fields, a_field_that_nobody_has_has_no_writer) {
  EXPECT_THAT(writers({"metadata", "labels", "gone"}), IsEmpty());
  EXPECT_THAT(writers(kZone, R"({"metadata": {}})"), IsEmpty());
  EXPECT_THAT(writers(kZone, R"({"metadata": {"managedFields": "?"}})"), IsEmpty());
}

TEST(managed_fields, what_is_no_object_is_lost) {
  EXPECT_EQ(writers_of("<html>", kZone).outcome(), Outcome::lost);
  EXPECT_EQ(writers_of("[]", kZone).outcome(), Outcome::lost);
}

TEST(managed_fields, a_path_reads_as_people_write_it) {
  EXPECT_EQ(to_string(kZone), "metadata.labels[topology.kubernetes.io/zone]");
  EXPECT_EQ(to_string(kAddresses), "status.addresses");
}

}  // namespace
}  // namespace isthmus::kube
