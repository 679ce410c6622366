// Watcher, elector and recorder against a real API server.
#include <fmt/format.h>

#include <filesystem>

#include "isthmus/base/json.h"
#include "isthmus/kube/elector.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/watcher.h"
#include "tests/kube_real/api_server.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

// Lets a test break the watches of a client and keep new ones from being opened.
class Cutter final : public ApiDoor {
 public:
  explicit Cutter(ApiDoor& next) : next_(next) {}

  void cut() { (is_cut = true), cut_.set(); }
  void mend() { (is_cut = false), cut_.clear(); }

  Task<Result<std::string>> get(ObjectName object) override { return next_.get(object); }
  Task<Result<std::string>> list(ListRequest request) override {
    ++lists;
    return next_.list(request);
  }
  Task<Result<std::string>> create(CreateRequest request) override { return next_.create(request); }
  Task<Result<std::string>> patch(PatchRequest request) override { return next_.patch(request); }
  Task<Result<>> remove(DeleteRequest request) override { return next_.remove(request); }
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override {
    if (is_cut) co_return fail(Outcome::lost, "cut");
    ++(request.send_initial_events ? streaming_lists : watches);
    std::unique_ptr<WatchStream> stream = CO_TRY(co_await next_.watch(request));
    co_return std::unique_ptr<WatchStream>(std::make_unique<Stream>(std::move(stream), cut_));
  }

  bool is_cut = false;
  int lists = 0, streaming_lists = 0, watches = 0;

 private:
  class Stream final : public WatchStream {
   public:
    Stream(std::unique_ptr<WatchStream> next, Signal& cut) : next_(std::move(next)), cut_(cut) {}

    Task<Result<std::string>> next() override {
      Scope& outer = co_await current_scope();
      Scope race(outer);
      Result<std::string> line = fail(Outcome::lost, "cut");
      race.spawn(&Stream::read, this, std::ref(line), std::ref(race));
      race.spawn(&Stream::break_off, this);
      Result<> ended = co_await race.join();
      co_return line;
    }

   private:
    Task<Result<>> read(Result<std::string>& line, Scope& race) {
      Result<std::string> read = co_await next_->next();
      if (read.outcome() != Outcome::cancelled) line = std::move(read);
      race.cancel();
      co_return Result<>{};
    }
    Task<Result<>> break_off() {
      CO_TRY(co_await cut_.wait());
      co_return fail(Outcome::lost, "cut");
    }

    std::unique_ptr<WatchStream> next_;
    Signal& cut_;
  };

  ApiDoor& next_;
  Signal cut_;
};

// A watcher of Nodes at work.
struct NodeWatch {
  explicit NodeWatch(Client& client, WatcherOptions options = {})
      : cutter(client.api),
        watcher(cutter, Node::resource, sink, world().loop(), random, client.metrics, log, options),
        scope(world().loop()) {
    store.subscribe([this](const Difference<Node>& news) {
      diary.push_back((news.after ? "+" : "-") + news.key.name);
    });
    scope.spawn(&Watcher::run, &watcher);
  }
  bool has(const std::string& name) const { return store.find({"", name}) != nullptr; }

  SeededRandom random{1};
  MemoryLogger log;
  Cutter cutter;
  Store<Node> store;
  StoreSink<Node> sink{store};
  std::vector<std::string> diary;
  Watcher watcher;
  Scope scope;
};

class RealMachinery : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server = std::make_unique<ApiServer>(std::vector<std::string>{});
    client = std::make_unique<Client>(world(), server->kubeconfig);
    ASSERT_TRUE(wait_for_namespaces(client->api));
  }
  static void TearDownTestSuite() {
    client.reset();
    server.reset();
  }
  ApiDoor& api() { return client->api; }

  static inline std::unique_ptr<ApiServer> server;
  static inline std::unique_ptr<Client> client;
};

