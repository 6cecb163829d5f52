// Circles of operations that wait for one another are opened, and nothing else.
#include "sim/trace_cycles.hpp"

#include <gmock/gmock.h>

#include <random>

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Kind = TraceNeed::Kind;
using Edge = std::tuple<std::uint32_t, std::uint32_t, Kind>;  ///< who waits, for whom

TraceProgram program_of(std::uint32_t ops, const std::vector<Edge>& edges) {
  TraceProgram program;
  for (std::uint32_t i = 0; i < ops; ++i) {
    TraceOp op;
    op.first_need = static_cast<std::uint32_t>(program.needs.size());
    for (const auto& [waits, before, kind] : edges)
      if (waits == i) program.needs.push_back({before, kind});
    op.needs = static_cast<std::uint32_t>(program.needs.size()) - op.first_need;
    program.ops.push_back(op);
  }
  return program;
}

std::vector<Edge> edges_of(const TraceProgram& program) {
  std::vector<Edge> edges;
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    const TraceOp& op = program.ops[i];
    for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n)
      edges.emplace_back(i, program.needs[n].op, program.needs[n].kind);
  }
  return edges;
}

// By repeated removal of what waits for nothing, in quadratic time.
bool has_circle(std::uint32_t ops, std::vector<Edge> edges) {
  std::vector<bool> done(ops);
  for (std::uint32_t round = 0; round < ops; ++round) {
    for (std::uint32_t i = 0; i < ops; ++i) {
      done[i] = std::none_of(edges.begin(), edges.end(), [&](const Edge& e) {
        return std::get<0>(e) == i && !done[std::get<1>(e)];
      });
    }
  }
  return std::find(done.begin(), done.end(), false) != done.end();
}

std::vector<std::uint32_t> freed_of(TraceProgram& program) {
  std::vector<std::uint32_t> freed;
  break_cycles(program, [&](std::uint32_t op, auto) { freed.push_back(op); });
  return freed;
}

TEST(TraceCycles, LeavesWhatHasNone) {
  const std::vector<Edge> edges{
      {1, 0, Kind::kData}, {1, 0, Kind::kData}, {2, 1, Kind::kStart}, {0, 3, Kind::kControl}};
  TraceProgram program = program_of(4, edges);
  EXPECT_THAT(freed_of(program), IsEmpty());
  EXPECT_THAT(edges_of(program), SizeIs(4));
}

// 1 and 2 wait for each other, one of them by control; 0 waits for both.
TEST(TraceCycles, DropsControlFirst) {
  TraceProgram program = program_of(
      3, {{0, 1, Kind::kData}, {1, 2, Kind::kData}, {2, 1, Kind::kControl}, {0, 2, Kind::kData}});
  EXPECT_THAT(freed_of(program), ElementsAre(2));
  EXPECT_THAT(edges_of(program), ElementsAre(Edge{0, 1, Kind::kData}, Edge{0, 2, Kind::kData},
                                             Edge{1, 2, Kind::kData}));
}

TEST(TraceCycles, FreesTheLeastOfEquals) {
  TraceProgram program = program_of(
      4, {{3, 2, Kind::kData}, {2, 1, Kind::kData}, {1, 3, Kind::kData}, {0, 0, Kind::kData}});
  EXPECT_THAT(freed_of(program), ElementsAre(0, 1));
  EXPECT_THAT(edges_of(program), ElementsAre(Edge{2, 1, Kind::kData}, Edge{3, 2, Kind::kData}));
}

// Each need that is dropped was in a circle of needs that were there, and none is left.
TEST(TraceCycles, RandomGraphs) {
  std::mt19937 random(3);
  for (int graph = 0; graph < 300; ++graph) {
    const std::uint32_t ops = 2 + random() % 9;
    std::vector<Edge> edges;
    for (std::uint32_t e = random() % 20; e > 0; --e)
      edges.emplace_back(random() % ops, random() % ops,
                         random() % 2 == 0 ? Kind::kData : Kind::kControl);
    TraceProgram program = program_of(ops, edges);
    std::size_t circles = 0;
    break_cycles(program, [&](std::uint32_t freed, std::span<const std::uint32_t> circle) {
      ++circles;
      EXPECT_EQ(std::count(circle.begin(), circle.end(), freed), 1);
      for (std::size_t i = 0; i < circle.size(); ++i) {
        const std::uint32_t next = circle[(i + 1) % circle.size()];
        EXPECT_TRUE(std::any_of(edges.begin(), edges.end(), [&](const Edge& e) {
          return std::get<0>(e) == circle[i] && std::get<1>(e) == next;
        }));
      }
    });
    EXPECT_EQ(circles > 0, has_circle(ops, edges));
    EXPECT_FALSE(has_circle(ops, edges_of(program)));
    EXPECT_EQ(edges_of(program).size() + circles, edges.size());
  }
}

// 200,000 circles in a row, each waiting for the next: nothing is gone over twice.
TEST(TraceCycles, ManyAndLongCircles) {
  constexpr std::uint32_t kOps = 400'000;
  TraceProgram row, ring;
  for (std::uint32_t i = 0; i < kOps; ++i) {
    TraceOp op;
    op.first_need = static_cast<std::uint32_t>(row.needs.size());
    row.needs.push_back({i ^ 1U, Kind::kData});
    if (i + 2 < kOps) row.needs.push_back({i + 2, Kind::kData});
    op.needs = static_cast<std::uint32_t>(row.needs.size()) - op.first_need;
    row.ops.push_back(op);
    op.first_need = i;
    op.needs = 1;
    ring.needs.push_back({(i + 1) % kOps, Kind::kData});
    ring.ops.push_back(op);
  }
  EXPECT_THAT(freed_of(row), SizeIs(kOps / 2));
  EXPECT_THAT(freed_of(ring), ElementsAre(0));
}

}  // namespace
}  // namespace trainyard
