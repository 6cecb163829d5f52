#include "sim/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {

Lowering::Lowering(const Cluster& cluster, const Topology& topology, Fidelity fidelity,
                   Fidelity tensor_fidelity)
    : routes_(cluster, topology),
      sharp_(routes_),
      fidelity_(fidelity),
      tensor_fidelity_(tensor_fidelity) {
  for (const std::string_view name : Registry<Collective>::of().names()) {
    algorithms_.emplace(name, Registry<Collective>::of().make(name));
  }
}

CollectiveContext Lowering::context(OpGraph& graph, const Protocol& protocol, Fidelity fidelity) {
  const CollectiveLibrary& library = cluster().collectives;
  return {graph,           routes_,  sharp_, fidelity, protocol,
          &library,        &groups_, 1,      false,    library.proxy_latency,
          library.cta_rate};
}

const Group& Lowering::group(std::vector<Rank> ranks) {
  return context(graph_, {}, fidelity_).group(std::move(ranks));
}

OpId Lowering::send(Rank from, Rank to, Bytes bytes, OpRole role, std::string_view label,
                    std::uint32_t number) {
  if (from == to) return graph_.add_join(role);
  const OpRole purpose = role;
  if (routes_.same_server(from, to)) role = OpRole::kNvLink;
  PathId& path = messages_[{from, to}];
  if (!path.valid()) path = graph_.add_path(routes_.message(from, to));
  const OpId op = graph_.add_flow(from, path, bytes, role, graph_.label(label), number);
  graph_.set_purpose(op, purpose);
  if (capturing_) noted_.push_back({op, {}, from, to, bytes, std::string(label)});
  return op;
}

std::size_t Lowering::announce(FlowPath path) {
  background_.push_back(std::move(path));
  return background_.size() - 1;
}

FlowPath Lowering::background_path(std::size_t i) const {
  const FlowPath& path = background_[i];
  return folded_.folding
             ? folded_.folding->fold(static_cast<Folding::Kind>(i), FlowCollection::kShared, path)
             : path;
}

// Groups of one shape use what the first of them chose, unless they cannot.
Lowering::Chosen& Lowering::choose(const CollectiveCall& call) {
  const Key key{call.op, call.bytes.si(), call.group->id};
  const auto [it, is_new] = chosen_.try_emplace(key);
  Chosen& chosen = it->second;
  if (!is_new) return chosen;
  order_.push_back(key);
  const Shape shape{call.op, call.bytes.si(), call.group->size(), call.group->servers()};
  const auto known = by_shape_.find(shape);
  if (known != by_shape_.end()) {
    chosen = known->second;
    const CollectiveContext ctx = context(graph_, chosen.protocol, fidelity_);
    if (chosen.algorithm->refuses(call, ctx).empty()) {
      chosen.choice.calls = 0;
      // Servers are all alike, so what stays inside one takes the same time in each.
      if (call.group->servers() > 1) chosen.choice.estimate = chosen.algorithm->estimate(call, ctx);
      return chosen;
    }
  }
  chosen = choose_anew(call);
  by_shape_.try_emplace(shape, chosen);
  return chosen;
}

// Takes the cheapest pair of algorithm and protocol, by closed form or as NCCL's cost model sees
// it. Ties go to the first by name.
Lowering::Chosen Lowering::choose_anew(const CollectiveCall& call) {
  Chosen best;
  Seconds least;
  const CollectiveLibrary& library = cluster().collectives;
  const bool as_nccl = library.choice == "nccl";
  best.choice = {call.op, call.bytes, call.group->size(), call.group->servers(), {}, {}, Seconds(),
                 {},      0};
  const auto consider = [&](const std::string& name, const Collective& algorithm) {
    const std::string reason =
        algorithm.does(call.op)
            ? algorithm.refuses(call, context(graph_, library.protocols.begin()->second, fidelity_))
            : fmt::format("does no {}", collective_name(call.op));
    if (!reason.empty()) {
      best.choice.refused +=
          fmt::format("{}{}: {}", best.choice.refused.empty() ? "" : "; ", name, reason);
      return;
    }
    for (const auto& [protocol_name, protocol] : library.protocols) {
      if (library.protocol != "auto" && library.protocol != protocol_name) continue;
      if (library.protocol == "auto" && !algorithm.speaks(protocol_name) &&
          library.protocols.contains("simple"))
        continue;
      const CollectiveContext ctx = context(graph_, protocol, fidelity_);
      const Seconds time = algorithm.estimate(call, as_nccl ? ctx.as_believed() : ctx);
      if (best.algorithm != nullptr && time >= least) continue;
      least = time;
      best.algorithm = &algorithm;
      best.protocol = protocol;
      best.choice.algorithm = name;
      best.choice.protocol = protocol_name;
    }
  };
  if (library.algorithm != "auto") consider(library.algorithm, *algorithms_.at(library.algorithm));
  for (const bool all : {!as_nccl, true}) {
    if (best.algorithm != nullptr) break;
    for (const auto& [name, algorithm] : algorithms_) {
      if (name != library.algorithm && algorithm->does(call.op) &&
          algorithm->applies(*call.group) && (all || algorithm->in_nccl(call)))
        consider(name, *algorithm);
    }
  }
  if (best.algorithm != nullptr) {
    best.choice.estimate =
        best.algorithm->estimate(call, context(graph_, best.protocol, fidelity_));
  }
  require(best.algorithm != nullptr, "no collective algorithm fits");
  return best;
}

