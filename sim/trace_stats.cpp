#include "sim/trace_stats.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

namespace trainyard {
namespace {

constexpr std::uint32_t kNothing = 0xffffffffU;

bool communicates(TraceKind kind) {
  return kind == TraceKind::kCollective || kind == TraceKind::kSend || kind == TraceKind::kReceive;
}

/// Recorded seconds by what they went into.
struct Spent {
  double compute = 0, host = 0, communication = 0;
  void add(const TraceOp& op) {
    const double time = std::max(0.0, op.duration);
    (communicates(op.kind)            ? communication
     : op.kind == TraceKind::kCompute ? compute
                                      : host) += time;
  }
};

// The longest way through operations that wait for each other. A collective begins when its last
// rank is ready and takes the longest of the recorded durations, a receive ends after its send.
class LongestPath {
 public:
  LongestPath(const Trace& trace, const TraceMatches& matches) : trace_(trace), matches_(matches) {
    std::uint32_t next = 0;
    for (const TraceProgram& program : trace.programs) {
      first_.push_back(next);
      next += static_cast<std::uint32_t>(program.ops.size());
    }
    missing_.assign(next, 0);
    after_.resize(next);
    finish_.assign(next, 0);
    last_.assign(next, kNothing);
    call_.assign(next, kNothing);
    for (std::uint32_t c = 0; c < matches.calls.size(); ++c) {
      for (std::uint32_t m = 0; m < matches.calls[c].members; ++m)
        call_[node(matches.members[matches.calls[c].first + m])] = c;
      joined_.push_back(matches.calls[c].members);
    }
  }

  Json find() {
    for (std::uint32_t p = 0; p < trace_.programs.size(); ++p) connect(p);
    for (const TraceMessage& message : matches_.messages)
      edge(node(message.send), node(message.receive));
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const std::uint32_t op = ready.back();
      ready.pop_back();
      if (call_[op] == kNothing) {
        finish(op, ready);
      } else if (--joined_[call_[op]] == 0) {
        finish_call(matches_.calls[call_[op]], ready);
      }
    }
    return described();
  }

 private:
  std::uint32_t node(TraceRef ref) const { return first_[ref.program] + ref.op; }
  const TraceOp& op(std::uint32_t node) const {
    const auto it = std::upper_bound(first_.begin(), first_.end(), node) - 1;
    return trace_.programs[static_cast<std::size_t>(it - first_.begin())].ops[node - *it];
  }
  void edge(std::uint32_t before, std::uint32_t after) {
    after_[before].push_back(after);
    ++missing_[after];
  }

  void connect(std::uint32_t p) {
    const TraceProgram& program = trace_.programs[p];
    std::map<std::int64_t, std::uint32_t> chains;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      const TraceOp& one = program.ops[i];
      for (std::uint32_t n = one.first_need; n < one.first_need + one.needs; ++n)
        edge(first_[p] + program.needs[n].op, first_[p] + i);
      const std::optional<std::int64_t> turn = turn_of(one);
      if (!turn) continue;
      const auto [it, is_new] = chains.try_emplace(*turn, first_[p] + i);
      if (!is_new) edge(it->second, first_[p] + i);
      it->second = first_[p] + i;
    }
  }

  void finish(std::uint32_t at, std::vector<std::uint32_t>& ready) {
    finish_[at] += std::max(0.0, op(at).duration);
    ++done_;
    for (const std::uint32_t next : after_[at]) {
      if (last_[next] == kNothing || finish_[at] > finish_[next]) {
        finish_[next] = finish_[at];
        last_[next] = at;
      }
      if (--missing_[next] == 0) ready.push_back(next);
    }
  }

  // All its ranks begin and end together, after the one that came last.
  void finish_call(const TraceCall& call, std::vector<std::uint32_t>& ready) {
    std::uint32_t latest = kNothing;
    double longest = 0;
    for (std::uint32_t m = call.first; m < call.first + call.members; ++m) {
      const std::uint32_t at = node(matches_.members[m]);
      if (latest == kNothing || finish_[at] > finish_[latest]) latest = at;
      longest = std::max(longest, op(at).duration);
    }
    const double begin = finish_[latest];
    const std::uint32_t before = last_[latest];
    for (std::uint32_t m = call.first; m < call.first + call.members; ++m) {
      const std::uint32_t at = node(matches_.members[m]);
      last_[at] = before;
      finish_[at] = begin + longest - std::max(0.0, op(at).duration);
      finish(at, ready);
    }
  }