TEST_F(RealMachinery, a_watcher_fills_its_store_by_one_streaming_list_and_follows_it) {
  const Node first = create_node(api(), "w1");
  NodeWatch watch(*client);
  ASSERT_TRUE(eventually([&] { return watch.store.has_synced(); }));
  EXPECT_TRUE(watch.has("w1"));
  create_node(api(), "w2");
  ASSERT_TRUE(run(api().remove({name_of(first), same_object(first.meta)})));
  EXPECT_TRUE(eventually([&] { return watch.has("w2") && !watch.has("w1"); }));
  EXPECT_EQ(watch.cutter.streaming_lists, 1);
  EXPECT_EQ(watch.cutter.watches, 0);
  EXPECT_EQ(watch.cutter.lists, 0);
}

TEST_F(RealMachinery, a_watcher_resumes_after_a_cut_and_misses_nothing) {
  create_node(api(), "r1");
  NodeWatch watch(*client);
  ASSERT_TRUE(eventually([&] { return watch.has("r1"); }));
  watch.cutter.cut();
  create_node(api(), "r2");
  watch.cutter.mend();
  EXPECT_TRUE(eventually([&] { return watch.has("r2"); }));
  EXPECT_EQ(watch.cutter.streaming_lists, 1);
  EXPECT_EQ(watch.cutter.watches, 1);
}

struct Quiet final : Recorder {
  void record(Note) override {}
};

// An elector with short times, and what it does while it leads.
class Candidate final : public Leader {
 public:
  explicit Candidate(ApiDoor& api, const std::string& identity)
      : elector(api,
                {.lease = {"kube-system", "real-test"},
                 .identity = identity,
                 .lease_duration = 3s,
                 .renew_deadline = 2s,
                 .retry_period = 500ms},
                life, world().loop(), world().random(), quiet, metrics, log) {
    scope->spawn(&Candidate::compete, this);
  }
  Task<Result<>> lead() override {
    Result<> stopped = co_await stop.wait();
    co_return stopped;
  }
  Task<Result<>> compete() {
    Result<> ended = co_await elector.run(*this, Uncancellable(outliving));
    co_return Result<>{};
  }
  bool leads() const { return life.holds(); }
  void crash() {
    scope.reset();
    life.end();
  }

  Quiet quiet;
  Metrics metrics;
  MemoryLogger log;
  LeaseLife life{world().loop()};
  Signal stop;
  Elector elector;
  Scope outliving{world().loop()};
  std::optional<Scope> scope{std::in_place, world().loop()};
};

