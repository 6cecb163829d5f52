// Every collective against its closed form, on one 50 GB/s port per rank and 2 us a step.
#include <gtest/gtest.h>

#include "tests/oracle/closed_forms.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using testing::Ideal;
using Form = double (*)(const std::string&, double, double, double, double);

struct Case {
  std::string algorithm;
  Form form;
  int gpus_per_server;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.algorithm; }

const std::vector<std::string> kOps{"all_reduce", "all_gather", "reduce_scatter"};
const std::vector<std::string> kSizes{"8 B", "1 MiB", "1 GiB"};
const std::vector<double> kBytes{8, 1048576, 1073741824};

void expect_closed_form(const Case& c, int n, const std::string& fidelity,
                        const std::string& law = "additive") {
  for (const std::string& op : kOps) {
    Ideal ideal;
    ideal.servers = n / c.gpus_per_server;
    ideal.gpus_per_server = c.gpus_per_server;
    ideal.algorithm = c.algorithm;
    ideal.fidelity = fidelity;
    ideal.law = law;
    const std::vector<double> times = testing::collective_times(ideal, op, kSizes);
    ASSERT_EQ(times.size(), kBytes.size());
    for (std::size_t i = 0; i < kBytes.size(); ++i) {
      const double expected = c.form(op, kBytes[i], n, 50e9, 2e-6);
      EXPECT_NEAR(times[i] / expected, 1, 1e-9)
          << c.algorithm << " " << op << " n=" << n << " " << kSizes[i] << " " << fidelity;
    }
  }
}

class ClosedForm : public ::testing::TestWithParam<Case> {};

TEST_P(ClosedForm, StepsEqualIt) {
  for (const int n : {2, 3, 7, 8, 64, 256}) {
    if (n % GetParam().gpus_per_server != 0 || n == GetParam().gpus_per_server) continue;
    expect_closed_form(GetParam(), n, "steps");
  }
}

TEST_P(ClosedForm, FlowAndAnalyticEqualItAlone) {
  for (const int n : {2, 7, 8, 64}) {
    if (n % GetParam().gpus_per_server != 0 || n == GetParam().gpus_per_server) continue;
    expect_closed_form(GetParam(), n, "flow");
    expect_closed_form(GetParam(), n, "analytic");
  }
}

#ifdef NDEBUG
TEST_P(ClosedForm, StepsEqualItOn1024RanksSlow) { expect_closed_form(GetParam(), 1024, "steps"); }
#endif

INSTANTIATE_TEST_SUITE_P(All, ClosedForm,
                         ::testing::Values(Case{"ring", oracle::ring, 1},
                                           Case{"pat", oracle::pat, 1},
                                           Case{"sharp", oracle::sharp, 1},
                                           Case{"hierarchical", oracle::hierarchical, 8}),
                         [](const auto& info) { return info.param.algorithm; });

// Inside one server a hierarchical collective is its ring: n = 8 is the same closed form with m
// = 1.
TEST(ClosedForms, OneServerIsARing) {
  const Case one{"ring", oracle::ring, 8};
  expect_closed_form(one, 8, "steps");
  EXPECT_DOUBLE_EQ(oracle::hierarchical("all_reduce", 1e6, 8, 50e9, 2e-6),
                   oracle::ring("all_reduce", 1e6, 8, 50e9, 2e-6));
}

TEST(ClosedForms, CutThroughRing) {
  for (const int n : {2, 7, 64}) {
    const Case ring{"ring", oracle::ring_cut_through, 1};
    expect_closed_form(ring, n, "steps", "cut-through");
    expect_closed_form(ring, n, "flow", "cut-through");
  }
}

// A protocol that sends two bytes for one over a transport with a fifth of headers.
TEST(ClosedForms, HeadersTakeBandwidth) {
  for (const std::string fidelity : {"steps", "flow", "analytic"}) {
    for (const auto& [algorithm, form] :
         {std::pair<std::string, Form>{"ring", oracle::ring}, {"pat", oracle::pat}}) {
      Ideal ideal;
      ideal.servers = 5;
      ideal.algorithm = algorithm;
      ideal.fidelity = fidelity;
      const Json result = testing::run_text_scenario(
          testing::ideal_scenario(ideal, R"("probes": {"p": {"bytes": "1 MB"}})"),
          {"cluster.collectives.protocols.simple.efficiency=0.5",
           "cluster.transport.efficiency=0.8"});
      const double expected = form("all_reduce", 1e6, 5, 50e9 * 0.5 * 0.8, 2e-6);
      EXPECT_NEAR(result.at("metrics").at("p_time_s").as_number() / expected, 1, 1e-9)
          << algorithm << " " << fidelity;
    }
  }
}

// 1,024 H100s in a ring of LL128, 8 rings of one NIC each and 32 thread blocks. A lap has seven
// hops of 1.4 us and 0.5 us of NVLink and one of 2.1 us, 2 x 0.3 us of cards, 1 us of transport, a
// switch of 130 ns and 2 cables of 50 ns (4 of 128 cross leaves: 3 and 4) and 6 further messages of
// the proxy thread, 8.3 us each. A step takes the larger of S/8/1024 at 120/128 of 48 GB/s of a
// NIC, and a seventh of that and an eighth of the lap. The call begins with 14 us.
TEST(ClosedForms, RingOf1024H100s) {
  const std::string text = R"({"name": "h100", "cluster": {"servers": 128, "server": "dgx-h100",
      "network": {"kind": "fat-tree", "switch": "qm9700", "tiers": 2, "rails": 8,
                  "link_latency": "50 ns"},
      "transport": "rdma", "gpudirect": true,
      "collectives": {"base": "nccl", "algorithm": "ring", "protocol": "ll128", "ctas": 32}},
    "jobs": [{"workload": {"kind": "collective",
                           "sizes": ["1 GiB", "2 GiB", "4 GiB", "8 GiB", "16 GiB"]}}]})";
  const Json result = testing::run_text_scenario(text);
  const auto& rows = result.at("jobs").items()[0].at("metrics").at("rows").items();
  // NVIDIA/nccl-tests #322, seconds.
  const std::vector<double> measured{19.4e-3, 20.2e-3, 25.4e-3, 47.1e-3, 93.5e-3};
  ASSERT_EQ(rows.size(), measured.size());
  const double rate = 120.0 / 128 * 48e9;
  const double lap = 7 * 1.9e-6 + 2.1e-6 + 2 * 0.3e-6 + 1e-6 +
                     (124 * (130e-9 + 2 * 50e-9) + 4 * (3 * 130e-9 + 4 * 50e-9)) / 128 + 6 * 8.3e-6;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double bytes = std::exp2(30 + static_cast<double>(i)),
                 time = rows[i].at("time_s").as_number();
    const double wire = bytes / 8 / 1024 / rate;
    const double law = 14e-6 + 2046 * std::max(wire, lap / 8 + wire / 7);
    EXPECT_NEAR(time / law, 1, 1e-6) << bytes;
    EXPECT_NEAR(time / measured[i], 1, 0.08) << bytes;
  }
}

// The stock executor runs the same steps on SimGrid's own activities.
TEST(ClosedForms, StockExecutorRunsTheSameRing) {
  Ideal ideal;
  ideal.servers = 8;
  ideal.executor = "stock";
  const std::vector<double> times = testing::collective_times(ideal, "all_reduce", {"8 MiB"});
  EXPECT_NEAR(times[0] / oracle::ring("all_reduce", 8388608, 8, 50e9, 2e-6), 1, 1e-9);
}

}  // namespace
}  // namespace trainyard
