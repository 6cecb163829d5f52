#include "sim/timeline.hpp"

#include <algorithm>
#include <numeric>

#include "sim/error.hpp"

namespace trainyard {

Timeline::Timeline(const OpGraph& graph) : first_(graph.size() + 1), recorded_(graph.size()) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    recorded_[i] = graph.iterations(OpId(i));
    first_[i + 1] = first_[i] + recorded_[i];
  }
  const std::size_t records = first_.back();
  require(records < kNone, "too many operations for one run");
  start_ = std::make_unique_for_overwrite<double[]>(records);
  finish_ = std::make_unique_for_overwrite<double[]>(records);
  cause_ = std::make_unique_for_overwrite<std::uint32_t[]>(records);
}

std::uint64_t Timeline::iterations() const {
  return std::accumulate(recorded_.begin(), recorded_.end(), std::uint64_t{0});
}

OpId Timeline::op_of(std::size_t record) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), record);
  return OpId(static_cast<std::size_t>(next - first_.begin()) - 1);
}

void Timeline::started(OpId op, std::uint32_t iteration, double now, std::uint32_t cause) {
  const std::size_t at = record(op, iteration);
  start_[at] = now;
  cause_[at] = cause;
}

void Timeline::finished(OpId op, std::uint32_t iteration, double now) {
  const std::size_t at = record(op, iteration);
  require(now >= start_[at], "an operation ended before it started");
  finish_[at] = now;
  end_ = now;
}

double Timeline::carried(ResourceId resource) const {
  const auto it =
      std::lower_bound(carried_.begin(), carried_.end(), resource,
                       [](const Share& one, ResourceId id) { return one.resource < id; });
  return it != carried_.end() && it->resource == resource ? it->weight : 0;
}

void Timeline::complete(const OpGraph& graph) {
  carried_ = graph.bytes_by_resource();
  if (repeats_.empty()) return;
  const auto stretched = [this](double date) {
    double longer = date;
    for (const Repeat& r : repeats_)
      longer += r.times * (std::clamp(date, r.begin, r.end) - r.begin);
    return longer;
  };
  for (std::size_t i = 0; i < recorded_.size(); ++i) {
    for (std::size_t at = first_[i]; at < first_[i] + recorded_[i]; ++at) {
      start_[at] = stretched(start_[at]);
      finish_[at] = stretched(finish_[at]);
    }
  }
  end_ = stretched(end_);
}

}  // namespace trainyard
