// GOAL, the text of the LogGOPSim and ATLAHS tools: https://github.com/spcl/LogGOPSim. The grammar
// is that of its converter txt2bin, and a little wider: comments stand anywhere between words, tag,
// cpu and nic in any order, and labels may be used before they are defined.
#include "models/workloads/trace_goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "models/workloads/trace_goal_block.hpp"
#include "sim/spelling.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes a text apart: comments are space, also where they span lines.
class Words {
 public:
  void begin_line(std::string_view line) { rest_ = line; }
  /// Whether there is anything more on the line.
  bool more() {
    while (!rest_.empty()) {
      if (in_comment_ || rest_.starts_with("/*")) {
        const std::size_t end = rest_.find("*/", in_comment_ ? 0 : 2);
        in_comment_ = end == std::string_view::npos;
        rest_ = in_comment_ ? std::string_view() : rest_.substr(end + 2);
      } else if (rest_.starts_with("//")) {
        rest_ = {};
      } else if (rest_[0] == ' ' || rest_[0] == '\t') {
        rest_.remove_prefix(1);
      } else {
        return true;
      }
    }
    return false;
  }
  bool in_comment() const { return in_comment_; }
  /// The next word, or nothing.
  std::string_view word() {
    if (!more() || !is_letter(rest_[0])) return {};
    std::size_t end = 1;
    while (end < rest_.size() &&
           (is_letter(rest_[end]) || is_digit(rest_[end]) || rest_[end] == '_'))
      ++end;
    return take(end);
  }
  std::string_view digits() {
    if (!more()) return {};
    std::size_t end = 0;
    while (end < rest_.size() && is_digit(rest_[end])) ++end;
    return take(end);
  }
  bool takes(std::string_view text) {
    if (!more() || !rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool next_is(char c) { return more() && rest_[0] == c; }
  /// What comes next, for messages.
  std::string shown() {
    constexpr std::size_t kShown = 20;
    if (!more()) return "the end of the line";
    return dump_json(Json(rest_.substr(0, std::min(kShown, rest_.find_first_of(" \t")))), -1);
  }

 private:
  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
  bool in_comment_ = false;
};

class Reader {
 public:
  Reader(ByteSource& source, TraceBuilder& builder)
      : file_(source.name()), lines_(source), builder_(builder) {}

  void read() {
    std::string_view line;
    while (lines_.next(line)) {
      words_.begin_line(line);
      while (words_.more()) statement();
    }
    const Trace& trace = builder_.trace();
    if (words_.in_comment()) fail("ends in a comment", "close it: */");
    if (rank_) fail(fmt::format("ends in the block of rank {}", *rank_), "is the file whole?");
    if (trace.ranks == 0) fail("says no \"num_ranks\"", "is it GOAL?");
    const auto missing = std::find(seen_.begin(), seen_.end(), false) - seen_.begin();
    if (static_cast<std::size_t>(missing) < trace.ranks)
      fail(fmt::format("rank {} has no block", missing),
           fmt::format("write \"rank {} {{\" and \"}}\" where it does nothing", missing));
  }

 private:
  std::string place() const { return fmt::format("line {}", lines_.number()); }
  [[noreturn]] void fail(const std::string& message, const std::string& hint) {
    builder_.fail(file_, place(), message, hint);
  }
  [[noreturn]] void expected(const std::string& what) {
    fail(fmt::format("{} is expected here, and there is {}", what, words_.shown()),
         "docs/traces.md describes GOAL");
  }
  std::uint64_t number(const char* what, std::uint64_t most) {
    const std::string_view digits = words_.digits();
    if (digits.empty()) expected(what);
    std::uint64_t number = 0;
    const char* end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, number).ec != std::errc() || number > most)
      fail(fmt::format("{} is beyond {}", what, most), "is the file damaged?");
    return number;
  }
  void statement() {
    if (words_.takes("}")) {
      end_rank();
      return;
    }
    const std::string_view word = words_.word();
    if (word.empty()) expected(rank_ ? "a label, calc, send, recv or }" : "num_ranks or rank");
    if (rank_) {
      in_rank(word);
    } else if (word == "num_ranks") {
      num_ranks();
    } else if (word == "rank") {
      begin_rank();
    } else {
      constexpr std::array<std::string_view, 2> kWords{"num_ranks", "rank"};
      fail(fmt::format("\"{}\" stands outside of the ranks", word), suggest(word, kWords));
    }
  }

  void num_ranks() {
    if (builder_.trace().ranks != 0) fail("says num_ranks twice", "merge the files as one job");
    const std::uint64_t ranks = number("the number of ranks", TraceBuilder::kMostRanks);
    if (ranks == 0) fail("has 0 ranks", "a trace has at least one");
    builder_.trace().ranks = ranks;
  }
  void begin_rank() {
    const std::size_t ranks = builder_.trace().ranks;
    if (ranks == 0) fail("a rank comes before num_ranks", "begin the file with num_ranks");
    const std::uint64_t rank = number("the number of the rank", TraceBuilder::kMostRanks);
    if (rank >= ranks) fail(fmt::format("is rank {} of {}", rank, ranks), "ranks count from 0");
    if (seen_.size() <= rank) seen_.resize(rank + 1);
    if (seen_[rank]) fail(fmt::format("rank {} has a second block", rank), "make one of them");
    if (!words_.takes("{")) expected("\"{\"");
    seen_[rank] = true;
    rank_ = rank;
    block_.clear();
    builder_.begin(rank, file_);
  }
  void end_rank() {
    if (!rank_) fail("\"}\" closes nothing", "is the file damaged?");
    block_.finish(file_, fmt::format("rank {}", *rank_), builder_);
    rank_.reset();
  }

