// Paths: the uses of a flow merged, to the bit as adding them up one after the other does.
#include "sim/path.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace trainyard {
namespace {

void expect_merged(std::size_t count, std::size_t resources, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> weight(0.1, 3);
  PathBuilder builder;
  std::map<std::size_t, double> sums;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t resource = random() % resources;
    const double w = weight(random);
    builder.use(ResourceId(resource), w);
    sums[resource] += w;
  }
  const FlowPath path = std::move(builder).build();
  ASSERT_EQ(path.shares.size(), sums.size());
  std::size_t at = 0;
  for (const auto& [resource, sum] : sums) {
    EXPECT_EQ(path.shares[at].resource.index(), resource);
    EXPECT_EQ(path.shares[at].weight, sum) << "of " << count << " uses, bit by bit";
    ++at;
  }
}

// Sizes on both sides of where the way of sorting changes; ids that need one, two and three passes.
TEST(PathBuilder, AddsUpInTheOrderOfUse) {
  for (const std::size_t count : {0U, 1U, 2U, 30U, 64U, 65U, 1000U, 20000U}) {
    for (const std::size_t resources : {1U, 5U, 3000U, 1500000U, 4000000000U})
      expect_merged(count, resources, count + resources);
  }
}

TEST(PathBuilder, ScalesWhatWasCollectedSoFar) {
  PathBuilder builder;
  builder.use(ResourceId(7), 2);
  builder.use(ResourceId(3), 1);
  builder.use(ResourceId(7), 4);
  builder.scale(0.5);
  builder.use(ResourceId(3), 10);
  builder.delay(Seconds::of(2));
  const FlowPath path = std::move(builder).build();
  ASSERT_EQ(path.shares.size(), 2U);
  EXPECT_EQ(path.shares[0].resource, ResourceId(3));
  EXPECT_EQ(path.shares[0].weight, 10.5);
  EXPECT_EQ(path.shares[1].weight, 3);
  EXPECT_EQ(path.latency, Seconds::of(2));
}

}  // namespace
}  // namespace trainyard
