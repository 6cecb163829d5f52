// Levels: inside each server first, then between servers along each rail.
#pragma once

#include "sim/collective.hpp"

namespace trainyard {

/// all_reduce = reduce_scatter inside, all_reduce of 1/g along each of the g rails, all_gather
/// inside; all_gather and reduce_scatter drop one of the three. Inside is always a ring. The buffer
/// is cut into `chunks` that follow each other through the levels.
/// Closed form: the sum over levels; with more chunks the slowest level (the two inside share
/// NVLink) is counted once per further chunk.
class Levels {
 public:
  /// `between` does the phase between servers; it must outlive this.
  explicit Levels(const Collective& between);
  ~Levels();
  /// Only what concerns the shape of the group; whether `between` can do its part is for the
  /// caller.
  std::string refuses(const CollectiveCall&, const CollectiveContext&) const;
  /// The groups between servers, one per rail, and what each carries of a chunk.
  std::pair<std::vector<const Group*>, Bytes> rails(const CollectiveCall&,
                                                    const CollectiveContext&) const;
  Seconds estimate(const CollectiveCall&, const CollectiveContext&) const;
  std::vector<OpId> lower(const CollectiveCall&, const CollectiveContext&,
                          std::span<const OpId> entry) const;

 private:
  struct Phase;
  static CollectiveContext among_siblings(const Phase&, const CollectiveContext&);
  std::vector<Phase> phases(const CollectiveCall&, const CollectiveContext&) const;

  const Collective& between_;
  std::unique_ptr<Collective> inside_;
};

}  // namespace trainyard
