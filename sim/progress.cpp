#include "sim/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace trainyard {
namespace {

bool muted = false;

}  // namespace

void mute_progress() { muted = true; }

Engine::Progress progress_on_stderr(std::string_view doing, std::string_view what) {
  if (muted) return [](std::size_t, std::size_t) {};
  using Clock = std::chrono::steady_clock;
  struct State {
    Clock::time_point begin = Clock::now(), next = begin + std::chrono::seconds(1);
    bool terminal = isatty(STDERR_FILENO) != 0;
  };
  return [state = std::make_shared<State>(), doing = std::string(doing), what = std::string(what)](
             std::size_t done, std::size_t total) {
    const auto now = Clock::now();
    if (now < state->next) return;
    state->next =
        now + (state->terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
    const double seconds = std::chrono::duration<double>(now - state->begin).count();
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const std::string line =
        fmt::format("{}: {:.0f}% of {} {}, {:.0f} s, about {:.0f} s left", doing, 100 * share,
                    total, what, seconds, seconds / share - seconds);
    fmt::print(stderr, fmt::runtime(state->terminal ? "\r{}\x1b[K" : "{}\n"), line);
    if (state->terminal && done == total) fmt::print(stderr, "\r\x1b[K");
  };
}

}  // namespace trainyard
