// Real workloads of AICB, where they are at hand: what the trace holds against a count of the file
// itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "models/workloads/busbw_table.hpp"
#include "tests/support_aicb.hpp"

namespace trainyard {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kFolder = std::string(TRAINYARD_SOURCE_DIR) + "/../shared/traces/";

bool absent(const std::string& file) { return !std::filesystem::exists(kFolder + file); }

/// Calls and bytes of a collective in a kind of group: "ep all_to_all".
struct Volume {
  std::size_t calls = 0;
  double bytes = 0;
  friend bool operator==(const Volume&, const Volume&) = default;
  friend void PrintTo(const Volume& v, std::ostream* out) { *out << v.calls << " " << v.bytes; }
};
using Volumes = std::map<std::string, Volume>;

/// Column by column, without the importer. Calls of no bytes are none.
Volumes counted(const std::string& file) {
  const std::map<std::string, std::string> types{{"ALLREDUCE", "all_reduce"},
                                                 {"ALLGATHER", "all_gather"},
                                                 {"REDUCESCATTER", "reduce_scatter"},
                                                 {"ALLTOALL", "all_to_all"}};
  Volumes volumes;
  std::ifstream in(kFolder + file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (row.size() != 12) continue;
    for (const std::size_t column : {3, 6, 9}) {
      std::string type = row[column], group = column == 9 ? "dp" : "tp";
      if (const std::size_t at = type.find('_'); at != std::string::npos) {
        group = type.substr(at + 1) == "EP" ? "ep" : "dp_ep";
        type.resize(at);
      }
      const double bytes = std::stod(row[column + 1]);
      if (type == "NONE" || bytes == 0) continue;
      Volume& volume = volumes[group + " " + types.at(type)];
      ++volume.calls;
      volume.bytes += bytes;
    }
  }
  return volumes;
}

Volumes of_program(const Trace& trace, std::size_t program) {
  Volumes volumes;
  for (const TraceOp& op : trace.programs.at(program).ops) {
    std::string key;
    if (op.kind == TraceKind::kCollective) {
      const std::string& group = trace.groups[op.group].name;
      key = group.substr(0, group.find(' ')) + " " +
            std::string(trace_collective_name(op.collective));
    } else if (op.kind == TraceKind::kSend || op.kind == TraceKind::kReceive) {
      key = trace.name(op);
    } else {
      continue;
    }
    ++volumes[key].calls;
    volumes[key].bytes += op.bytes;
  }
  return volumes;
}

double compute_time(const Trace& trace, std::size_t program) {
  double sum = 0;
  for (const TraceOp& op : trace.programs.at(program).ops)
    sum += op.kind == TraceKind::kCompute ? op.duration : 0;
  return sum;
}

Trace read(const std::string& file, std::size_t ranks) {
  TraceReading how;
  how.ranks = ranks;
  return read_trace(kFolder + file, "", how).trace;
}

// The counts below were made with awk; the middle stage sends and receives 8 x 24 messages each
// way.
TEST(TraceAicbFiles, MixtureOfExpertsOn9216) {
  const std::string file = "aicb_moe_9216.txt";
  if (absent(file)) GTEST_SKIP() << kFolder << file << " is absent";
  const Trace trace = read(file, 0);
  EXPECT_EQ(trace.ranks, 9216U);
  ASSERT_EQ(trace.programs.size(), 12U);
  const Volumes rows = counted(file);
  const Volumes by_hand{
      {"ep all_to_all", {768, 77309411328}},     {"tp all_gather", {1176, 98448703488}},
      {"tp reduce_scatter", {576, 86973087744}}, {"tp all_to_all", {768, 19327352832}},
      {"tp all_reduce", {32, 1258340368}},       {"dp all_gather", {1, 2807758848}},
      {"dp reduce_scatter", {1, 5615517696}},    {"dp_ep all_gather", {1, 19327352832}},
      {"dp_ep reduce_scatter", {1, 38654705664}}};
  EXPECT_EQ(rows, by_hand);
  constexpr double kPpComm = 50331648;
  for (const std::size_t stage : {0, 5, 11}) {
    Volumes expected = rows;
    const std::size_t ahead = stage == 11 ? 168 : 192, back = stage == 0 ? 168 : 192;
    const std::size_t from_before = stage == 0 ? 168 : 192, from_behind = stage == 11 ? 168 : 192;
    for (const auto& [name, count] : {std::pair{"send_forward", ahead},
                                      {"send_backward", back},
                                      {"recv_forward", from_before},
                                      {"recv_backward", from_behind}})
      expected[name] = {count, static_cast<double>(count) * kPpComm};
    EXPECT_EQ(of_program(trace, stage), expected) << stage;
    EXPECT_NEAR(compute_time(trace, stage), 4.542795477, 1e-9);
  }
}

TEST(TraceAicbFiles, MixtureOfExpertsIsInterleaved) {
  const std::string file = "aicb_moe_9216.txt";
  if (absent(file)) GTEST_SKIP() << kFolder << file << " is absent";
  const Trace trace = read(file, 0);
  const Json::Array& notes = trace.attributes.at("notes").items();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0].as_string(), HasSubstr("each stage runs every row"));
  // Warm-up of the first stage: 2 (12 - 1) + (8 - 1) 12 passes before its first backward.
  std::size_t sent = 0;
  for (const TraceOp& op : trace.programs[0].ops) {
    if (trace.name(op) == "recv_backward") break;
    sent += trace.name(op) == "send_forward" ? 1 : 0;
  }
  EXPECT_EQ(sent, 106U + 1);
  std::set<std::size_t> sizes;
  for (const TraceGroup& group : trace.groups)
    if (group.name.ends_with("stage 11")) sizes.insert(group.ranks.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{2, 16, 384, 24}));
}

