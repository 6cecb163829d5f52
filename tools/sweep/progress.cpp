#include "tools/sweep/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>

namespace trainyard {
namespace {

std::string time_left(double seconds) {
  const long whole = std::isfinite(seconds) ? std::lround(seconds) : 0;
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

class Progress {
 public:
  explicit Progress(const std::string& mode)
      : json_(mode == "json"),
        rewrites_(mode == "always" || (mode == "auto" && isatty(STDERR_FILENO) != 0)),
        pause_(json_       ? std::chrono::milliseconds(1000)
               : rewrites_ ? std::chrono::milliseconds(200)
                           : std::chrono::milliseconds(30'000)),
        next_(begin_ + (rewrites_ ? std::chrono::milliseconds(0) : pause_)) {}

  void operator()(const SweepState& state) {
    const auto now = Clock::now();
    const std::uint64_t done = state.before + state.done;
    if (now < next_ && (done < state.all || !(rewrites_ || json_))) return;
    next_ = now + pause_;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double rate = static_cast<double>(state.done) / seconds;
    const double left = static_cast<double>(state.all - done) / rate;
    std::string line;
    if (json_) {
      line = fmt::format(R"({{"done":{},"all":{},"failed":{},"per_s":{:.3g},"left_s":{:.0f}}})",
                         done, state.all, state.failed, rate, left);
    } else {
      line = fmt::format("sweep: {}/{}, {} failed, {:.3g}/s, {} left", done, state.all,
                         state.failed, rate, time_left(left));
    }
    if (!rewrites_) return print(line + "\n");
    print("\r" + line + "\x1b[K" + (done == state.all ? "\n" : ""));
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Nobody to tell is no reason to stop.
  static void print(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }
  bool json_, rewrites_;
  std::chrono::milliseconds pause_;
  Clock::time_point begin_ = Clock::now(), next_;
};

}  // namespace

std::function<void(const SweepState&)> sweep_progress(const std::string& mode) {
  if (mode == "never") return [](const SweepState&) {};
  return Progress(mode);
}

}  // namespace trainyard
