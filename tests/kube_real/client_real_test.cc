// What a real API server answers to single requests, and that we understand it so.
#include <fmt/format.h>

#include "isthmus/kube/checked_patch.h"
#include "isthmus/kube/status_error.h"
#include "tests/kube_real/api_server.h"

namespace isthmus::kube {
namespace {

class RealClient : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server = std::make_unique<ApiServer>(std::vector<std::string>{"--user", "nobody"});
    client = std::make_unique<Client>(world(), server->kubeconfig);
    ASSERT_TRUE(wait_for_namespaces(client->api));
  }
  static void TearDownTestSuite() {
    client.reset();
    server.reset();
  }

  ApiDoor& api() { return client->api; }
  Outcome patch(const std::string& name, Patch patch, std::string subresource = {}) {
    return run(api().patch({node_name(name), std::move(subresource), std::move(patch)})).outcome();
  }
  Outcome checked(const std::string& name, Patch patch, std::string subresource = {}) {
    return run(checked_patch(api(), {node_name(name), std::move(subresource), std::move(patch)}))
        .outcome();
  }
  void remove(const Node& node) {
    ASSERT_TRUE(run(api().remove({name_of(node), same_object(node.meta)})));
  }

  static inline std::unique_ptr<ApiServer> server;
  static inline std::unique_ptr<Client> client;
};

TEST_F(RealClient, says_absent_of_an_object_and_lost_of_a_resource_that_does_not_exist) {
  EXPECT_EQ(run(api().get(node_name("nowhere"))).outcome(), Outcome::absent);
  constexpr ResourceType kUnknown{"example.com/v1", "Thing", "things", false};
  EXPECT_EQ(run(api().get({kUnknown, {"", "nowhere"}})).outcome(), Outcome::lost);
  EXPECT_EQ(run(api().get({Event::resource, {"no-such-namespace", "e"}})).outcome(),
            Outcome::absent);
}

TEST_F(RealClient, says_conflict_of_a_name_that_is_taken) {
  create_node(api(), "taken");
  const std::string body = R"({"metadata": {"name": "taken"}})";
  EXPECT_EQ(run(api().create({node_name("taken"), body})).outcome(), Outcome::conflict);
}

TEST_F(RealClient, says_conflict_of_a_stale_version_whatever_the_uid) {
  const Node seen = create_node(api(), "stale");
  ASSERT_EQ(patch("stale", *node_patch(seen, {.labels = {{"a", "b"}}})), Outcome::ok);
  EXPECT_EQ(patch("stale", *node_patch(seen, {.labels = {{"a", "c"}}})), Outcome::conflict);
  Node other = seen;
  other.meta.uid = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(patch("stale", *node_patch(other, {.labels = {{"a", "c"}}})), Outcome::conflict);
}

TEST_F(RealClient, is_answered_the_metadata_of_what_it_patched_where_that_is_enough) {
  const Node seen = create_node(api(), "brief");
  for (const std::string subresource : {"", "status"}) {
    const Patch patch{PatchType::merge, same_object(seen.meta),
                      R"({"spec": {"providerID": "x://1"}, "status": {"phase": "Running"}})"};
    Result<std::string> answer = run(api().patch({node_name("brief"), subresource, patch, true}));
    ASSERT_TRUE(answer);
    const auto brief = Decoder().object<NodeMetadata>(*answer, seen.meta.key);
    ASSERT_TRUE(brief) << brief.error().message;
    EXPECT_EQ(brief->meta, read_node(api(), "brief").meta);
  }
  EXPECT_EQ(read_node(api(), "brief").provider_id, "x://1");
}

TEST_F(RealClient, is_told_invalid_of_another_uid_and_knows_it_is_a_conflict) {
  const Node seen = create_node(api(), "twin");
  remove(seen);
  create_node(api(), "twin");
  const Patch addresses =
      node_addresses_patch(same_object(seen.meta), {{"InternalIP", "10.0.0.1"}});
  EXPECT_EQ(patch("twin", addresses, "status"), Outcome::invalid);
  EXPECT_EQ(checked("twin", addresses, "status"), Outcome::conflict);
  EXPECT_TRUE(read_node(api(), "twin").addresses.empty());
}

TEST_F(RealClient, is_told_invalid_of_a_failed_test_and_knows_it_is_a_conflict) {
  create_node(api(), "tested");
  const Patch test{PatchType::json, {}, R"([{"op": "test", "path": "/metadata/name", "value": "x"},
                                        {"op": "add", "path": "/spec/providerID", "value": "y"}])"};
  EXPECT_EQ(patch("tested", test), Outcome::invalid);
  EXPECT_EQ(checked("tested", test), Outcome::conflict);
}

