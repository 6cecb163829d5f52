#include "sim/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"
#include "sim/recurrence.hpp"

namespace trainyard {
namespace {

constexpr std::uint32_t kNone = Timeline::kNone;

}  // namespace

RunState::RunState(const OpGraph& graph)
    : count(graph.size()), next(graph.size()), done(graph.size()), all(graph.instances()) {
  for (std::size_t i = 0; i < graph.size(); ++i) count[i] = graph.iterations(OpId(i));
}

Engine::Engine(const OpGraph& graph, Executor& executor, std::size_t ranks, Progress progress)
    : graph_(graph),
      executor_(executor),
      state_(graph),
      missing_(graph.waits()),
      cause_(graph.size(), kNone),
      gpu_index_(ranks, kNone),
      queues_(graph.queues()),
      progress_(std::move(progress)),
      timeline_(graph) {
  std::uint32_t gpus = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(OpId(i)) != OpKind::kCompute) continue;
    std::uint32_t& index = gpu_index_[graph.rank(OpId(i)).index()];
    if (index == kNone) index = gpus++;
  }
  gpus_.resize(gpus);
}

Engine::~Engine() = default;

void Engine::skip_repetition() {
  recurrence_ = std::make_unique<Recurrence>(graph_, executor_, state_, timeline_);
}

std::uint64_t Engine::skipped() const { return recurrence_ ? recurrence_->skipped() : 0; }

Timeline Engine::run() {
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    if (graph_.iterations(OpId(i)) > 1) {
      prepare(OpId(i));
    } else if (missing_[i] == 0) {
      ready_.emplace_back(i);
    }
  }
  start_ready();
  executor_.run(*this);
  if (state_.all_done != state_.all) throw_stuck();
  timeline_.complete(graph_);
  return std::move(timeline_);
}

void Engine::ended(const std::vector<OpId>& ops, double now) {
  // Kernels first: a communication that ends at the same date must not rescale one that is over.
  for (const OpId op : ops) {
    if (graph_.kind(op) == OpKind::kCompute)
      std::erase_if(gpu_of(op).running, [op](const Kernel& kernel) { return kernel.op == op; });
  }
  for (const OpId op : ops) finish(op, now);
  start_ready();
  if (recurrence_) recurrence_->look(now);
}

// Joins finish at once and may make more ready, so this is a worklist and not a recursion.
void Engine::start_ready() {
  const double now = executor_.now();
  do {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const OpId op = ready_[i];
      if (graph_.queues() > 0 && graph_.queues(op)[0] != OpGraph::kNoQueue) {
        enqueue(op);
      } else {
        start(op, now);
      }
    }
    ready_.clear();
    serve_queues(now);
  } while (!ready_.empty());
}

void Engine::enqueue(OpId op) {
  const std::uint32_t queue = graph_.queues(op)[0];
  queues_[queue].waiting.push(op);
  touched_.push_back(queue);
}

// Starts what waits in queues that are free, of all of them the first added first. What finds its
// other queue busy waits there instead.
void Engine::serve_queues(double now) {
  using Head = std::pair<OpId, std::uint32_t>;  // what waits first, and in which queue
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto offer = [&](std::uint32_t index) {
    const Queue& queue = queues_[index];
    if (!queue.busy && !queue.waiting.empty()) heads.emplace(queue.waiting.top(), index);
  };
  while (!touched_.empty() || !heads.empty()) {
    for (const std::uint32_t index : touched_) offer(index);
    touched_.clear();
    if (heads.empty()) return;
    const auto [op, index] = heads.top();
    heads.pop();
    Queue& queue = queues_[index];
    if (queue.busy || queue.waiting.empty() || queue.waiting.top() != op) continue;
    queue.waiting.pop();
    if (take_queues(op, now)) start(op, now);
    offer(index);
  }
}

bool Engine::take_queues(OpId op, double now) {
  const OpGraph::Queues all = graph_.queues(op);
  for (const std::uint32_t index : all) {
    if (index == OpGraph::kNoQueue || !queues_[index].busy) continue;
    queues_[index].waiting.push(op);
    return false;
  }
  std::uint32_t& cause = cause_[op.index()];
  for (const std::uint32_t index : all) {
    if (index == OpGraph::kNoQueue) continue;
    Queue& queue = queues_[index];
    queue.busy = true;
    if (queue.freed_by == kNone || timeline_.finish(queue.freed_by) < now) continue;
    if (cause == kNone || timeline_.finish(cause) < now) cause = queue.freed_by;
  }
  return true;
}

void Engine::free_queues(OpId op, std::uint32_t record) {
  for (const std::uint32_t index : graph_.queues(op)) {
    if (index == OpGraph::kNoQueue) continue;
    queues_[index].busy = false;
    queues_[index].freed_by = record;
    touched_.push_back(index);
  }
}

void Engine::start(OpId op, double now) {
  const std::size_t i = op.index();
  const std::uint32_t iteration = state_.next[i]++;
  timeline_.started(op, iteration, now, cause_[i]);
  if (state_.next[i] < state_.count[i]) prepare(op);
  if (graph_.occupancy(op) != OpGraph::kNoOccupancy)
    occupy(graph_.occupancy_at(graph_.occupancy(op)), true, now);
  switch (graph_.kind(op)) {
    case OpKind::kJoin:
      finish(op, now);
      return;
    case OpKind::kDelay:
      executor_.start_delay(op, graph_.work(op, iteration));
      return;
    case OpKind::kFlow:
      executor_.start_flow(op, graph_.path(op), graph_.work(op));
      return;
    case OpKind::kCompute:
      start_kernel(op, now);
      return;
  }
}

