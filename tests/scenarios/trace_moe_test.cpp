// A 9,216-GPU mixture-of-experts workload of AICB, replayed, against SimAI's answer to it, term by
// term (docs/models/traces.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

const std::string kFile = std::string(TRAINYARD_SOURCE_DIR) + "/../shared/traces/aicb_moe_9216.txt";
constexpr double kSimai = 7545619e-6;  // what SimAI-analytical prints, seconds
constexpr double kBubble = 11.0 / (24 * 8);

using Row = std::vector<std::string>;

struct File {
  std::string header;
  std::vector<Row> rows;
};

File read_file() {
  std::ifstream in(kFile);
  File file;
  std::string line, word;
  std::getline(in, file.header);
  std::getline(in, line);  // how many rows
  while (std::getline(in, line)) {
    std::istringstream words(line);
    Row row;
    while (words >> word) row.push_back(word);
    file.rows.push_back(row);
  }
  return file;
}

// SimAI's bandwidth of a size relative to that of the largest: linear between powers of two from
// 2^24 on (its tables nic_ratio and ata_ratio, 1 and 4 nodes).
double ratio(const std::array<double, 11>& table, double bytes) {
  const double place = std::max(0.0, std::log2(bytes) - 24);
  const auto i = static_cast<std::size_t>(place);
  const double low = std::exp2(24 + static_cast<double>(i));
  return (table[i] + (table[i + 1] - table[i]) * std::max(0.0, bytes / low - 1)) / table.back();
}

/// SimAI's time of a collective in seconds; `weight`: of the weight-gradient column.
double simai_time(const std::string& type, double bytes, bool weight) {
  static constexpr std::array<double, 11> kRing{.45, .55, .65, .69, .73, .76,
                                                .77, .78, .79, .80, .81};
  static constexpr std::array<double, 11> kAllToAll{.44, .51, .60, .65, .70, .71,
                                                    .74, .76, .77, .78, .78};
  static constexpr std::array<double, 11> kFourNodes{.67, .68, .83, .90, .92, .94,
                                                     .94, .95, .95, .95, .95};
  if (type == "NONE" || bytes == 0) return 0;
  const bool all_to_all = type.starts_with("ALLTOALL"), reduce = type == "ALLREDUCE";
  double ranks = weight ? 384 : 2, rate = weight ? 194 : 360, reached = 1;
  if (type.ends_with("_DP_EP")) {
    ranks = 24;
    rate = 48.5;
  } else if (type.ends_with("_EP")) {
    ranks = 16;
    rate = 48.5 * 15 / 12;
  }
  if (bytes < 0x1p20 && ranks == 2) return 10e-6;
  if (!weight && !reduce)
    reached = ratio(!all_to_all ? kRing : ranks == 16 ? kFourNodes : kAllToAll, bytes);
  return bytes / 0x1p30 / (reached * rate) * (reduce ? 2 : 1) * (ranks - 1) / ranks;
}

struct Terms {
  double compute = 0, bubble = 0, tp = 0, ep = 0, gradients = 0, messages = 0;
  double sum() const { return compute + bubble + tp + ep + gradients + messages; }
};

// What its step loses when a kind of communication is taken away: its bubble is a share of what
// blocks, outside the embedding.
Terms simai(const File& file) {
  Terms t;
  for (const Row& row : file.rows) {
    const double kernels = (std::stod(row[2]) + std::stod(row[5]) + std::stod(row[8])) * 1e-9;
    const double blocking =
        simai_time(row[3], std::stod(row[4]), false) + simai_time(row[6], std::stod(row[7]), false);
    const double share = row[0] == "embedding_layer" ? 0 : kBubble;
    t.compute += kernels;
    t.bubble += share * kernels;
    (row[3].ends_with("_EP") ? t.ep : t.tp) += (1 + share) * blocking;
    t.gradients += simai_time(row[9], std::stod(row[10]), true);
  }
  return t;
}

