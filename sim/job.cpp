#include "sim/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "sim/error.hpp"
#include "sim/random.hpp"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostEvents = 10'000'000;

/// Time that a failure may still turn into lost time.
struct Ledger {
  double draining = 0, checkpoint = 0, stalled = 0;

  void add(const Ledger& other, double times = 1) {
    draining += other.draining * times;
    checkpoint += other.checkpoint * times;
    stalled += other.stalled * times;
  }
};

void check(const JobPlan& plan) {
  const auto duration = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  require(plan.steps >= 1 && plan.interval_steps >= 0 && plan.prefetch >= 0, "counts of a JobPlan");
  require(duration(plan.step) && plan.step > 0, "JobPlan::step");
  require(duration(plan.checkpoint_block) && duration(plan.checkpoint_drain), "checkpoint times");
  require(plan.checkpoint_drain == 0 || (duration(plan.draining_step) && plan.draining_step > 0),
          "JobPlan::draining_step");
  require(duration(plan.detection) && duration(plan.repair) && duration(plan.restore), "downtimes");
  require(duration(plan.stall) && duration(plan.batch_load), "loading times");
}

/// One run of the job, from event to event. A segment is the iterations up to a checkpoint's block.
class JobRun {
 public:
  JobRun(const JobPlan& plan, EventTimes failures, EventTimes stalls)
      : plan_(plan),
        next_failure_(std::move(failures)),
        next_stall_(std::move(stalls)),
        interval_(plan.interval_steps > 0 ? plan.interval_steps : plan.steps),
        alone_(plan.step, plan.step, plan.batch_load),
        // A drain of no length leaves no time beside it, and need not give its iterations one.
        beside_(plan.step, plan.checkpoint_drain > 0 ? plan.draining_step : plan.step,
                plan.batch_load),
        failure_(next_failure_()),
        stall_(next_stall_()) {
    restart();
    find_period();
  }

  JobOutcome run() {
    while (!finished_) {
      skip_whole_segments();
      to_next_event();
    }
    commit(drained_);
    commit(since_);
    out_.wall = now_;
    out_.useful = double(plan_.steps) * plan_.step;
    out_.steps_done += plan_.steps;
    const double sum =
        out_.useful + out_.lost + out_.draining + out_.checkpoint + out_.stalled + out_.down;
    // Rounding stays far below this even over millions of events.
    require(std::abs(sum - out_.wall) <= 1e-9 * out_.wall, "every second of a job in one category");
    return out_;
  }

 private:
  enum class Phase { kTrain, kWait, kBlock };

  /// One iteration: the time it takes, and which parts of that are not useful.
  struct Pace {
    Pace(double step, double computing, double load)
        : time(std::max(computing, load)), extra(computing - step), starved(time - computing) {}
    double time, extra, starved;
  };

  bool stalling() const { return stall_end_ < kNever; }
  bool starving() const { return stalling() && held_ <= 0; }
  bool draining() const { return drain_end_ < kNever; }
  const Pace& pace() const { return draining() ? beside_ : alone_; }

  double phase_end() const {
    if (phase_ == Phase::kBlock) return block_end_;
    if (phase_ == Phase::kWait || starving()) return kNever;  // until another event
    return now_ + (double(length_) - done_) * pace().time;
  }
  double held_end() const {
    const bool falls = phase_ == Phase::kTrain && stalling() && held_ > 0;
    return falls ? now_ + held_ * pace().time : kNever;
  }

  /// Moves to the nearest event and does all that falls on that moment. The failure comes last, so
  /// that what ends with it is done.
  void to_next_event() {
    const double phase = phase_end(), held = held_end();
    const double next = std::min({phase, held, drain_end_, stall_end_, stall_, failure_});
    pass_until(next);
    if (next == held) held_ = 0;
    if (next == drain_end_) end_drain();
    if (next == phase) end_phase();
    if (next == stall_end_) end_stall();
    if (next == stall_) begin_stall();
    if (next == failure_ && !finished_) fail();
  }

  void pass_until(double time) {
    const double seconds = time - now_;
    now_ = time;
    double iterations = 0;
    if (phase_ != Phase::kTrain) {
      since_.checkpoint += seconds;
    } else if (starving()) {
      since_.stalled += seconds;
    } else {
      iterations = seconds / pace().time;
      done_ += iterations;
      since_.draining += iterations * pace().extra;
      since_.stalled += iterations * pace().starved;
    }
    double brought = 0;
    if (!stalling()) brought = plan_.batch_load > 0 ? seconds / plan_.batch_load : kNever;
    held_ = std::clamp(held_ + brought - iterations, 0.0, double(plan_.prefetch));
  }

