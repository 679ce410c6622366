// Lists and watches: a malformed answer never looks like a deleted object.
#include <gtest/gtest.h>

#include "isthmus/kube/api/decode.h"

namespace isthmus::kube {
namespace {

std::string item(std::string_view name, std::string_view spec = "{}") {
  std::string text(R"({"metadata":{"name":")");
  text.append(name).append(R"(","uid":"uid-of-)").append(name);
  text.append(R"(","resourceVersion":"7"},"spec":)").append(spec).append("}");
  return text;
}

std::string list_of(std::string_view items, std::string_view more = "") {
  std::string text(R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"230")");
  return text.append(more).append(R"(},"items":)").append(items).append("}");
}

Result<ListPage<Node>> page_of(std::string text) { return Decoder().page<Node>(text); }
Result<WatchEvent<Node>> event_of(std::string text) { return Decoder().watch_line<Node>(text); }

TEST(page_decoder, reads_the_items_and_how_to_go_on) {
  const Result<ListPage<Node>> page =
      page_of(list_of("[" + item("a", R"({"providerID":"x://1"})") + "," + item("b") + "]",
                      R"(,"continue":"abc","remainingItemCount":12)"));

  ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_EQ(page->resource_version, "230");
  EXPECT_EQ(page->continue_token, "abc");
  EXPECT_EQ(page->remaining, 12);
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->items[0].key, (ObjectKey{"", "a"}));
  EXPECT_EQ(page->items[0].uid, "uid-of-a");
  EXPECT_EQ(page->items[0].resource_version, "7");
  ASSERT_TRUE(page->items[0].object.has_value());
  EXPECT_EQ(page->items[0].object->provider_id, "x://1");
  EXPECT_EQ(page->items[1].key.name, "b");
}

TEST(page_decoder, an_empty_list_is_empty) {
  for (const char* items : {"[]", "null", " [ ] "}) {
    const Result<ListPage<Node>> page = page_of(list_of(items));
    ASSERT_TRUE(page.has_value()) << page.error().message;
    EXPECT_TRUE(page->items.empty());
    EXPECT_EQ(page->continue_token, "");
    EXPECT_EQ(page->remaining, std::nullopt);
  }
}

TEST(page_decoder, an_unreadable_object_keeps_its_name_and_spoils_no_other) {
  const Result<ListPage<Node>> page = page_of(
      list_of("[" + item("a") + "," + item("b", R"({"taints":{"x":[1,{"y":2}]},"providerID":5})") +
              "," + item("c") + "]"));

  ASSERT_TRUE(page.has_value()) << page.error().message;
  ASSERT_EQ(page->items.size(), 3u);
  EXPECT_TRUE(page->items[0].object.has_value());
  EXPECT_EQ(page->items[1].key.name, "b");
  EXPECT_EQ(page->items[1].uid, "uid-of-b");
  ASSERT_FALSE(page->items[1].object.has_value());
  EXPECT_EQ(page->items[1].object.error().message,
            "Node b is unreadable: items[1].spec.taints: not an array");
  EXPECT_TRUE(page->items[2].object.has_value());
  EXPECT_EQ(page->items[2].key.name, "c");
}

TEST(page_decoder, an_object_that_cannot_be_named_spoils_the_page) {
  for (const char* bad : {"{}", "5", "null", "[]", R"({"metadata":{"name":5,"uid":"u"}})",
                          R"({"metadata":{"name":"","uid":"u"}})", R"({"metadata":"x"})",
                          R"({"metadata":{"name":"n","namespace":"x","uid":"u"}})"}) {
    const Result<ListPage<Node>> page = page_of(list_of("[" + item("a") + "," + bad + "]"));
    EXPECT_EQ(page.outcome(), Outcome::lost) << bad;
  }
}

TEST(page_decoder, a_syntax_error_in_any_item_spoils_the_page) {
  for (const char* bad :
       {R"({"metadata":{"name":"b" "uid":"u"}})", R"({"metadata":{"name":"b","uid":"u"})",
        R"({"metadata":{"name":"b","uid":"u\x"}})", R"({"metadata" {"name":"b"}})", "x", "{,}",
        R"({"metadata":{"name":"b",,"uid":"u"}})", R"({"metadata":{"name":"b","uid":u}})"}) {
    const std::string text = list_of("[" + item("a") + "," + bad + "," + item("c") + "]");
    const Result<ListPage<Node>> page = page_of(text);
    // A word in place of a string is of the wrong type, to a parser that reads on demand.
    if (page.has_value()) {
      ASSERT_EQ(page->items.size(), 3u) << bad;
      EXPECT_EQ(page->items[1].object.outcome(), Outcome::lost) << bad;
    } else {
      EXPECT_EQ(page.outcome(), Outcome::lost) << bad;
    }
  }
  EXPECT_EQ(page_of(list_of("[" + item("a") + " " + item("b") + "]")).outcome(), Outcome::lost);
  EXPECT_EQ(page_of(list_of("[" + item("a") + ",]")).outcome(), Outcome::lost);
}

