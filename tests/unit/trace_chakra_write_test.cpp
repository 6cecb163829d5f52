// Writing Chakra traces: nothing is lost of what came from one, and the rest is said.
#include <gmock/gmock.h>

#include "sim/error.hpp"
#include "trace_chakra_files.hpp"

namespace trainyard {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> write(const Trace& trace, const std::string& path) {
  return Registry<TraceFormat>::of().make("chakra")->write(trace, path);
}

Node every_type() {
  Make node(40, "types", chakra::METADATA_NODE);
  node.micros(3, 9).yes("is_cpu_op").values("not groups");
  node.real("d", 0.1).attribute("f").set_float_val(0.1F);
  node.attribute("dl").mutable_double_list()->add_values(1e300);
  node.attribute("fl").mutable_float_list()->add_values(-2);
  node.attribute("i32").set_int32_val(-5);
  node.attribute("u64").set_uint64_val(~0ULL);
  node.attribute("ul").mutable_uint64_list()->add_values(~0ULL);
  node.attribute("s64").set_sint64_val(-9876543210);
  node.attribute("f64").set_fixed64_val(9876543210);
  node.attribute("sf32").mutable_sfixed32_list()->add_values(-7);
  node.attribute("bl").mutable_bool_list()->add_values(true);
  node.attribute("sl").mutable_string_list()->add_values("\xc3\xa4 \"\n");
  node.attribute("by").set_bytes_val(std::string("\0\xff", 2));
  node.attribute("none").set_doc_string("no value");
  return node;
}

// Encodings that are not ours, what Trace does not hold, and numbers that no double holds.
std::vector<Node> strange_nodes() {
  const std::string groups = "['[{\"pg_name\": \"3\", \"ranks\": [0, 1], \"pg_desc\": \"tp\"}]']";
  Make size(3, "gather", chakra::COMM_COLL_NODE);
  size.after(1).after(2).behind(1).int32("comm_type", 2).text("pg_name", "3");
  size.attribute("comm_size").set_uint64_val(1025);
  size.int64("comm_priority", 4);
  Make large(4, "large", chakra::COMP_NODE);
  large.attribute("tensor_size").set_uint64_val((1ULL << 60) + 1);
  large.int64("num_ops", (1LL << 53) + 1)
      .int32("is_cpu_op", 1)
      .int64("rf_id", 9)
      .micros(1, 1ULL << 60);
  Make block(5, "block", chakra::COMM_COLL_NODE);
  block.int64("comm_type", 8).int64("comm_size", 4).text("pg_name", "0").yes("is_cpu_op");
  return {Make(1, "pg", chakra::METADATA_NODE).values(groups),
          Make(2, "", chakra::COMP_NODE).micros(5),
          size,
          large,
          block,
          Make(6, "b", chakra::COMM_COLL_NODE).int32("comm_type", 9),
          every_type()};
}

void expect_same_file(const std::string& bytes, const std::string& original) {
  const Decoded a = decoded(bytes), b = decoded(original);
  EXPECT_EQ(a.metadata.DebugString(), b.metadata.DebugString());
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    EXPECT_EQ(a.nodes[i].DebugString(), b.nodes[i].DebugString());
  EXPECT_EQ(bytes, original);
}

std::vector<std::string> strange_files() {
  GlobalMetadata metadata;
  metadata.add_attr()->set_name("pid");
  metadata.mutable_attr(0)->set_uint64_val(~0ULL);
  std::string second = file_bytes(strange_nodes());
  second = with_length(metadata.SerializeAsString()) + second.substr(metadata_bytes().size());
  return {file_bytes(strange_nodes()), second};
}

TEST(ChakraWrite, GivesBackWhatItRead) {
  const Folder folder;
  const std::vector<std::string> files = strange_files();
  Trace trace = read_bytes(files, kWithExtras).trace;
  EXPECT_THAT(write(trace, folder.file("t")), IsEmpty());
  for (const std::size_t rank : {0U, 1U})
    expect_same_file(bytes_of(folder.file("t." + std::to_string(rank) + ".et")), files[rank]);
  EXPECT_FALSE(std::filesystem::exists(folder.file("t.comm_group.json"))) << "nodes define them";
  // Through another file that keeps extras and attributes as JSON values.
  for (std::string& extra : trace.extras) extra = dump_json(parse_json(extra, "e"), -1);
  trace.attributes = parse_json(dump_json(trace.attributes, -1), "a");
  trace.format = "other";
  write(trace, folder.file("u"));
  expect_same_file(bytes_of(folder.file("u.1.et")), files[1]);
}

// Plain nodes need no extras: what the writer makes of them is what they were.
TEST(ChakraWrite, KeepsNoExtrasOfItsOwnNodes) {
  const Folder folder;
  const Trace trace = read_nodes({Make(1, "c", chakra::COMP_NODE).micros(4).yes("is_cpu_op", false),
                                  Make(2, "a", chakra::COMM_COLL_NODE)
                                      .yes("is_cpu_op", false)
                                      .int64("comm_type", 0)
                                      .int64("comm_size", 8)},
                                 kWithExtras);
  EXPECT_THAT(trace.extras, IsEmpty());
}

TEST(ChakraWrite, GroupsOfAFileBesideStayThere) {
  const Folder folder;
  const std::string nodes = file_bytes({collective(1, "c", 0, 8).text("pg_name", "tp")});
  for (const char* name : {"t.0.et", "t.1.et"}) folder.write(name, nodes);
  folder.write("comm_group.json", R"({"tp": [0, 1], "unused": [1]})");
  const Trace trace = read_trace(folder.path(), "", kWithExtras).trace;
  EXPECT_THAT(write(trace, folder.file("u")), IsEmpty());
  expect_same_file(bytes_of(folder.file("u.1.et")), nodes);
  EXPECT_EQ(parse_json(bytes_of(folder.file("u.comm_group.json")), "g"),
            parse_json(R"({"tp": [0, 1], "unused": [1]})", "g"));
}

TraceOp make_op(std::uint64_t id, TraceKind kind) {
  TraceOp op;
  op.id = id;
  op.kind = kind;
  return op;
}

// Of two ranks, as from another format.
Trace foreign() {
  TraceBuilder builder("other", kStrict);
  builder.trace().alone = true;
  const std::uint32_t tp = builder.define_group("tp", {1, 0}), all = builder.define_group("4", {});
  for (const std::size_t rank : {0U, 1U}) {
    builder.begin(rank, "f");
    TraceOp compute = make_op(1, TraceKind::kCompute);
    compute.name = builder.name("gemm");
    compute.start = 0;
    compute.duration = 1.25e-6;
    compute.flops = 1e9;
    compute.bytes = 12;
    compute.stream = 7;
    compute.type = builder.name("bf16");
    builder.add(compute, {});
    TraceOp host = make_op(2, TraceKind::kHost);
    host.start = 3e-9;
    host.duration = 0;
    builder.add(host, std::vector<TraceNeedById>{{1, TraceNeed::Kind::kControl}});
    TraceOp gather = make_op(3, TraceKind::kCollective);
    gather.collective = TraceCollective::kAllGather;
    gather.bytes = 300;
    gather.group = tp;
    builder.add(gather, std::vector<TraceNeedById>{{1, TraceNeed::Kind::kData}});
    TraceOp broadcast = make_op(4, TraceKind::kCollective);
    broadcast.collective = TraceCollective::kBroadcast;
    broadcast.bytes = 8;
    broadcast.peer = 1;
    broadcast.group = all;
    broadcast.duration = 0;
    builder.add(broadcast, {});
    TraceOp message = make_op(5, rank == 0 ? TraceKind::kSend : TraceKind::kReceive);
    message.bytes = 64;
    message.peer = rank == 0 ? 1 : 0;
    message.tag = 9;
    builder.add(message, {});
    TraceOp store = make_op(6, TraceKind::kStore);
    store.bytes = 5;
    builder.add(store, {});
  }
  return builder.finish();
}

void expect_same_op(const TraceOp& a, const TraceOp& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.collective, b.collective);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.duration, b.duration);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.stream, b.stream);
  EXPECT_EQ(a.peer, b.peer);
  EXPECT_EQ(a.tag, b.tag);
  EXPECT_EQ(a.needs, b.needs);
}