  void end_phase() {
    if (phase_ == Phase::kBlock) {
      begin_drain();
    } else if (base_ + length_ == plan_.steps) {
      finished_ = true;
    } else if (done_ = double(length_); draining()) {
      phase_ = Phase::kWait;
    } else {
      begin_block();
    }
  }
  void begin_block() {
    phase_ = Phase::kBlock;
    block_end_ = now_ + plan_.checkpoint_block;
  }
  void begin_drain() {
    drained_ = std::exchange(since_, {});
    drain_begin_ = now_;
    drain_end_ = now_ + plan_.checkpoint_drain;
    begin_segment(base_ + length_);
  }
  void end_drain() {
    commit(std::exchange(drained_, {}));
    durable_ = base_;
    durable_since_ = drain_begin_;
    drain_end_ = kNever;
    if (phase_ == Phase::kWait) begin_block();
  }

  void begin_segment(std::int64_t base) {
    phase_ = Phase::kTrain;
    base_ = base;
    done_ = 0;
    length_ = std::min(interval_, plan_.steps - base);
  }

  void begin_stall() {
    if (++stalls_ == kMostEvents) give_up("stalls", plan_.stalls_per_second);
    const double end = stall_ + plan_.stall;
    stall_end_ = stalling() ? std::max(stall_end_, end) : end;
    stall_ = next_stall_();
  }
  void end_stall() {
    stall_end_ = kNever;
    if (plan_.batch_load == 0) held_ = plan_.prefetch;
  }

  void fail() {
    out_.lost += now_ - durable_since_;
    // Far above the rounding of a fluid position that is whole, far below what anyone would count.
    out_.steps_done += base_ - durable_ + std::int64_t(std::floor(done_ + 1e-6));
    const double down = plan_.detection + plan_.repair + plan_.restore;
    double up = now_;
    do {
      if (++out_.failures == kMostEvents) give_up("failures", plan_.failures_per_second);
      up = now_ + down;
      failure_ = next_failure_();
      const double until = std::min(up, failure_);
      out_.down += until - now_;
      now_ = until;
    } while (now_ < up);
    restart();
  }

  /// Training begins at the durable state, with nothing on its way there.
  void restart() {
    drained_ = since_ = {};
    durable_since_ = now_;
    drain_end_ = kNever;
    held_ = plan_.prefetch;
    begin_segment(durable_);
    while (stall_ <= now_) begin_stall();
    if (stall_end_ <= now_) end_stall();
  }

  /// The segment that repeats while nothing happens: from the end of a block to that of the next.
  void find_period() {
    const double most = double(interval_);
    const double beside = std::min(most, plan_.checkpoint_drain / beside_.time);
    const double alone = most - beside;
    const double wait = std::max(0.0, plan_.checkpoint_drain - most * beside_.time);
    period_.draining = beside * beside_.extra;
    period_.stalled = beside * beside_.starved + alone * alone_.starved;
    period_.checkpoint = wait + plan_.checkpoint_block;
    period_time_ = beside * beside_.time + alone * alone_.time + period_.checkpoint;
  }

  void skip_whole_segments() {
    const bool steady = phase_ == Phase::kTrain && done_ == 0 && draining() &&
                        now_ == drain_begin_ && !stalling() && held_ == plan_.prefetch;
    if (!steady) return;
    const double until = std::min(failure_, stall_);
    const std::int64_t left = (plan_.steps - base_ - 1) / interval_;  // the last has no block
    double segments = std::min(double(left), std::floor((until - now_) / period_time_));
    if (segments >= 1 && now_ + segments * period_time_ > until) --segments;
    if (segments < 1) return;
    commit(drained_);
    Ledger sure;
    sure.add(period_, segments - 1);
    commit(sure);
    drained_ = period_;
    now_ += segments * period_time_;
    begin_segment(base_ + std::int64_t(segments) * interval_);
    durable_ = base_ - interval_;
    durable_since_ = now_ - period_time_;
    drain_begin_ = now_;
    drain_end_ = now_ + plan_.checkpoint_drain;
  }

  void commit(const Ledger& ledger) {
    out_.draining += ledger.draining;
    out_.checkpoint += ledger.checkpoint;
    out_.stalled += ledger.stalled;
  }

  [[noreturn]] void give_up(std::string_view what, double per_second) const {
    const std::string interval =
        plan_.interval_steps > 0
            ? fmt::format("an interval of {} iterations ({:.4g} s) between checkpoints",
                          plan_.interval_steps, double(plan_.interval_steps) * alone_.time)
            : std::string("no checkpoints");
    throw DesignError(
        "",
        fmt::format("the job practically never finishes: after {} {} ({:.4g} per second) with {} "
                    "it has kept {} of {} iterations",
                    kMostEvents, what, per_second, interval, durable_, plan_.steps),
        fmt::format("shorten the interval between checkpoints, the checkpoint or the downtime, or "
                    "have fewer {}",
                    what),
        ExitCode::kInfeasible);
  }

