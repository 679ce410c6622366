#include "isthmus/controllers/service_writes.h"

#include <gtest/gtest.h>

#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using kube::testing::Verb;

class ServiceWritesTest : public testing::ServiceStory {
 protected:
  ServiceWritesTest() {
    put_service("web");
    see();
  }
  // The store shows the Service as it is now.
  void see() {
    std::string document = compact_json(api.see(kube::Service::resource, {"default", "web"}));
    kube::Service service = kube::Decoder().object<kube::Service>(document).value();
    store.apply({kube::ChangeKind::modified,
                 {service.meta.key, service.meta.uid, service.meta.resource_version, service}});
  }
  ServicePtr newest() const { return writes.newest({"default", "web"}); }

  kube::Store<kube::Service> store;
  ServiceWrites writes{store, api, {}};
};

TEST_F(ServiceWritesTest, what_was_written_is_known_before_the_watch_tells_it) {
  const auto written = world.run(writes.add_finalizer(newest()));
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->done);
  EXPECT_TRUE(newest()->meta.has_finalizer(kServiceFinalizer));
  EXPECT_FALSE(store.find({"default", "web"})->meta.has_finalizer(kServiceFinalizer));
  see();
  EXPECT_EQ(newest(), store.find({"default", "web"}));
}

TEST_F(ServiceWritesTest, an_ingress_replaces_the_one_before_and_nothing_clears_it) {
  ASSERT_TRUE(world.run(writes.publish(newest(), {{.ip = "192.0.2.1", .ip_mode = "VIP"}})));
  EXPECT_EQ(address("web"), "192.0.2.1");
  const auto cleared = world.run(writes.publish(newest(), {}));
  ASSERT_TRUE(cleared);
  EXPECT_TRUE(cleared->service->ingress.empty());
  EXPECT_EQ(address("web"), "");
}

TEST_F(ServiceWritesTest, a_namesake_is_seen_and_not_written_to) {
  const ServicePtr before = newest();
  api.erase(kube::Service::resource, {"default", "web"});
  put_service("web");
  const auto written = world.run(writes.add_finalizer(before));
  ASSERT_TRUE(written);
  EXPECT_FALSE(written->done);
  EXPECT_EQ(written->service->meta.uid, uid("web"));
  EXPECT_FALSE(has_finalizer("web"));
}

TEST_F(ServiceWritesTest, one_that_is_gone_is_no_error) {
  const ServicePtr before = newest();
  api.erase(kube::Service::resource, {"default", "web"});
  const auto written = world.run(writes.remove_finalizer(before));
  ASSERT_TRUE(written);
  EXPECT_FALSE(written->done);
  EXPECT_EQ(written->service, nullptr);
}

TEST_F(ServiceWritesTest, one_that_went_with_its_last_finalizer_is_gone_before_the_watch_tells_it) {
  ASSERT_TRUE(world.run(writes.add_finalizer(newest())));
  delete_service("web");
  see();
  const auto written = world.run(writes.remove_finalizer(newest()));
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->done);
  EXPECT_EQ(newest(), nullptr);
  EXPECT_NE(store.find({"default", "web"}), nullptr);
  put_service("web");
  see();
  EXPECT_NE(newest(), nullptr);
}

// The server calls a finalizer invalid that comes after the deletion has begun.
TEST_F(ServiceWritesTest, a_refusal_of_what_has_changed_meanwhile_is_looked_at_again) {
  const ServicePtr before = newest();
  set_finalizers("web", {"example.com/theirs"});
  delete_service("web");
  api.inject({.verb = Verb::patch, .error = {Outcome::invalid, "no new finalizers"}});
  const auto written = world.run(writes.add_finalizer(before));
  ASSERT_TRUE(written);
  EXPECT_FALSE(written->done);
  EXPECT_TRUE(written->service->meta.deletion_time);
}

TEST_F(ServiceWritesTest, a_refusal_of_what_has_not_changed_is_one) {
  api.inject({.verb = Verb::patch, .error = {Outcome::invalid, "not like this"}});
  EXPECT_EQ(world.run(writes.add_finalizer(newest())).outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::controllers