  Json described() const {
    Json out = Json::object();
    std::uint32_t at = kNothing;
    for (std::uint32_t i = 0; i < finish_.size(); ++i) {
      if (at == kNothing || finish_[i] > finish_[at]) at = i;
    }
    out["seconds"] = Json(at == kNothing ? 0.0 : finish_[at]);
    Spent spent;
    std::size_t operations = 0;
    for (; at != kNothing; at = last_[at], ++operations) spent.add(op(at));
    out["compute_s"] = Json(spent.compute);
    out["host_s"] = Json(spent.host);
    out["communication_s"] = Json(spent.communication);
    out["operations"] = Json(operations);
    // Ranks that wait for each other in a circle are left.
    out["never_ready"] = Json(finish_.size() - done_);
    return out;
  }

  const Trace& trace_;
  const TraceMatches& matches_;
  std::vector<std::uint32_t> first_;  ///< by program
  std::vector<std::uint32_t> missing_, last_, call_, joined_;
  std::vector<std::vector<std::uint32_t>> after_;
  std::vector<double> finish_;
  std::size_t done_ = 0;
};

Json communication_of(const Trace& trace, const TraceMatches& matches) {
  struct Sum {
    std::size_t calls = 0;
    double bytes = 0, sent = 0;
  };
  std::map<std::tuple<std::uint32_t, std::string_view>, Sum> sums;
  for (const TraceCall& call : matches.calls) {
    Sum& sum = sums[{call.group, trace_collective_name(call.op)}];
    ++sum.calls;
    sum.bytes += call.bytes;
    sum.sent += sent_bytes(call.op, call.bytes, trace.group_size(call.group));
  }
  for (const TraceMessage& message : matches.messages) {
    Sum& sum = sums[{kNothing, "send"}];
    ++sum.calls;
    sum.bytes += trace.programs[message.send.program].ops[message.send.op].bytes;
  }
  Json rows = Json::array();
  for (const auto& [key, sum] : sums) {
    const auto& [group, operation] = key;
    const bool messages = group == kNothing;
    Json row = Json::object();
    row["group"] = Json(messages     ? std::string("messages")
                        : group == 0 ? std::string("all ranks")
                                     : trace.groups[group].name);
    row["ranks"] = Json(messages ? 2 : trace.group_size(group));
    row["operation"] = Json(operation);
    row["calls"] = Json(sum.calls);
    row["bytes"] = Json(sum.bytes);
    row["sent_bytes"] = messages ? Json() : Json(sum.sent);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json trace_stats(const Trace& trace, const TraceMatches& matches) {
  Json out = Json::object();
  out["format"] = Json(trace.format);
  out["ranks"] = Json(trace.ranks);
  out["programs"] = Json(trace.programs.size());
  out["representative"] = Json(trace.representative);
  out["operations"] = Json(trace.size());
  std::array<std::size_t, static_cast<std::size_t>(TraceKind::kReceive) + 1> kinds{};
  Spent spent;
  for (const TraceProgram& program : trace.programs) {
    for (const TraceOp& op : program.ops) {
      ++kinds[static_cast<std::size_t>(op.kind)];
      spent.add(op);
    }
  }
  Json by_kind = Json::object();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] > 0) by_kind[trace_kind_name(static_cast<TraceKind>(i))] = Json(kinds[i]);
  }
  out["kinds"] = std::move(by_kind);
  out["communication"] = communication_of(trace, matches);
  const auto programs = static_cast<double>(std::max<std::size_t>(1, trace.programs.size()));
  out["compute_s"] = Json(spent.compute / programs);
  out["host_s"] = Json(spent.host / programs);
  out["communication_s"] = Json(spent.communication / programs);
  out["compute_to_communication"] =
      spent.communication > 0 ? Json(spent.compute / spent.communication) : Json();
  out["critical_path"] = LongestPath(trace, matches).find();
  return out;
}

}  // namespace trainyard
