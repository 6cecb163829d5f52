// A training job over days: checkpoints, failures, restarts and storage hiccups.
//
// The time of an iteration comes from elsewhere and is the same throughout; here it is repeated
// between events. All times are plain seconds and all rates per second: the module is arithmetic on
// one axis, its plans are filled from typed quantities.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace trainyard {

/// What a job does over days, all times in seconds.
///
/// The job repeats segments of `interval_steps` iterations, each followed by a checkpoint, except
/// after the last iteration. Progress within an iteration is fluid: one beside which a drain ends
/// takes `draining_step` for the part before that and `step` for the rest.
struct JobPlan {
  std::int64_t steps = 0;           ///< training iterations to complete, at least 1
  double step = 0;                  ///< one iteration, nothing else going on
  double draining_step = 0;         ///< one iteration while a checkpoint drains beside it
  std::int64_t interval_steps = 0;  ///< iterations between checkpoints; 0: none are taken
  double checkpoint_block = 0;      ///< GPUs stand still for each checkpoint
  /// From the end of the block until the checkpoint is durable, 0 when the block sees to that.
  /// Stalls do not prolong it. A checkpoint that is due before it is over waits for it.
  double checkpoint_drain = 0;
  double failures_per_second = 0;  ///< of the whole job, Poisson in wall-clock time
  /// After each failure, one after another, no training; a failure meanwhile starts them anew.
  double detection = 0, repair = 0, restore = 0;
  double stalls_per_second = 0;  ///< storage hiccups, Poisson in wall-clock time
  double stall = 0;              ///< length of one: no data arrives meanwhile; they may overlap
  double batch_load = 0;         ///< time in which the loader brings one iteration's data
  /// Iterations of data held ahead. The job starts and restarts with all of them. They outlast
  /// stalls and nothing else: a loader slower than the GPUs sets the pace in every iteration, even
  /// after a pause in which it could get ahead (which errs by at most these per pause).
  int prefetch = 1;
};

/// Where the time went, in seconds: wall = useful + lost + draining + checkpoint + stalled + down.
/// What failures undid is in `lost` alone; the other categories are of the training that counts.
struct JobOutcome {
  double wall = 0;
  double useful = 0;      ///< the iterations of the plan, at `step` each
  double lost = 0;        ///< running since the block of the checkpoint that a failure fell back to
  double draining = 0;    ///< extra time of iterations beside a draining checkpoint
  double checkpoint = 0;  ///< blocks, and waiting to begin one until the drain before it is over
  double stalled = 0;     ///< waiting for data
  double down = 0;        ///< detection, repair, restore
  std::int64_t failures = 0;
  std::int64_t steps_done = 0;  ///< iterations completed, redone ones again
};

/// Times of events in seconds since the start, ascending, one per call; infinity after the last.
using EventTimes = std::function<double()>;

/// Poisson events. Different streams of one seed are independent; the same stream gives the same
/// times for the same rate, and times in proportion for another.
EventTimes poisson_times(double per_second, std::uint64_t seed, std::uint32_t stream);

/// Events at the given times, which must be ascending and outlive the result.
EventTimes listed_times(std::span<const double> times);

/// Runs the job with failures and stalls at the given times instead of at the plan's rates. What
/// ends at the very moment of a failure is done. Throws DesignError (kInfeasible) at the
/// ten-millionth failure or stall: such a job practically never finishes.
JobOutcome simulate_job(const JobPlan& plan, EventTimes failures, EventTimes stalls);

/// The same with the plan's rates. Plans with the same rates see the same events for the same seed.
JobOutcome simulate_job(const JobPlan& plan, std::uint64_t seed);

/// Mean, 5th and 95th percentile (nearest rank) over the seeds.
struct Estimate {
  double mean = 0, low = 0, high = 0;
};

struct JobStatistics {
  JobOutcome mean;  ///< its counts are rounded
  Estimate wall, goodput /* useful / wall */, failures;
  std::int64_t seeds = 0;
};

/// Seeds first_seed, first_seed + 1, …; at least one.
JobStatistics simulate_job_over_seeds(const JobPlan& plan, std::uint64_t first_seed, int seeds);

/// Iterations between checkpoints that cost least, to first order: sqrt(2 * block * MTBF) (Young
/// 1974, doi:10.1145/361147.361115; Daly 2006, doi:10.1016/j.future.2004.11.016), to the nearest
/// iteration and at least 1. Without failures 0, as in JobPlan: no checkpoints.
std::int64_t young_daly_steps(double block, double failures_per_second, double step);

/// Time wasted per time of training, to first order in 1 / mtbf (the same sources): a block every
/// `tau` seconds of training, and per failure half of `tau` and the downtime.
double first_order_waste(double block, double tau, double down, double mtbf);

}  // namespace trainyard
