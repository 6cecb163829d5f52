// Folding by hand, and at random: rates of what was folded against those of all flows together.
#include "sim/folding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_topology.hpp"
#include "tests/unit/flow_net.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using testing::FakeTopology;
using testing_flows::kInfinity;
using testing_flows::Random;
using testing_flows::Uses;

constexpr auto kShared = FlowCollection::kShared;

struct TestFlow {
  FlowCollection::Kind kind = 0;
  FlowCollection::Member member = 0;
  FlowPath path;
};

FlowPath path(const Uses& uses, double bound = kInfinity, double fairness = 1, double latency = 0) {
  FlowPath path;
  for (const auto& [resource, weight] : uses) path.shares.push_back({ResourceId(resource), weight});
  std::sort(path.shares.begin(), path.shares.end(),
            [](const Share& a, const Share& b) { return a.resource < b.resource; });
  path.bound = BytesPerSecond::of(bound);
  path.fairness = fairness;
  path.latency = Seconds::of(latency);
  return path;
}

/// Resources of given capacities and what flows over them.
struct System {
  std::vector<double> capacities;
  std::vector<TestFlow> flows;
  std::size_t members = 0;

  std::optional<Folding> fold(std::vector<std::uint32_t> classes = {}) const {
    FlowCollection collection;
    for (const TestFlow& flow : flows) collection.add(flow.kind, flow.member, flow.path);
    classes.resize(members);
    return Folding::find(FakeTopology(capacities), collection, std::move(classes));
  }
};

/// Max-min rates of flows over resources.
std::vector<double> rates(const std::vector<double>& capacities,
                          const std::deque<FlowPath>& paths) {
  FlowSolver solver(capacities);
  std::vector<FlowId> ids;
  ids.reserve(paths.size());
  for (const FlowPath& p : paths) ids.push_back(solver.add(p.shares, p.fairness, p.bound.si()));
  solver.solve();
  std::vector<double> all;
  for (const FlowId id : ids) all.push_back(solver.rate(id));
  return all;
}

/// The class of a flow: its kind, and the class of its member or none.
std::pair<FlowCollection::Kind, std::uint32_t> class_of(const Folding& folding,
                                                        const TestFlow& flow) {
  return {flow.kind, flow.member == kShared ? kShared : folding.classes()[flow.member]};
}

/// Holds what the folded system does, one flow for each class, against what all do together.
void expect_same_rates(const System& system, const Folding& folding, double tolerance) {
  std::deque<FlowPath> all, folded;
  std::map<std::pair<FlowCollection::Kind, std::uint32_t>, std::size_t> place;
  for (const TestFlow& flow : system.flows) {
    all.push_back(flow.path);
    if (place.try_emplace(class_of(folding, flow), folded.size()).second)
      folded.push_back(folding.fold(flow.kind, flow.member, flow.path));
  }
  const std::vector<double> expected = rates(system.capacities, all),
                            found = rates(system.capacities, folded);
  std::vector<double> load(system.capacities.size()), folded_load(load), alike(load);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double rate = found[place.at(class_of(folding, system.flows[i]))];
    EXPECT_NEAR(rate, expected[i], tolerance * expected[i]) << "flow " << i;
    for (const Share& s : all[i].shares) load[s.resource.index()] += s.weight * expected[i];
  }
  for (std::size_t i = 0; i < folded.size(); ++i) {
    for (const Share& s : folded[i].shares) folded_load[s.resource.index()] += s.weight * found[i];
  }
  for (std::size_t r = 0; r < load.size(); ++r) {
    const std::size_t stand_in = folding.stand_in(ResourceId(r)).index();
    EXPECT_NEAR(folded_load[stand_in], load[r], tolerance * load[r]) << "resource " << r;
    EXPECT_EQ(system.capacities[stand_in], system.capacities[r]);
    ++alike[stand_in];
  }
  for (std::size_t r = 0; r < load.size(); ++r) {
    if (alike[r] == 0) continue;
    EXPECT_EQ(folding.stands_for(ResourceId(r)), alike[r]) << "resource " << r;
  }
}

/// Members with a resource each, 1 …, and resource 0 that all of them use.
System star(std::size_t members, double own_weight = 1, double shared_weight = 1,
            double bound = kInfinity) {
  System system{{12}, {}, members};
  for (std::uint32_t m = 0; m < members; ++m) {
    system.capacities.push_back(5);
    system.flows.push_back({0, m, path({{m + 1, own_weight}, {0, shared_weight}}, bound)});
  }
  return system;
}

void expect_share(const Share& share, std::size_t resource, double weight) {
  EXPECT_EQ(share.resource, ResourceId(resource));
  EXPECT_EQ(share.weight, weight);
}

