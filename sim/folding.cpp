#include "sim/folding.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "sim/mix.hpp"

namespace trainyard {
namespace {

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

/// Numbers values in the order in which they come.
class Numbering {
 public:
  std::uint32_t operator()(std::uint64_t value) {
    if (!numbers_.empty() && value == last_) return last_number_;  // neighbours are mostly alike
    last_ = value;
    last_number_ =
        numbers_.try_emplace(value, static_cast<std::uint32_t>(numbers_.size())).first->second;
    return last_number_;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::uint64_t last_ = 0;
  std::uint32_t last_number_ = 0;
};

}  // namespace

void FlowCollection::add(Kind kind, Member member, const FlowPath& path, int rails) {
  flows_.push_back({kind, member,
                    mix_step(bits(path.latency.si())) + mix_step(bits(path.bound.si()) ^ 1) +
                        mix_step(bits(path.fairness) ^ 2),
                    uses_.size(), rails});
  for (const Share& share : path.shares) {
    // There are few, and the last is the likeliest.
    auto known = std::find(weights_.rbegin(), weights_.rend(), share.weight);
    if (known == weights_.rend()) {
      weights_.push_back(share.weight);
      weight_hashes_.push_back(mix_step(bits(share.weight)));
      known = weights_.rbegin();
    }
    if (number_.size() <= share.resource.index()) number_.resize(share.resource.index() + 1);
    std::uint32_t& number = number_[share.resource.index()];
    if (number == 0) {
      resources_.push_back(share.resource);
      number = static_cast<std::uint32_t>(resources_.size());
    }
    uses_.push_back({number - 1, static_cast<std::uint32_t>(weights_.rend() - known - 1)});
  }
}

std::optional<Folding> Folding::find(const Topology& topology, FlowCollection flows,
                                     std::vector<std::uint32_t> classes) {
  Folding folding(std::move(flows));
  Numbering number;
  for (std::uint32_t& one : classes) one = number(one);
  folding.classes_ = std::move(classes);
  folding.class_count_ = static_cast<std::uint32_t>(number.size());
  std::vector<std::uint64_t> members;
  do {
    folding.color_resources(topology);
    if (!folding.compare_flows(members)) return std::nullopt;
  } while (folding.split(members));
  folding.choose_stand_ins(topology);
  folding.flows_.flows_ = {};
  folding.flows_.uses_ = {};
  return folding;
}

// What a resource carries is summed up into one number, which no order of its flows changes:
// resources with one number carry the same classes in the same weights (but for a collision of
// 64-bit hashes). With their kind and capacity that gives their color.
void Folding::color_resources(const Topology& topology) {
  carried_.assign(flows_.resources_.size(), 0);
  for (std::size_t i = 0; i < flows_.flows_.size(); ++i) {
    const auto& flow = flows_.flows_[i];
    const std::uint64_t klass = mix_step(class_of(flow.kind, flow.member));
    for (std::size_t u = flow.first; u < flows_.end_of(i); ++u)
      carried_[flows_.uses_[u].resource] +=
          mix_step(klass ^ flows_.weight_hashes_[flows_.uses_[u].weight]);
  }
  color_.assign(carried_.size(), 0);
  resources_of_ = {0};
  Numbering number;
  for (std::size_t r = 0; r < carried_.size(); ++r) {
    const ResourceTraits& traits = topology.traits_of(flows_.resources_[r]);
    color_[r] = 1 + number(carried_[r] ^ mix_step(bits(traits.capacity) +
                                                  static_cast<std::uint64_t>(traits.kind)));
    if (color_[r] == resources_of_.size()) resources_of_.push_back(0);
    ++resources_of_[color_[r]];
  }
}

// Sums up what each member's flows use. False when flows of one kind differ that one member has, or
// that are shared.
bool Folding::compare_flows(std::vector<std::uint64_t>& members) const {
  members.assign(classes_.size(), 0);
  std::unordered_map<Kind, std::uint64_t> shared;
  Kind kind = 0;
  Member member = FlowCollection::kShared;
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < flows_.flows_.size(); ++i) {
    const auto& flow = flows_.flows_[i];
    std::uint64_t all = flow.own;
    for (std::size_t u = flow.first; u < flows_.end_of(i); ++u)
      all += mix_step(flows_.weight_hashes_[flows_.uses_[u].weight] +
                      color_[flows_.uses_[u].resource]);
    if (flow.member == FlowCollection::kShared) {
      if (shared.try_emplace(flow.kind, all).first->second != all) return false;
      continue;
    }
    // Those of one kind and member follow each other.
    if (flow.kind == kind && flow.member == member) {
      if (previous != all) return false;
      continue;
    }
    members[flow.member] += mix_step(all ^ mix_step(flow.kind));
    previous = all;
    kind = flow.kind;
    member = flow.member;
  }
  return true;
}

// Divides classes whose members differ. False when none do.
bool Folding::split(const std::vector<std::uint64_t>& members) {
  Numbering number;
  std::vector<std::uint32_t> classes(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    classes[m] = number(mix_step(members[m]) ^ mix_step(classes_[m]));
  if (number.size() == class_count_) return false;
  classes_ = std::move(classes);
  class_count_ = static_cast<std::uint32_t>(number.size());
  return true;
}

void Folding::choose_stand_ins(const Topology& topology) {
  stand_in_.assign(resources_of_.size(), ResourceId());
  of_server_.assign(resources_of_.size(), 0);
  for (std::size_t i = 0; i < flows_.flows_.size(); ++i) {
    const auto& flow = flows_.flows_[i];
    const std::size_t klass = class_of(flow.kind, flow.member);
    if (of_class_.size() <= klass) of_class_.resize(klass + 1);
    of_class_[klass].rails = flow.rails;
    if (of_class_[klass].flows++ > 0) continue;
    for (std::size_t u = flow.first; u < flows_.end_of(i); ++u) {
      const std::uint32_t color = color_[flows_.uses_[u].resource];
      if (stand_in_[color].valid()) continue;
      stand_in_[color] = flows_.resources_[flows_.uses_[u].resource];
      of_server_[color] = topology.server_of_resource(stand_in_[color]).valid() ? 1 : 0;
    }
  }
}

// All resources of a color share evenly what the flows of a class lay on them. What a server owns
// carries the flows of all rails, a link only those of its own.
FlowPath Folding::fold(Kind kind, Member member, const FlowPath& path) const {
  const OfClass& all = of_class_[class_of(kind, member)];
  PathBuilder builder;
  for (const Share& share : path.shares) {
    const std::uint32_t color = color_of(share.resource);
    const double rails = of_server_[color] != 0 ? all.rails : 1;
    builder.use(stand_in_[color], share.weight * rails * all.flows / resources_of_[color]);
  }
  FlowPath folded = std::move(builder).build();
  folded.latency = path.latency;
  folded.bound = path.bound;
  folded.fairness = path.fairness;
  return folded;
}

ResourceId Folding::stand_in(ResourceId resource) const {
  const std::uint32_t color = color_of(resource);
  return color != 0 ? stand_in_[color] : resource;
}

double Folding::stands_for(ResourceId stand_in) const {
  const std::uint32_t color = color_of(stand_in);
  return color != 0 ? resources_of_[color] : 1;
}

}  // namespace trainyard
