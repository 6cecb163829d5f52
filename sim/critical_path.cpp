#include "sim/critical_path.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <tuple>

#include "sim/record_graph.hpp"

namespace trainyard {
namespace {

/// A gain of less than this share of the run is rounding.
constexpr double kRounding = 1e-12;

double rounded_gain(double gain, double end) { return gain > kRounding * end ? gain : 0; }

/// Number of the label, role and purpose of each operation.
struct Groups {
  explicit Groups(const OpGraph& graph) : of_op(graph.size()) {
    std::map<std::tuple<std::string_view, OpRole, OpRole>, std::uint32_t> numbers;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const OpId op(i);
      const auto [it, is_new] =
          numbers.try_emplace({graph.label_of(op), graph.role(op), graph.purpose(op)}, count);
      if (is_new) ++count;
      of_op[i] = it->second;
    }
  }
  std::vector<std::uint32_t> of_op;
  std::uint32_t count = 0;
};

// Of several that end last the first.
std::uint32_t last_record(const OpGraph& graph, const Timeline& timeline) {
  std::uint32_t last = Timeline::kNone;
  for (std::size_t record = 0; record < graph.instances(); ++record) {
    if (last == Timeline::kNone || timeline.finish(record) > timeline.finish(last))
      last = static_cast<std::uint32_t>(record);
  }
  return last;
}

// What a record waited for last. Where all that it needs had ended earlier, it waited for the start
// of the iteration before, and so for what that one waited for.
std::uint32_t cause_of(const Timeline& timeline, OpId op, std::uint32_t record) {
  const double start = timeline.start(record);
  const auto ends_before = [&](std::uint32_t cause) {
    return cause == Timeline::kNone || timeline.finish(cause) < start;
  };
  const std::size_t first = timeline.record(op);
  std::uint32_t cause = timeline.cause(record);
  for (std::size_t at = record; ends_before(cause) && at > first; cause = timeline.cause(at)) {
    if (timeline.start(--at) != start) return timeline.cause(record);
  }
  return ends_before(cause) ? timeline.cause(record) : cause;
}

CriticalPath trace(const OpGraph& graph, const Timeline& timeline) {
  CriticalPath path;
  std::uint32_t record = last_record(graph, timeline);
  while (record != Timeline::kNone) {
    const OpId op = timeline.op_of(record);
    const double start = timeline.start(record), duration = timeline.finish(record) - start;
    if (duration > 0)
      path.steps.push_back({op, static_cast<std::uint32_t>(record - timeline.record(op)), start,
                            duration, std::nullopt});
    record = cause_of(timeline, op, record);
    path.waiting += start - (record == Timeline::kNone ? 0 : timeline.finish(record));
  }
  std::reverse(path.steps.begin(), path.steps.end());
  return path;
}

/// Raises ranges of a list of numbers that begin at 0: a tree whose nodes hold what their whole
/// range was raised to.
class RaisedRanges {
 public:
  explicit RaisedRanges(std::size_t count) : count_(count), tree_(2 * count) {}
  void raise(std::size_t from, std::size_t to, double value) {
    for (from += count_, to += count_; from < to; from /= 2, to /= 2) {
      if (from % 2 != 0) raise(from++, value);
      if (to % 2 != 0) raise(--to, value);
    }
  }
  std::vector<double> values() {
    for (std::size_t i = 2; i < tree_.size(); ++i) raise(i, tree_[i / 2]);
    return {tree_.begin() + static_cast<std::ptrdiff_t>(count_), tree_.end()};
  }

 private:
  void raise(std::size_t node, double value) { tree_[node] = std::max(tree_[node], value); }
  std::size_t count_;
  std::vector<double> tree_;
};

// The longest way from the start of each record to the end of the run.
std::vector<double> ways_to_end(const RecordGraph& records) {
  std::vector<double> ways(records.size());
  for (std::size_t i = records.size(); i-- > 0;) {
    double after = 0, beside = 0;
    for (const RecordGraph::Edge edge : records.edges(i)) {
      double& longest = edge.from_start != 0 ? beside : after;
      longest = std::max(longest, ways[edge.to]);
    }
    ways[i] = std::max(records.duration(i) + after, beside);
  }
  return ways;
}

// A way that does not go through a record jumps over its place: from one before it to one behind,
// or it begins behind it or ends before it. The longest of all of them for each step, in one pass
// over all edges.
std::vector<double> ways_around(const RecordGraph& records, std::span<const std::uint32_t> steps) {
  std::vector<std::uint32_t> before(records.size() + 1);  // steps at earlier places
  for (const std::uint32_t place : steps) ++before[place + 1];
  for (std::size_t i = 0; i < records.size(); ++i) before[i + 1] += before[i];
  const std::vector<double> ways = ways_to_end(records);
  RaisedRanges longest(steps.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const RecordGraph::Edge edge : records.edges(i)) {
      const bool from_start = edge.from_start != 0;
      longest.raise(before[from_start ? i : i + 1], before[edge.to],
                    (from_start ? records.start(i) : records.finish(i)) + ways[edge.to]);
    }
    longest.raise(before[i + 1], steps.size(), records.finish(i));
  }
  for (const RecordGraph::Entry& entry : records.entries())
    longest.raise(0, before[entry.place], entry.date + ways[entry.place]);
  return longest.values();
}