std::vector<OpId> Lowering::lower(const CollectiveCall& call, OpGraph& graph, const Chosen& chosen,
                                  std::span<const OpId> entry, Fidelity fidelity) {
  CollectiveCall charged = call;
  if (call.group->servers() == 1) charged.role = OpRole::kNvLink;
  return chosen.algorithm->lower(charged, context(graph, chosen.protocol, fidelity), entry);
}

std::vector<OpId> Lowering::collective(const CollectiveCall& call, std::span<const OpId> entry,
                                       Fidelity fidelity) {
  require(entry.size() == call.group->size(), "one entry per rank of the group");
  if (call.group->size() == 1) return {entry.begin(), entry.end()};
  if (capturing_) {
    const OpId all = graph_.add_join(call.role);
    for (const OpId before : entry) graph_.add_edge(before, all);
    noted_.push_back(
        {all, call, Rank(), Rank(), call.bytes, std::string(collective_name(call.op))});
    return std::vector<OpId>(entry.size(), all);
  }
  Chosen& chosen = choose(call);
  chosen.choice.calls += std::size_t{graph_.iterations()} * call.groups;
  const std::size_t first = graph_.size();
  std::vector<OpId> exits = lower(call, graph_, chosen, entry, fidelity);
  for (std::size_t i = first; i < graph_.size(); ++i) graph_.set_purpose(OpId(i), call.role);
  if (chosen.call == nullptr) chosen.call = remember(chosen.choice);
  call_ops_.push_back({first, graph_.size(), chosen.call});
  return exits;
}

const LoweredCall* Lowering::remember(const CollectiveChoice& choice) {
  LoweredCall call{choice.op, choice.bytes, choice.ranks, choice.algorithm, choice.protocol};
  const auto it = std::find(calls_.begin(), calls_.end(), call);
  return it != calls_.end() ? &*it : &calls_.emplace_back(std::move(call));
}

const LoweredCall* Lowering::call_of(OpId op) const {
  const auto it =
      std::upper_bound(call_ops_.begin(), call_ops_.end(), op.index(),
                       [](std::size_t index, const CallOps& ops) { return index < ops.last; });
  return it != call_ops_.end() && it->first <= op.index() ? it->call : nullptr;
}

Lowering::Tried Lowering::try_collective(const CollectiveCall& call, Fidelity fidelity) {
  Tried tried;
  if (call.group->size() == 1) return tried;
  OpGraph graph;
  const std::vector<OpId> entry(call.group->size());
  const std::vector<OpId> exits = lower(call, graph, choose(call), entry, fidelity);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op(i);
    if (graph.kind(op) == OpKind::kFlow) tried.flows.push_back(graph.path(op));
    if (graph.kind(op) == OpKind::kDelay) {
      FlowPath pause;
      pause.latency = Seconds::of(graph.work(op));
      tried.flows.push_back(std::move(pause));
    }
  }
  tried.ends_together =
      std::all_of(exits.begin(), exits.end(), [&](OpId exit) { return exit == exits.front(); });
  return tried;
}

Seconds Lowering::estimate(const CollectiveCall& call) {
  return call.group->size() == 1 ? Seconds() : choose(call).choice.estimate;
}

// A folded run meets them in another order, so they are sorted.
std::vector<CollectiveChoice> Lowering::choices() const {
  std::vector<CollectiveChoice> all;
  for (const Key& key : order_) {
    const CollectiveChoice& c = chosen_.at(key).choice;
    const auto same = std::find_if(all.begin(), all.end(), [&](const CollectiveChoice& o) {
      return o.op == c.op && o.bytes == c.bytes && o.ranks == c.ranks && o.servers == c.servers &&
             o.algorithm == c.algorithm && o.protocol == c.protocol && o.refused == c.refused;
    });
    if (same == all.end()) {
      all.push_back(c);
    } else {
      same->calls += c.calls;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.servers, a.ranks, a.op, a.bytes) <
           std::tie(b.servers, b.ranks, b.op, b.bytes);
  });
  return all;
}

}  // namespace trainyard
