// Reading Chakra traces: what each kind of node becomes, both forms, groups, and what is refused.
#include <gmock/gmock.h>

#include "trace_chakra_files.hpp"

namespace trainyard {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Ranks = std::vector<std::uint32_t>;

const TraceOp& op(const Trace& trace, std::size_t i, std::size_t program = 0) {
  return trace.programs.at(program).ops.at(i);
}

// Bytes by hand: id 0, "ar", COMM_COLL, comm_type int64 0, comm_size int64 1 MiB, is_cpu_op false.
TEST(Chakra, ReadsBytes) {
  const std::string node = std::string(
                               "\x12\x02"
                               "ar"
                               "\x18\x07",
                               6) +
                           std::string(
                               "\x52\x0d\x0a\x09"
                               "comm_type"
                               "\x48\x00",
                               15) +
                           std::string(
                               "\x52\x10\x0a\x09"
                               "comm_size"
                               "\x48\x80\x80\x40",
                               17)
                               .replace(1, 1, "\x0f") +
                           std::string(
                               "\x52\x0e\x0a\x09"
                               "is_cpu_op"
                               "\xd8\x01\x00",
                               16);
  const Trace trace = read_bytes({metadata_bytes() + with_length(node)}).trace;
  ASSERT_THAT(trace.programs, SizeIs(1));
  ASSERT_THAT(trace.programs[0].ops, SizeIs(1));
  EXPECT_EQ(op(trace, 0).kind, TraceKind::kCollective);
  EXPECT_EQ(op(trace, 0).collective, TraceCollective::kAllReduce);
  EXPECT_EQ(op(trace, 0).bytes, 1 << 20);
  EXPECT_EQ(trace.name(op(trace, 0)), "ar");
  EXPECT_EQ(trace.attributes.at("chakra").at("metadata").at("version").as_string(), "0.0.4");
}

TEST(Chakra, MapsComputeAndMemory) {
  const Trace trace = read_nodes(
      {Make(5, "gemm", chakra::COMP_NODE)
           .micros(7, 100)
           .int64("num_ops", 1000)
           .int64("tensor_size", 64)
           .int64("stream", 20)
           .yes("is_cpu_op", false),
       Make(6, "launch", chakra::COMP_NODE).micros(3).yes("is_cpu_op").int64("stream", 0).after(5),
       Make(7, "load", chakra::MEM_LOAD_NODE).int64("tensor_size", 4096).behind(6),
       Make(8, "store", chakra::MEM_STORE_NODE).int64("tensor_size", 0),
       Make(9, "meta", chakra::METADATA_NODE).int32("anything", 1),
       Make(10, "roofline", chakra::COMP_NODE).int64("num_ops", 5),
       Make(11, "short", chakra::COMP_NODE)
           .real("duration_seconds", 2.5e-7)
           .real("start_seconds", 0)});
  EXPECT_EQ(op(trace, 0).kind, TraceKind::kCompute);
  EXPECT_EQ(op(trace, 0).id, 5U);
  EXPECT_EQ(op(trace, 0).duration, 7e-6);
  EXPECT_EQ(op(trace, 0).start, 100e-6);
  EXPECT_EQ(op(trace, 0).flops, 1000);
  EXPECT_EQ(op(trace, 0).bytes, 64);
  EXPECT_EQ(op(trace, 0).stream, 20);
  EXPECT_EQ(op(trace, 1).kind, TraceKind::kHost);
  EXPECT_EQ(op(trace, 1).stream, TraceOp::kNone);
  EXPECT_LT(op(trace, 1).start, 0);
  EXPECT_EQ(op(trace, 2).kind, TraceKind::kLoad);
  EXPECT_EQ(op(trace, 2).bytes, 4096);
  EXPECT_EQ(op(trace, 3).kind, TraceKind::kStore);
  EXPECT_EQ(op(trace, 4).kind, TraceKind::kMarker);
  EXPECT_LT(op(trace, 5).duration, 0) << "0 us and num_ops: not recorded";
  EXPECT_EQ(op(trace, 6).duration, 2.5e-7);
  EXPECT_EQ(op(trace, 6).start, 0);
  const auto& needs = trace.programs[0].needs;
  ASSERT_THAT(needs, SizeIs(2));
  EXPECT_EQ(needs[0].op, 0U);
  EXPECT_EQ(needs[0].kind, TraceNeed::Kind::kData);
  EXPECT_EQ(needs[1].op, 1U);
  EXPECT_EQ(needs[1].kind, TraceNeed::Kind::kControl);
}

TEST(Chakra, TakesEveryEncodingOfABoolean) {
  const auto kind = [](auto set) {
    Make node(1, "n", chakra::COMP_NODE);
    set(node.attribute("is_cpu_op"));
    return op(read_nodes({node}), 0).kind;
  };
  EXPECT_EQ(kind([](auto& a) { a.set_bool_val(true); }), TraceKind::kHost);
  EXPECT_EQ(kind([](auto& a) { a.set_int32_val(1); }), TraceKind::kHost);
  EXPECT_EQ(kind([](auto& a) { a.set_uint64_val(1); }), TraceKind::kHost);
  EXPECT_EQ(kind([](auto& a) { a.set_sint32_val(1); }), TraceKind::kHost);
  EXPECT_EQ(kind([](auto& a) { a.set_string_val("True"); }), TraceKind::kHost);
  EXPECT_EQ(kind([](auto& a) { a.set_bool_val(false); }), TraceKind::kCompute);
  EXPECT_EQ(kind([](auto& a) { a.set_int64_val(0); }), TraceKind::kCompute);
  EXPECT_EQ(kind([](auto& a) { a.set_string_val("false"); }), TraceKind::kCompute);
}

TEST(Chakra, MapsEveryCollective) {
  using enum TraceCollective;
  const std::vector<TraceCollective> expected{
      kAllReduce, kReduce,   kAllGather,     kGather,        kScatter,
      kBroadcast, kAllToAll, kReduceScatter, kReduceScatter, kBarrier};
  for (int type = 0; type < 10; ++type) {
    const Trace trace = read_nodes({collective(1, "c", type, 8).yes("is_cpu_op")});
    EXPECT_EQ(op(trace, 0).kind, TraceKind::kCollective) << "also where marked as of the host";
    EXPECT_EQ(op(trace, 0).collective, expected[static_cast<std::size_t>(type)]) << type;
  }
  EXPECT_EQ(op(read_nodes({collective(1, "c", 5, 8).int32("comm_root", 3)}), 0).peer, 3);
  EXPECT_EQ(op(read_nodes({Make(1, "b", chakra::COMM_COLL_NODE).int32("comm_type", 9)}), 0).bytes,
            0)
      << "a barrier needs no size";
}

// all_gather and gather say what each rank brings along; groups that are known only later count.
TEST(Chakra, MakesWholeBuffersOfContributions) {
  const std::string group =
      "['[{\"pg_name\": \"7\", \"ranks\": [0, 2], \"pg_desc\": \"it\\'s\"}]']";
  const std::vector<Node> first{collective(1, "world", 2, 100),
                                collective(2, "group", 2, 100).text("pg_name", "7"),
                                collective(3, "gather", 3, 100), collective(4, "scatter", 7, 100)};
  const Trace trace =
      read_bytes({file_bytes(first), file_bytes({}),
                  file_bytes({Make(1, "pg", chakra::METADATA_NODE).values(group)}), file_bytes({})})
          .trace;
  EXPECT_EQ(op(trace, 0).bytes, 400);
  EXPECT_EQ(op(trace, 1).bytes, 200);
  EXPECT_EQ(op(trace, 2).bytes, 400);
  EXPECT_EQ(op(trace, 3).bytes, 100);
  EXPECT_EQ(trace.groups[op(trace, 1).group].ranks, (Ranks{0, 2}));
}

TEST(Chakra, MapsMessages) {
  const Trace trace =
      read_bytes(
          {file_bytes({Make(1, "s", chakra::COMM_SEND_NODE)
                           .int64("comm_size", 10)
                           .int32("comm_src", 0)
                           .int32("comm_dst", 1)
                           .int32("comm_tag", 4)}),
           file_bytes(
               {Make(1, "r", chakra::COMM_RECV_NODE).int64("comm_size", 10).int32("comm_src", 0)})})
          .trace;
  EXPECT_EQ(op(trace, 0).kind, TraceKind::kSend);
  EXPECT_EQ(op(trace, 0).peer, 1);
  EXPECT_EQ(op(trace, 0).tag, 4);
  EXPECT_EQ(op(trace, 0, 1).kind, TraceKind::kReceive);
  EXPECT_EQ(op(trace, 0, 1).peer, 0);
  EXPECT_EQ(op(trace, 0, 1).tag, 0);
  EXPECT_EQ(op(trace, 0, 1).bytes, 10);
}

TEST(Chakra, TakesTheWholeWorldForAGroupOfItsNames) {
  const std::string world = "['[{\"pg_name\": \"3\", \"ranks\": []}]']";
  const Trace trace = read_nodes({collective(1, "a", 0, 8).text("pg_name", "0"),
                                  collective(2, "b", 0, 8).text("pg_name", ""),
                                  collective(3, "c", 0, 8).int64("pg_name", 3),
                                  Make(4, "pg", chakra::METADATA_NODE).values(world)});
  EXPECT_EQ(op(trace, 0).group, 0U);
  EXPECT_EQ(op(trace, 1).group, 0U);
  EXPECT_EQ(trace.groups[op(trace, 2).group].name, "3");
  EXPECT_THAT(trace.groups[op(trace, 2).group].ranks, SizeIs(0));
}

// As mlcommons' jsonizer prints them, with nothing between; 64-bit numbers are strings.
TEST(Chakra, ReadsJson) {
  const std::string json = R"({
  "attr": [{"name": "schema", "stringVal": "1.0.2-chakra.0.0.4"}]
}{
  "id": "4294967296",
  "name": "a }{ \"b",
  "type": "COMP_NODE",
  "durationMicros": "12",
  "attr": [{"name": "is_cpu_op", "boolVal": false}]
}{
  "name": "c",
  "type": "COMM_COLL_NODE",
  "dataDeps": ["4294967296"],
  "attr": [{"name": "comm_type", "int64Val": "6"}, {"name": "comm_size", "int64Val": "1024"}]
})";
  const Trace trace = read_bytes({json}).trace;
  ASSERT_THAT(trace.programs[0].ops, SizeIs(2));
  EXPECT_EQ(op(trace, 0).id, 4294967296U);
  EXPECT_EQ(trace.name(op(trace, 0)), "a }{ \"b");
  EXPECT_EQ(op(trace, 0).duration, 12e-6);
  EXPECT_EQ(op(trace, 1).id, 0U);
  EXPECT_EQ(op(trace, 1).collective, TraceCollective::kAllToAll);
  EXPECT_EQ(op(trace, 1).bytes, 1024);
  EXPECT_EQ(op(trace, 1).needs, 1U);
  EXPECT_TRUE(Registry<TraceFormat>::of().make("chakra")->recognizes("x", json));
  EXPECT_THAT(refusal({json.substr(0, json.size() - 1)}),
              AllOf(HasSubstr("memory.0.et: node number 2"), HasSubstr("ends before its JSON")));
  EXPECT_THAT(refusal({json + "["}), HasSubstr("node number 3: is no JSON object"));
  EXPECT_THAT(refusal({json + R"({"type": 4, "surprise": 1})"}),
              HasSubstr("fields that the format does not have"));
}

