// Writes traces as GOAL, and says what that loses.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "models/workloads/trace_goal.hpp"
#include "sim/error.hpp"
#include "sim/packed_file.hpp"

namespace trainyard {
namespace {

/// How many operations lose what.
struct Losses {
  std::size_t collectives = 0, no_duration = 0, kinds = 0, rounded = 0, too_large = 0, cpus = 0;
  std::size_t names = 0, types = 0, flops = 0, bytes = 0, starts = 0, extras = 0;

  std::vector<std::string> sentences(const Trace& trace) const {
    std::vector<std::string> all;
    const auto say = [&](std::size_t count, std::string_view text) {
      if (count > 0) all.push_back(fmt::format(fmt::runtime(text), count));
    };
    say(collectives, "GOAL has no collectives: {} are calc 0, which only keep the order.");
    say(no_duration, "{} kernels or host operations have no duration: they are calc 0.");
    say(kinds,
        "GOAL has only calculations and messages: {} operations of the host, loads and stores are "
        "calculations.");
    say(rounded, "{} times or sizes are rounded to whole nanoseconds or bytes.");
    say(too_large, "{} times or sizes are beyond 2^63 - 1: they are that.");
    say(cpus, "GOAL has 256 cpus of a rank: {} operations of more streams share them.");
    say(trace.groups.size() - 1, "GOAL has no groups: {} are left out.");
    say(names, "GOAL has no names: {} are left out.");
    say(types, "GOAL has no data types: {} are left out.");
    say(flops, "GOAL has no floating-point operations: those of {} operations are left out.");
    say(bytes, "GOAL has no bytes of what is no message: those of {} operations are left out.");
    say(starts, "GOAL has no recorded starts: {} are left out.");
    say(extras, "What its own format says besides of {} operations is left out.");
    if (!trace.attributes.members().empty())
      all.emplace_back("What is said of the whole is left out.");
    return all;
  }
};

class Writer {
 public:
  Writer(const Trace& trace, const std::string& path)
      : trace_(trace), own_(trace.format == "goal"), path_(path), file_(path) {}

  std::vector<std::string> write() {
    text_ = fmt::format("num_ranks {}\n", trace_.ranks);
    for (const TraceProgram& program : trace_.programs) {
      text_ += fmt::format("\nrank {} {{\n", program.rank);
      write_program(program);
      text_ += "}\n";
    }
    file_.add(text_);
    if (const std::string why = file_.keep(); !why.empty())
      throw UsageError(fmt::format("{} cannot be written: {}", path_, why));
    return losses_.sentences(trace_);
  }

