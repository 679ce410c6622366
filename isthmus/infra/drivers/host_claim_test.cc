#include "isthmus/infra/drivers/host_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

// In a network namespace of the test's own, where no backend of this machine has a claim.
class HostClaimTest : public testing::PrivilegedTest {};

TEST_F(HostClaimTest, the_second_is_refused_and_told_who_has_it) {
  Result<HostClaim> first = HostClaim::take();
  ASSERT_TRUE(first) << first.error().message;

  Result<HostClaim> second = HostClaim::take();

  EXPECT_EQ(second.outcome(), Outcome::conflict);
  EXPECT_THAT(second.error().message, ::testing::HasSubstr(fmt::format("(pid {})", ::getpid())));
}

TEST_F(HostClaimTest, is_free_again_with_its_holder) {
  std::optional<HostClaim> first = HostClaim::take().value();
  HostClaim moved = std::move(*first);
  first.reset();
  EXPECT_EQ(HostClaim::take().outcome(), Outcome::conflict) << "it was moved, not given up";
  {
    HostClaim last = std::move(moved);
  }
  EXPECT_TRUE(HostClaim::take());
}

}  // namespace
}  // namespace isthmus::infra::drivers
