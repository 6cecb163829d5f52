#include "tools/sweep/runner.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/isolate.hpp"

namespace trainyard {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// While it lives, SIGINT, SIGTERM and SIGHUP only raise the flag.
class InterruptFlag {
 public:
  InterruptFlag() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;
  ~InterruptFlag() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

struct Trial {
  std::uint64_t point = 0;
  int tries = 0;
};

class Run {
 public:
  Run(const Sweep& sweep, const SweepStore& store, const SweepRunOptions& options,
      const std::function<void(const SweepState&)>& progress)
      : sweep_(sweep), options_(options), progress_(progress), writer_(store, options.shard) {
    store.each_row([&](const Json& row) {
      if (options.retry_failed && row.at("status") == Json("failed")) {
        done_.erase(row.at("id").as_string());
      } else {
        done_.insert(row.at("id").as_string());
      }
    });
    find_variants();
  }

  SweepState run() {
    const InterruptFlag flag;
    run_pool([&] { return next(); }, options_.jobs,
             [&](std::size_t task, TaskOutcome outcome) { ended(task, std::move(outcome)); },
             [] { return interrupted != 0; });
    state_.interrupted = interrupted != 0;
    return state_;
  }

 private:
  // Which variants of the shard have no row. Remembers where they are, not what.
  void find_variants() {
    std::unordered_set<std::string> seen;
    sweep_.each([&](std::uint64_t, const std::vector<std::size_t>& digits) {
      const Variant variant = sweep_.variant(digits);
      if (!variant.excluded_by.empty()) return true;
      const std::string id = sweep_.id(variant);
      if (!options_.shard.has(id) || !seen.insert(id).second) return true;
      ++state_.all;
      if (done_.contains(id)) {
        ++state_.before;
      } else {
        todo_.push_back({sweep_.point_of(digits), 0});
      }
      return true;
    });
    done_.clear();
  }

  Task next() {
    if (todo_.empty()) return {};
    const Trial trial = running_[started_++] = todo_.front();
    todo_.pop_front();
    return [&sweep = sweep_, trial] {
      const Variant variant = sweep.variant(sweep.digits_of(trial.point));
      return sweep.row(variant, sweep.id(variant));
    };
  }

  void ended(std::size_t task, TaskOutcome outcome) {
    constexpr int kTries = 3;
    const auto at = running_.find(task);
    Trial trial = at->second;
    running_.erase(at);
    if (outcome.error && outcome.signal != 0 && ++trial.tries < kTries) {
      todo_.push_front(trial);
      return;
    }
    if (outcome.error) outcome.result = failed_row(trial, outcome);
    writer_.append(outcome.result);
    ++state_.done;
    const std::string& status = outcome.result.at("status").as_string();
    if (status != "ok" && status != "excluded") ++state_.failed;
    progress_(state_);
  }

  Json failed_row(const Trial& trial, const TaskOutcome& outcome) const {
    const Variant variant = sweep_.variant(sweep_.digits_of(trial.point));
    Json row = sweep_.failed_row(variant, sweep_.id(variant), outcome.error);
    if (outcome.signal != 0) row["reason"] = Json(row.at("reason").as_string() + ", three times");
    return row;
  }

  const Sweep& sweep_;
  const SweepRunOptions& options_;
  const std::function<void(const SweepState&)>& progress_;
  ShardWriter writer_;
  std::unordered_set<std::string> done_;  ///< ids
  std::deque<Trial> todo_;
  std::unordered_map<std::size_t, Trial> running_;
  std::size_t started_ = 0;
  SweepState state_;
};

}  // namespace

SweepState run_sweep(const Sweep& sweep, const SweepStore& store, const SweepRunOptions& options,
                     const std::function<void(const SweepState&)>& progress) {
  return Run(sweep, store, options, progress).run();
}

}  // namespace trainyard