TEST(Chakra, RecognizesItsOwn) {
  const auto format = Registry<TraceFormat>::of().make("chakra");
  const auto is = [&](const std::string& head) { return format->recognizes("x", head); };
  const std::string bytes = file_bytes({collective(1, "all", 0, 8)});
  EXPECT_TRUE(is(bytes));
  EXPECT_TRUE(is(bytes.substr(0, 12))) << "the first bytes alone";
  EXPECT_TRUE(is(R"({"version": "0.0.4"}{"type": "COMP_NODE"})"));
  EXPECT_FALSE(is(R"({"format": "x"}{"type": "COMP_NODE"})"));
  EXPECT_FALSE(is(R"({"schemaVersion": 1, "traceEvents": []})"));
  EXPECT_FALSE(is("num_ranks 2\nrank 0 {\n}\n"));
  EXPECT_FALSE(is("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1\n"));
  EXPECT_FALSE(is("MICRO\n1\nx -1 1 NONE 0\n"));
  EXPECT_FALSE(is("\x1f\x8b\x08"));
}

struct Fault {
  std::string what;
  Node node;
  std::string message;  ///< of the strict reader
  std::string repair;   ///< of the lenient one
  bool marker = true;   ///< what it makes of the node
};

std::vector<Fault> faults() {
  const auto comm = [](chakra::NodeType type) { return Make(7, "x", type); };
  Make dimensions = collective(7, "x", 0, 8);
  dimensions.attribute("involved_dim").mutable_bool_list()->add_values(false);
  return {
      {"type", comm(chakra::COMM_COLL_NODE).int64("comm_size", 8),
       "is a collective without comm_type", "collectives without comm_type: left out"},
      {"type 10", collective(7, "x", 10, 8), "comm_type 10", "collectives of no known comm_type"},
      {"size", comm(chakra::COMM_COLL_NODE).int64("comm_type", 0), "has no comm_size",
       "collectives without comm_size"},
      {"send size", comm(chakra::COMM_SEND_NODE).int32("comm_dst", 0), "has no comm_size",
       "messages without comm_size"},
      {"dst", comm(chakra::COMM_SEND_NODE).int64("comm_size", 8), "is a message without comm_dst",
       "messages without comm_dst"},
      {"src", comm(chakra::COMM_RECV_NODE).int64("comm_size", 8), "is a message without comm_src",
       "messages without comm_src"},
      {"own",
       comm(chakra::COMM_SEND_NODE).int64("comm_size", 8).int32("comm_dst", 0).int32("comm_src", 5),
       "has comm_src 5 in the file of rank 0", "messages whose comm_src is another rank", false},
      {"memory", comm(chakra::MEM_LOAD_NODE), "has no tensor_size", "memory operations without"},
      {"invalid", comm(chakra::INVALID_NODE), "INVALID_NODE", "nodes of no known type"},
      {"type 99", comm(static_cast<chakra::NodeType>(99)), "type 99", "nodes of no known type"},
      {"attribute", comm(chakra::COMP_NODE).int64("surprise", 1), "an attribute \"surprise\"",
       "unknown attributes: ignored", false},
      {"dimensions", dimensions, "involved_dim", "collectives over some dimensions", false},
      {"needs", comm(chakra::COMP_NODE).after(99), "waits for node 99", "dependencies on nodes",
       false},
      {"group", collective(7, "x", 0, 8).text("pg_name", "5"), "group \"5\"", "groups that are not",
       false},
      {"groups", Make(7, "x", chakra::METADATA_NODE).values("['[{\"pg_name\": 1}]']"),
       "seems to define groups", "definitions of groups that cannot be read"},
  };
}

