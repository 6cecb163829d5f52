// gzip: what is packed comes back, what is not whole is refused, nothing unpacks without limit.
#include "sim/gzip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sim/error.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kPlenty = std::size_t{1} << 26;

std::string noise(std::size_t bytes) {
  std::mt19937 random(7);
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string refusal(const std::string& packed, std::size_t most = kPlenty) {
  try {
    gunzip(packed, most, "a.gz");
  } catch (const ScenarioError& e) {
    EXPECT_THAT(std::string(e.what()), StartsWith("a.gz: "));
    EXPECT_THAT(std::string(e.what()), HasSubstr("run the scenario again"));
    return e.diagnostics().front().message;
  }
  return {};
}

TEST(Gzip, ComesBack) {
  for (const std::string& text :
       {std::string(), std::string("x"), noise(200'000), std::string(3'000'000, 'a')})
    EXPECT_EQ(gunzip(gzip(text), text.size(), "a.gz"), text);
}

// RFC 1952: magic, deflate, no flags, no date.
TEST(Gzip, HoldsNeitherDateNorName) {
  EXPECT_EQ(gzip("text").substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  EXPECT_EQ(gzip("text"), gzip("text"));
}

TEST(Gzip, CutOffAnywhereIsAnError) {
  const std::string packed = gzip("some text, some text, and some more text");
  for (std::size_t length = 0; length < packed.size(); ++length)
    EXPECT_EQ(refusal(packed.substr(0, length)), "ends too early") << length;
}

// The first ten bytes have date and system in them, and the last of the data ends within a byte.
TEST(Gzip, AFlippedBitIsAnErrorOrMeansNothing) {
  const std::string text = "some text, some text, and some more text", packed = gzip(text);
  std::size_t harmless = 0;
  for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    if (!refusal(damaged).empty()) continue;
    EXPECT_EQ(gunzip(damaged, kPlenty, "a.gz"), text) << bit;
    harmless += bit >= 80 ? 1 : 0;
  }
  EXPECT_LT(harmless, 8U);
}

TEST(Gzip, WhatIsNoGzipIsAnError) {
  EXPECT_THAT(refusal("{\"schema_version\": 1}"), StartsWith("is damaged or no gzip file"));
  EXPECT_EQ(refusal(gzip("text") + "more"), "goes on after its end");
}

TEST(Gzip, UnpacksUpToItsLimit) {
  const std::string zeros(10'000'000, '\0'), packed = gzip(zeros);
  EXPECT_LT(packed.size(), 20'000U);
  EXPECT_EQ(refusal(packed, zeros.size()), "");
  EXPECT_EQ(refusal(packed, zeros.size() - 1), "unpacks to more than 9999999 bytes");
  EXPECT_EQ(refusal(packed, 0), "unpacks to more than 0 bytes");
}

}  // namespace
}  // namespace trainyard
