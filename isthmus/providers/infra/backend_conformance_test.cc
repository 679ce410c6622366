// The conformance test of the contract (cloud/conformance.h), against our own backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/cloud/conformance.h"
#include "isthmus/net/lossy_transport.h"
#include "isthmus/providers/infra/backend_testing.h"

namespace isthmus::providers::infra {
namespace {

using Verdict = cloud::ConformanceStep::Verdict;
using ::testing::IsEmpty;

class infra_conformance : public testing::BackendFixture {
 protected:
  infra_conformance() : BackendFixture(kBothFamilies) {
    write("/inventory", "instances: [{uid: m1, name: n1}]");
    server->reload();
    background.spawn(&testing::backend::Server::run, server.get());
    world.advance(std::chrono::seconds(1));
  }
  static constexpr std::string_view kBothFamilies = R"(
host: {name: lb1, driver: nft}
pools: [{name: public, ranges: [10.0.0.96/28, "2001:db8:1::/124"], interface: eth0}]
)";
  cloud::ConformanceReport run(std::vector<IpFamily> families, bool with_stranger, bool with_loss) {
    auto wire = std::make_unique<net::LossyTransport>(
        std::make_unique<InProcess>(world.loop, server->handler()));
    net::LossyTransport& lossy = *wire;
    InfraProvider provider(std::move(wire), world.loop, files, {.token_file = "/prod"});
    auto stranger = provider_of("/test");
    cloud::ConformanceOptions options{.families = std::move(families)};
    if (with_loss) options.lose_answers = [&lossy](bool on) { lossy.lose_answers(on); };
    Scope outliving(world.loop);
    return world.run(cloud::run_conformance({.provider = provider,
                                             .stranger = with_stranger ? stranger.get() : nullptr,
                                             .random = random},
                                            std::move(options), Uncancellable(outliving)));
  }
  using InProcess = testing::InProcess;

  Scope background{world.loop};
};

void expect_passed(const cloud::ConformanceReport& report) {
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(report.left, IsEmpty());
  for (const cloud::ConformanceStep& step : report.steps) {
    EXPECT_FALSE(step.verdict == Verdict::failed)
        << step.name << ": " << step.reason << "; " << step.next_step;
  }
}

TEST_F(infra_conformance, is_kept_whole_by_our_own_backend) {
  const cloud::ConformanceReport report = run({IpFamily::v4, IpFamily::v6}, true, true);
  expect_passed(report);
  for (const cloud::ConformanceStep& step : report.steps) {
    if (step.name == "route-made" || step.name == "route-released") continue;  // It has tables.
    if (step.verdict == Verdict::skipped) ADD_FAILURE() << step.name << ": " << step.reason;
  }
}

TEST_F(infra_conformance, is_checked_without_a_stranger_and_without_losses_as_well) {
  expect_passed(run({IpFamily::v4}, false, false));
}

}  // namespace
}  // namespace isthmus::providers::infra