/// The step in seconds, with messages of that size and only the collectives that `keep` wants.
double step(const File& file, const std::string& message,
            const std::function<bool(const std::string& type, bool weight)>& keep) {
  const std::string path = ::testing::TempDir() + "moe.txt";
  std::ofstream out(path);
  out << file.header.substr(0, file.header.find("pp_comm")) << "pp_comm: " << message << "\n"
      << file.rows.size() << "\n";
  for (Row row : file.rows) {
    for (const std::size_t column : {3, 6, 9}) {
      if (keep(row[column], column == 9)) continue;
      row[column] = "NONE";
      row[column + 1] = "0";
    }
    for (const std::string& word : row) out << word << "\t";
    out << "\n";
  }
  out.close();
  return testing::run_text_scenario(fmt::format(R"({{"name": "moe", "cluster": {{"servers": 1152,
      "server": {{"gpus": 8, "nics": 8,
        "gpu": {{"peak_bf16": "312 TFLOPS", "hbm_bandwidth": "2 TB/s", "memory": "80 GiB"}},
        "nvlink": {{"bandwidth": "360 GB/s"}},
        "nic": {{"rate": "48.5 GB/s", "pcie_bandwidth": "1e6 GB/s"}},
        "host": {{"cores": 64, "memory_bandwidth": "1e6 GB/s"}}}},
      "network": {{"kind": "crossbar", "switch": {{"ports": 9216, "rate": "48.5 GB/s"}}}},
      "transport": {{"kind": "rdma"}}, "gpudirect": true, "collectives": "nccl"}},
    "jobs": [{{"workload": {{"kind": "trace", "trace": "{}"}}}}]}})",
                                                path))
      .at("metrics")
      .at("step_time_s")
      .as_number();
}

TEST(TraceMoe, TheTermsSumToTheDifferenceFromSimai) {
  if (!std::filesystem::exists(kFile)) GTEST_SKIP() << kFile << " is absent";
  const File file = read_file();
  const Terms theirs = simai(file);
  EXPECT_NEAR(theirs.sum(), kSimai, 2e-6) << "SimAI's own formula";

  const auto all = [](const std::string&, bool) { return true; };
  const auto blocking = [](const std::string&, bool weight) { return !weight; };
  const auto tensor = [](const std::string& type, bool weight) {
    return !weight && !type.ends_with("_EP");
  };
  const auto none = [](const std::string&, bool) { return false; };
  const double whole = step(file, "50331648", all), no_messages = step(file, "1", all),
               no_gradients = step(file, "1", blocking), no_experts = step(file, "1", tensor),
               kernels = step(file, "1", none);
  Terms ours;
  ours.compute = theirs.compute;  // checked by trace_aicb_test.cpp against the trace
  ours.bubble = kernels - ours.compute;
  ours.tp = no_experts - kernels;
  ours.ep = no_gradients - no_experts;
  ours.gradients = no_messages - no_gradients;
  ours.messages = whole - no_messages;
  const double difference = whole - kSimai;
  EXPECT_NEAR((ours.sum() - theirs.sum()) / difference, 1, 0.01);
  for (const auto& [name, a, b] : {std::tuple("compute", theirs.compute, ours.compute),
                                   {"bubble", theirs.bubble, ours.bubble},
                                   {"tp", theirs.tp, ours.tp},
                                   {"ep", theirs.ep, ours.ep},
                                   {"gradients", theirs.gradients, ours.gradients},
                                   {"messages", theirs.messages, ours.messages}})
    std::printf("%-10s %.4f %.4f %+.4f\n", name, a, b, b - a);

  // By hand: an all-to-all of 16 ranks sends 12 of 16 parts over a NIC of 48.5 GB/s, and the
  // replicas 23 of 24 parts of 58 GB.
  const double experts = 768 * 100663296.0 * 12 / 16 / 48.5e9;
  EXPECT_NEAR(ours.ep / ((1 + kBubble) * experts), 1, 0.05);
  EXPECT_NEAR(ours.gradients / ((19327352832.0 + 38654705664.0) * 23 / 24 / 48.5e9), 1, 0.05);
  // No more than all messages of a stage in the middle one after the other.
  EXPECT_GT(ours.messages, 0.5 * 384 * 50331648 / 48.5e9);
  EXPECT_LT(ours.messages, 1.1 * 384 * 50331648 / 48.5e9);
  // The bubble of a schedule of equal chunks, and what the first and last have more.
  EXPECT_NEAR(ours.bubble / theirs.bubble, 1, 0.2);
}

}  // namespace
}  // namespace trainyard
