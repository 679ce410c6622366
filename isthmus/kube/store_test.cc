#include "isthmus/kube/store.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

Decoded<Node> node(std::string name, std::string uid, std::string version) {
  Node object;
  object.meta.key.name = name;
  object.meta.uid = uid;
  object.meta.resource_version = version;
  return {{"", name}, uid, version, object};
}

Decoded<Node> unreadable(std::string name, std::string uid) {
  return {{"", name}, uid, "9", fail(Outcome::lost, "spec.taints: expected a list")};
}

// What a subscriber was told, as words.
struct Diary {
  explicit Diary(Store<Node>& store) {
    store.subscribe([this](const Difference<Node>& news) {
      const char* what = !news.after ? "-" : !news.before ? "+" : "~";
      lines.push_back(what + news.key.name + (news.initial ? " (initial)" : ""));
    });
  }
  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

TEST(store, knows_nothing_until_the_first_list_which_is_no_news) {
  Store<Node> store;
  Diary diary(store);
  EXPECT_FALSE(store.has_synced());
  store.replace({node("a", "1", "1"), node("b", "2", "1")});
  EXPECT_TRUE(store.has_synced());
  EXPECT_EQ(diary.lines, (Lines{"+a (initial)", "+b (initial)"}));
}

TEST(store, is_synced_by_an_empty_list_too) {
  Store<Node> store;
  store.replace({});
  EXPECT_TRUE(store.has_synced());
}

TEST(store, publishes_deletions_of_a_relist_before_additions_and_changes) {
  Store<Node> store;
  store.replace({node("b", "1", "1"), node("z", "2", "1")});
  Diary diary(store);
  diary.lines.clear();
  store.replace({node("a", "3", "5"), node("b", "1", "4")});
  EXPECT_EQ(diary.lines, (Lines{"-z", "~b", "+a"}));
}

TEST(store, shows_the_whole_new_view_to_whoever_hears_of_the_first_difference) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  bool saw_all = false;
  store.subscribe([&](const Difference<Node>& news) {
    if (!news.after) saw_all = !store.find({"", "a"}) && store.find({"", "b"});
  });
  store.replace({node("b", "2", "2")});
  EXPECT_TRUE(saw_all);
}

TEST(store, publishes_an_object_recreated_under_its_name_as_gone_and_come) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  Diary diary(store);
  diary.lines.clear();
  store.replace({node("a", "2", "7")});
  store.apply({ChangeKind::modified, node("a", "3", "9")});
  EXPECT_EQ(diary.lines, (Lines{"-a", "+a", "-a", "+a"}));
}

TEST(store, takes_the_same_version_twice_as_no_news) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  const Snapshot<Node> before = store.find({"", "a"});
  Diary diary(store);
  diary.lines.clear();
  store.apply({ChangeKind::modified, node("a", "1", "1")});
  store.replace({node("a", "1", "1")});
  EXPECT_TRUE(diary.lines.empty());
  EXPECT_EQ(store.find({"", "a"}), before);
}

TEST(store, keeps_the_last_good_snapshot_of_an_object_that_cannot_be_read) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  Diary diary(store);
  diary.lines.clear();
  store.apply({ChangeKind::modified, unreadable("a", "1")});
  EXPECT_TRUE(store.find({"", "a"}));
  EXPECT_EQ(store.unreadable({"", "a"}), "spec.taints: expected a list");
  store.replace({unreadable("a", "1")});
  EXPECT_TRUE(store.find({"", "a"}));
  EXPECT_TRUE(diary.lines.empty()) << "a malformed object never looks deleted";
}

TEST(store, forgets_that_an_object_was_unreadable_once_it_can_be_read_or_is_gone) {
  Store<Node> store;
  store.replace({unreadable("a", "1"), unreadable("b", "2")});
  EXPECT_FALSE(store.find({"", "a"}));
  EXPECT_EQ(store.all_unreadable().size(), 2u);
  store.apply({ChangeKind::modified, node("a", "1", "3")});
  store.apply({ChangeKind::deleted, unreadable("b", "2")});
  EXPECT_TRUE(store.find({"", "a"}));
  EXPECT_TRUE(store.all_unreadable().empty());
}

TEST(store, does_not_show_the_old_object_in_place_of_an_unreadable_namesake) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  Diary diary(store);
  diary.lines.clear();
  store.apply({ChangeKind::modified, unreadable("a", "2")});
  EXPECT_FALSE(store.find({"", "a"}));
  EXPECT_EQ(diary.lines, (Lines{"-a"}));
}

TEST(store, deletes_an_object_even_if_its_last_state_cannot_be_read) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  Diary diary(store);
  diary.lines.clear();
  store.apply({ChangeKind::deleted, unreadable("a", "1")});
  EXPECT_EQ(diary.lines, (Lines{"-a"}));
}

TEST(store, tells_a_late_subscriber_what_is_there_already) {
  Store<Node> store;
  store.replace({node("a", "1", "1")});
  Diary late(store);
  EXPECT_EQ(late.lines, (Lines{"+a (initial)"}));
}

}  // namespace
}  // namespace isthmus::kube
