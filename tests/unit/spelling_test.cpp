#include "sim/spelling.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trainyard {
namespace {

using Names = std::vector<std::string_view>;

TEST(Spelling, NearestName) {
  const Names names{"bandwidth", "latency", "rate"};
  EXPECT_EQ(nearest_name("bandwith", names), "bandwidth");
  EXPECT_EQ(nearest_name("latnecy", names), "latency");  // neighbours swapped: one edit
  EXPECT_EQ(nearest_name("rate", names), "rate");
  EXPECT_EQ(nearest_name("ports", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'r'), names), "");
}

TEST(Spelling, TheFirstOfEquallyNearNamesWins) {
  EXPECT_EQ(nearest_name("ab", Names{"ac", "ad"}), "ac");
}

TEST(Spelling, Suggest) {
  EXPECT_EQ(suggest("rat", Names{"rate", "ports"}), "did you mean \"rate\"?");
  EXPECT_EQ(suggest("xyz", Names{"rate", "ports"}), "one of: rate, ports");
  EXPECT_EQ(suggest("xyz", {}), "there are none");
  EXPECT_EQ(suggest("none-of-them", Names(13, "ab")),
            "one of: ab, ab, ab, ab, ab, ab, ab, ab, ab, ab, ab, ab, …");
}

}  // namespace
}  // namespace trainyard
