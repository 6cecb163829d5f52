// Repetition in space: flows that do the same on resources that are alike, simulated once.
//
// A partition of flows into classes and of resources into colors is *equitable* when all resources
// of a color have one capacity and carry the same flows (as many of each class, in the same
// weights), and all flows of a class use as many resources of each color in the same weights. Flows
// of one class that start together then run together: max-min rates are unique, so they cannot
// tell alike flows apart (for linear programs: Grohe, Kersting, Mladenov, Selman, "Dimension
// reduction via colour refinement", 2014). One flow per class, over one resource per color that
// carries what all of the class lay on it, has the same rates to within rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/path.hpp"
#include "sim/topology.hpp"

namespace trainyard {

/// The flows of a step, by what they are for (their *kind*) and whose they are (their *member*: a
/// data-parallel replica). Flows of one kind have the same bytes and start together where their
/// members do the same.
class FlowCollection {
 public:
  using Kind = std::uint32_t;
  using Member = std::uint32_t;
  static constexpr Member kShared = 0xffffffffU;  ///< of all members together

  /// `rails`: flows along so many rails that are alike, of which this is the first.
  void add(Kind kind, Member member, const FlowPath& path, int rails = 1);

 private:
  friend class Folding;
  struct Flow {
    Kind kind;
    Member member;
    std::uint64_t own;  ///< latency, bound and fairness
    std::size_t first;  ///< of its shares
    int rails;
  };
  /// Both by number: of resources_ and weights_.
  struct Use {
    std::uint32_t resource, weight;
  };
  std::size_t end_of(std::size_t flow) const {
    return flow + 1 < flows_.size() ? flows_[flow + 1].first : uses_.size();
  }
  std::vector<Flow> flows_;
  std::vector<Use> uses_;
  std::vector<double> weights_;  ///< distinct ones
  std::vector<std::uint64_t> weight_hashes_;
  std::vector<ResourceId> resources_;  ///< that flows use, in the order in which they came
  std::vector<std::uint32_t> number_;  ///< by resource: 1 + its place in resources_, or 0
};

class Folding {
 public:
  using Kind = FlowCollection::Kind;
  using Member = FlowCollection::Member;

  /// The coarsest division of members into classes that do the same, starting from `classes` (by
  /// member; equal numbers: may be alike). Nothing where flows differ that have to be alike: those
  /// of one kind that are shared, or that one member has.
  static std::optional<Folding> find(const Topology& topology, FlowCollection flows,
                                     std::vector<std::uint32_t> classes);

  /// By member; numbered in the order of their first members.
  const std::vector<std::uint32_t>& classes() const { return classes_; }
  std::uint32_t class_count() const { return class_count_; }
  /// The path on which one flow of this kind and member stands for all of its class; `path` is that
  /// of the first of them.
  FlowPath fold(Kind kind, Member member, const FlowPath& path) const;
  /// The resource whose load is that of this one; itself where no flow uses it.
  ResourceId stand_in(ResourceId resource) const;
  /// How many resources it stands for, itself included; of other rails that are alike, none.
  double stands_for(ResourceId stand_in) const;

 private:
  explicit Folding(FlowCollection flows) : flows_(std::move(flows)) {}
  void color_resources(const Topology& topology);
  bool compare_flows(std::vector<std::uint64_t>& members) const;
  bool split(const std::vector<std::uint64_t>& members);
  void choose_stand_ins(const Topology& topology);
  /// 0: no flow uses it.
  std::uint32_t color_of(ResourceId resource) const {
    const std::size_t r = resource.index();
    return r < flows_.number_.size() && flows_.number_[r] != 0 ? color_[flows_.number_[r] - 1] : 0;
  }
  std::size_t class_of(Kind kind, Member member) const {
    return std::size_t{kind} * (class_count_ + 1) +
           (member == FlowCollection::kShared ? class_count_ : classes_[member]);
  }

  std::vector<std::uint32_t> classes_;  ///< by member
  std::uint32_t class_count_ = 0;
  FlowCollection flows_;
  std::vector<std::uint64_t> carried_;   ///< by number of the resource
  std::vector<std::uint32_t> color_;     ///< by number of the resource, from 1
  std::vector<double> resources_of_;     ///< how many, by color
  std::vector<ResourceId> stand_in_;     ///< by color
  std::vector<std::uint8_t> of_server_;  ///< by color: servers own it, so that all rails use it
  struct OfClass {
    double flows = 0, rails = 1;  ///< how many, and along how many rails each
  };
  std::vector<OfClass> of_class_;  ///< by class_of()
};

}  // namespace trainyard