// Four that share 12: the one that stands for them takes 4 bytes of it for each of its own.
TEST(Folding, MembersOfAStarAreOneClass) {
  const System system = star(4);
  const auto folding = system.fold();
  ASSERT_TRUE(folding);
  EXPECT_EQ(folding->class_count(), 1U);
  EXPECT_THAT(folding->classes(), ElementsAre(0, 0, 0, 0));
  const FlowPath folded = folding->fold(0, 0, system.flows[0].path);
  ASSERT_EQ(folded.shares.size(), 2U);
  expect_share(folded.shares[0], 0, 4);
  expect_share(folded.shares[1], 1, 1);
  EXPECT_EQ(rates(system.capacities, {folded})[0], 3);
  expect_same_rates(system, *folding, 1e-12);
}

TEST(Folding, StandInsAreTheFirstOfTheirColor) {
  System system = star(4);
  system.capacities.push_back(7);  // nobody uses it
  const auto folding = system.fold();
  ASSERT_TRUE(folding);
  for (std::size_t r = 1; r <= 4; ++r) EXPECT_EQ(folding->stand_in(ResourceId(r)), ResourceId(1));
  EXPECT_EQ(folding->stands_for(ResourceId(1)), 4);
  EXPECT_EQ(folding->stand_in(ResourceId(0)), ResourceId(0));
  EXPECT_EQ(folding->stands_for(ResourceId(0)), 1);
  for (const std::size_t unused : {5U, 100U}) {
    EXPECT_EQ(folding->stand_in(ResourceId(unused)), ResourceId(unused));
    EXPECT_EQ(folding->stands_for(ResourceId(unused)), 1);
  }
}

// 3 bytes a byte on the own resource, half a byte on the shared one: 5 / 3 on the own, 12 / 2 on
// the shared. A bound below both holds; latency and fairness stay what they were.
TEST(Folding, WeightsAndBounds) {
  for (const double bound : {kInfinity, 1.25}) {
    System system = star(4, 3, 0.5, bound);
    for (TestFlow& flow : system.flows) flow.path.latency = Seconds::of(0.5);
    for (TestFlow& flow : system.flows) flow.path.fairness = 2;
    const auto folding = system.fold();
    ASSERT_TRUE(folding);
    EXPECT_EQ(folding->class_count(), 1U);
    const FlowPath folded = folding->fold(0, 0, system.flows[0].path);
    expect_share(folded.shares[0], 0, 2);
    expect_share(folded.shares[1], 1, 3);
    EXPECT_EQ(folded.latency, Seconds::of(0.5));
    EXPECT_EQ(folded.fairness, 2);
    EXPECT_EQ(folded.bound, BytesPerSecond::of(bound));
    EXPECT_DOUBLE_EQ(rates(system.capacities, {folded})[0], std::min(5 / 3.0, bound));
  }
}

// Two resources of one flow that are alike become one, which carries both.
TEST(Folding, SharesOnOneColorAddUp) {
  System system{{4, 4, 4, 4}, {}, 2};
  for (std::uint32_t m = 0; m < 2; ++m)
    system.flows.push_back({0, m, path({{2 * m, 1}, {2 * m + 1, 1}})});
  const auto folding = system.fold();
  ASSERT_TRUE(folding);
  const FlowPath folded = folding->fold(0, 0, system.flows[0].path);
  ASSERT_EQ(folded.shares.size(), 1U);
  expect_share(folded.shares[0], 0, 1);  // 2 flows lay 2 each on 4 resources
  EXPECT_EQ(folding->stands_for(ResourceId(0)), 4);
  expect_same_rates(system, *folding, 1e-12);
}

/// The classes of a star of four when something of it was changed.
template <class Change>
std::vector<std::uint32_t> classes_with(const Change& change) {
  System system = star(4);
  change(system);
  const auto folding = system.fold();
  EXPECT_TRUE(folding);
  if (!folding) return {};
  expect_same_rates(system, *folding, 1e-12);
  return folding->classes();
}

TEST(Folding, WhatDiffersIsAClassOfItsOwn) {
  const auto differ = ElementsAre(0, 1, 0, 0);
  EXPECT_THAT(classes_with([](System& s) { s.capacities[2] = 1; }), differ);
  EXPECT_THAT(classes_with([](System& s) { s.flows[1].path = path({{2, 2}, {0, 1}}); }), differ);
  EXPECT_THAT(classes_with([](System& s) { s.flows[1].path.bound = BytesPerSecond::of(1); }),
              differ);
  EXPECT_THAT(classes_with([](System& s) { s.flows[1].path.fairness = 2; }), differ);
  EXPECT_THAT(classes_with([](System& s) { s.flows[1].path.latency = Seconds::of(1); }), differ);
  EXPECT_THAT(classes_with([](System& s) { s.flows[1].kind = 1; }), differ);
  // One member has more to do, on the resource that it has anyway.
  EXPECT_THAT(classes_with([](System& s) { s.flows.push_back({1, 1, path({{2, 1}})}); }), differ);
  // Something shared runs over the resource of one.
  EXPECT_THAT(classes_with([](System& s) {
                s.flows.push_back({1, kShared, path({{2, 1}})});
              }),
              differ);
  // One does nothing.
  EXPECT_THAT(classes_with([](System& s) { s.flows.erase(s.flows.begin() + 1); }), differ);
}

