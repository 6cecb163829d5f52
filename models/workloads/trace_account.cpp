#include "models/workloads/trace_account.hpp"

#include <algorithm>
#include <tuple>

namespace trainyard {
namespace {

struct Interval {
  double begin, end;
};

// Sorts them and merges those that touch.
void merge(std::vector<Interval>& all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Interval& one : all) {
    if (kept > 0 && one.begin <= all[kept - 1].end) {
      all[kept - 1].end = std::max(all[kept - 1].end, one.end);
    } else {
      all[kept++] = one;
    }
  }
  all.resize(kept);
}

double length(const std::vector<Interval>& merged) {
  double sum = 0;
  for (const Interval& one : merged) sum += one.end - one.begin;
  return sum;
}

double overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    ++(a[i].end < b[j].end ? i : j);
  }
  return sum;
}

// From the first operation that does anything to the end of the last.
Interval interval_of(const ReplayedComm& comm, const OpGraph& graph, const Timeline& timeline) {
  Interval found{-1, -1};
  for (std::size_t i = comm.first.index(); i < comm.last.index(); ++i) {
    const OpId op(i);
    if (graph.kind(op) == OpKind::kJoin && comm.last.index() > comm.first.index() + 1) continue;
    if (found.begin < 0 || timeline.start(op) < found.begin) found.begin = timeline.start(op);
    found.end = std::max(found.end, timeline.finish(op));
  }
  return found;
}

}  // namespace

std::vector<ReplayedRank> replayed_ranks(const Trace& trace, const TraceMatches& matches,
                                         const ReplayPlan& plan, const TraceReplay& replay,
                                         const OpGraph& graph, const Timeline& timeline,
                                         std::size_t first, std::size_t last) {
  const std::size_t programs = trace.programs.size();
  const auto replicas = static_cast<std::size_t>(plan.replicas);
  std::vector<ReplayedRank> ranks(replicas * programs);
  std::vector<std::vector<Interval>> computing(ranks.size()), communicating(ranks.size());
  std::unordered_map<Rank, std::size_t> place;
  for (std::size_t r = 0; r < replicas; ++r) {
    for (std::size_t p = 0; p < programs; ++p)
      place.emplace(replay.gpu(trace.programs[p].rank, static_cast<int>(r)), r * programs + p);
  }
  for (std::size_t i = first; i < last; ++i) {
    if (graph.kind(OpId(i)) == OpKind::kCompute)
      computing[place.at(graph.rank(OpId(i)))].push_back(
          {timeline.start(OpId(i)), timeline.finish(OpId(i))});
  }
  const auto add = [&](std::size_t at, const Interval& interval, double bytes) {
    communicating[at].push_back(interval);
    ranks[at].sent += bytes;
  };
  for (const ReplayedComm& comm : replay.comms()) {
    const Interval interval = interval_of(comm, graph, timeline);
    const auto replica = static_cast<std::size_t>(comm.replica);
    if (comm.is_message) {
      const TraceMessage& message = matches.messages[comm.call];
      const double bytes = trace.programs[message.send.program].ops[message.send.op].bytes;
      add(replica * programs + message.send.program, interval, bytes);
      add(replica * programs + message.receive.program, interval, 0);
      continue;
    }
    const TraceCall& call = matches.calls[comm.call];
    const bool across = plan.across[call.group];
    const std::size_t size = trace.group_size(call.group) * (across ? replicas : 1);
    for (std::size_t r = replica; r < (across ? replicas : replica + 1); ++r) {
      for (std::uint32_t m = call.first; m < call.first + call.members; ++m)
        add(r * programs + matches.members[m].program, interval,
            sent_bytes(call.op, call.bytes, size));
    }
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    merge(computing[i]);
    merge(communicating[i]);
    ranks[i].compute = length(computing[i]);
    ranks[i].comm = length(communicating[i]);
    ranks[i].exposed = ranks[i].comm - overlap(communicating[i], computing[i]);
    ranks[i].end = timeline.finish(replay.end_of(static_cast<int>(i / programs), i % programs));
  }
  return ranks;
}

Json replayed_communication(const Trace& trace, const TraceMatches& matches, const ReplayPlan& plan,
                            const TraceReplay& replay, const OpGraph& graph,
                            const Timeline& timeline) {
  struct Sum {
    std::size_t calls = 0;
    double bytes = 0, sent = 0, time = 0;
  };
  using Key = std::tuple<std::uint32_t, std::string_view, std::size_t>;  // group, operation, ranks
  constexpr std::uint32_t kMessages = 0xffffffffU;                       // last
  std::map<Key, Sum> sums;
  for (const ReplayedComm& comm : replay.comms()) {
    const Interval interval = interval_of(comm, graph, timeline);
    Sum* sum = nullptr;
    double bytes = 0, sent = 0;
    if (comm.is_message) {
      const TraceMessage& message = matches.messages[comm.call];
      sent = bytes = trace.programs[message.send.program].ops[message.send.op].bytes;
      sum = &sums[{kMessages, "send", 2}];
    } else {
      const TraceCall& call = matches.calls[comm.call];
      const std::size_t size =
          trace.group_size(call.group) *
          (plan.across[call.group] ? static_cast<std::size_t>(plan.replicas) : 1);
      bytes = call.bytes;
      sent = sent_bytes(call.op, bytes, size);
      sum = &sums[{call.group, trace_collective_name(call.op), size}];
    }
    ++sum->calls;
    sum->bytes += bytes;
    sum->sent += sent;
    sum->time += interval.end - interval.begin;
  }
  Json rows = Json::array();
  for (const auto& [key, sum] : sums) {
    const auto& [group, operation, ranks] = key;
    Json row = Json::object();
    row["group"] = Json(group == kMessages ? std::string("messages")
                        : group == 0       ? std::string("all ranks")
                                           : trace.groups[group].name);
    row["ranks"] = Json(ranks);
    row["operation"] = Json(operation);
    row["calls"] = Json(sum.calls);
    row["bytes"] = Json(sum.bytes);
    row["sent_bytes"] = Json(sum.sent);
    row["time_s"] = Json(sum.time);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace trainyard
