// Traces in the exchange format of MLCommons Chakra (PREFIX.RANK.et), in its binary form or as the
// JSON that its jsonizer makes. What there is no place for in a Trace goes into extras and
// attributes as {"chakra": message}, so that the writer can give it back.
#include "models/workloads/trace_chakra.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "models/workloads/trace_chakra_write.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using namespace chakra;

// Reads one file.
class Reader {
 public:
  Reader(ByteSource& source, std::size_t rank, TraceBuilder& builder)
      : source_(source), rank_(rank), builder_(builder), records_(source, builder) {}

  void read() {
    builder_.count_contributions();
    builder_.keep_order_of_ids();
    const bool first = builder_.trace().programs.empty();
    builder_.begin(rank_, source_.name());
    if (first) read_groups_beside();
    read_metadata(first);
    Node node;
    while (records_.next(node)) take(node);
  }

 private:
  Json& kept() { return builder_.trace().attributes["chakra"]; }

  void fault(const std::string& place, const std::string& message, const std::string& kind) {
    builder_.fault(source_.name(), place, message, kind);
  }

  void read_metadata(bool first) {
    GlobalMetadata metadata;
    if (!records_.next(metadata))
      builder_.fail(source_.name(), "", "is empty", "a trace begins with its metadata");
    const AttributeProto* alone = find_attribute(metadata, "durations_alone");
    if (first) builder_.trace().alone = alone != nullptr && alone->bool_val();
    const Json json = parse_json(json_text(metadata), source_.name());
    if (first) {
      kept()["metadata"] = json;
    } else if (builder_.how().keep_extras && !(json == kept().at("metadata"))) {
      Json other = Json::object();
      other["rank"] = rank_;
      other["metadata"] = json;
      Json& others = kept()["others"];
      if (others.is_null()) others = Json::array();
      others.push_back(std::move(other));
    }
  }

  // ASTRA-sim's file of groups, {"1": [0, 1]}, which is named on its command line: comm_group.json,
  // or PREFIX.comm_group.json, in the folder of the trace.
  void read_groups_beside() {
    std::error_code code;
    if (!fs::exists(source_.name(), code)) return;
    const fs::path folder = fs::path(source_.name()).parent_path();
    std::string prefix = fs::path(source_.name()).filename().string();
    const std::size_t rank = prefix.rfind(fmt::format(".{}.", rank_));
    if (rank != std::string::npos) prefix.resize(rank);
    for (const std::string& name : {prefix + "." + kGroupsFile, std::string(kGroupsFile)}) {
      const std::string path = (folder / name).string();
      if (!fs::exists(path, code)) continue;
      read_groups(path);
      return;
    }
  }

  void read_groups(const std::string& path) {
    const Json file = parse_json(read_text_file(path), path);
    if (!file.is_object())
      builder_.fail(path, "", "is no JSON object", "{\"1\": [0, 1]} is a group 1 of two ranks");
    for (const auto& [name, list] : file.members()) {
      std::vector<std::uint32_t> ranks;
      if (!ranks_of(list, ranks))
        builder_.fail(path, "/" + name, "is no list of ranks", "[0, 1] is one");
      builder_.define_group(name, std::move(ranks));
    }
    kept()["groups"] = "beside";
  }

  void take(Node& node) {
    if (node.ByteSizeLong() == 0)
      builder_.fail(source_.name(), records_.place(), "is empty", "is the file damaged?");
    if (node.type() == METADATA_NODE && take_groups(node)) return;
    problems_.clear();
    const Facts facts = facts_of(node, static_cast<std::int64_t>(rank_), problems_);
    for (const Problem& problem : problems_) {
      if (!problem.kind.empty()) {
        fault(place(node), problem.message, problem.kind);
      } else {
        builder_.fail(source_.name(), place(node), problem.message, "is the file damaged?");
      }
    }
    TraceOp op = op_of(facts);
    op.id = node.id();
    op.name = builder_.name(node.name());
    needs_.clear();
    for (const std::uint64_t id : node.data_deps()) needs_.push_back({id, TraceNeed::Kind::kData});
    for (const std::uint64_t id : node.ctrl_deps())
      needs_.push_back({id, TraceNeed::Kind::kControl});
    if (builder_.how().keep_extras) keep_rest(node, facts, op);
    builder_.add(op, needs_);
  }

  TraceOp op_of(const Facts& facts) {
    TraceOp op;
    op.kind = facts.kind;
    op.collective = facts.collective;
    op.start = facts.start;
    op.duration = facts.duration;
    op.bytes = facts.bytes;
    op.flops = facts.flops;
    op.stream = facts.stream;
    op.peer = facts.peer;
    op.tag = facts.tag;
    op.type = builder_.name(facts.type);
    if (facts.kind == TraceKind::kCollective) op.group = builder_.group(facts.group);
    return op;
  }

  // "node 4485 (name)", as Trace::describe has it.
  static std::string place(const Node& node) {
    return node.name().empty() ? fmt::format("node {}", node.id())
                               : fmt::format("node {} ({})", node.id(), node.name());
  }

  // Whether that is all that the node is for.
  bool take_groups(const Node& node) {
    if (!groups_of(node, groups_)) {
      fault(place(node), "seems to define groups, and not as [{\"pg_name\": …, \"ranks\": […]}]",
            "definitions of groups that cannot be read: ignored");
    } else {
      for (GroupText& group : groups_) builder_.define_group(group.name, std::move(group.ranks));
    }
    if (!groups_only(node)) return false;
    kept()["groups"] = "nodes";
    return true;
  }

  // All but what every Trace holds, unless the writer would make the same of the facts.
  void keep_rest(Node& node, const Facts& facts, TraceOp& op) {
    node.clear_id();
    node.clear_name();
    node.clear_data_deps();
    node.clear_ctrl_deps();
    if (facts.kind == TraceKind::kMarker) node.set_type(METADATA_NODE);  // also what was mended
    Node made;
    Rounding rounding;
    put_facts(facts, static_cast<std::int64_t>(rank_), made, rounding);
    if (made.SerializeAsString() == node.SerializeAsString()) return;
    op.extra = builder_.extra("{\"chakra\": " + json_text(node) + "}");
  }

  ByteSource& source_;
  std::size_t rank_;
  TraceBuilder& builder_;
  Records records_;
  std::vector<Problem> problems_;
  std::vector<TraceNeedById> needs_;
  std::vector<GroupText> groups_;
};

class ChakraFormat : public TraceFormat {
 public:
  bool recognizes(std::string_view, std::string_view head) const override {
    return begins_like_trace(head);
  }
  bool file_per_rank() const override { return true; }
  bool is_beside(std::string_view name) const override {
    return name == kGroupsFile || name.ends_with(std::string(".") + kGroupsFile);
  }
  void read(ByteSource& source, std::size_t rank, TraceBuilder& builder) const override {
    Reader(source, rank, builder).read();
  }
  bool writes() const override { return true; }
  std::vector<std::string> write(const Trace& trace, const std::string& path) const override {
    return write_trace(trace, path);
  }
};

const Registration<TraceFormat, ChakraFormat> registered{
    "chakra", "MLCommons Chakra execution traces, a file per rank (ASTRA-sim, PyTorch)"};

}  // namespace
}  // namespace trainyard