// Without its duration a step's own way is shorter by it; the ways around it stay.
void find_step_gains(const RecordGraph& records, const Timeline& timeline, CriticalPath& path) {
  std::vector<std::uint32_t> steps;
  for (const CriticalStep& step : path.steps)
    steps.push_back(
        static_cast<std::uint32_t>(records.place(timeline.record(step.op, step.iteration))));
  const std::vector<double> around = ways_around(records, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CriticalStep& step = path.steps[i];
    step.gain = std::min(step.duration, rounded_gain(timeline.end() - around[i], timeline.end()));
  }
}

/// Ends of the run if the durations of some groups were others: several trials at once.
constexpr std::size_t kTrials = 4;
using Trials = std::array<double, kTrials>;

Trials ends_with(const RecordGraph& records, const Groups& groups,
                 const std::vector<Trials>& factors) {
  std::vector<Trials> ready(records.size());
  for (const RecordGraph::Entry& entry : records.entries()) ready[entry.place].fill(entry.date);
  Trials end{};
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Trials& factor = factors[groups.of_op[records.op(i).index()]];
    const double duration = records.duration(i);
    const Trials start = ready[i];
    Trials finish;
    for (std::size_t t = 0; t < kTrials; ++t) {
      finish[t] = start[t] + factor[t] * duration;
      end[t] = std::max(end[t], finish[t]);
    }
    for (const RecordGraph::Edge edge : records.edges(i)) {
      const Trials& from = edge.from_start != 0 ? start : finish;
      Trials& to = ready[edge.to];
      for (std::size_t t = 0; t < kTrials; ++t) to[t] = std::max(to[t], from[t]);
    }
  }
  return end;
}

// Two labels at a time: each without its time, and with nine tenths of it.
void find_label_gains(const RecordGraph& records, const Groups& groups, double run_end,
                      std::span<CriticalLabel> labels) {
  constexpr std::size_t kAtOnce = kTrials / 2;
  constexpr double kLess = 0.9;
  for (std::size_t first = 0; first < labels.size(); first += kAtOnce) {
    const auto some = labels.subspan(first, std::min(kAtOnce, labels.size() - first));
    Trials all;
    all.fill(1);
    std::vector<Trials> factors(groups.count, all);
    for (std::size_t i = 0; i < some.size(); ++i) {
      Trials& factor = factors[groups.of_op[some[i].example.index()]];
      factor[2 * i] = 0;
      factor[2 * i + 1] = kLess;
    }
    const Trials end = ends_with(records, groups, factors);
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i].gain = rounded_gain(run_end - end[2 * i], run_end);
      some[i].gain_tenth = rounded_gain(run_end - end[2 * i + 1], run_end);
    }
  }
}

// Those with most time on the path first.
std::vector<CriticalLabel> labels_of(const CriticalPath& path, const Groups& groups) {
  std::vector<CriticalLabel> all(groups.count);
  for (const CriticalStep& step : path.steps) {
    CriticalLabel& label = all[groups.of_op[step.op.index()]];
    if (!label.example.valid()) label.example = step.op;
    label.time += step.duration;
  }
  std::erase_if(all, [](const CriticalLabel& label) { return !label.example.valid(); });
  std::stable_sort(all.begin(), all.end(),
                   [](const CriticalLabel& a, const CriticalLabel& b) { return a.time > b.time; });
  return all;
}

}  // namespace

std::optional<CriticalPath> find_critical_path(const OpGraph& graph, const Timeline& timeline,
                                               const CriticalLimits& limits) {
  if (!timeline.repeats().empty()) return {};
  CriticalPath path = trace(graph, timeline);
  const Groups groups(graph);
  path.labels = labels_of(path, groups);
  const bool many =
      graph.instances() > limits.records || RecordGraph::most_edges(graph) > limits.edges;
  if (many || path.steps.empty()) return path;
  const RecordGraph records(graph, timeline);
  find_step_gains(records, timeline, path);
  find_label_gains(records, groups, timeline.end(),
                   std::span(path.labels).first(std::min(path.labels.size(), limits.labels)));
  return path;
}

}  // namespace trainyard
