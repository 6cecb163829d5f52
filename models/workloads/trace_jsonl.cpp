// Reads our own format of traces, line by line, by the table of its members.
#include "models/workloads/trace_jsonl.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/json_members.hpp"
#include "sim/packed_file.hpp"
#include "sim/spelling.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kNoField = ~std::size_t{0};

/// What a member was found to hold.
struct Value {
  std::int64_t integer = 0;
  std::uint64_t id = 0;
  double number = 0;
  bool flag = false;
  std::string_view text, raw;
  std::size_t choice = 0;
};

std::string expected(const JsonlField& field) {
  const std::string unit = field.unit.empty() ? "" : fmt::format(" in {}", field.unit);
  switch (field.type) {
    case JsonlType::kInteger:
      if (field.least == field.most) return fmt::format("{:.0f}", field.least);
      return fmt::format("a whole number from {:.0f} to {:.0f}", field.least, field.most);
    case JsonlType::kId:
      return "a whole number from 0 to 2^64 - 1";
    case JsonlType::kIds:
      return "a list of ids";
    case JsonlType::kNumber:
      return fmt::format("a finite number of 0 or more{}", unit);
    case JsonlType::kFlag:
      return "true or false";
    case JsonlType::kText:
      return "a string in UTF-8";
    case JsonlType::kChoice:
      return "one of its words";
    case JsonlType::kObject:
      return "a JSON object";
    case JsonlType::kGroups:
      return "an object of lists of ranks";
  }
  return {};
}

// The beginning of what a file says, safe to print.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return dump_json(Json(text.substr(0, kShown)), -1);
}

std::string joined_names(std::span<const JsonlField> fields, unsigned int mask) {
  std::string text;
  for (const JsonlField& field : fields) {
    if ((field.required & mask) != 0) text += (text.empty() ? "" : ", ") + std::string(field.name);
  }
  return text;
}

class Lines {
 public:
  Lines(ByteSource& source, TraceBuilder& builder)
      : file_(source.name()), lines_(source), builder_(builder) {}