TEST(page_decoder, a_page_cut_short_anywhere_is_lost) {
  const std::string text = list_of("[" + item("a") + "," + item("b") + "]", R"(,"continue":"x")");
  ASSERT_TRUE(page_of(text).has_value());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(page_of(text.substr(0, length)).outcome(), Outcome::lost) << length;
  }
}

TEST(page_decoder, a_missing_byte_anywhere_never_hides_an_object) {
  const std::string text = list_of("[" + item("a") + "," + item("b") + "," + item("c") + "]");
  for (std::size_t place = 0; place < text.size(); ++place) {
    const Result<ListPage<Node>> page = page_of(std::string(text).erase(place, 1));
    if (page.has_value()) EXPECT_EQ(page->items.size(), 3u) << place;
  }
}

TEST(page_decoder, what_is_another_thing_is_lost) {
  for (const char* text :
       {R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]})",
        R"({"kind":"NodeList","apiVersion":"v2","metadata":{"resourceVersion":"1"},"items":[]})",
        R"({"apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]})",
        R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"}})",
        R"({"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]})",
        R"({"kind":"NodeList","apiVersion":"v1","items":[]})",
        R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":1},"items":[]})",
        R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":{}})",
        R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":"x"})",
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":500})", "[]", "",
        "<html></html>"}) {
    EXPECT_EQ(page_of(text).outcome(), Outcome::lost) << text;
  }
  EXPECT_EQ(
      page_of(list_of(R"([{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}])")).outcome(),
      Outcome::lost);
  EXPECT_EQ(page_of(list_of("[]") + "{}").outcome(), Outcome::lost);
}

TEST(page_decoder, a_repeated_key_does_not_double_the_items) {
  std::string text = list_of("[" + item("a") + "]");
  text.insert(text.size() - 1, R"(,"items":[)" + item("b") + "]");

  const Result<ListPage<Node>> page = page_of(text);

  ASSERT_TRUE(page.has_value()) << page.error().message;
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].key.name, "b");
}

TEST(page_decoder, a_decoder_forgets_what_it_decoded_before) {
  Decoder decoder;
  std::string broken = "{\"kind\":\"No";
  std::string unreadable = list_of("[" + item("a", R"({"taints":1})") + "]");
  std::string big =
      list_of("[" + item("b") + "]", ",\"pad\":\"" + std::string(3 << 20, 'x') + "\"");
  std::string good = list_of("[" + item("c") + "]");

  EXPECT_FALSE(decoder.page<Node>(broken).has_value());
  EXPECT_TRUE(decoder.page<Node>(unreadable).has_value());
  EXPECT_TRUE(decoder.page<Node>(big).has_value());
  const Result<ListPage<Node>> page = decoder.page<Node>(good);

  ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_TRUE(page->items[0].object.has_value());
  EXPECT_EQ(good, list_of("[" + item("c") + "]"));
}

std::string watched(std::string_view name) {
  std::string text = item(name);
  text.insert(1, R"("kind":"Node","apiVersion":"v1",)");
  return text;
}