void Engine::start_kernel(OpId op, double now) {
  Gpu& gpu = gpu_of(op);
  require(gpu.running.empty() || graph_.overlap(), "two kernels at once on one compute stream");
  const Kernel kernel{op, graph_.work(op), graph_.steady(op) ? 1 : gpu.slowest(), now};
  gpu.running.push_back(kernel);
  executor_.start_delay(op, kernel.left / kernel.rate);
}

void Engine::finish(OpId op, double now) {
  const std::size_t i = op.index();
  require(state_.done[i] < state_.next[i], "an operation ended that does not run");
  const std::uint32_t iteration = state_.done[i]++;
  const bool last = state_.done[i] == state_.count[i];
  timeline_.finished(op, iteration, now);
  ++state_.all_done;
  constexpr std::size_t kReportEvery = 1 << 14;
  if (progress_ && state_.all_done % kReportEvery == 0) progress_(state_.all_done, state_.all);
  if (graph_.occupancy(op) != OpGraph::kNoOccupancy)
    occupy(graph_.occupancy_at(graph_.occupancy(op)), false, now);
  const auto record = static_cast<std::uint32_t>(timeline_.record(op, iteration));
  if (!queues_.empty()) free_queues(op, record);
  for (const OpEdge& edge : graph_.successors(op)) {
    const std::size_t after = edge.op.index();
    const std::int64_t next = state_.next[after];
    if (next == state_.count[after]) continue;
    const bool concerned = edge.shift == OpEdge::kAfterLast ? last && next == 0
                           : edge.shift == OpEdge::kLastAfterLast
                               ? last && next + 1 == state_.count[after]
                               : std::int64_t{iteration} + edge.shift == next;
    if (concerned) notify(edge.op, record, now);
  }
}

// Of conditions that are met at one date, the first one counts as the cause.
void Engine::notify(OpId op, std::uint32_t record, double now) {
  const std::size_t i = op.index();
  if (cause_[i] == kNone || timeline_.finish(cause_[i]) < now) cause_[i] = record;
  if (--missing_[i] == 0) ready_.push_back(op);
}

// What the next iteration of an operation of several still waits for.
void Engine::prepare(OpId op) {
  const std::size_t i = op.index();
  const std::int64_t next = state_.next[i];
  missing_[i] = 0;
  cause_[i] = kNone;
  for (const OpEdge& edge : graph_.predecessors(op)) {
    const std::size_t before = edge.op.index();
    std::int64_t needed = next - edge.shift;  // an iteration of `before`
    if (edge.shift <= OpEdge::kLastAfterLast) {
      const bool first = edge.shift == OpEdge::kAfterLast;
      if (first ? next != 0 : next + 1 != state_.count[i]) continue;
      needed = state_.count[before] - 1;
    }
    if (needed < 0 || needed >= state_.count[before]) continue;
    if (needed >= state_.done[before]) {
      ++missing_[i];
      continue;
    }
    const auto record =
        static_cast<std::uint32_t>(timeline_.record(edge.op, static_cast<std::uint32_t>(needed)));
    if (cause_[i] == kNone || timeline_.finish(cause_[i]) < timeline_.finish(record))
      cause_[i] = record;
  }
  if (missing_[i] == 0) ready_.push_back(op);
}

void Engine::occupy(const Occupancy& occupancy, bool begins, double now) {
  for (const Rank rank : occupancy.ranks) {
    if (gpu_index_[rank.index()] == kNone) continue;
    Gpu& gpu = gpus_[gpu_index_[rank.index()]];
    auto& all = gpu.slowdowns;
    if (begins) {
      all.push_back(occupancy.slowdown);
    } else {
      all.erase(std::find(all.begin(), all.end(), occupancy.slowdown));
    }
    rescale(gpu, now);
  }
}

// A kernel runs at 1 minus the worst slowdown beside it: concurrent communication kernels share the
// SMs that the first one took.
double Engine::Gpu::slowest() const {
  return 1 - (slowdowns.empty() ? 0 : *std::max_element(slowdowns.begin(), slowdowns.end()));
}

void Engine::rescale(Gpu& gpu, double now) {
  const double rate = gpu.slowest();
  for (Kernel& kernel : gpu.running) {
    if (rate == kernel.rate || graph_.steady(kernel.op)) continue;
    kernel.left = std::max(0.0, kernel.left - (now - kernel.since) * kernel.rate);
    kernel.rate = rate;
    kernel.since = now;
    executor_.restart_delay(kernel.op, kernel.left / rate);
  }
}

void Engine::throw_stuck() const {
  std::vector<OpId> work, joins;
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    if (state_.done[i] == state_.count[i]) continue;
    (graph_.kind(OpId(i)) == OpKind::kJoin ? joins : work).emplace_back(i);
  }
  // Joins are nothing that a user knows: named only where there is nothing else.
  const std::vector<OpId>& named = work.empty() ? joins : work;
  constexpr std::size_t kShown = 5;
  std::string waiting;
  for (std::size_t i = 0; i < std::min(named.size(), kShown); ++i) {
    const std::size_t op = named[i].index();
    waiting += fmt::format("{}{} waits for {} more", i == 0 ? "" : ", ",
                           graph_.describe(named[i], state_.next[op]), missing_[op]);
  }
  throw StuckError(fmt::format(
      "the workload can never finish: {} of {} operations cannot start ({}); they wait for each "
      "other or for something that never ends",
      state_.all - state_.all_done, state_.all, waiting));
}

}  // namespace trainyard