TEST(TraceAicbFiles, OldHeaderTakesItsRanksFromTheCaller) {
  const std::string file = "aicb_gpt175b_tp8.txt";
  if (absent(file)) GTEST_SKIP() << kFolder << file << " is absent";
  EXPECT_THROW(read(file, 0), ScenarioError);
  const Trace trace = read(file, 64);
  ASSERT_EQ(trace.programs.size(), 1U);
  EXPECT_EQ(of_program(trace, 0), counted(file));
  const Volumes volumes = of_program(trace, 0);
  EXPECT_EQ(volumes.at("dp reduce_scatter"), (Volume{1, 11175321600}));
  EXPECT_EQ(volumes.at("tp all_reduce").calls, 31U);
  for (const TraceGroup& group : trace.groups) {
    if (group.name == "tp of stage 0") {
      EXPECT_THAT(group.ranks, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    }
    if (group.name == "dp of stage 0") {
      EXPECT_THAT(group.ranks, ::testing::ElementsAre(0, 8, 16, 24, 32, 40, 48, 56));
    }
  }
}

TEST(TraceAicbFiles, MicroBenchmarkAndItsBandwidths) {
  const std::string file = "aicb_micro_all_reduce.txt";
  if (absent(file) || absent("busbw.yaml")) GTEST_SKIP() << kFolder << file << " is absent";
  const Trace trace = read(file, 8);
  ASSERT_EQ(trace.size(), 19U);
  double bytes = 4096;
  for (const TraceOp& op : trace.programs[0].ops) {
    EXPECT_EQ(op.bytes, bytes);
    EXPECT_EQ(trace.group_size(op.group), 8U);
    bytes *= 2;
  }
  const BusbwTable table = parse_busbw(read_text_file(kFolder + "busbw.yaml"), "busbw.yaml");
  const auto time =
      busbw_time(table, BusbwGroup::kTp, TraceCollective::kAllReduce, 8, Bytes::of(64 << 20));
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->si(), 391.47e-6, 5e-9);
}

}  // namespace
}  // namespace trainyard
