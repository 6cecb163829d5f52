// The records of a finished run (iterations of operations) and what each waited for, flat.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/timeline.hpp"

namespace trainyard {

/// Records in an order in which each comes after all that it waited for; `place` is a record's
/// position in it. Durations are those of the run.
class RecordGraph {
 public:
  /// A record that waits: for the end of another, or only for its start, since iterations start in
  /// order.
  struct Edge {
    std::uint32_t to : 31;
    std::uint32_t from_start : 1;
  };
  /// A record may start at that date for all that it waited for: 0 for one that waited for nothing.
  struct Entry {
    std::uint32_t place;
    double date;
  };

  /// Of a run in which nothing stands for something that recurs.
  RecordGraph(const OpGraph& graph, const Timeline& timeline);
  /// At most so many edges.
  static std::uint64_t most_edges(const OpGraph& graph);

  std::size_t size() const { return order_.size(); }
  OpId op(std::size_t place) const { return order_[place].op; }
  std::size_t place(std::size_t record) const { return place_[record]; }
  double start(std::size_t place) const { return start_[place]; }
  double finish(std::size_t place) const { return finish_[place]; }
  double duration(std::size_t place) const { return finish_[place] - start_[place]; }
  std::span<const Edge> edges(std::size_t place) const {
    return {edges_.data() + first_[place], first_[place + 1] - first_[place]};
  }
  /// Records that wait for nothing, and those that started later than all that they waited for.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Iteration {
    OpId op;
    std::uint32_t number;
  };
  void sort(const OpGraph& graph, const Timeline& timeline);
  void find_entries();

  std::vector<Iteration> order_;
  std::vector<std::uint32_t> place_;  ///< by record
  std::vector<double> start_, finish_;
  std::vector<std::uint32_t> first_;
  std::vector<Edge> edges_;
  std::vector<Entry> entries_;
  std::size_t sources_ = 0;  ///< so many places come first and wait for nothing
};

}  // namespace trainyard