  const JobPlan& plan_;
  EventTimes next_failure_, next_stall_;
  std::int64_t interval_;
  Pace alone_, beside_;
  Ledger period_;
  double period_time_ = 0;

  double now_ = 0;
  double failure_, stall_;                            ///< when the next one begins
  double block_end_ = kNever, stall_end_ = kNever;    ///< of what is going on
  double drain_begin_ = kNever, drain_end_ = kNever;  ///< of the last checkpoint
  double held_ = 0;                                   ///< iterations of data, beside the loader's
  Phase phase_ = Phase::kTrain;
  bool finished_ = false;
  std::int64_t base_ = 0, length_ = 0;  ///< iterations before this segment, and in it
  double done_ = 0;                     ///< of this segment's iterations
  std::int64_t durable_ = 0;            ///< iterations that no failure undoes
  double durable_since_ = 0;            ///< when training went on from there
  Ledger drained_;                      ///< from durable_since_ to the end of the block whose
                                        ///< checkpoint drains
  Ledger since_;                        ///< after that
  std::int64_t stalls_ = 0;
  JobOutcome out_;
};

Estimate estimate(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  const auto rank = [&](std::size_t percent) {
    return values[(percent * values.size() + 99) / 100 - 1];
  };
  return {sum / double(values.size()), rank(5), rank(95)};
}

}  // namespace

EventTimes poisson_times(double per_second, std::uint64_t seed, std::uint32_t stream) {
  require(std::isfinite(per_second) && per_second >= 0, "rate of events");
  if (per_second == 0) return [] { return kNever; };
  std::seed_seq words{std::uint32_t(seed), std::uint32_t(seed >> 32), stream};
  std::array<std::uint32_t, 2> mixed{};  // so that neighbouring seeds have nothing in common
  words.generate(mixed.begin(), mixed.end());
  return [random = Random(std::uint64_t{mixed[0]} << 32 | mixed[1]), mean = 1 / per_second,
          time = 0.0]() mutable { return time += random.exponential(mean); };
}

EventTimes listed_times(std::span<const double> times) {
  require(std::is_sorted(times.begin(), times.end()), "ascending times of events");
  return [times, next = std::size_t{0}]() mutable {
    return next < times.size() ? times[next++] : kNever;
  };
}

JobOutcome simulate_job(const JobPlan& plan, EventTimes failures, EventTimes stalls) {
  check(plan);
  return JobRun(plan, std::move(failures), std::move(stalls)).run();
}

JobOutcome simulate_job(const JobPlan& plan, std::uint64_t seed) {
  return simulate_job(plan, poisson_times(plan.failures_per_second, seed, 0),
                      poisson_times(plan.stalls_per_second, seed, 1));
}

JobStatistics simulate_job_over_seeds(const JobPlan& plan, std::uint64_t first_seed, int seeds) {
  require(seeds >= 1, "seeds of a job");
  JobStatistics all;
  all.seeds = seeds;
  std::vector<double> wall, goodput, failures;
  double steps_done = 0;
  for (int i = 0; i < seeds; ++i) {
    const JobOutcome one = simulate_job(plan, first_seed + std::uint64_t(i));
    wall.push_back(one.wall);
    goodput.push_back(one.useful / one.wall);
    failures.push_back(double(one.failures));
    steps_done += double(one.steps_done) / seeds;
    for (double JobOutcome::*part :
         {&JobOutcome::wall, &JobOutcome::useful, &JobOutcome::lost, &JobOutcome::draining,
          &JobOutcome::checkpoint, &JobOutcome::stalled, &JobOutcome::down})
      all.mean.*part += one.*part / seeds;
  }
  all.wall = estimate(std::move(wall));
  all.goodput = estimate(std::move(goodput));
  all.failures = estimate(std::move(failures));
  all.mean.failures = std::llround(all.failures.mean);
  all.mean.steps_done = std::llround(steps_done);
  return all;
}

std::int64_t young_daly_steps(double block, double failures_per_second, double step) {
  require(block >= 0 && failures_per_second >= 0 && step > 0, "arguments of young_daly_steps");
  if (failures_per_second == 0) return 0;
  const double steps = std::sqrt(2 * block / failures_per_second) / step;
  return std::llround(std::clamp(steps, 1.0, 0x1p53));
}

double first_order_waste(double block, double tau, double down, double mtbf) {
  return block / tau + (tau / 2 + down) / mtbf;
}

}  // namespace trainyard
