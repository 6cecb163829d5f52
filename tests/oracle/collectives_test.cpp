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
                                           Case{"tree", oracle::tree, 1},
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