TEST_F(RealClient, says_invalid_of_a_patch_that_can_never_work) {
  Node seen = create_node(api(), "fixed");
  ASSERT_EQ(patch("fixed", *node_patch(seen, {.provider_id = "isthmus://1"})), Outcome::ok);
  const Patch change{PatchType::merge, same_object(seen.meta),
                     R"({"spec": {"providerID": "isthmus://2"}})"};
  EXPECT_EQ(checked("fixed", change), Outcome::invalid);
}

TEST_F(RealClient, says_absent_of_a_patch_of_what_is_gone) {
  const Node seen = create_node(api(), "gone");
  remove(seen);
  EXPECT_EQ(checked("gone", node_addresses_patch(same_object(seen.meta), {})), Outcome::absent);
}

TEST_F(RealClient, says_conflict_of_a_lease_that_has_moved_and_never_makes_a_deleted_one_anew) {
  const ObjectName name{Lease::resource, {"kube-system", "written-whole"}};
  const auto update = [&](const Lease& seen, const std::string& holder) {
    return run(api().patch({name, "", lease_update(seen, {holder, 15}).value()}));
  };
  Result<std::string> created = run(api().create({name, lease_body(name.key, {"", 15})}));
  ASSERT_TRUE(created);
  const Lease first = Decoder().object<Lease>(*created).value();
  Result<std::string> updated = update(first, "a");
  ASSERT_TRUE(updated);
  EXPECT_EQ(text_at(updated, "/spec/holderIdentity"), "a");
  const Lease second = Decoder().object<Lease>(*updated).value();

  EXPECT_EQ(update(first, "b").outcome(), Outcome::conflict);
  ASSERT_TRUE(run(api().remove({name, same_object(second.meta)})));
  EXPECT_EQ(update(second, "b").outcome(), Outcome::conflict);
  EXPECT_EQ(run(api().get(name)).outcome(), Outcome::absent);
}

TEST_F(RealClient, deletes_only_the_uid_it_means) {
  const Node first = create_node(api(), "reborn");
  remove(first);
  const Node second = create_node(api(), "reborn");
  EXPECT_EQ(run(api().remove({name_of(first), same_object(first.meta)})).outcome(),
            Outcome::conflict);
  EXPECT_EQ(read_node(api(), "reborn").meta.uid, second.meta.uid);
  remove(second);
  EXPECT_EQ(run(api().remove({name_of(second), same_object(second.meta)})).outcome(),
            Outcome::absent);
}

TEST_F(RealClient, says_denied_where_a_user_may_nothing) {
  Client nobody(world(), server->dir + "/nobody.kubeconfig");
  EXPECT_EQ(run(nobody.api.get(node_name("any"))).outcome(), Outcome::denied);
  EXPECT_EQ(
      run(nobody.api.watch({.resource = Node::resource, .send_initial_events = true})).outcome(),
      Outcome::denied);
}

TEST_F(RealClient, reads_a_list_page_by_page) {
  for (int i = 0; i < 5; ++i) create_node(api(), fmt::format("page-{}", i));
  Decoder decoder;
  std::string token;
  std::size_t pages = 0, nodes = 0;
  do {
    Result<std::string> text = run(api().list({Node::resource, 2, token}));
    ASSERT_TRUE(text);
    Result<ListPage<Node>> page = decoder.page<Node>(*text);
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_LE(page->items.size(), 2u);
    nodes += page->items.size();
    ++pages;
    token = page->continue_token;
  } while (!token.empty());
  EXPECT_GE(nodes, 5u);
  EXPECT_EQ(pages, (nodes + 1) / 2);
}

// The server accepts it, and says in the stream that it cannot.
Task<Result<std::string>> first_line(ApiDoor& api, WatchRequest request) {
  std::unique_ptr<WatchStream> stream = CO_TRY(co_await api.watch(std::move(request)));
  std::string line = CO_TRY(co_await stream->next());
  co_return line;
}

TEST_F(RealClient, says_conflict_of_a_streaming_list_from_a_version_that_is_not_there_yet) {
  Result<std::string> line = run(first_line(
      api(),
      {.resource = Node::resource, .resource_version = "999999999", .send_initial_events = true}));
  ASSERT_TRUE(line);
  Result<WatchEvent<Node>> event = Decoder().watch_line<Node>(*line);
  ASSERT_TRUE(event);
  ASSERT_TRUE(std::holds_alternative<Status>(*event));
  EXPECT_EQ(error_of(std::get<Status>(*event), {Node::resource, {}}).outcome, Outcome::conflict);
}

}  // namespace
}  // namespace isthmus::kube