TEST(Chakra, NamesFaultsStrictlyAndMendsThemLeniently) {
  for (const Fault& fault : faults()) {
    // What waits for the node still does.
    const std::string bytes = file_bytes({fault.node, Make(8, "next", chakra::COMP_NODE).after(7)});
    const std::string said = refusal({bytes});
    EXPECT_THAT(said, AllOf(HasSubstr("memory.0.et"), HasSubstr(fault.message),
                            HasSubstr("--lenient makes this of " + fault.repair)))
        << fault.what;
    if (fault.what != "group") {
      EXPECT_THAT(said, HasSubstr("node 7 (x)")) << fault.what;
    }
    const ReadTrace read = read_bytes({bytes}, kLenient);
    ASSERT_THAT(read.repairs, SizeIs(1)) << fault.what;
    EXPECT_THAT(read.repairs[0].what, HasSubstr(fault.repair));
    EXPECT_EQ(read.repairs[0].count, 1U);
    EXPECT_EQ(op(read.trace, 0).kind == TraceKind::kMarker, fault.marker) << fault.what;
    EXPECT_EQ(op(read.trace, 1).needs, 1U);
  }
}

// Attributes of the converters of real traces.
TEST(Chakra, KnowsWhatIsHarmless) {
  Make node(1, "aten::add", chakra::COMP_NODE);
  for (const char* name :
       {"rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "comm_priority"})
    node.int64(name, -1);
  node.text("op_schema", "aten::add(Tensor)").text("pg_desc", "x");
  EXPECT_EQ(refusal({file_bytes({node})}), "");
}

// Nothing can be made of these, leniently or not.
TEST(Chakra, RefusesNumbersThatMakeNoSense) {
  const auto said = [](const Node& node) { return refusal({file_bytes({node})}, kLenient); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto compute = [] { return Make(3, "n", chakra::COMP_NODE); };
  EXPECT_THAT(said(collective(3, "n", 0, -1)),
              HasSubstr("memory.0.et: node 3 (n): comm_size is -1, not a number from 0 to"));
  EXPECT_THAT(said(compute().real("num_ops", nan)), HasSubstr("num_ops is nan"));
  EXPECT_THAT(said(compute().real("tensor_size", 1e300)), HasSubstr("tensor_size is 1e+300"));
  EXPECT_THAT(said(compute().real("duration_seconds", -1)), HasSubstr("duration_seconds is -1"));
  EXPECT_THAT(said(compute().micros(~0ULL)), HasSubstr("duration_micros is 18446744073709551615"));
  EXPECT_THAT(said(compute().micros(0, ~0ULL)), HasSubstr("start_time_micros is"));
  EXPECT_THAT(said(compute().int64("stream", 1LL << 31)), HasSubstr("stream is 2147483648"));
  EXPECT_THAT(said(compute().int64("is_cpu_op", 2)), HasSubstr("is_cpu_op is 2"));
  EXPECT_THAT(said(collective(3, "n", 0, 8).int64("comm_root", 1LL << 31)), HasSubstr("comm_root"));
  EXPECT_THAT(
      said(Make(3, "n", chakra::COMM_SEND_NODE).int64("comm_size", 1).int32("comm_dst", -1)),
      HasSubstr("comm_dst is -1"));
  EXPECT_THAT(said(Make(3, "n", chakra::COMM_COLL_NODE).text("comm_type", "x")),
              HasSubstr("comm_type is no number"));
  EXPECT_THAT(said(Make(3, "n", chakra::COMM_COLL_NODE).real("comm_type", 0.5)),
              HasSubstr("comm_type is 0.5, not a whole number"));
}

TEST(Chakra, ReadsGroupsFromTheFileBeside) {
  const Folder folder;
  const std::vector<Node> nodes{collective(1, "c", 2, 100).text("pg_name", "12")};
  for (int rank = 0; rank < 12; ++rank)
    folder.write("t." + std::to_string(rank) + ".et", file_bytes(nodes));
  constexpr TraceReading kLenient{.lenient = true};  // not all of these ranks are in the group
  EXPECT_THROW(read_trace(folder.file("t"), "", kStrict), ScenarioError);
  folder.write("comm_group.json", R"({"12": [2, 3, 11]})");
  // Named by the prefix, or by the folder, where that file is no rank.
  for (const std::string& path : {folder.file("t"), folder.path()}) {
    const Trace trace = read_trace(path, "", kLenient).trace;
    EXPECT_EQ(trace.ranks, 12U);
    EXPECT_EQ(trace.groups[op(trace, 0).group].ranks, (Ranks{2, 3, 11}));
    EXPECT_EQ(op(trace, 0).bytes, 300);
  }
  folder.write("t.comm_group.json", R"({"12": [0, 1]})");
  const Trace trace = read_trace(folder.path(), "", kLenient).trace;
  EXPECT_EQ(trace.groups[op(trace, 0).group].ranks, (Ranks{0, 1})) << "the nearer name";
  folder.write("t.comm_group.json", R"({"12": [0, -1]})");
  EXPECT_THROW(read_trace(folder.path(), "", kStrict), ScenarioError);
}

}  // namespace
}  // namespace trainyard