 private:
  void write_program(const TraceProgram& program) {
    set_cpus(program);
    std::map<std::int32_t, std::uint32_t> last;  // of each stream
    std::string later;                           // labels are defined before they are required
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      const TraceOp& op = program.ops[i];
      write_op(op);
      bool ordered = own_ || op.stream == TraceOp::kNone;
      const auto before = ordered ? last.end() : last.find(op.stream);
      for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n) {
        const TraceNeed need = program.needs[n];
        ordered = ordered || (before != last.end() && need.op == before->second &&
                              need.kind != TraceNeed::Kind::kStart);
        require(need.op <= i ? text_ : later, op, program.ops[need.op],
                need.kind == TraceNeed::Kind::kStart ? " irequires l" : " requires l");
      }
      if (!ordered && before != last.end())
        require(text_, op, program.ops[before->second], " requires l");
      if (!own_ && op.stream != TraceOp::kNone) last[op.stream] = i;
      flush();
    }
    text_ += later;
  }
  void flush() {
    constexpr std::size_t kPiece = std::size_t{64} << 10;
    if (text_.size() < kPiece) return;
    file_.add(text_);
    text_.clear();
  }
  static void digits(std::string& text, std::uint64_t value) {
    char buffer[24];
    text.append(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
  }
  static void require(std::string& text, const TraceOp& op, const TraceOp& before,
                      std::string_view word) {
    text += 'l';
    digits(text, op.id);
    text += word;
    digits(text, before.id);
    text += '\n';
  }

  void write_op(const TraceOp& op) {
    note_losses(op);
    text_ += 'l';
    digits(text_, op.id);
    if (op.kind == TraceKind::kSend || op.kind == TraceKind::kReceive) {
      text_ += op.kind == TraceKind::kSend ? ": send " : ": recv ";
      digits(text_, whole(op.bytes));
      text_ += op.kind == TraceKind::kSend ? "b to " : "b from ";
      digits(text_, static_cast<std::uint64_t>(std::max(op.peer, 0)));
      text_ += " tag ";
      digits(text_, static_cast<std::uint32_t>(op.tag));
    } else {
      text_ += ": calc ";
      const bool lasts = op.kind != TraceKind::kMarker && op.kind != TraceKind::kCollective;
      digits(text_, lasts ? whole(std::max(op.duration, 0.0) * 1e9) : 0);
    }
    write_place(op);
    text_ += '\n';
  }
  std::uint64_t whole(double value) {
    constexpr double kMost = 9223372036854775807.0;
    if (!(value < kMost)) {
      ++losses_.too_large;
      return 0x7fffffffffffffffU;
    }
    const double near = std::round(value);
    // What was a whole number of nanoseconds comes back from seconds with an error in its last
    // bits.
    if (std::abs(value - near) > 1e-12 * value) ++losses_.rounded;
    return static_cast<std::uint64_t>(near);
  }

  void write_place(const TraceOp& op) {
    std::uint64_t cpu = own_ && op.stream > 0 ? static_cast<std::uint64_t>(op.stream) : 0, nic = 0;
    if (own_ && op.extra != TraceOp::kNoExtra) {
      const Json extra = parse_json(trace_.extras[op.extra], path_);
      cpu = std::max(cpu, number(extra, "cpu"));
      nic = number(extra, "nic");
    }
    if (!own_) cpu = cpu_of(op);
    if (cpu > 0) {
      text_ += " cpu ";
      digits(text_, cpu);
    }
    if (nic > 0) {
      text_ += " nic ";
      digits(text_, nic);
    }
  }
  static std::uint64_t number(const Json& extra, std::string_view name) {
    const Json* found = extra.find(name);
    const bool right = found != nullptr && found->is_integer() && found->as_integer() > 0 &&
                       found->as_integer() <= 0x7fffffff;
    return right ? static_cast<std::uint64_t>(found->as_integer()) : 0;
  }

  // What may run beside each other needs cpus of its own: kernels, the host, each stream.
  static std::int64_t resource(const TraceOp& op) {
    if (op.stream != TraceOp::kNone) return op.stream;
    return op.kind == TraceKind::kHost ? -1 : -2;
  }
  void set_cpus(const TraceProgram& program) {
    cpus_.clear();
    for (const TraceOp& op : program.ops) cpus_.emplace(resource(op), 0);
    std::uint32_t next = 0;
    for (auto& [of, cpu] : cpus_) cpu = next++;
  }
  std::uint64_t cpu_of(const TraceOp& op) {
    constexpr std::uint32_t kMost = 256;  // 8 bits in its binary form
    const std::uint32_t cpu = cpus_.at(resource(op));
    if (cpu >= kMost) ++losses_.cpus;
    return cpu % kMost;
  }

  void note_losses(const TraceOp& op) {
    const bool message = op.kind == TraceKind::kSend || op.kind == TraceKind::kReceive;
    const bool collective = op.kind == TraceKind::kCollective;
    const bool marker = op.kind == TraceKind::kMarker;
    losses_.collectives += collective ? 1 : 0;
    losses_.no_duration += !message && !collective && !marker && op.duration < 0 ? 1 : 0;
    losses_.kinds += !message && !collective && !marker && op.kind != TraceKind::kCompute ? 1 : 0;
    losses_.names += op.name != 0 ? 1 : 0;
    losses_.types += op.type != 0 ? 1 : 0;
    losses_.flops += op.flops > 0 ? 1 : 0;
    losses_.bytes += !message && op.bytes > 0 ? 1 : 0;
    losses_.starts += op.start >= 0 ? 1 : 0;
    losses_.extras += !own_ && op.extra != TraceOp::kNoExtra ? 1 : 0;
  }

  const Trace& trace_;
  const bool own_;  ///< read from GOAL: its streams are cpus, and say nothing of order
  std::string path_;
  PackedFile file_;
  std::string text_;
  std::map<std::int64_t, std::uint32_t> cpus_;  ///< of the rank
  Losses losses_;
};

}  // namespace

std::vector<std::string> write_goal(const Trace& trace, const std::string& path) {
  if (trace.programs.size() < trace.ranks)
    throw UsageError(fmt::format("{}: GOAL needs all ranks, and {} of {} are recorded", path,
                                 trace.programs.size(), trace.ranks));
  return Writer(trace, path).write();
}

}  // namespace trainyard
