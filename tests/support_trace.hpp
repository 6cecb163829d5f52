// Reading and writing traces in memory, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {

inline ReadTrace read_text(std::string_view format, std::string_view text, bool lenient = false,
                           bool keep_extras = true) {
  ByteSource source("t", text);
  TraceBuilder builder(std::string(format), {lenient, keep_extras});
  Registry<TraceFormat>::of().make(format)->read(source, 0, builder);
  ReadTrace read;
  read.trace = builder.finish();
  read.repairs = builder.repairs();
  return read;
}

/// The first fault of a text as it is shown; empty where it is read.
inline std::string refusal(std::string_view format, std::string_view text, bool lenient = false) {
  try {
    read_text(format, text, lenient);
  } catch (const ScenarioError& error) {
    return to_string(error.diagnostics().front());
  }
  return {};
}

/// A folder that is gone at the end of the test.
class TraceFolder {
 public:
  TraceFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    static int folders = 0;
    path_ = std::filesystem::temp_directory_path() /
            (std::string("trainyard-") + test->name() + "-" + std::to_string(getpid()) + "-" +
             std::to_string(++folders));
    std::filesystem::create_directories(path_);
  }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;
  ~TraceFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

/// What a format writes of a trace, and what it says of it.
struct Written {
  std::string text;
  std::vector<std::string> losses;
};
inline Written written(std::string_view format, const Trace& trace) {
  const TraceFolder folder;
  const std::string path = folder.file("written");
  Written result;
  result.losses = Registry<TraceFormat>::of().make(format)->write(trace, path);
  result.text = bytes_of(path);
  return result;
}

}  // namespace trainyard
