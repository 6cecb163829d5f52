// Both SimGrid executors: batches, clocks, exceptions, refusals, and the platform below them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <functional>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

#include "sim/error.hpp"
#include "sim/executor.hpp"
#include "sim/simgrid_compat.hpp"
#include "sim/simgrid_platform.hpp"
#include "tests/fake_topology.hpp"
#include "tests/fork_run.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeTopology;
using testing::fork_run;
using testing::ForkResult;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::MeshTopology;

using Values = std::vector<double>;
using MakeExecutor = std::unique_ptr<Executor> (*)(const Topology&);

/// Notes every batch as its date, its size and its ops, and then does what the test says.
class Notes : public Executor::Listener {
 public:
  using React = std::function<void(OpId)>;
  explicit Notes(React react = {}) : react_(std::move(react)) {}
  void ended(const std::vector<OpId>& ops, double now) override {
    values.insert(values.end(), {now, static_cast<double>(ops.size())});
    for (const OpId op : ops) values.push_back(static_cast<double>(op.index()));
    for (const OpId op : ops) {
      if (react_) react_(op);
    }
  }
  Values values;

 private:
  React react_;
};

/// What both executors must do alike.
class BothExecutors : public ::testing::TestWithParam<MakeExecutor> {};
INSTANTIATE_TEST_SUITE_P(Simgrid, BothExecutors,
                         ::testing::Values(&make_flow_executor, &make_stock_executor),
                         [](const auto& info) { return info.index == 0 ? "Flow" : "Stock"; });

FlowPath over(std::initializer_list<std::size_t> resources) {
  FlowPath path;
  for (const std::size_t r : resources) path.shares.push_back({ResourceId(r), 1});
  return path;
}

TEST_P(BothExecutors, ReturnAtOnceWhenNothingRuns) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9});
    const auto executor = GetParam()(topology);
    Notes notes;
    executor->run(notes);
    notes.values.push_back(executor->now());
    return notes.values;
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(0));
}

TEST_P(BothExecutors, TellOfOneDateAtOnceInAscendingOrder) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9}, 4);
    const FlowPath path = over({0});
    const auto executor = GetParam()(topology);
    Notes notes;
    executor->start_delay(OpId(5), 0.02);
    executor->start_flow(OpId(2), path, 0.5e9);
    executor->start_delay(OpId(9), 0.02);
    executor->start_flow(OpId(4), path, 0.5e9);
    executor->start_delay(OpId(0), 0.02 + 1e-9);
    executor->run(notes);
    return notes.values;
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(0.02, 4, 2, 4, 5, 9, 0.02 + 1e-9, 1, 0));
}

// 0.1 + 0.2 is one ulp more than 0.3, and 100.1 + 200.2 one less than 300.3: by then an ulp is more
// than SimGrid's own idea of equal.
TEST_P(BothExecutors, TakeDatesThatDifferByRoundingForOne) {
  for (const double unit : {0.1, 100.1}) {
    ASSERT_NE(unit + 2 * unit, unit == 0.1 ? 0.3 : 300.3);
    const ForkResult result = fork_run([&] {
      const FakeTopology topology({50e9}, 4);
      const auto executor = GetParam()(topology);
      Notes notes([&](OpId op) {
        if (op == OpId(7)) executor->start_delay(OpId(1), 2 * unit);
      });
      executor->start_delay(OpId(7), unit);
      executor->start_delay(OpId(3), unit == 0.1 ? 0.3 : 300.3);
      executor->run(notes);
      notes.values.erase(notes.values.begin() + 3);  // the date: one or the other
      return notes.values;
    });
    EXPECT_EQ(result.error, "");
    EXPECT_THAT(result.values, ElementsAre(unit, 1, 7, 2, 1, 3));
  }
}