  void in_rank(std::string_view word) {
    if (operation(word, GoalBlock::kNothing)) return;
    // A word of this line lives as long as the line.
    if (words_.takes(":")) {
      const std::uint32_t label = block_.label(word);
      const std::string_view verb = words_.word();
      if (!operation(verb, label)) unknown(verb.empty() ? words_.shown() : std::string(verb));
      return;
    }
    const std::string_view verb = words_.word();
    if (verb != "requires" && verb != "irequires") unknown(std::string(verb.empty() ? word : verb));
    GoalRequirement requirement;
    requirement.kind = verb == "requires" ? TraceNeed::Kind::kData : TraceNeed::Kind::kStart;
    requirement.waits = block_.label(word);
    const std::string_view before = words_.word();
    if (before.empty()) expected("a label");
    requirement.before = block_.label(before);
    block_.require(requirement);
    finish_line();
  }
  [[noreturn]] void unknown(const std::string& word) {
    constexpr std::array<std::string_view, 5> kWords{"calc", "send", "recv", "requires",
                                                     "irequires"};
    fail(fmt::format("{} is no word that GOAL has here", dump_json(Json(word), -1)),
         suggest(word, kWords));
  }
  // A block may close on the line of its last statement.
  void finish_line() {
    if (!words_.more()) return;
    if (!words_.takes("}")) expected("the end of the line");
    end_rank();
  }

  bool operation(std::string_view verb, std::uint32_t label) {
    GoalOp op;
    op.label = label;
    if (verb == "calc") {
      calculation(op);
    } else if (verb == "send" || verb == "recv") {
      op.op.kind = verb == "send" ? TraceKind::kSend : TraceKind::kReceive;
      message(op);
    } else {
      return false;
    }
    options(op);
    if (!block_.add(op))
      builder_.fault(file_, place(), "has the label of another operation",
                     "operations with the label of another: others wait for the first");
    finish_line();
    return true;
  }
  // "calc 0" only joins others.
  void calculation(GoalOp& op) {
    const std::uint64_t nanoseconds = number("the time in ns", kMostSize);
    op.op.kind = nanoseconds == 0 ? TraceKind::kMarker : TraceKind::kCompute;
    if (nanoseconds > 0) op.op.duration = static_cast<double>(nanoseconds) / 1e9;
  }
  void message(GoalOp& op) {
    const bool sends = op.op.kind == TraceKind::kSend;
    op.op.bytes = static_cast<double>(number("the number of bytes", kMostSize));
    if (!words_.takes("b")) expected("\"b\" after the number of bytes");
    const char* const direction = sends ? "to" : "from";
    if (words_.word() != direction) expected(fmt::format("\"{}\"", direction));
    if (words_.takes("-1")) any("rank");
    const std::uint64_t peer = number("the rank", TraceBuilder::kMostRanks);
    if (peer >= builder_.trace().ranks)
      fail(fmt::format("names rank {} of {}", peer, builder_.trace().ranks), "ranks count from 0");
    op.op.peer = static_cast<std::int32_t>(peer);
  }
  [[noreturn]] void any(const char* what) {
    fail(fmt::format("leaves open which {} (-1) it matches", what),
         fmt::format("name the {} that it matched when it was recorded", what));
  }
  void options(GoalOp& op) {
    bool tag = false, cpu = false, nic = false;
    const auto once = [&](bool& seen, std::string_view word) {
      if (seen) fail(fmt::format("says {} twice", word), "say it once");
      seen = true;
    };
    while (words_.more() && !words_.next_is('}')) {
      const std::string_view word = words_.word();
      if (word == "tag" && op.op.kind != TraceKind::kMarker && op.op.kind != TraceKind::kCompute) {
        once(tag, word);
        if (words_.takes("-1")) any("tag");
        // 32 bits without a sign there, with one here; only whether two are the same matters.
        op.op.tag =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(number("the tag", 0xfffffffeU)));
      } else if (word == "cpu") {
        once(cpu, word);
        op.cpu = static_cast<std::uint32_t>(number("the cpu", kMostInt));
      } else if (word == "nic") {
        once(nic, word);
        op.nic = static_cast<std::uint32_t>(number("the nic", kMostInt));
      } else {
        expected("tag, cpu, nic or the end of the line");
      }
    }
  }

  static constexpr std::uint64_t kMostInt = 2147483647, kMostSize = 0x7fffffffffffffffU;
  std::string file_;
  LineReader lines_;
  TraceBuilder& builder_;
  Words words_;
  std::optional<std::size_t> rank_;  ///< of the block that is open
  std::vector<bool> seen_;           ///< ranks with a block
  GoalBlock block_;
};

class GoalFormat : public TraceFormat {
 public:
  bool recognizes(std::string_view /*name*/, std::string_view head) const override {
    Words words;
    while (!head.empty()) {
      const std::size_t end = std::min(head.find('\n'), head.size());
      words.begin_line(head.substr(0, head.substr(0, end).ends_with('\r') ? end - 1 : end));
      if (words.more()) return words.word() == "num_ranks";
      head.remove_prefix(std::min(end + 1, head.size()));
    }
    return false;
  }
  void read(ByteSource& source, std::size_t /*rank*/, TraceBuilder& builder) const override {
    Reader(source, builder).read();
  }
  bool writes() const override { return true; }
  std::vector<std::string> write(const Trace& trace, const std::string& path) const override {
    return write_goal(trace, path);
  }
};

const Registration<TraceFormat, GoalFormat> registered{"goal", "GOAL text of LogGOPSim and ATLAHS"};

}  // namespace
}  // namespace trainyard