TEST(Folding, ResourcesOfAnotherKindDiffer) {
  const System system = star(2);
  FakeTopology topology;
  topology.add(12);
  topology.add(5, ResourceKind::kLink);
  topology.add(5, ResourceKind::kPcie);
  FlowCollection flows;
  for (const TestFlow& flow : system.flows) flows.add(flow.kind, flow.member, flow.path);
  const auto folding = Folding::find(topology, flows, {0, 0});
  ASSERT_TRUE(folding);
  EXPECT_THAT(folding->classes(), ElementsAre(0, 1));
}

TEST(Folding, NothingIsPutTogetherThatMayNotBe) {
  const auto folding = star(4).fold({7, 3, 7, 9});
  ASSERT_TRUE(folding);
  EXPECT_EQ(folding->class_count(), 3U);
  EXPECT_THAT(folding->classes(), ElementsAre(0, 1, 0, 2));
  expect_same_rates(star(4), *folding, 1e-12);
}

// A row of resources, each member over two neighbours: only the ends differ at first, and then one
// more from either side in each round, until all have their mirror image alone.
TEST(Folding, ADifferenceThatSpreadsFromTheEndsOfARow) {
  System system{std::vector<double>(8, 10), {}, 7};
  for (std::uint32_t m = 0; m < 7; ++m) system.flows.push_back({0, m, path({{m, 1}, {m + 1, 2}})});
  // Weights of 1 and 2 tell left from right: seven classes.
  auto folding = system.fold();
  ASSERT_TRUE(folding);
  EXPECT_EQ(folding->class_count(), 7U);
  expect_same_rates(system, *folding, 1e-12);

  for (std::uint32_t m = 0; m < 7; ++m) system.flows[m].path = path({{m, 1}, {m + 1, 1}});
  folding = system.fold();
  ASSERT_TRUE(folding);
  EXPECT_THAT(folding->classes(), ElementsAre(0, 1, 2, 3, 2, 1, 0));
  EXPECT_EQ(folding->stand_in(ResourceId(7)), ResourceId(0));
  EXPECT_EQ(folding->stand_in(ResourceId(4)), ResourceId(3));
  expect_same_rates(system, *folding, 1e-12);
}

// Closed to a ring, none differs.
TEST(Folding, ARingIsOneClass) {
  System system{std::vector<double>(7, 10), {}, 7};
  for (std::uint32_t m = 0; m < 7; ++m)
    system.flows.push_back({0, m, path({{m, 1}, {(m + 1) % 7, 2}})});
  const auto folding = system.fold();
  ASSERT_TRUE(folding);
  EXPECT_EQ(folding->class_count(), 1U);
  EXPECT_EQ(folding->stands_for(ResourceId(0)), 7);
  expect_same_rates(system, *folding, 1e-12);
}

TEST(Folding, SharedFlowsOfOneKindHaveToBeAlike) {
  for (const double last : {5.0, 6.0}) {
    System system = star(2);
    system.capacities.insert(system.capacities.end(), {5, last});
    system.flows.push_back({1, kShared, path({{3, 1}})});
    system.flows.push_back({1, kShared, path({{4, 1}})});
    EXPECT_EQ(system.fold().has_value(), last == 5);
    // Of two kinds they may differ.
    system.flows.back().kind = 2;
    EXPECT_TRUE(system.fold());
  }
}

// Shared flows that are alike by themselves, until the second round tells their resources apart.
TEST(Folding, SharedFlowsThatDifferByWhatRunsBeside) {
  System system = star(2);
  system.flows.push_back({1, kShared, path({{1, 1}})});
  system.flows.push_back({1, kShared, path({{2, 1}})});
  EXPECT_TRUE(system.fold());
  system.flows.push_back({2, 1, path({}, 1)});
  EXPECT_FALSE(system.fold());
}

TEST(Folding, LanesOfAMemberHaveToBeAlike) {
  for (const double last : {5.0, 6.0}) {
    System system{{5, 5, 5, last}, {}, 2};
    for (std::uint32_t m = 0; m < 2; ++m) {
      for (std::uint32_t lane = 0; lane < 2; ++lane)
        system.flows.push_back({0, m, path({{2 * m + lane, 1}})});
    }
    const auto folding = system.fold();
    ASSERT_EQ(folding.has_value(), last == 5);
    if (!folding) continue;
    EXPECT_THAT(folding->classes(), ElementsAre(0, 0));
    EXPECT_EQ(folding->stands_for(ResourceId(0)), 4);
    expect_same_rates(system, *folding, 1e-12);
  }
}

