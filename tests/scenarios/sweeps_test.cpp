// The sweeps that come with the project: they can be read, and are as large as their page says.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tools/sweep/sweep.hpp"

namespace trainyard {
namespace {

TEST(Sweeps, AreAsLargeAsDocumented) {
  // 4 rates x 5 latencies x 4 depths x 25 batches; 3 designs x 2 rates x 3 intervals and TCP's 3.
  const std::map<std::string, std::uint64_t> sizes{{"gpt3-network.json", 2000},
                                                   {"designs.json", 21}};
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(TRAINYARD_SOURCE_DIR) / "scenarios/sweeps")) {
    ++found;
    const std::string name = entry.path().filename().string();
    ASSERT_TRUE(sizes.contains(name)) << name;
    EXPECT_EQ(Sweep::from_file(entry.path().string(), {}).count(10'000), sizes.at(name)) << name;
  }
  EXPECT_EQ(found, sizes.size());
}

}  // namespace
}  // namespace trainyard