TEST_P(BothExecutors, EndTheZeroesAtTheirDate) {
  const ForkResult result = fork_run([] {
    FakeTopology topology({50e9}, 4);
    FlowPath late = over({0});
    late.latency = Seconds::of(2e-6);
    const FlowPath now = over({0}), nowhere = over({});
    const auto executor = GetParam()(topology);
    Notes notes([&](OpId op) {
      if (op == OpId(3)) executor->start_delay(OpId(4), 0);
    });
    executor->start_flow(OpId(0), late, 0);
    executor->start_flow(OpId(1), now, 0);
    executor->start_flow(OpId(2), nowhere, 1e9);
    executor->start_delay(OpId(3), 0);
    executor->run(notes);
    return notes.values;
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(0, 3, 1, 2, 3, 0, 1, 4, 2e-6, 1, 0));
}

TEST_P(BothExecutors, CountWhatResourcesCarried) {
  const ForkResult result = fork_run([] {
    FakeTopology topology({50e9, 1e9, 2e9});
    const ResourceId drive = topology.add(3e9, ResourceKind::kDrive);
    const FlowPath one = over({0}), two = over({0, 2}), stored = over({drive.index()});
    const auto executor = GetParam()(topology);
    Notes notes;
    executor->start_flow(OpId(0), one, 7e6);
    executor->start_flow(OpId(1), two, 5e6);
    executor->start_flow(OpId(2), stored, 3e6);
    executor->run(notes);
    return executor->carried();
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(12e6, 0, 5e6, 3e6));
}

// Through SimGrid's frames, with pauses of a whole day still running.
TEST_P(BothExecutors, LetExceptionsOut) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9}, 4);
    const auto executor = GetParam()(topology);
    Notes notes([&](OpId op) {
      executor->start_delay(OpId(op.index() + 1), 1);
      if (op == OpId(2)) throw DesignError("/a", "the third", "a hint");
    });
    executor->start_delay(OpId(0), 1);
    executor->start_delay(OpId(100), 86400);
    try {
      executor->run(notes);
    } catch (const DesignError& error) {
      if (error.what() == std::string("the third") && error.hint() == "a hint") return notes.values;
    }
    return Values{};
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(1, 1, 0, 2, 1, 1, 3, 1, 2));
}

/// Dates from 0.1 s to 14 months, each start and each jump of the clock of another size.
Values spread_dates() {
  Values dates;
  for (int i = 0; i < 40; ++i) dates.push_back((i + 1) * (i + 1) * 0.1 * std::exp(0.3 * i));
  return dates;
}

/// The clock when a pause or, with `flows`, a latency of each length ended: by SimGrid and, the
/// same, by the executor.
ForkResult clocks_at(MakeExecutor make, const Values& dates, bool flows = false) {
  return fork_run([&] {
    const FakeTopology topology({50e9}, 4);
    std::vector<FlowPath> paths(dates.size());
    const auto executor = make(topology);
    for (std::size_t i = 0; i < dates.size(); ++i) {
      paths[i].latency = Seconds::of(dates[i]);
      if (flows) {
        executor->start_flow(OpId(i), paths[i], 0);
      } else {
        executor->start_delay(OpId(i), dates[i]);
      }
    }
    Values clocks;
    Notes notes([&](OpId) {
      clocks.push_back(sg::Engine::get_clock());
      if (executor->now() != clocks.back()) throw std::logic_error("two clocks");
    });
    executor->run(notes);
    return clocks;
  });
}

// To the bit.
TEST(FlowExecutor, SetsSimgridsClockToItsDates) {
  const ForkResult result = clocks_at(make_flow_executor, spread_dates());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.values, spread_dates());
}

// An Exec is set back by rounding whenever another begins or ends on its host.
TEST(StockExecutor, EndsPausesAtTheirDates) {
  const ForkResult result = clocks_at(make_stock_executor, spread_dates());
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.values.size(), spread_dates().size());
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    EXPECT_NEAR(result.values[i], spread_dates()[i], 1e-14 * spread_dates()[i]);
  }
}

// 0.3 + (0.864 - 0.3) is one ulp above 0.864 and 0.1 + (0.422 - 0.1) one below 0.422. SimGrid adds
// steps, and a model of its own takes an event that the clock has passed for one that never comes.
TEST_P(BothExecutors, MeetDatesThatASumOfDoublesMisses) {
  for (const Values& dates : {Values{0.3, 0.864}, Values{0.1, 0.422}}) {
    ASSERT_NE(dates[0] + (dates[1] - dates[0]), dates[1]);
    for (const bool flows : {false, true}) {
      const ForkResult result = clocks_at(GetParam(), dates, flows);
      EXPECT_EQ(result.error, "");
      EXPECT_EQ(result.values, dates);
    }
  }
}

// An actor wakes between dates of ours and after the last; both see one clock.
TEST_P(BothExecutors, RunBesideOrdinaryActors) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9}, 2);
    const auto executor = GetParam()(topology);
    Values values;
    sg::Actor::create("actor", sg::Host::by_name("rank0"), [&] {
      sg::this_actor::sleep_for(1.5);
      values.insert(values.end(), {sg::Engine::get_clock(), executor->now()});
      sg::this_actor::sleep_for(1);
      values.insert(values.end(), {sg::Engine::get_clock(), executor->now()});
    });
    Notes notes([&](OpId op) {
      if (op == OpId(0)) executor->start_delay(OpId(1), 1);
    });
    executor->start_delay(OpId(0), 1);
    executor->run(notes);
    values.insert(values.end(), notes.values.begin(), notes.values.end());
    return values;
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(1.5, 1.5, 2.5, 2.5, 1, 1, 0, 2, 1, 1));
}