TEST(Folding, NoFlowsAndNoMembers) {
  EXPECT_EQ(System{}.fold()->class_count(), 0U);
  EXPECT_THAT((System{{1}, {}, 3}.fold()->classes()), ElementsAre(0, 0, 0));
}

FlowPath random_path(Random& random, std::size_t resources, std::size_t most) {
  Uses uses;
  for (const std::size_t r : random.distinct(1 + random.below(most), resources))
    uses.emplace_back(r, random.one_in(2) ? 1 : random.uniform(0.5, 4));
  return path(uses, random.one_in(4) ? random.uniform(0.5, 4) : kInfinity,
              random.one_in(4) ? random.uniform(0.5, 2) : 1);
}

/// `copies` of a random small system, each a member, tied together by resources that all of them
/// use and flows that all of them have, in random order. All copies are alike.
System random_symmetric(Random& random, std::size_t copies) {
  const std::size_t own = 2 + random.below(4), common = 1 + random.below(3);
  std::vector<std::size_t> number = random.distinct(own * copies + common, own * copies + common);
  System system;
  system.members = copies;
  system.capacities.resize(number.size());
  for (std::size_t r = 0; r < own + common; ++r) {
    const double capacity = random.uniform(1, 20) * (r < own ? 1 : static_cast<double>(copies));
    for (std::size_t c = 0; c < (r < own ? copies : 1); ++c)
      system.capacities[number[r < own ? c * own + r : copies * own + r - own]] = capacity;
  }
  const std::size_t kinds = 2 + random.below(5);
  for (std::uint32_t kind = 0; kind < kinds; ++kind) {
    const FlowPath pattern = random_path(random, own + common, std::min<std::size_t>(own, 4));
    // Of a shared kind each copy has its flow too; its last resource is then of the next copy.
    const bool shared = random.one_in(3);
    for (std::uint32_t c = 0; c < copies; ++c) {
      Uses uses;
      for (const Share& s : pattern.shares) {
        const std::size_t r = s.resource.index();
        const std::size_t copy = shared && r + 1 == own ? (c + 1) % copies : c;
        uses.emplace_back(number[r < own ? copy * own + r : copies * own + r - own], s.weight);
      }
      system.flows.push_back(
          {kind, shared ? kShared : c, path(uses, pattern.bound.si(), pattern.fairness)});
    }
  }
  const std::vector<std::size_t> order = random.distinct(system.flows.size(), system.flows.size());
  std::vector<TestFlow> shuffled;
  for (const std::size_t i : order) shuffled.push_back(system.flows[i]);
  system.flows = std::move(shuffled);
  return system;
}

TEST(Folding, RandomCopiesAreOneClassWithTheRatesOfAll) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const System system = random_symmetric(random, 2 + random.below(7));
    const auto folding = system.fold();
    ASSERT_TRUE(folding);
    EXPECT_EQ(folding->class_count(), 1U);
    expect_same_rates(system, *folding, 1e-12);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

void disturb(System& system, Random& random) {
  TestFlow& flow = system.flows[random.below(system.flows.size())];
  const std::size_t resource = random.below(system.capacities.size());
  switch (random.below(5)) {
    case 0:
      system.capacities[resource] *= 0.5;
      return;
    case 1:
      flow.path.bound = BytesPerSecond::of(random.uniform(0.1, 1));
      return;
    case 2:
      flow.path.fairness *= 2;
      return;
    case 3:
      flow.path.shares.front().weight *= 3;
      return;
    case 4:
      system.flows.push_back(
          {100, static_cast<std::uint32_t>(random.below(system.members)), path({{resource, 1}})});
      return;
  }
}

// A disturbed copy is a class of its own, and so is each that it touches differently. Where nothing
// is found, a shared flow was touched.
TEST(Folding, RandomDisturbedCopiesHaveTheRatesOfAll) {
  int found = 0, several = 0, fewer = 0;
  for (std::uint64_t seed = 1001; seed <= 1600; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    System system = random_symmetric(random, 3 + random.below(6));
    for (std::size_t times = 1 + random.below(2); times > 0; --times) disturb(system, random);
    const auto folding = system.fold();
    if (!folding) continue;
    ++found;
    several += folding->class_count() > 1 ? 1 : 0;
    fewer += folding->class_count() > 1 && folding->class_count() < system.members ? 1 : 0;
    expect_same_rates(system, *folding, 1e-9);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(several, 100);
  EXPECT_GT(fewer, 50);
}

}  // namespace
}  // namespace trainyard
