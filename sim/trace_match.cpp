#include "sim/trace_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace trainyard {
namespace {

constexpr std::uint32_t kNobody = 0xffffffffU;

class Matcher {
 public:
  Matcher(const Trace& trace, const TraceFault& fault)
      : trace_(trace), fault_(fault), program_of_(trace.ranks, kNobody) {
    for (std::size_t p = 0; p < trace.programs.size(); ++p)
      program_of_[trace.programs[p].rank] = static_cast<std::uint32_t>(p);
  }

  TraceMatches match() {
    collect();
    for (std::uint32_t g = 0; g < trace_.groups.size(); ++g) match_group(g);
    match_messages();
    return std::move(found_);
  }

 private:
  /// The collectives of a group on one rank, in order.
  struct Part {
    std::uint32_t program;
    std::vector<std::uint32_t> ops;
  };
  /// One end of a message.
  struct End {
    std::uint32_t from, to;
    std::int32_t tag;
    TraceRef ref;
    auto key() const { return std::tie(from, to, tag); }
  };

  const TraceProgram& program(std::uint32_t p) const { return trace_.programs[p]; }
  const TraceOp& op(TraceRef ref) const { return program(ref.program).ops[ref.op]; }
  void fault(TraceRef ref, const std::string& message, const std::string& kind) const {
    fault_(program(ref.program).file, trace_.describe(op(ref)), message, kind);
  }

  void collect() {
    parts_.resize(trace_.groups.size());
    for (std::uint32_t p = 0; p < trace_.programs.size(); ++p) {
      const std::vector<TraceOp>& ops = program(p).ops;
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        switch (ops[i].kind) {
          case TraceKind::kCollective: {
            std::vector<Part>& parts = parts_[ops[i].group];
            if (parts.empty() || parts.back().program != p) parts.push_back({p, {}});
            parts.back().ops.push_back(i);
            break;
          }
          case TraceKind::kSend:
          case TraceKind::kReceive:
            add_end({p, i});
            break;
          default:
            break;
        }
      }
    }
  }

  void add_end(TraceRef ref) {
    const TraceOp& one = op(ref);
    const std::uint32_t rank = program(ref.program).rank;
    const bool is_send = one.kind == TraceKind::kSend;
    if (one.peer < 0 || static_cast<std::size_t>(one.peer) >= trace_.ranks) {
      fault(ref,
            fmt::format("is a message with rank {}, and the trace has ranks 0 to {}", one.peer,
                        trace_.ranks - 1),
            "messages with ranks that do not exist: left out");
      return;
    }
    const auto peer = static_cast<std::uint32_t>(one.peer);
    (is_send ? sends_ : receives_)
        .push_back({is_send ? rank : peer, is_send ? peer : rank, one.tag, ref});
  }

  // The ranks of a group, in its order, of which there are programs.
  std::vector<std::uint32_t> members_of(std::uint32_t group) const {
    std::vector<std::uint32_t> ranks = trace_.groups[group].ranks;
    if (ranks.empty()) {
      for (std::uint32_t r = 0; r < trace_.ranks; ++r) ranks.push_back(r);
    }
    return ranks;
  }

  void match_group(std::uint32_t group) {
    std::vector<Part>& parts = parts_[group];
    if (parts.empty()) return;
    const std::vector<std::uint32_t> ranks = members_of(group);
    std::vector<const Part*> of_rank(trace_.ranks, nullptr);
    std::size_t calls = 0;
    const Part* longest = nullptr;
    for (const Part& part : parts) of_rank[program(part.program).rank] = &part;
    std::vector<const Part*> joining;
    std::vector<std::uint32_t> missing;
    for (const std::uint32_t rank : ranks) {
      const Part* part = rank < of_rank.size() ? of_rank[rank] : nullptr;
      if (rank < of_rank.size()) of_rank[rank] = nullptr;
      if (part != nullptr) {
        joining.push_back(part);
        if (part->ops.size() > calls) {
          calls = part->ops.size();
          longest = part;
        }
      } else if (!trace_.representative ||
                 (rank < program_of_.size() && program_of_[rank] != kNobody)) {
        missing.push_back(rank);
      }
    }
    for (const Part* part : of_rank) {
      if (part != nullptr)
        fault({part->program, part->ops.front()},
              fmt::format("is a collective of {}, which rank {} is not in", name_of(group),
                          program(part->program).rank),
              "collectives of groups that the rank is not in: left out");
    }
    if (longest == nullptr) return;
    for (const std::uint32_t rank : missing)
      fault({longest->program, longest->ops.front()},
            fmt::format("waits for rank {}, which never joins ({} has {} ranks; {})", rank,
                        name_of(group), ranks.size(),
                        rank < program_of_.size() && program_of_[rank] != kNobody
                            ? "that rank has no collective of it"
                            : "there is no trace of that rank"),
            "collectives that a rank never joins: run without it");
    for (const Part* part : joining) {
      if (part->ops.size() < calls)
        fault({longest->program, longest->ops[part->ops.size()]},
              fmt::format("waits for rank {}, which joins only {} of the {} collectives of {}",
                          program(part->program).rank, part->ops.size(), calls, name_of(group)),
              "collectives that a rank never joins: run without it");
    }
    for (std::size_t k = 0; k < calls; ++k) match_call(group, k, joining);
  }