TEST_F(RealMachinery, one_of_two_electors_leads_and_the_other_takes_over_fast) {
  Candidate a(api(), "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  Candidate b(api(), "b");
  ASSERT_TRUE(eventually([&] { return b.elector.holder() == "a"; }));
  EXPECT_FALSE(b.leads());

  const Moment released = world().loop().now();
  a.stop.set();
  ASSERT_TRUE(eventually([&] { return b.leads(); }));
  EXPECT_LT(world().loop().now() - released, 1s) << "a released lease is taken at once";

  Candidate c(api(), "c");
  ASSERT_TRUE(eventually([&] { return c.elector.holder() == "b"; }));
  const Moment crashed = world().loop().now();
  b.crash();
  ASSERT_TRUE(eventually([&] { return c.leads(); }));
  EXPECT_LT(world().loop().now() - crashed, 4s) << "a crashed leader's at its expiry";
  const Result<std::string> lease = run(api().get({Lease::resource, {"kube-system", "real-test"}}));
  EXPECT_EQ(text_at(lease, "/spec/holderIdentity"), "c");
  EXPECT_EQ(text_at(lease, "/spec/leaseTransitions"), "2");
  c.stop.set();
  EXPECT_TRUE(eventually([&] { return !c.leads(); }));
}

TEST_F(RealMachinery, a_recorder_posts_an_event_and_counts_it_up) {
  MemoryLogger log;
  Metrics metrics;
  Broadcaster broadcaster(api(), world().loop(), world().random(), metrics, log);
  const std::unique_ptr<Recorder> recorder = broadcaster.recorder("real-test");
  Scope scope(world().loop());
  scope.spawn(&Broadcaster::run, &broadcaster);
  const Node node = create_node(api(), "told");
  for (std::uint64_t told = 1; told <= 2; ++told) {
    recorder->warning(reference_to(node), "FailedToInitialize", "no machine has this address");
    ASSERT_TRUE(eventually([&] { return broadcaster.count(NoteFate::posted) == told; }));
  }
  Result<std::string> text = run(api().list({Event::resource}));
  ASSERT_TRUE(text);
  Result<ListPage<Event>> page = Decoder().page<Event>(*text);
  ASSERT_TRUE(page);
  int found = 0;
  for (const Decoded<Event>& item : page->items) {
    if (!item.object || item.object->involved.uid != node.meta.uid) continue;
    ++found;
    EXPECT_EQ(item.object->count, 2);
    EXPECT_EQ(item.object->component, "real-test");
    EXPECT_EQ(item.object->reason, "FailedToInitialize");
  }
  EXPECT_EQ(found, 1);
}

// A server without a watch cache forgets with its etcd, and cannot stream lists.
TEST(real_compaction, a_watcher_pages_relists_after_410_and_publishes_what_vanished) {
  ApiServer server({"--", "--watch-cache=false"});
  Client client(world(), server.kubeconfig);
  ASSERT_TRUE(wait_for_namespaces(client.api));
  std::vector<Node> nodes;
  for (int i = 0; i < 7; ++i) nodes.push_back(create_node(client.api, fmt::format("n{}", i)));
  NodeWatch watch(client, {.page_limit = 3});
  ASSERT_TRUE(eventually([&] { return watch.store.all().size() == 7; }));
  ASSERT_TRUE(eventually([&] { return watch.watcher.state() == "following"; }));

  watch.cutter.cut();
  watch.diary.clear();
  ASSERT_TRUE(run(client.api.remove({name_of(nodes[0]), same_object(nodes[0].meta)})));
  const Node last = create_node(client.api, "new");
  Result<std::unique_ptr<net::Transport>> etcd =
      net::make_curl_transport(world(), {.url = server.etcd, .tls = {}, .proxy = {}});
  ASSERT_TRUE(etcd);
  const std::string body = fmt::format(R"({{"revision": {}}})", last.meta.resource_version);
  Result<net::Response> compacted = run(
      (*etcd)->call({"POST", "/v3/kv/compaction", {{"Content-Type", "application/json"}}, body}));
  ASSERT_TRUE(compacted);
  ASSERT_EQ(compacted->status, 200) << compacted->body;

  watch.cutter.mend();
  EXPECT_TRUE(eventually([&] { return watch.has("new") && !watch.has("n0"); }));
  EXPECT_EQ(watch.diary, (std::vector<std::string>{"-n0", "+new"}));
  EXPECT_TRUE(watch.log.mentions("410"));
}

// A directory that goes with the test, however it ends.
struct Directory {
  Directory() { std::filesystem::create_directories(path); }
  ~Directory() { std::filesystem::remove_all(path); }
  const std::string path = ::testing::TempDir() + fmt::format("isthmus-kube-real-{}", getpid());
};

TEST(real_restart, a_watcher_survives_a_restart_of_its_server) {
  const Directory directory;
  const std::string& dir = directory.path;
  auto server = std::make_unique<ApiServer>(std::vector<std::string>{"--dir", dir});
  Client client(world(), server->kubeconfig);
  ASSERT_TRUE(wait_for_namespaces(client.api));
  create_node(client.api, "before");
  NodeWatch watch(client);
  ASSERT_TRUE(eventually([&] { return watch.has("before"); }));
  server.reset();
  ASSERT_TRUE(eventually([&] { return watch.watcher.state() == "connecting"; }));
  EXPECT_TRUE(watch.has("before")) << "the last view is kept";
  server = std::make_unique<ApiServer>(std::vector<std::string>{"--dir", dir});
  create_node(client.api, "after");
  EXPECT_TRUE(eventually([&] { return watch.has("after"); }));
  EXPECT_TRUE(watch.has("before"));
}

}  // namespace
}  // namespace isthmus::kube