TEST(FlowExecutor, HandlesWhatTakesNoTimeInOneStepOfTheClock) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9});
    const auto executor = make_flow_executor(topology);
    double steps = 0;
    sg::Engine::on_time_advance_cb([&](double) { ++steps; });
    Notes notes([&](OpId op) {
      if (op.index() < 10000) executor->start_delay(OpId(op.index() + 1), 0);
    });
    executor->start_delay(OpId(0), 1);
    executor->run(notes);
    return Values{executor->now(), static_cast<double>(notes.values.size()), steps};
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(1, 3 * 10001, Le(3)));
}

// 1 ms at 50 GB/s, then shared with a flow that an actor starts in between.
TEST(FlowExecutor, SharesWithAFlowThatAnActorStarts) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9});
    const FlowPath path = over({0});
    const auto executor = make_flow_executor(topology);
    sg::Actor::create("actor", sg::Host::by_name("rank0"), [&] {
      sg::this_actor::sleep_for(1e-3);
      executor->start_flow(OpId(1), path, 100e6);
    });
    executor->start_flow(OpId(0), path, 100e6);
    Notes notes;
    executor->run(notes);
    return notes.values;
  });
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.values.size(), 6U);
  EXPECT_NEAR(result.values[0], 3e-3, 1e-15);
  EXPECT_NEAR(result.values[3], 4e-3, 1e-15);
}

/// The message and the hint of the DesignError that starting something on the stock executor gives.
std::string refusal(const std::function<void(Executor&, FakeTopology&)>& start) {
  return fork_run([&] {
           FakeTopology topology({50e9, 25e9});
           topology.add(3e9, ResourceKind::kDrive);
           const auto executor = make_stock_executor(topology);
           try {
             start(*executor, topology);
           } catch (const DesignError& error) {
             throw std::runtime_error(std::string(error.what()) + "; " + error.hint());
           }
           return Values{};
         })
      .error;
}

std::string flow_refusal(const FlowPath& path, double bytes) {
  return refusal(
      [&](Executor& executor, FakeTopology&) { executor.start_flow(OpId(17), path, bytes); });
}

auto names(const std::string& feature) {
  return AllOf(HasSubstr("op 17"), HasSubstr(feature), HasSubstr("\"engine.executor\": \"flow\""));
}

TEST(StockExecutor, RefusesWhatActivitiesCannotExpress) {
  FlowPath heavy = over({0}), favoured = over({0}), bounded = over({2});
  heavy.shares[0].weight = 2;
  favoured.fairness = 4;
  bounded.bound = BytesPerSecond::of(1e9);
  EXPECT_THAT(flow_refusal(heavy, 1), names("weight 2"));
  EXPECT_THAT(flow_refusal(favoured, 1), names("fairness 4"));
  EXPECT_THAT(flow_refusal(over({0}), 1.5), names("1.5 bytes"));
  EXPECT_THAT(flow_refusal(over({0, 2}), 1), names("other resources at once"));
  EXPECT_THAT(flow_refusal(bounded, 1), names("rate bound"));
  EXPECT_EQ(flow_refusal(over({0, 1}), 1), "");
  EXPECT_EQ(flow_refusal(over({2}), 1), "");
  EXPECT_THAT(refusal([](Executor& executor, FakeTopology&) {
                executor.start_delay(OpId(17), 1);
                executor.restart_delay(OpId(17), 2);
              }),
              names("a pause whose length changes"));
}

// As after a refusal: SimGrid would print a backtrace for each.
TEST(StockExecutor, LetsGoOfWhatIsInFlightInSilence) {
  const ForkResult result = fork_run([] {
    std::FILE* captured = std::tmpfile();
    ::dup2(::fileno(captured), STDERR_FILENO);
    const FakeTopology topology({50e9});
    const FlowPath path = over({0});
    auto executor = make_stock_executor(topology);
    executor->start_flow(OpId(0), path, 1e9);
    executor->start_delay(OpId(1), 1);
    executor.reset();
    return Values{static_cast<double>(::lseek(STDERR_FILENO, 0, SEEK_END))};
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(0));
}

TEST(SimgridPlatform, IsOnePerProcess) {
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9});
    make_flow_executor(topology);
    make_stock_executor(topology);
    return Values{};
  });
  EXPECT_THAT(result.error, HasSubstr("second SimGrid engine"));
}

extern "C" void ours(int) {}