  void read() {
    std::string_view line;
    bool header = true;
    while (lines_.next(line)) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      begin_line();
      if (header) {
        read_header(line);
      } else {
        read_op(line);
      }
      header = false;
    }
    if (header) fail("", "has no lines", "the first is {\"trainyard_trace\": 1, \"ranks\": …}");
    check_ranks();
  }

 private:
  void begin_line() {
    seen_ = 0;
    bad_.clear();
  }

  std::string place(std::string_view field) const {
    return field.empty() ? fmt::format("line {}", lines_.number())
                         : fmt::format("line {}: \"{}\"", lines_.number(), field);
  }
  [[noreturn]] void fail(std::string_view field, const std::string& message,
                         const std::string& hint) {
    builder_.fail(file_, place(field), message, hint);
  }
  // The first thing that is wrong with a line is what is told of it.
  void refuse(std::string_view field, std::string message) {
    if (!bad_.empty()) return;
    bad_ = std::move(message);
    bad_field_ = field;
  }

  // Goes through the members of a line; `take` is given each that holds what it must.
  template <class Take>
  void read_members(std::string_view line, std::span<const JsonlField> fields, Take take) {
    JsonMembers members(line);
    std::size_t at = 0;
    while (bad_.empty() && members.next()) {
      const std::size_t found = find(fields, members.key(), at);
      if (found == kNoField) {
        note_unknown(fields, members.key());
        continue;
      }
      at = found + 1;
      if ((seen_ >> found & 1U) != 0) refuse(fields[found].name, "appears twice");
      seen_ |= std::uint64_t{1} << found;
      Value value;
      if (understand(fields[found], members.value(), value)) take(found, value);
    }
    if (!members.fault().empty()) refuse("", members.fault());
  }

  // Members mostly come in the order of the table: the search begins where the last one ended.
  static std::size_t find(std::span<const JsonlField> fields, std::string_view key,
                          std::size_t from) {
    for (std::size_t i = from; i < fields.size(); ++i) {
      if (fields[i].name == key) return i;
    }
    for (std::size_t i = 0; i < std::min(from, fields.size()); ++i) {
      if (fields[i].name == key) return i;
    }
    return kNoField;
  }

  // Only the first are shown, and in a file of nothing else this is what takes the time.
  std::string nearest(std::string_view word, std::span<const std::string_view> words) {
    constexpr std::size_t kMost = 20;
    return ++suggestions_ > kMost ? "" : "; " + suggest(word, words);
  }
  void note_unknown(std::span<const JsonlField> fields, const std::string& key) {
    std::vector<std::string_view> names;
    for (const JsonlField& field : fields) names.push_back(field.name);
    builder_.fault(file_, fmt::format("line {}: {}", lines_.number(), shown(key)),
                   "is no member of this line" + nearest(key, names),
                   "members that are not known: left out");
  }

  bool understand(const JsonlField& field, const JsonText& text, Value& value) {
    bool right = false;
    switch (field.type) {
      case JsonlType::kInteger:
        right = understand_integer(field, text, value);
        break;
      case JsonlType::kId:
        right = store(text.natural(), value.id);
        break;
      case JsonlType::kIds:
        ids_.clear();
        right = text.naturals(ids_);
        break;
      case JsonlType::kNumber:
        right = store(text.number(), value.number) && value.number >= 0;
        break;
      case JsonlType::kFlag:
        right = store(text.flag(), value.flag);
        break;
      case JsonlType::kText:
        right = store(text.text(text_), value.text);
        break;
      case JsonlType::kChoice:
        if (!store(text.text(text_), value.text)) break;
        return understand_choice(field, value);
      case JsonlType::kObject:
      case JsonlType::kGroups:
        right = text.is_object() && understand_object(field, text);
        break;
    }
    value.raw = text.raw;
    if (!right) {
      constexpr std::size_t kShown = 40;
      const bool is_short =
          text.raw.size() <= kShown && std::all_of(text.raw.begin(), text.raw.end(),
                                                   [](char c) { return c >= ' ' && c <= '~'; });
      refuse(field.name,
             fmt::format("must be {} and is {}", expected(field),
                         is_short ? std::string(text.raw) : std::string(text.type_name())));
    }
    return right;
  }
  template <class T>
  static bool store(const std::optional<T>& found, T& to) {
    if (found) to = *found;
    return found.has_value();
  }
  static bool understand_integer(const JsonlField& field, const JsonText& text, Value& value) {
    if (!store(text.integer(), value.integer)) return false;
    const auto number = static_cast<double>(value.integer);
    return number >= field.least && number <= field.most;
  }
  bool understand_choice(const JsonlField& field, Value& value) {
    const std::span<const std::string_view> words = jsonl_choices(field);
    value.choice = std::find(words.begin(), words.end(), value.text) - words.begin();
    if (value.choice < words.size()) return true;
    refuse(field.name, fmt::format("{} is none{}", shown(value.text), nearest(value.text, words)));
    return false;
  }
  bool understand_object(const JsonlField& field, const JsonText& text) {
    try {
      object_ = parse_json(text.raw, file_);
    } catch (const ScenarioError& error) {
      refuse(field.name, error.diagnostics().front().message);
      return false;
    }
    return true;
  }

  bool has(JsonlHeader field) const {
    return (seen_ >> static_cast<unsigned int>(field) & 1U) != 0;
  }
  bool has(JsonlOp field) const { return (seen_ >> static_cast<unsigned int>(field) & 1U) != 0; }

  void read_header(std::string_view line) {
    if (line.find(jsonl_field(JsonlHeader::kVersion).name) == std::string_view::npos)
      fail("", "is no header", "the first line says {\"trainyard_trace\": 1, \"ranks\": …}");
    Json groups = Json::object();
    read_members(line, jsonl_header_fields(), [&](std::size_t field, const Value& value) {
      take_header(static_cast<JsonlHeader>(field), value, groups);
    });
    if (bad_.empty() && !has(JsonlHeader::kVersion)) refuse("trainyard_trace", "is missing");
    if (bad_.empty() && !has(JsonlHeader::kRanks)) refuse("ranks", "is missing");
    if (!bad_.empty()) fail(bad_field_, bad_, "docs/traces.md describes the header");
    for (const auto& [name, ranks] : groups.members()) define_group(name, ranks);
  }
  void take_header(JsonlHeader field, const Value& value, Json& groups) {
    Trace& trace = builder_.trace();
    switch (field) {
      case JsonlHeader::kVersion:
        break;  // the table allows no other
      case JsonlHeader::kRanks:
        trace.ranks = static_cast<std::size_t>(value.integer);
        break;
      case JsonlHeader::kRepresentative:
        trace.representative = value.flag;
        break;
      case JsonlHeader::kDurations:
        trace.alone = value.choice == 1;
        break;
      case JsonlHeader::kGroups:
        groups = std::move(object_);
        break;
      case JsonlHeader::kAttributes:
        trace.attributes = std::move(object_);
        break;
      case JsonlHeader::kFormat:
        trace.format = value.text;
        break;
    }
  }
  void define_group(const std::string& name, const Json& list) {
    std::vector<std::uint32_t> ranks;
    bool right = list.is_array();
    for (std::size_t i = 0; right && i < list.items().size(); ++i) {
      const Json& rank = list.items()[i];
      right = rank.is_integer() && rank.as_integer() >= 0 &&
              static_cast<std::size_t>(rank.as_integer()) < builder_.trace().ranks;
      if (right) ranks.push_back(static_cast<std::uint32_t>(rank.as_integer()));
    }
    if (!right)
      fail("groups",
           fmt::format("\"{}\" must be a list of ranks below {}", name, builder_.trace().ranks),
           "an empty list is all ranks");
    if (name.empty() && !ranks.empty())
      fail("groups", "\"\" is the group of all ranks", "name the group");
    builder_.define_group(name, std::move(ranks));
  }

  void read_op(std::string_view line) {
    op_ = {};
    needs_.clear();
    read_members(line, jsonl_op_fields(), [&](std::size_t field, const Value& value) {
      take_op(static_cast<JsonlOp>(field), value);
    });
    if (bad_.empty()) check_op();
    if (!bad_.empty()) {
      builder_.fault(file_, place(bad_field_), bad_, "lines that cannot be used: left out");
      return;
    }
    if (rank_ != program_rank_ || programs_.empty()) go_to_rank();
    builder_.add(op_, needs_);
  }
  void take_op(JsonlOp field, const Value& value) {
    const auto small = static_cast<std::int32_t>(value.integer);
    switch (field) {
      case JsonlOp::kRank:
        rank_ = static_cast<std::size_t>(value.integer);
        break;
      case JsonlOp::kId:
        op_.id = value.id;
        break;
      case JsonlOp::kKind:
        op_.kind = static_cast<TraceKind>(value.choice);
        break;
      case JsonlOp::kName:
        op_.name = builder_.name(value.text);
        break;
      case JsonlOp::kOp:
        op_.collective = static_cast<TraceCollective>(value.choice);
        break;
      case JsonlOp::kGroup:
        op_.group = group(value.text);
        break;
      case JsonlOp::kBytes:
        op_.bytes = value.number;
        break;
      case JsonlOp::kType:
        op_.type = builder_.name(value.text);
        break;
      case JsonlOp::kStream:
        op_.stream = small;
        break;
      case JsonlOp::kPeer:
        op_.peer = small;
        break;
      case JsonlOp::kTag:
        op_.tag = small;
        break;
      case JsonlOp::kFlops:
        op_.flops = value.number;
        break;
      case JsonlOp::kStart:
        op_.start = value.number;
        break;
      case JsonlOp::kDuration:
        op_.duration = value.number;
        break;
      case JsonlOp::kAfter:
        add_needs(TraceNeed::Kind::kData);
        break;
      case JsonlOp::kAfterControl:
        add_needs(TraceNeed::Kind::kControl);
        break;
      case JsonlOp::kAfterStart:
        add_needs(TraceNeed::Kind::kStart);
        break;
      case JsonlOp::kExtra:
        op_.extra = builder_.extra(std::string(value.raw));
        break;
    }
  }
  void add_needs(TraceNeed::Kind kind) {
    for (const std::uint64_t id : ids_) needs_.push_back({id, kind});
  }
  // Neighbours are often of one group.
  std::uint32_t group(std::string_view name) {
    if (name != group_name_) {
      group_name_ = name;
      group_ = builder_.group(group_name_);
    }
    return group_;
  }

  void check_op() {
    const unsigned int mask =
        has(JsonlOp::kKind) ? 1U << static_cast<unsigned int>(op_.kind) : 0xffU;
    const std::span<const JsonlField> fields = jsonl_op_fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if ((fields[i].required & mask) == 0 || (seen_ >> i & 1U) != 0) continue;
      const bool barrier = fields[i].type == JsonlType::kNumber &&
                           op_.kind == TraceKind::kCollective &&
                           op_.collective == TraceCollective::kBarrier;
      if (barrier) continue;
      refuse(fields[i].name,
             fmt::format("is missing: {} has {}",
                         mask == 0xffU ? "each operation" : trace_kind_name(op_.kind),
                         joined_names(fields, mask)));
    }
    if (has(JsonlOp::kOp) && op_.kind != TraceKind::kCollective)
      refuse("op",
             fmt::format("is what a collective has, and this is {}", trace_kind_name(op_.kind)));
    const std::size_t ranks = builder_.trace().ranks;
    if (rank_ >= ranks) refuse("rank", fmt::format("is {} of {} ranks", rank_, ranks));
    if (has(JsonlOp::kPeer) && static_cast<std::size_t>(op_.peer) >= ranks)
      refuse("peer", fmt::format("is rank {} of {}", op_.peer, ranks));
  }

  void go_to_rank() {
    constexpr std::uint32_t kNoProgram = 0xffffffffU;
    if (rank_ >= programs_.size()) programs_.resize(rank_ + 1, kNoProgram);
    std::uint32_t& program = programs_[rank_];
    if (program == kNoProgram) {
      program = static_cast<std::uint32_t>(builder_.begin(rank_, file_));
      ++begun_;
    } else {
      builder_.resume(program);
    }
    program_rank_ = rank_;
  }

  void check_ranks() {
    const std::size_t ranks = builder_.trace().ranks;
    if (begun_ == 0) builder_.fail(file_, "", "has no operations", "is the file whole?");
    if (begun_ == ranks || builder_.trace().representative || builder_.how().representative) return;
    std::size_t missing = 0;
    while (missing < programs_.size() && programs_[missing] != 0xffffffffU) ++missing;
    builder_.fail(file_, "",
                  fmt::format("rank {} and {} more have no line", missing, ranks - begun_ - 1),
                  fmt::format("say \"representative\": true in the header if the others stand for "
                              "them, else give each a line: "
                              "{{\"rank\": {}, \"id\": 0, \"kind\": \"marker\"}}",
                              missing));
  }

  std::string file_;
  LineReader lines_;
  TraceBuilder& builder_;
  std::vector<std::uint32_t> programs_;  ///< by rank
  std::size_t begun_ = 0, program_rank_ = 0, suggestions_ = 0;
  std::string group_name_;
  std::uint32_t group_ = 0;
  // Of the line that is being read.
  std::uint64_t seen_ = 0;  ///< a bit of each field
  std::string bad_;         ///< what is wrong with it; empty: nothing
  std::string_view bad_field_;
  std::size_t rank_ = 0;
  TraceOp op_;
  std::vector<TraceNeedById> needs_;
  std::vector<std::uint64_t> ids_;
  std::string text_;
  Json object_;
};

class Jsonl : public TraceFormat {
 public:
  bool recognizes(std::string_view /*name*/, std::string_view head) const override {
    const std::string_view line = head.substr(0, head.find('\n'));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    return begin != std::string_view::npos && line[begin] == '{' &&
           line.find("\"trainyard_trace\"") != std::string_view::npos;
  }
  void read(ByteSource& source, std::size_t /*rank*/, TraceBuilder& builder) const override {
    Lines(source, builder).read();
  }
  bool writes() const override { return true; }
  std::vector<std::string> write(const Trace& trace, const std::string& path) const override {
    PackedFile file(path);
    write_jsonl(trace, [&](const std::string& text) { file.add(text); });
    if (const std::string why = file.keep(); !why.empty())
      throw UsageError(fmt::format("{} cannot be written: {}", path, why));
    return {};
  }
};

const Registration<TraceFormat, Jsonl> registered{"jsonl", "JSON Lines, one operation a line"};

}  // namespace
}  // namespace trainyard