  void match_call(std::uint32_t group, std::size_t k, const std::vector<const Part*>& joining) {
    TraceCall call;
    call.group = group;
    call.first = static_cast<std::uint32_t>(found_.members.size());
    const TraceOp* first = nullptr;
    TraceRef first_ref{};
    for (const Part* part : joining) {
      if (k >= part->ops.size()) continue;
      const TraceRef ref{part->program, part->ops[k]};
      const TraceOp& one = op(ref);
      found_.members.push_back(ref);
      if (first == nullptr) {
        first = &one;
        first_ref = ref;
        call.op = one.collective;
        call.root = one.peer;
        call.bytes = one.bytes;
        continue;
      }
      compare(call, *first, first_ref, one, ref);
      call.bytes = std::max(call.bytes, one.bytes);
    }
    call.members = static_cast<std::uint32_t>(found_.members.size()) - call.first;
    found_.calls.push_back(call);
  }

  void compare(const TraceCall& call, const TraceOp& first, TraceRef first_ref, const TraceOp& one,
               TraceRef ref) const {
    const auto other = [&] {
      return fmt::format("on rank {} ({})", program(first_ref.program).rank,
                         trace_.describe(first));
    };
    if (one.collective != call.op)
      fault(ref,
            fmt::format("is {} on rank {} and {} {}", trace_collective_name(one.collective),
                        program(ref.program).rank, trace_collective_name(call.op), other()),
            "collectives that differ in kind between ranks: as on the first");
    if (one.bytes != first.bytes)
      fault(ref,
            fmt::format("is of {:.0f} bytes on rank {} and of {:.0f} {}", one.bytes,
                        program(ref.program).rank, first.bytes, other()),
            "collectives that differ in size between ranks: the largest");
    if (one.peer != call.root)
      fault(ref,
            fmt::format("has root {} on rank {} and {} {}", one.peer, program(ref.program).rank,
                        call.root, other()),
            "collectives that differ in root between ranks: as on the first");
  }

  void match_messages() {
    const auto by_key = [](const End& a, const End& b) { return a.key() < b.key(); };
    std::stable_sort(sends_.begin(), sends_.end(), by_key);
    std::stable_sort(receives_.begin(), receives_.end(), by_key);
    std::size_t s = 0, r = 0;
    while (s < sends_.size() || r < receives_.size()) {
      const bool has_both = s < sends_.size() && r < receives_.size();
      if (has_both && sends_[s].key() == receives_[r].key()) {
        pair(sends_[s++].ref, receives_[r++].ref);
      } else if (r == receives_.size() || (has_both && sends_[s].key() < receives_[r].key())) {
        alone(sends_[s++], "is never received by rank {} (tag {})");
      } else {
        alone(receives_[r++], "is never sent by rank {} (tag {})");
      }
    }
  }

  void alone(const End& end, const char* message) {
    const bool is_send = op(end.ref).kind == TraceKind::kSend;
    if (trace_.representative && program_of_[is_send ? end.to : end.from] == kNobody) {
      if (is_send) found_.lone_sends.push_back(end.ref);
      return;
    }
    fault(end.ref, fmt::format(fmt::runtime(message), is_send ? end.to : end.from, end.tag),
          "messages without their other end: left out");
  }

  void pair(TraceRef send, TraceRef receive) {
    const double bytes = op(send).bytes, expected = op(receive).bytes;
    if (bytes != expected)
      fault(send,
            fmt::format("sends {:.0f} bytes, and rank {} receives {:.0f} ({})", bytes,
                        program(receive.program).rank, expected, trace_.describe(op(receive))),
            "messages whose ends differ in size: the sender's");
    found_.messages.push_back({send, receive});
  }

  std::string name_of(std::uint32_t group) const {
    return group == 0 ? "the group of all ranks"
                      : fmt::format("group \"{}\"", trace_.groups[group].name);
  }

  const Trace& trace_;
  const TraceFault& fault_;
  std::vector<std::uint32_t> program_of_;
  std::vector<std::vector<Part>> parts_;
  std::vector<End> sends_, receives_;
  TraceMatches found_;
};

}  // namespace

std::optional<std::int64_t> turn_of(const TraceOp& op) {
  constexpr std::int64_t kKind = std::int64_t{1} << 32;
  if (op.stream != TraceOp::kNone) return (op.kind == TraceKind::kHost ? kKind : 0) + op.stream;
  if (op.kind == TraceKind::kCollective) return 2 * kKind + op.group;
  return std::nullopt;
}

TraceMatches match_trace(const Trace& trace, const TraceFault& fault) {
  return Matcher(trace, fault).match();
}

}  // namespace trainyard
