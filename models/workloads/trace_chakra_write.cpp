// Writes a trace as PREFIX.RANK.et, and PREFIX.comm_group.json where it has groups.
#include "models/workloads/trace_chakra_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "models/workloads/trace_chakra.hpp"
#include "sim/whole_file.hpp"

namespace trainyard::chakra {
namespace {

namespace fs = std::filesystem;

// As ASTRA-sim reads names of groups: an int, 0 for all ranks.
bool is_group_number(const std::string& name) {
  std::int32_t number = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
  return code == std::errc() && end == name.data() + name.size() && number > 0 && name[0] != '0';
}

// How many bytes the character at the front has; 0 where it is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(0), second = byte(1);
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xc2 ? 0
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                                         : 4;
  if (lead > 0xf4) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool long_form = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool no_character = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return long_form || no_character ? 0 : size;
}

class Writer {
 public:
  Writer(const Trace& trace, const std::string& path)
      : trace_(trace), path_(path.ends_with(".et") ? path.substr(0, path.size() - 3) : path) {}

  std::vector<std::string> write() {
    check();
    read_attributes();
    find_kept_groups();
    name_groups();
    std::vector<std::vector<std::uint32_t>> first(trace_.programs.size());
    for (std::uint32_t g = 1; g < trace_.groups.size(); ++g) {
      const auto& ranks = trace_.groups[g].ranks;
      const std::size_t rank = ranks.empty() ? 0 : ranks.front();
      if (rank < first.size()) first[rank].push_back(g);
    }
    for (std::size_t i = 0; i < trace_.programs.size(); ++i) write(trace_.programs[i], first[i]);
    write_groups_beside();
    return losses();
  }

 private:
  std::string file(std::size_t rank) const { return fmt::format("{}.{}.et", path_, rank); }

  void check() const {
    if (trace_.representative || trace_.programs.size() != trace_.ranks)
      throw UsageError(fmt::format(
          "{}: of {} ranks only {} are recorded, and a Chakra trace has a file of each: "
          "use a format that can hold ranks without programs",
          path_, trace_.ranks, trace_.programs.size()));
    std::error_code code;
    if (fs::exists(file(trace_.ranks), code))
      throw UsageError(
          fmt::format("{} is of an earlier trace with more ranks, and would be taken "
                      "for a part of this one: remove it, or choose another name",
                      file(trace_.ranks)));
  }

  // What the reader kept of a trace of this format.
  void read_attributes() {
    for (const auto& [name, value] : trace_.attributes.members())
      if (name != "chakra") other_attributes_ = true;
    const Json* kept = trace_.attributes.find("chakra");
    if (kept == nullptr) return;
    if (const Json* groups = kept->find("groups"))
      beside_ = groups->is_string() && groups->as_string() == "beside";
    metadata_ = kept->find("metadata");
    const Json* others = kept->find("others");
    if (others == nullptr || !others->is_array()) return;
    for (const Json& other : others->items()) {
      const Json *rank = other.find("rank"), *metadata = other.find("metadata");
      if (rank != nullptr && rank->is_integer() && metadata != nullptr)
        others_[rank->as_integer()] = metadata;
    }
  }

  // The node that an operation was in a trace of this format, as far as the reader kept it.
  std::optional<Node> kept(const TraceOp& op) {
    if (op.extra == TraceOp::kNoExtra) return {};
    try {
      const Json extra = parse_json(trace_.extras.at(op.extra), "");
      const Json* text = extra.find("chakra");
      Node node;
      bool unknown = false;
      if (text != nullptr && parse_json_text(dump_json(*text, -1), node, unknown).empty())
        return node;
    } catch (const ScenarioError&) {  // no JSON
    }
    return {};
  }

  void find_kept_groups() {
    std::vector<GroupText> groups;
    for (const TraceProgram& program : trace_.programs) {
      for (const TraceOp& op : program.ops) {
        if (op.kind != TraceKind::kMarker) continue;
        const std::optional<Node> node = kept(op);
        if (!node || !groups_of(*node, groups)) continue;
        for (const GroupText& group : groups) kept_groups_.insert(group.name);
      }
    }
  }

  void name_groups() {
    std::set<std::string> taken;
    for (const TraceGroup& group : trace_.groups) taken.insert(group.name);
    std::int32_t next = 1;
    names_.emplace_back();
    for (std::size_t g = 1; g < trace_.groups.size(); ++g) {
      const std::string& name = trace_.groups[g].name;
      if (beside_ || is_group_number(name) || kept_groups_.count(name) > 0) {
        names_.push_back(name);
        continue;
      }
      while (!taken.insert(std::to_string(next)).second) ++next;
      names_.push_back(std::to_string(next));
      if (renamed_++ == 0) renaming_ = fmt::format("\"{}\" is {}", name, next);
    }
  }

