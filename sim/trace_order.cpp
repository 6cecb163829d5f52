#include "sim/trace_order.hpp"

#include <functional>
#include <queue>
#include <utility>

#include "sim/error.hpp"

namespace trainyard {
namespace {

/// By operation: those that wait for it.
struct Waiters {
  explicit Waiters(const TraceProgram& program) : first(program.ops.size() + 1) {
    const auto each = [&](const auto& body) {
      for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const TraceOp& op = program.ops[i];
        for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n)
          body(i, program.needs[n].op);
      }
    };
    each([&](std::uint32_t, std::uint32_t before) { ++first[before + 1]; });
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    all.resize(first.back());
    std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
    each([&](std::uint32_t op, std::uint32_t before) { all[fill[before]++] = op; });
  }
  std::vector<std::uint32_t> first, all;
};

std::vector<std::uint32_t> order_of(const TraceProgram& program) {
  using Ready = std::pair<std::uint64_t, std::uint32_t>;  // id, index
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const Waiters waiters(program);
  std::vector<std::uint32_t> missing, order;
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    missing.push_back(program.ops[i].needs);
    if (missing.back() == 0) ready.emplace(program.ops[i].id, i);
  }
  while (!ready.empty()) {
    const std::uint32_t op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (std::uint32_t n = waiters.first[op]; n < waiters.first[op + 1]; ++n) {
      const std::uint32_t next = waiters.all[n];
      if (--missing[next] == 0) ready.emplace(program.ops[next].id, next);
    }
  }
  require(order.size() == program.ops.size(), "operations in a circle");
  return order;
}

}  // namespace

void order_by_id(TraceProgram& program) {
  const std::vector<std::uint32_t> order = order_of(program);
  std::vector<std::uint32_t> place(order.size());
  std::vector<TraceOp> ops;
  ops.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    ops.push_back(program.ops[order[i]]);
  }
  program.ops = std::move(ops);
  for (TraceNeed& need : program.needs) need.op = place[need.op];
}

}  // namespace trainyard
