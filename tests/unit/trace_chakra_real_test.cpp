// Chakra traces of others, where they are there.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "trace_chakra_files.hpp"

namespace trainyard {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kShared = std::string(TRAINYARD_SOURCE_DIR) + "/../shared/traces/";

// Of examples/workload of ASTRA-sim: an all-reduce of 1 MiB on four ranks.
TEST(ChakraReal, AllReduceOfAstraSim) {
  if (!std::filesystem::exists(kShared + "all_reduce.0.et"))
    GTEST_SKIP() << "no " << kShared << "all_reduce.0.et";
  const Folder folder;
  const Trace trace = read_trace(kShared + "all_reduce", "", kWithExtras).trace;
  ASSERT_EQ(trace.ranks, 4U);
  for (const TraceProgram& program : trace.programs) {
    ASSERT_THAT(program.ops, SizeIs(1));
    EXPECT_EQ(program.ops[0].collective, TraceCollective::kAllReduce);
    EXPECT_EQ(program.ops[0].bytes, 1 << 20);
  }
  EXPECT_THAT(Registry<TraceFormat>::of().make("chakra")->write(trace, folder.file("t")),
              IsEmpty());
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(bytes_of(folder.file(fmt::format("t.{}.et", rank))),
              bytes_of(fmt::format("{}all_reduce.{}.et", kShared, rank)));
}

std::string real_ddp(const Folder& folder) {
  const std::string archive = kShared + "chakra_real_ddp.tar.gz";
  if (!std::filesystem::exists(archive)) return {};
  const std::string command = fmt::format("tar -xzf '{}' -C '{}'", archive, folder.path());
  return std::system(command.c_str()) == 0 ? folder.file("tests/data/chakra.0.et") : "";
}

// Of tests/data of mlcommons/chakra, written by its converter from a run of PyTorch.
TEST(ChakraReal, PytorchDdp) {
  const Folder folder;
  const std::string path = real_ddp(folder);
  if (path.empty()) GTEST_SKIP() << "no chakra_real_ddp.tar.gz in " << kShared;
  const std::string bytes = bytes_of(path);
  Decoded file = decoded(bytes);
  std::set<std::uint64_t> ids;
  for (const Node& node : file.nodes) ids.insert(node.id());
  std::size_t dangling = 0;
  for (const Node& node : file.nodes) {
    for (const auto* deps : {&node.data_deps(), &node.ctrl_deps()})
      for (const std::uint64_t id : *deps) dangling += 1 - ids.count(id);
  }
  ASSERT_GT(dangling, 0U);
  EXPECT_THAT(refusal({bytes}),
              AllOf(HasSubstr("node 432 (c10d::broadcast_(0)): is a collective without comm_type"),
                    HasSubstr("more faults")));
  const ReadTrace read = read_bytes({bytes}, {.lenient = true, .keep_extras = true});
  ASSERT_THAT(read.repairs, SizeIs(3));
  EXPECT_THAT(read.repairs[0].what, HasSubstr("collectives without comm_type"));
  EXPECT_EQ(read.repairs[0].count, 14U);
  EXPECT_THAT(read.repairs[1].what, HasSubstr("dependencies on nodes that are not in the file"));
  EXPECT_EQ(read.repairs[1].count, dangling);
  // Control dependencies of that converter run in circles, data dependencies do not: all are kept.
  EXPECT_THAT(read.repairs[2].what, HasSubstr("operations that wait for themselves"));
  EXPECT_EQ(read.trace.size(), 3664U);
  EXPECT_EQ(read.trace.attributes.at("chakra").at("metadata").at("attr").items().size(), 5U);

  // Written, it is what it was, but for what was mended.
  Registry<TraceFormat>::of().make("chakra")->write(read.trace, folder.file("t"));
  Decoded again = decoded(bytes_of(folder.file("t.0.et")));
  EXPECT_EQ(again.metadata.SerializeAsString(), file.metadata.SerializeAsString());
  ASSERT_EQ(again.nodes.size(), file.nodes.size());
  // In the order in which they may run.
  for (std::vector<Node>* nodes : {&again.nodes, &file.nodes})
    std::sort(nodes->begin(), nodes->end(),
              [](const Node& a, const Node& b) { return a.id() < b.id(); });
  std::size_t mended = 0;
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    Node a = again.nodes[i], b = file.nodes[i];
    mended += a.type() == b.type() ? 0 : 1;
    for (Node* node : {&a, &b}) {
      node->clear_ctrl_deps();
      node->clear_type();
    }
    EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString()) << b.id();
  }
  EXPECT_EQ(mended, 14U);
  EXPECT_EQ(refusal({bytes_of(folder.file("t.0.et"))}), "");
}

}  // namespace
}  // namespace trainyard