  GlobalMetadata metadata(std::uint32_t rank) const {
    GlobalMetadata metadata;
    const auto it = others_.find(rank);
    const Json* json = it != others_.end() ? it->second : metadata_;
    bool unknown = false;
    if (json == nullptr || !parse_json_text(dump_json(*json, -1), metadata, unknown).empty()) {
      metadata.Clear();
      metadata.set_version("0.0.4");
    }
    const std::string name = "durations_alone";
    const AttributeProto* alone = find_attribute(metadata, name);
    if ((alone != nullptr && alone->bool_val()) == trace_.alone) return metadata;
    auto& attributes = *metadata.mutable_attr();
    attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                    [&](const AttributeProto& a) { return a.name() == name; }),
                     attributes.end());
    if (trace_.alone) {
      AttributeProto& attribute = *metadata.add_attr();
      attribute.set_name(name);
      attribute.set_bool_val(true);
    }
    return metadata;
  }

  std::string utf8(const std::string& text) {
    std::string good;
    bool right = true;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = character(rest);
      right = right && size > 0;
      good += size > 0 ? rest.substr(0, size) : "?";
      rest.remove_prefix(std::max<std::size_t>(size, 1));
    }
    if (!right) ++broken_names_;
    return good;
  }

  // Their ids, with those changed that are there before.
  std::vector<std::uint64_t> ids(const TraceProgram& program) {
    std::set<std::uint64_t> taken;
    std::vector<std::uint64_t> ids;
    for (const TraceOp& op : program.ops) ids.push_back(op.id);
    std::vector<std::uint64_t> sorted = ids;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return ids;
    const std::set<std::uint64_t> all(sorted.begin(), sorted.end());
    std::uint64_t next = 0;
    for (std::uint64_t& id : ids) {
      if (taken.insert(id).second) continue;
      while (all.count(next) > 0) ++next;
      id = next++;
      ++renumbered_;
    }
    return ids;
  }

  // One that no operation has: where it can, behind all others.
  static std::uint64_t free_id(std::vector<std::uint64_t> ids) {
    std::sort(ids.begin(), ids.end());
    if (ids.empty()) return 0;
    if (ids.back() + 1 != 0) return ids.back() + 1;
    std::uint64_t id = 0;
    for (const std::uint64_t taken : ids) {
      if (taken != id) break;
      ++id;
    }
    return id;
  }

  void put(const google::protobuf::Message& message) {
    // By hand: protobuf's own streams take all the room that the buffer has each time.
    constexpr std::uint64_t kMore = 0x80;
    std::uint64_t length = message.ByteSizeLong();
    for (; length >= kMore; length >>= 7)
      buffer_ += static_cast<char>((length & (kMore - 1)) | kMore);
    buffer_ += static_cast<char>(length);
    message.AppendToString(&buffer_);
  }

  void flush(WholeFile& file, std::size_t most) {
    if (buffer_.size() <= most) return;
    file.add(buffer_);
    buffer_.clear();
  }

  void write(const TraceProgram& program, std::vector<std::uint32_t> groups) {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    WholeFile out(file(program.rank));
    put(metadata(program.rank));
    const std::vector<std::uint64_t> ids = this->ids(program);
    put_groups(program, std::move(groups), ids);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      put(node(program, i, ids));
      flush(out, kBlock);
    }
    flush(out, 0);
    const std::string why = out.keep();
    if (!why.empty())
      throw UsageError(fmt::format("{} cannot be written: {}", file(program.rank), why));
  }

  // Groups that collectives here are in, or that have no earlier rank to be defined by.
  void put_groups(const TraceProgram& program, std::vector<std::uint32_t> groups,
                  const std::vector<std::uint64_t>& ids) {
    if (beside_) return;
    for (const TraceOp& op : program.ops)
      if (op.kind == TraceKind::kCollective && op.group != 0) groups.push_back(op.group);
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    std::vector<GroupText> texts;
    for (const std::uint32_t g : groups)
      if (kept_groups_.count(names_[g]) == 0) texts.push_back({names_[g], trace_.groups[g].ranks});
    if (texts.empty()) return;
    ours_ = true;
    Node node;
    node.set_id(free_id(ids));
    node.set_name("process_groups");
    node.set_type(METADATA_NODE);
    node.mutable_inputs()->set_values(groups_text(texts));
    for (const char* name : {"is_cpu_op", "groups_only"}) {
      AttributeProto& attribute = *node.add_attr();
      attribute.set_name(name);
      attribute.set_bool_val(std::string_view(name) == "groups_only");
    }
    put(node);
  }

  Facts facts(const TraceOp& op) {
    Facts facts;
    facts.kind = op.kind;
    facts.start = op.start < 0 ? -1 : op.start;
    facts.duration = op.duration < 0 ? -1 : op.duration;
    if (op.kind == TraceKind::kMarker) return facts;
    facts.flops = op.flops;
    facts.bytes = op.bytes;
    facts.stream = op.stream;
    facts.type = utf8(trace_.names[op.type]);
    if (op.kind == TraceKind::kCollective) {
      facts.collective = op.collective;
      facts.group = names_[op.group];
      facts.peer = op.peer;
    }
    if (op.kind == TraceKind::kSend || op.kind == TraceKind::kReceive) {
      facts.peer = op.peer;
      facts.tag = op.tag;
    }
    return facts;
  }

  Node node(const TraceProgram& program, std::size_t i, const std::vector<std::uint64_t>& ids) {
    const TraceOp& op = program.ops[i];
    Node node = content(op, program.rank);
    node.set_id(ids[i]);
    node.set_name(utf8(trace_.name(op)));
    for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n) {
      const TraceNeed& need = program.needs[n];
      if (need.kind == TraceNeed::Kind::kData) node.add_data_deps(ids[need.op]);
      if (need.kind == TraceNeed::Kind::kControl) node.add_ctrl_deps(ids[need.op]);
      if (need.kind == TraceNeed::Kind::kStart) put_start(program, program.ops[need.op], ids, node);
    }
    return node;
  }

  // What has started has at least what it waits for behind it.
  void put_start(const TraceProgram& program, const TraceOp& other,
                 const std::vector<std::uint64_t>& ids, Node& node) {
    ++starts_;
    for (std::uint32_t n = other.first_need; n < other.first_need + other.needs; ++n) {
      const TraceNeed& need = program.needs[n];
      if (need.kind != TraceNeed::Kind::kStart) node.add_ctrl_deps(ids[need.op]);
    }
  }

  // All but id, name and dependencies: as it was where it still says what the operation does.
  Node content(const TraceOp& op, std::int64_t rank) {
    const double ranks =
        contributed(op.kind, op.collective) ? static_cast<double>(trace_.group_size(op.group)) : 1;
    Facts said = facts(op);
    std::optional<Node> before = kept(op);
    if (op.extra != TraceOp::kNoExtra && !before) ++other_extras_;
    if (before) {
      std::vector<Problem> problems;
      Facts known = facts_of(*before, rank, problems);
      known.bytes *= ranks;
      // All ranks may be "0" or none.
      if (op.group == 0 && known.group == "0") known.group.clear();
      if (problems.empty() && known == said) return *before;
    }
    said.bytes /= ranks;
    Node node;
    put_facts(said, rank, node, rounding_);
    if (before) put_rest(*before, node);
    return node;
  }

  static void put_rest(const Node& before, Node& node) {
    if (before.has_inputs()) *node.mutable_inputs() = before.inputs();
    if (before.has_outputs()) *node.mutable_outputs() = before.outputs();
    for (const AttributeProto& attribute : before.attr())
      if (!is_held(attribute.name())) *node.add_attr() = attribute;
  }

  void write_groups_beside() {
    const std::string name = path_ + "." + kGroupsFile;
    std::error_code code;
    // One of an earlier trace would be taken for this one's.
    if (!beside_ && !ours_ && !fs::exists(name, code)) return;
    Json::Object groups;
    for (std::size_t g = 1; g < trace_.groups.size(); ++g) {
      if (!beside_ && kept_groups_.count(names_[g]) > 0) continue;
      Json ranks = Json::array();
      for (const std::uint32_t rank : trace_.groups[g].ranks) ranks.push_back(std::size_t{rank});
      groups.emplace_back(names_[g], std::move(ranks));
    }
    const std::string why = write_whole_file(name, dump_json(Json(std::move(groups)), -1) + "\n");
    if (!why.empty()) throw UsageError(fmt::format("{} cannot be written: {}", name, why));
  }

  std::vector<std::string> losses() const {
    std::vector<std::string> all;
    const auto say = [&](std::size_t count, const std::string& what) {
      if (count > 0) all.push_back(fmt::format("{} {}.", count, what));
    };
    say(starts_,
        "dependencies on the start of another operation: written as on what the other waits for");
    say(rounding_.numbers, "numbers of bytes or operations: rounded to whole ones");
    say(rounding_.durations, "operations of no known duration: written as of 0 us");
    say(renamed_, "groups whose names are no numbers above 0: numbered (" + renaming_ + ")");
    say(renumbered_, "operations with the id of another one: numbered anew");
    say(broken_names_, "names that are not UTF-8: written with question marks");
    say(other_extras_, "operations with extras of another format: written without them");
    if (other_attributes_) all.emplace_back("The attributes of the trace: left out.");
    return all;
  }

  const Trace& trace_;
  std::string path_;
  std::string buffer_;
  const Json* metadata_ = nullptr;
  std::map<std::int64_t, const Json*> others_;  ///< by rank, of those that differ
  bool beside_ = false;                         ///< the groups came from a file beside the trace
  bool ours_ = false;                           ///< a file has groups that we define in it
  std::set<std::string> kept_groups_;           ///< defined by nodes that are written as they were
  std::vector<std::string> names_;              ///< of groups, in the file
  Rounding rounding_;
  std::size_t starts_ = 0, renamed_ = 0, renumbered_ = 0, broken_names_ = 0, other_extras_ = 0;
  std::string renaming_;
  bool other_attributes_ = false;
};

}  // namespace

std::vector<std::string> write_trace(const Trace& trace, const std::string& path) {
  return Writer(trace, path).write();
}

}  // namespace trainyard::chakra
