// Writes traces in our own format. What has its default is left out, so that equal traces have
// equal text.
#include <charconv>
#include <cmath>

#include "models/workloads/trace_jsonl.hpp"
#include "sim/error.hpp"

namespace trainyard {
namespace {

template <class Number>
void append_digits(Number value, std::string& text) {
  char digits[32];
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
}

// The shortest text that gives the number back, and whole numbers without a fraction or a power.
void append_number(double value, std::string& text) {
  require(std::isfinite(value), "a trace with a number that is none");
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) <= kExact) {
    append_digits(static_cast<std::int64_t>(value), text);
  } else {
    append_digits(value, text);
  }
}

std::string quoted(const std::string& text) { return dump_json(Json(text), -1); }

class Writer {
 public:
  Writer(const Trace& trace, const std::function<void(const std::string&)>& add)
      : trace_(trace), add_(add) {
    for (const std::string& name : trace.names) names_.push_back(quoted(name));
    for (const TraceGroup& group : trace.groups) groups_.push_back(quoted(group.name));
  }

  void write() {
    write_header();
    for (const TraceProgram& program : trace_.programs) {
      for (const TraceOp& op : program.ops) write_op(program, op);
      // Every rank has a line.
      if (program.ops.empty()) write_op(program, TraceOp{});
    }
    add_(text_);
  }

 private:
  // The text of what follows goes to the end of text_.
  template <class Field>
  std::string& member(Field field) {
    text_ += first_ ? "{\"" : ",\"";
    first_ = false;
    text_ += jsonl_field(field).name;
    text_ += "\":";
    return text_;
  }
  void end_line() {
    constexpr std::size_t kPiece = std::size_t{64} << 10;
    text_ += "}\n";
    first_ = true;
    if (text_.size() < kPiece) return;
    add_(text_);
    text_.clear();
  }

  void write_header() {
    member(JsonlHeader::kVersion) += '1';
    append_digits(trace_.ranks, member(JsonlHeader::kRanks));
    if (trace_.representative) member(JsonlHeader::kRepresentative) += "true";
    member(JsonlHeader::kDurations) += trace_.alone ? "\"alone\"" : "\"recorded\"";
    if (trace_.groups.size() > 1) write_groups();
    if (!trace_.attributes.members().empty())
      member(JsonlHeader::kAttributes) += dump_json(trace_.attributes, -1);
    if (trace_.format != "jsonl" && !trace_.format.empty())
      member(JsonlHeader::kFormat) += quoted(trace_.format);
    end_line();
  }
  void write_groups() {
    std::string& text = member(JsonlHeader::kGroups);
    for (std::size_t g = 1; g < trace_.groups.size(); ++g) {
      text += g == 1 ? "{" : ",";
      text += groups_[g] + ":[";
      const std::vector<std::uint32_t>& ranks = trace_.groups[g].ranks;
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i > 0) text += ',';
        append_digits(ranks[i], text);
      }
      text += ']';
    }
    text += '}';
  }

  void write_op(const TraceProgram& program, const TraceOp& op) {
    const bool collective = op.kind == TraceKind::kCollective;
    append_digits(program.rank, member(JsonlOp::kRank));
    append_digits(op.id, member(JsonlOp::kId));
    add_word(JsonlOp::kKind, trace_kind_name(op.kind));
    if (op.name != 0) member(JsonlOp::kName) += names_[op.name];
    if (collective) add_word(JsonlOp::kOp, trace_collective_name(op.collective));
    if (op.group != 0) member(JsonlOp::kGroup) += groups_[op.group];
    const bool barrier = collective && op.collective == TraceCollective::kBarrier;
    const unsigned int bit = 1U << static_cast<unsigned int>(op.kind);
    const bool moves = (jsonl_field(JsonlOp::kBytes).required & bit) != 0 && !barrier;
    if (op.bytes != 0 || moves) append_number(op.bytes, member(JsonlOp::kBytes));
    if (op.type != 0) member(JsonlOp::kType) += names_[op.type];
    if (op.stream != TraceOp::kNone) append_digits(op.stream, member(JsonlOp::kStream));
    if (op.peer != TraceOp::kNone) append_digits(op.peer, member(JsonlOp::kPeer));
    if (op.tag != 0) append_digits(op.tag, member(JsonlOp::kTag));
    if (op.flops != 0) append_number(op.flops, member(JsonlOp::kFlops));
    if (op.start >= 0) append_number(op.start, member(JsonlOp::kStart));
    if (op.duration >= 0) append_number(op.duration, member(JsonlOp::kDuration));
    write_needs(program, op, JsonlOp::kAfter, TraceNeed::Kind::kData);
    write_needs(program, op, JsonlOp::kAfterControl, TraceNeed::Kind::kControl);
    write_needs(program, op, JsonlOp::kAfterStart, TraceNeed::Kind::kStart);
    if (op.extra != TraceOp::kNoExtra) write_extra(op);
    end_line();
  }
  void add_word(JsonlOp field, std::string_view word) {
    std::string& text = member(field);
    text += '"';
    text += word;
    text += '"';
  }
  void write_needs(const TraceProgram& program, const TraceOp& op, JsonlOp field,
                   TraceNeed::Kind kind) {
    bool some = false;
    for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n) {
      const TraceNeed need = program.needs[n];
      if (need.kind != kind) continue;
      if (some) {
        text_ += ',';
      } else {
        member(field) += '[';
      }
      append_digits(program.ops[need.op].id, text_);
      some = true;
    }
    if (some) text_ += ']';
  }
  // Line ends in JSON are no more than space: there are none within its strings.
  void write_extra(const TraceOp& op) {
    std::string& text = member(JsonlOp::kExtra);
    const std::size_t begin = text.size();
    text += trace_.extras[op.extra];
    for (std::size_t i = begin; i < text.size(); ++i) {
      if (text[i] == '\n' || text[i] == '\r') text[i] = ' ';
    }
  }

  const Trace& trace_;
  const std::function<void(const std::string&)>& add_;
  std::vector<std::string> names_, groups_;  ///< quoted
  std::string text_;
  bool first_ = true;
};

}  // namespace

void write_jsonl(const Trace& trace, const std::function<void(const std::string&)>& add) {
  Writer(trace, add).write();
}

}  // namespace trainyard