TEST(ChakraWrite, OtherTracesComeBack) {
  const Folder folder;
  const Trace trace = foreign();
  EXPECT_THAT(write(trace, folder.file("t")),
              ElementsAre("1 groups whose names are no numbers above 0: numbered (\"tp\" is 1)."));
  const Trace again = read_trace(folder.file("t"), "chakra", kStrict).trace;
  EXPECT_TRUE(again.alone);
  EXPECT_EQ(again.ranks, 2U);
  for (const std::size_t rank : {0U, 1U}) {
    const TraceProgram &a = again.programs.at(rank), &b = trace.programs.at(rank);
    ASSERT_EQ(a.ops.size(), b.ops.size()) << "the node of groups is no operation";
    for (std::size_t i = 0; i < a.ops.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same_op(a.ops[i], b.ops[i]);
      EXPECT_EQ(again.name(a.ops[i]), trace.name(b.ops[i]));
      EXPECT_EQ(again.names[a.ops[i].type], trace.names[b.ops[i].type]);
    }
    ASSERT_EQ(a.needs.size(), b.needs.size());
    for (std::size_t i = 0; i < a.needs.size(); ++i) {
      EXPECT_EQ(a.needs[i].op, b.needs[i].op);
      EXPECT_EQ(a.needs[i].kind, b.needs[i].kind);
    }
    EXPECT_EQ(again.groups[a.ops[2].group].ranks, (std::vector<std::uint32_t>{1, 0}));
    EXPECT_THAT(again.groups[a.ops[3].group].ranks, IsEmpty());
  }
  // And once more, to the byte.
  EXPECT_THAT(write(read_trace(folder.file("t"), "chakra", kWithExtras).trace, folder.file("u")),
              IsEmpty());
  for (const char* suffix : {".0.et", ".1.et", ".comm_group.json"})
    EXPECT_EQ(bytes_of(folder.file("t") + suffix), bytes_of(folder.file("u") + suffix)) << suffix;
}

