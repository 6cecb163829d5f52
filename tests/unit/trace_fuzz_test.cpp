// The corpus of tools/fuzz.sh, and damage done to it, without libFuzzer: a short look at what it
// looks at for hours.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <vector>

#include "sim/gzip.hpp"
#include "tests/fuzz/fuzz_trace.hpp"
#include "tests/support_trace.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> targets() {
  std::vector<std::string> all{std::string(kFuzzLines)};
  for (const std::string_view name : Registry<TraceFormat>::of().names()) all.emplace_back(name);
  return all;
}

std::vector<std::string> corpus(const std::string& target) {
  const fs::path folder = fs::path(TRAINYARD_SOURCE_DIR) / "tests/fuzz/corpus" / target;
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const fs::path& path : paths) inputs.push_back(bytes_of(path.string()));
  return inputs;
}

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : bits_(seed) {}
  /// The text with one to four things done to it.
  std::string to(std::string text) {
    for (std::size_t left = 1 + below(4); left > 0; --left) {
      switch (below(5)) {
        case 0:
          text.resize(below(text.size() + 1));
          break;
        case 1:
          flip(text);
          break;
        case 2:
          text.insert(below(text.size() + 1), span(text));
          break;
        case 3:
          text.erase(below(text.size() + 1), below(20));
          break;
        default:
          text.insert(below(text.size() + 1), word());
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(bits_() % count); }
  void flip(std::string& text) {
    if (text.empty()) return;
    char& byte = text[below(text.size())];
    byte = static_cast<char>(byte ^ (1 << below(8)));
  }
  std::string span(const std::string& text) {
    return text.substr(below(text.size() + 1), below(100));
  }
  std::string word() {
    static const char* const kWords[] = {"-1",
                                         "0",
                                         "18446744073709551616",
                                         "1e999",
                                         "NaN",
                                         "\"",
                                         "{",
                                         "[",
                                         "}",
                                         "\n",
                                         "\\u0000",
                                         "9223372036854775807",
                                         "4294967296",
                                         "\xff\xff\xff\xff\x0f",
                                         "<b>",
                                         ","};
    return kWords[below(std::size(kWords))];
  }
  std::mt19937_64 bits_;
};

/// What a target did that it must not; empty where nothing.
std::string finding(const std::string& target, const std::string& bytes) {
  try {
    fuzz_trace(target, bytes);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(TraceFuzz, EveryReaderHasACorpusAndStandsIt) {
  for (const std::string& target : targets()) {
    const std::vector<std::string> inputs = corpus(target);
    EXPECT_FALSE(inputs.empty()) << "tests/fuzz/corpus/" << target << " has nothing in it";
    for (const std::string& input : inputs) {
      EXPECT_EQ(finding(target, input), "") << target << ": " << input;
      EXPECT_EQ(finding(target, gzip(input)), "") << target << ", packed: " << input;
    }
  }
}

TEST(TraceFuzz, EveryReaderStandsDamage) {
  constexpr std::size_t kEach = 300;
  for (const std::string& target : targets()) {
    Damage damage(20260101);
    for (const std::string& input : corpus(target)) {
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::string bytes = damage.to(input);
        ASSERT_EQ(finding(target, bytes), "") << target << ": " << bytes;
      }
    }
  }
}

TEST(TraceFuzz, EveryReaderStandsEveryCut) {
  for (const std::string& target : targets()) {
    for (const std::string& input : corpus(target)) {
      for (std::size_t size = 0; size < input.size(); ++size)
        ASSERT_EQ(finding(target, input.substr(0, size)), "") << target << " cut at " << size;
    }
  }
}

}  // namespace
}  // namespace trainyard
