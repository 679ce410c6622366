// Every attribute that a cloud could forget: the conformance test must see each, whether the cloud
// overlooks it altogether, or announces the change and does not make it.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

using Spec = LoadBalancerSpec;
using Verdict = ConformanceStep::Verdict;
using Forget = void (*)(Spec&);

struct Forgotten {
  std::string step;
  Forget forget;  // Makes all wishes alike that differ in the attribute.
};

std::vector<Forgotten> attributes() {
  return {
      {"port", [](Spec& spec) { spec.listeners[0].port = 80; }},
      {"target-port", [](Spec& spec) { spec.listeners[0].target_port = 30080; }},
      {"listener-name", [](Spec& spec) { spec.listeners[0].name = "any"; }},
      {"listener-added", [](Spec& spec) { spec.listeners.resize(1); }},
      {"listener-removed", [](Spec& spec) { spec.listeners.resize(1); }},
      {"udp-listener",
       [](Spec& spec) {
         std::erase_if(spec.listeners,
                       [](const auto& one) { return one.protocol == Protocol::udp; });
       }},
      {"target-added",
       [](Spec& spec) {
         if (!spec.targets.empty()) spec.targets.resize(1);
       }},
      {"target-replaced",
       [](Spec& spec) {
         for (Target& target : spec.targets) target = {.name = "any"};
       }},
      {"targets-removed",
       [](Spec& spec) {
         if (spec.targets.empty()) spec.targets.push_back({.name = "any"});
       }},
      {"health-check", [](Spec& spec) { spec.health_check.reset(); }},
      {"health-check-port",
       [](Spec& spec) {
         if (spec.health_check) spec.health_check->port = 1;
       }},
      {"health-check-http",
       [](Spec& spec) {
         if (spec.health_check) spec.health_check->protocol = Spec::HealthCheck::Protocol::tcp;
         if (spec.health_check) spec.health_check->http_path = "";
       }},
      {"health-check-pace",
       [](Spec& spec) {
         if (!spec.health_check) return;
         const Spec::HealthCheck& check = *spec.health_check;
         spec.health_check = Spec::HealthCheck{
             .protocol = check.protocol, .port = check.port, .http_path = check.http_path};
       }},
      {"source-ranges", [](Spec& spec) { spec.source_ranges.clear(); }},
      {"affinity", [](Spec& spec) { spec.affinity = Spec::Affinity::none; }},
      {"source-address", [](Spec& spec) { spec.source_address.reset(); }},
      {"labels", [](Spec& spec) { spec.labels.erase("further"); }},
  };
}

// A cloud that forgets one attribute, in what it makes or in both that and its previews.
class Forgetful final : public Provider, private LoadBalancers {
 public:
  Forgetful(FakeProvider& cloud, Forget forget, bool announces)
      : cloud_(cloud), forget_(forget), announces_(announces) {}

  const std::string& name() const override { return cloud_.name(); }
  const std::string& scheme() const override { return cloud_.scheme(); }
  Capabilities capabilities() override { return {.load_balancers = this}; }
  Task<Result<>> check() override { return cloud_.check(); }

 private:
  Task<Result<Balancer>> ensure(Spec spec) override {
    if (!spec.listeners.empty()) forget_(spec);
    return cloud_.load_balancers.ensure(std::move(spec));
  }
  Task<Result<LoadBalancerPreview>> preview(Spec spec) override {
    if (!announces_ && !spec.listeners.empty()) forget_(spec);
    return cloud_.load_balancers.preview(std::move(spec));
  }
  Task<Result<>> release(std::string name) override {
    return cloud_.load_balancers.release(std::move(name));
  }
  Task<Result<Balancer>> get(std::string name) override {
    return cloud_.load_balancers.get(std::move(name));
  }
  Task<Result<Balancers>> list() override { return cloud_.load_balancers.list(); }
  Task<Result<>> follow(Tell tell) override {
    return cloud_.load_balancers.follow(std::move(tell));
  }

  FakeProvider& cloud_;
  const Forget forget_;
  const bool announces_;
};

struct conformance_attributes : testing::TestWithParam<Forgotten>, ConformanceWorld {};

TEST_P(conformance_attributes, that_are_overlooked_are_missed) {
  Forgetful forgetful(cloud, GetParam().forget, false);
  EXPECT_EQ(step(run(forgetful), "changes-" + GetParam().step).verdict, Verdict::failed);
}

TEST_P(conformance_attributes, that_are_announced_and_not_made_are_missed) {
  Forgetful forgetful(cloud, GetParam().forget, true);
  EXPECT_EQ(step(run(forgetful), "changes-" + GetParam().step).verdict, Verdict::failed);
}

std::string name_of(const testing::TestParamInfo<Forgotten>& info) {
  std::string name = info.param.step;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(each, conformance_attributes, testing::ValuesIn(attributes()), name_of);

struct conformance_refusals : testing::Test, ConformanceWorld {};

// Refuses affinity; `late` only in ensure, or after having changed something.
Task<Result<LoadBalancerPreview>> refuse(FakeProvider& cloud, Spec spec) {
  if (spec.affinity != Spec::Affinity::none) co_return fail(Outcome::invalid, "no affinity here");
  LoadBalancerPreview preview = CO_TRY(co_await cloud.load_balancers.preview(std::move(spec)));
  co_return preview;
}
Task<Result<Balancer>> refuse_as_well(FakeProvider& cloud, Spec spec) {
  if (spec.affinity != Spec::Affinity::none) co_return fail(Outcome::invalid, "no affinity here");
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}
Task<Result<Balancer>> refuse_half_way(FakeProvider& cloud, Spec spec) {
  if (spec.affinity != Spec::Affinity::none) {
    cloud.load_balancers.touched(spec.name, true);
    co_return fail(Outcome::invalid, "no affinity here");
  }
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

TEST_F(conformance_refusals, skip_the_step_and_say_what_the_cloud_said) {
  MutantProvider cloudlet(cloud, {.name = "x", .ensure = refuse_as_well, .preview = refuse});
  const ConformanceStep affinity = step(run(cloudlet), "changes-affinity");
  EXPECT_EQ(affinity.verdict, Verdict::skipped);
  EXPECT_EQ(affinity.reason, "the cloud does not do this: no affinity here");
}

TEST_F(conformance_refusals, of_the_preview_only_are_none) {
  MutantProvider cloudlet(cloud, {.name = "x", .preview = refuse});
  EXPECT_EQ(step(run(cloudlet), "changes-affinity").verdict, Verdict::failed);
}

TEST_F(conformance_refusals, that_change_what_stands_are_none) {
  MutantProvider cloudlet(cloud, {.name = "x", .ensure = refuse_half_way, .preview = refuse});
  EXPECT_EQ(step(run(cloudlet), "changes-affinity").verdict, Verdict::failed);
}

}  // namespace
}  // namespace isthmus::cloud
