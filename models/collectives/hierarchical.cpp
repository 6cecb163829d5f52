#include "models/collectives/hierarchical.hpp"

#include <algorithm>

#include "models/collectives/phases.hpp"
#include "sim/registry.hpp"

namespace trainyard {

/// One level: the same operation on several disjoint groups at once.
struct Levels::Phase {
  const Collective* algorithm;
  CollectiveOp op;
  Bytes bytes;
  bool inside;
  std::vector<const Group*> groups;
  std::vector<std::vector<std::size_t>> positions;  ///< of each group's ranks in the call's group
};

Levels::Levels(const Collective& between)
    : between_(between), inside_(Registry<Collective>::of().make("ring")) {}
Levels::~Levels() = default;

std::vector<Levels::Phase> Levels::phases(const CollectiveCall& call,
                                          const CollectiveContext& context) const {
  const Group& group = *call.group;
  const std::size_t servers = group.servers(), local = group.size() / servers;
  const Bytes whole = call.bytes / static_cast<double>(context.library->chunks);
  const auto level = [&](bool inside, CollectiveOp op) {
    Phase phase{inside ? inside_.get() : &between_,
                op,
                inside ? whole : whole / static_cast<double>(local),
                inside,
                {},
                {}};
    for (std::size_t g = 0; g < (inside ? servers : local); ++g) {
      std::vector<std::size_t> at;
      at.reserve(group.size());
      for (std::size_t i = 0; i < (inside ? local : servers); ++i)
        at.push_back(inside ? g * local + i : i * local + g);
      std::vector<Rank> ranks;
      ranks.reserve(at.size());
      for (const std::size_t p : at) ranks.push_back(group.ranks[p]);
      phase.groups.push_back(&context.group(std::move(ranks)));
      phase.positions.push_back(std::move(at));
    }
    return phase;
  };
  std::vector<Phase> all;
  if (call.op != CollectiveOp::kAllGather && local > 1)
    all.push_back(level(true, CollectiveOp::kReduceScatter));
  if (servers > 1) all.push_back(level(false, call.op));
  if (call.op != CollectiveOp::kReduceScatter && local > 1)
    all.push_back(level(true, CollectiveOp::kAllGather));
  return all;
}

std::string Levels::refuses(const CollectiveCall& call, const CollectiveContext&) const {
  const Group& group = *call.group;
  if (group.servers() == 1) return "all its ranks are in one server";
  if (group.one_rank_per_server()) return "it has one rank per server";
  return group.even() ? "" : "its servers hold different numbers of its ranks";
}

std::pair<std::vector<const Group*>, Bytes> Levels::rails(const CollectiveCall& call,
                                                          const CollectiveContext& context) const {
  for (const Phase& phase : phases(call, context)) {
    if (!phase.inside) return {phase.groups, phase.bytes};
  }
  return {};
}

// The rails of a server run at once and divide its memory and cores. The base latency is of the
// whole call.
CollectiveContext Levels::among_siblings(const Phase& phase, const CollectiveContext& context) {
  CollectiveContext one = context;
  one.protocol.base_latency = {};
  if (!phase.inside) one.siblings *= static_cast<int>(phase.groups.size());
  return one;
}

Seconds Levels::estimate(const CollectiveCall& call, const CollectiveContext& context) const {
  Seconds sum = context.protocol.base_latency, inside, between;
  for (const Phase& phase : phases(call, context)) {
    const Seconds time =
        phase.algorithm->estimate({phase.op, phase.bytes, phase.groups.front(), call.role, 0},
                                  among_siblings(phase, context));
    sum += time;
    (phase.inside ? inside : between) += time;
  }
  return sum + (context.library->chunks - 1) * std::max(inside, between);
}

std::vector<OpId> Levels::lower(const CollectiveCall& call, const CollectiveContext& context,
                                std::span<const OpId> entry) const {
  if (context.fidelity == Fidelity::kAnalytic) {
    return lower_as_pause(call, context, estimate(call, context), "hierarchical",
                          context.library->slowdown, entry);
  }
  const std::vector<Phase> levels = phases(call, context);
  const std::vector<OpId> begun = begin(call, context, entry);
  std::vector<std::vector<OpId>> before(levels.size());  // exits of each level's previous chunk
  std::vector<OpId> exits;
  for (int chunk = 0; chunk < context.library->chunks; ++chunk) {
    exits = begun;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const Phase& phase = levels[l];
      std::vector<OpId> next(exits.size());
      for (std::size_t g = 0; g < phase.groups.size(); ++g) {
        std::vector<OpId> in;
        for (const std::size_t p : phase.positions[g]) {
          if (before[l].empty()) {
            in.push_back(exits[p]);
          } else {
            const std::array<OpId, 2> both{exits[p], before[l][p]};
            in.push_back(join_of(context.graph, call.role, both));
          }
        }
        const auto out = phase.algorithm->lower(
            {phase.op, phase.bytes, phase.groups[g], call.role, static_cast<std::uint32_t>(chunk)},
            among_siblings(phase, context), in);
        for (std::size_t i = 0; i < out.size(); ++i) next[phase.positions[g][i]] = out[i];
      }
      before[l] = next;
      exits = std::move(next);
    }
  }
  return exits;
}

namespace {

class HierarchicalCollective : public Collective {
 public:
  HierarchicalCollective() : ring_(Registry<Collective>::of().make("ring")), levels_(*ring_) {}
  bool applies(const Group& group) const override {
    return group.servers() > 1 && !group.one_rank_per_server();
  }
  bool in_nccl(const CollectiveCall&) const override { return false; }
  std::string refuses(const CollectiveCall& call, const CollectiveContext& context) const override {
    return levels_.refuses(call, context);
  }
  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    return levels_.estimate(call, context);
  }
  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    return levels_.lower(call, context, entry);
  }

 private:
  std::unique_ptr<Collective> ring_;
  Levels levels_;
};

const Registration<Collective, HierarchicalCollective> registered{
    "hierarchical", "rings inside each server, then along each rail"};

}  // namespace
}  // namespace trainyard