TEST(watch_decoder, reads_changes) {
  struct {
    const char* type;
    ChangeKind kind;
  } const table[] = {{"ADDED", ChangeKind::added},
                     {"MODIFIED", ChangeKind::modified},
                     {"DELETED", ChangeKind::deleted}};
  for (const auto& row : table) {
    const Result<WatchEvent<Node>> event =
        event_of(std::string(R"({"type":")") + row.type + R"(","object":)" + watched("a") + "}\n");
    ASSERT_TRUE(event.has_value()) << event.error().message;
    const auto* change = std::get_if<Change<Node>>(&*event);
    ASSERT_NE(change, nullptr);
    EXPECT_EQ(change->kind, row.kind);
    EXPECT_EQ(change->item.key.name, "a");
    EXPECT_EQ(change->item.resource_version, "7");
    EXPECT_TRUE(change->item.object.has_value());
  }
}

TEST(watch_decoder, the_type_may_come_after_the_object) {
  const Result<WatchEvent<Node>> event =
      event_of(R"({"object":)" + watched("a") + R"(,"type":"DELETED"})");

  ASSERT_TRUE(event.has_value()) << event.error().message;
  ASSERT_TRUE(std::holds_alternative<Change<Node>>(*event));
  EXPECT_EQ(std::get<Change<Node>>(*event).kind, ChangeKind::deleted);
  EXPECT_EQ(std::get<Change<Node>>(*event).item.key.name, "a");
}

TEST(watch_decoder, an_unreadable_object_is_named) {
  std::string object = watched("a");
  object.replace(object.find(R"("spec":{})"), 9, R"("spec":{"taints":7})");

  const Result<WatchEvent<Node>> event = event_of(R"({"type":"MODIFIED","object":)" + object + "}");

  ASSERT_TRUE(event.has_value()) << event.error().message;
  const Change<Node>& change = std::get<Change<Node>>(*event);
  EXPECT_EQ(change.item.key.name, "a");
  EXPECT_EQ(change.item.uid, "uid-of-a");
  ASSERT_FALSE(change.item.object.has_value());
  EXPECT_EQ(change.item.object.error().message,
            "Node a is unreadable: object.spec.taints: not an array");
}

TEST(watch_decoder, reads_bookmarks) {
  const std::string begin = R"({"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1",)";
  Result<WatchEvent<Node>> event = event_of(
      begin + R"("metadata":{"resourceVersion":"99","creationTimestamp":null},"spec":{}}})");
  ASSERT_TRUE(event.has_value()) << event.error().message;
  EXPECT_EQ(std::get<Bookmark>(*event).resource_version, "99");
  EXPECT_FALSE(std::get<Bookmark>(*event).initial_events_end);

  event = event_of(begin + R"("metadata":{"resourceVersion":"99",
      "annotations":{"other":"x","k8s.io/initial-events-end":"true"}}}})");
  ASSERT_TRUE(event.has_value()) << event.error().message;
  EXPECT_TRUE(std::get<Bookmark>(*event).initial_events_end);

  EXPECT_EQ(event_of(begin + R"("metadata":{}}})").outcome(), Outcome::lost);
  EXPECT_EQ(event_of(begin + R"("metadata":{"resourceVersion":99}}})").outcome(), Outcome::lost);
  EXPECT_EQ(event_of(begin + R"("metadata":null}})").outcome(), Outcome::lost);
}

TEST(watch_decoder, reads_the_error_that_ends_a_stream) {
  const Result<WatchEvent<Node>> event =
      event_of(R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},
      "status":"Failure","message":"too old","reason":"Expired","code":410}})");

  ASSERT_TRUE(event.has_value()) << event.error().message;
  EXPECT_EQ(std::get<Status>(*event).code, 410);
  EXPECT_EQ(std::get<Status>(*event).reason, "Expired");
}

TEST(watch_decoder, what_is_no_event_is_lost) {
  const std::string node = watched("a");
  const std::string status = R"({"kind":"Status","apiVersion":"v1","code":410})";
  for (const std::string& line : std::initializer_list<std::string>{
           "",
           "\n",
           "{}",
           "[]",
           "null",
           "<html></html>",
           status,
           node,
           R"({"type":"ADDED"})",
           R"({"object":)" + node + "}",
           R"({"type":"RENAMED","object":)" + node + "}",
           R"({"type":"","object":)" + node + "}",
           R"({"type":5,"object":)" + node + "}",
           R"({"type":null,"object":)" + node + "}",
           R"({"type":"ADDED","object":null})",
           R"({"type":"ADDED","object":)" + status + "}",
           R"({"type":"ADDED","object":)" + item("a") + "}",
           R"({"type":"ERROR","object":)" + node + "}",
           R"({"type":"ADDED","type":"DELETED","object":)" + node + "}",
           R"({"type":"ADDED","object":)" + node + R"(,"object":)" + node + "}",
           R"({"type":"ADDED","object":)" + node + "}}",
           R"({"type":"ADDED","object":)" + node + "} x",
           R"({"type":"ADDED","object":)" + node + R"(}{"type":"DELETED","object":)" + node +
               "}"}) {
    EXPECT_EQ(event_of(line).outcome(), Outcome::lost) << line;
  }
}

TEST(watch_decoder, a_line_cut_short_anywhere_is_lost) {
  for (const std::string& line : {R"({"type":"ADDED","object":)" + watched("a") + "}",
                                  R"({"object":)" + watched("a") + R"(,"type":"ADDED"})"}) {
    ASSERT_TRUE(event_of(line).has_value());
    for (std::size_t length = 0; length < line.size(); ++length) {
      EXPECT_EQ(event_of(line.substr(0, length)).outcome(), Outcome::lost) << length;
    }
  }
}

}  // namespace
}  // namespace isthmus::kube
