// What tests read from a Timeline.
#pragma once

#include <vector>

#include "sim/timeline.hpp"

namespace trainyard::testing {

/// A value of every operation, by operation.
template <class Value>
std::vector<double> by_op(const OpGraph& graph, const Value& value) {
  std::vector<double> all;
  for (std::size_t i = 0; i < graph.size(); ++i) all.push_back(value(OpId(i)));
  return all;
}

/// One iteration of an operation.
struct Happening {
  OpId op;
  double start, finish;
};

/// Every iteration of every operation.
inline std::vector<Happening> happenings(const OpGraph& graph, const Timeline& timeline) {
  std::vector<Happening> all;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op(i);
    for (std::uint32_t k = 0; k < timeline.iterations(op); ++k) {
      const std::size_t record = timeline.record(op, k);
      all.push_back({op, timeline.start(record), timeline.finish(record)});
    }
  }
  return all;
}

}  // namespace trainyard::testing