TEST(SimgridPlatform, LeavesOurSignalHandlers) {
  const ForkResult result = fork_run([] {
    std::signal(SIGINT, ours);
    std::signal(SIGTERM, SIG_IGN);
    const FakeTopology topology({50e9});
    const auto executor = make_flow_executor(topology);
    const bool interrupt = std::signal(SIGINT, SIG_DFL) == ours;
    const bool terminate = std::signal(SIGTERM, SIG_DFL) == SIG_IGN;
    return Values{interrupt ? 1.0 : 0.0, terminate ? 1.0 : 0.0};
  });
  EXPECT_THAT(result.values, ElementsAre(1, 1));
}

TEST(SimgridPlatform, PinsWhatItSaysItPins) {
  const auto options = simgrid_options();
  EXPECT_THAT(options,
              ::testing::Contains(std::pair<std::string, std::string>("network/model", "CM02")));
  EXPECT_THAT(simgrid_version(), ::testing::MatchesRegex("[34]\\.[0-9]+(\\.[0-9]+)?"));
  const ForkResult result = fork_run([] {
    const FakeTopology topology({50e9});
    const auto executor = make_flow_executor(topology);
    using simgrid::config::get_value;
    return Values{get_value<double>(compat::kTimingPrecision),
                  get_value<double>(compat::kWorkPrecision),
                  get_value<double>("network/TCP-gamma"),
                  get_value<double>("network/weight-S"),
                  get_value<bool>("network/crosstraffic") ? 1.0 : 0.0,
                  get_value<std::string>("network/model") == "CM02" ? 1.0 : 0.0};
  });
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.values, ElementsAre(1e-15, 1e-12, 0, 0, 0, 1));
}

/// The resources on the way from one rank to another, as SimGrid's hosts see it.
Values route_between(std::size_t from, std::size_t to) {
  return fork_run([=] {
           const MeshTopology topology(2, 4, 2);
           SimgridPlatform platform(topology, SimgridPlatform::Extent::kFull);
           std::vector<sg::Link*> links;
           double latency = 0;
           platform.host(from)->route_to(platform.host(to), links, &latency);
           Values resources{latency};
           for (const sg::Link* link : links) {
             for (std::size_t r = 0; r < topology.resource_count(); ++r) {
               if (platform.link(ResourceId(r)) == link) {
                 resources.push_back(static_cast<double>(r));
               }
             }
           }
           return resources;
         })
      .values;
}

Values resources(std::initializer_list<ResourceId> ids) {
  Values values{0};  // no latency: trainyard pays it itself
  for (const ResourceId id : ids) values.push_back(static_cast<double>(id.index()));
  return values;
}

TEST(SimgridPlatform, ComputesRoutesFromTheTopology) {
  const MeshTopology t(2, 4, 2);
  const ServerId a(0), b(1);
  const Route fabric = t.route(t.nic_node(a, 0), t.nic_node(b, 1));
  ASSERT_EQ(fabric.size(), 1U);
  EXPECT_EQ(route_between(1, 3), resources({t.nvlink_out(Rank(1)), t.nvlink_in(Rank(3))}));
  EXPECT_EQ(route_between(2, 2), resources({t.nvlink_out(Rank(2)), t.nvlink_in(Rank(2))}));
  // NICs belong to the GPUs 0 and 2 of a server: rank 0 and rank 6 have one each.
  EXPECT_EQ(route_between(0, 6), resources({t.pcie_tx(a, 0), fabric[0], t.pcie_rx(b, 1)}));
  EXPECT_EQ(route_between(1, 7),
            resources({t.nvlink_out(Rank(1)), t.nvlink_in(Rank(0)), t.pcie_tx(a, 0), fabric[0],
                       t.pcie_rx(b, 1), t.nvlink_out(Rank(6)), t.nvlink_in(Rank(7))}));
}

// 1 GB between servers, over PCIe at 60 GB/s and the fabric at 50 GB/s.
TEST(SimgridPlatform, CarriesTheCommsOfActors) {
  const ForkResult result = fork_run([] {
    const MeshTopology topology(2, 4, 2);
    const auto executor = make_stock_executor(topology);
    Values clocks;
    sg::Actor::create("actor", sg::Host::by_name("rank1"), [&] {
      sg::Comm::sendto(sg::Host::by_name("rank1"), sg::Host::by_name("rank7"), 1'000'000'000);
      clocks.push_back(sg::Engine::get_clock());
    });
    executor->start_delay(OpId(0), 1e-3);
    Notes notes;
    executor->run(notes);
    return clocks;
  });
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.values.size(), 1U);
  EXPECT_NEAR(result.values[0], 0.020, 1e-15);
}

}  // namespace
}  // namespace trainyard