const chakra::AttributeProto* attribute(const Node& node, const std::string& name) {
  for (const auto& a : node.attr()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

// What ASTRA-sim asks of a trace.
TEST(ChakraWrite, WritesAsAstraSimReads) {
  const Folder folder;
  write(foreign(), folder.file("t"));
  const Decoded file = decoded(bytes_of(folder.file("t.0.et")));
  EXPECT_EQ(file.metadata.version(), "0.0.4");
  ASSERT_THAT(file.nodes, SizeIs(7));
  for (const Node& node : file.nodes) {
    ASSERT_NE(attribute(node, "is_cpu_op"), nullptr);
    EXPECT_EQ(attribute(node, "is_cpu_op")->value_case(), chakra::AttributeProto::kBoolVal);
  }
  EXPECT_EQ(file.nodes[0].type(), chakra::METADATA_NODE);
  EXPECT_EQ(file.nodes[0].id(), 7U);
  const std::string& values = file.nodes[0].inputs().values();
  EXPECT_EQ(
      parse_json(values.substr(2, values.size() - 4), "v"),
      parse_json(R"([{"pg_name": "1", "ranks": [1, 0]}, {"pg_name": "4", "ranks": []}])", "v"));
  EXPECT_EQ(parse_json(bytes_of(folder.file("t.comm_group.json")), "g"),
            parse_json(R"({"1": [1, 0], "4": []})", "g"));
  EXPECT_EQ(file.nodes[1].duration_micros(), 1U);
  EXPECT_EQ(attribute(file.nodes[1], "num_ops")->int64_val(), 1'000'000'000);
  EXPECT_EQ(attribute(file.nodes[1], "stream")->int64_val(), 7);
  EXPECT_TRUE(attribute(file.nodes[2], "is_cpu_op")->bool_val());
  const Node& gather = file.nodes[3];
  EXPECT_EQ(attribute(gather, "comm_type")->int64_val(), chakra::ALL_GATHER);
  EXPECT_EQ(attribute(gather, "comm_size")->int64_val(), 150) << "of each of two ranks";
  EXPECT_EQ(attribute(gather, "pg_name")->string_val(), "1");
  const Node& send = file.nodes[5];
  EXPECT_EQ(attribute(send, "comm_src")->int32_val(), 0);
  EXPECT_EQ(attribute(send, "comm_dst")->int32_val(), 1);
  EXPECT_EQ(attribute(send, "comm_tag")->int32_val(), 9);
}

TEST(ChakraWrite, WritesWhatWasChanged) {
  const Folder folder;
  Trace trace = read_bytes({file_bytes(strange_nodes()), file_bytes({})}, kWithExtras).trace;
  trace.programs[0].ops[2].bytes = 4000;
  write(trace, folder.file("t"));
  const Node node = decoded(bytes_of(folder.file("t.0.et"))).nodes[2];
  EXPECT_EQ(attribute(node, "comm_size")->int64_val(), 2000);
  EXPECT_EQ(attribute(node, "comm_priority")->int64_val(), 4);
  EXPECT_EQ(attribute(node, "pg_name")->string_val(), "3");
}

// What --lenient left out stays out: a strict reader takes the copy.
TEST(ChakraWrite, WritesWhatWasMendedAsMended) {
  const Folder folder;
  const std::string bytes =
      file_bytes({Make(1, "c", chakra::COMM_COLL_NODE).int64("comm_size", 8).micros(3),
                  Make(2, "n", chakra::COMP_NODE).after(1).after(99),
                  collective(3, "g", 0, 8).text("pg_name", "6"),
                  Make(4, "s", chakra::COMM_SEND_NODE)
                      .int64("comm_size", 8)
                      .int32("comm_dst", 0)
                      .int32("comm_src", 5)});
  const ReadTrace read = read_bytes({bytes}, {.lenient = true, .keep_extras = true});
  EXPECT_THAT(read.repairs, SizeIs(4));
  write(read.trace, folder.file("t"));
  const Trace again = read_bytes({bytes_of(folder.file("t.0.et"))}).trace;
  EXPECT_EQ(again.programs[0].ops[0].kind, TraceKind::kMarker);
  EXPECT_EQ(again.programs[0].ops[0].duration, 3e-6);
  EXPECT_EQ(again.programs[0].ops[1].needs, 1U);
  const Node mended = decoded(bytes_of(folder.file("t.0.et"))).nodes.at(1);  // behind the groups
  EXPECT_EQ(mended.id(), 1U);
  EXPECT_EQ(mended.type(), chakra::METADATA_NODE);
  ASSERT_NE(attribute(mended, "comm_size"), nullptr) << "what it said besides";
  EXPECT_EQ(attribute(mended, "comm_size")->int64_val(), 8);
}

TEST(ChakraWrite, SaysWhatIsLost) {
  const Folder folder;
  TraceBuilder builder("other", kWithExtras);
  builder.begin(0, "f");
  TraceOp op = make_op(1, TraceKind::kCompute);
  op.duration = 1e-6;
  op.name = builder.name("bad \xff name");
  builder.add(op, {});
  op = make_op(2, TraceKind::kStore);
  op.bytes = 1.5;
  op.extra = builder.extra(R"({"other": 1})");
  builder.add(op, std::vector<TraceNeedById>{{1, TraceNeed::Kind::kData}});
  op = make_op(3, TraceKind::kCompute);
  builder.add(op, std::vector<TraceNeedById>{{2, TraceNeed::Kind::kStart}});
  Trace trace = builder.finish();
  trace.programs[0].ops[1].id = 1;
  trace.attributes["other"] = 1;
  EXPECT_THAT(write(trace, folder.file("t")),
              ElementsAre("1 dependencies on the start of another operation: written as on what "
                          "the other waits for.",
                          "1 numbers of bytes or operations: rounded to whole ones.",
                          "1 operations of no known duration: written as of 0 us.",
                          "1 operations with the id of another one: numbered anew.",
                          "1 names that are not UTF-8: written with question marks.",
                          "1 operations with extras of another format: written without them.",
                          "The attributes of the trace: left out."));
  const Decoded file = decoded(bytes_of(folder.file("t.0.et")));
  EXPECT_EQ(file.nodes[0].name(), "bad ? name");
  EXPECT_EQ(file.nodes[1].id(), 0U);
  EXPECT_THAT(file.nodes[2].ctrl_deps(), ElementsAre(1)) << "what the other waits for";
}

std::string refused(const Trace& trace, const std::string& path) {
  try {
    write(trace, path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(ChakraWrite, RefusesWhatCannotBeWritten) {
  const Folder folder;
  Trace trace = read_nodes({Make(1, "c", chakra::COMP_NODE).micros(4)});
  EXPECT_THAT(refused(trace, folder.file("no/t")),
              HasSubstr("no/t.0.et cannot be written: No such"));
  folder.write("t.1.et", "x");
  EXPECT_THAT(refused(trace, folder.file("t")), HasSubstr("t.1.et is of an earlier trace"));
  trace.ranks = 8;
  trace.representative = true;
  EXPECT_THAT(refused(trace, folder.file("u")), AllOf(HasSubstr("of 8 ranks only 1 are recorded"),
                                                      HasSubstr("ranks without programs")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("u.0.et")));
}

}  // namespace
}  // namespace trainyard
