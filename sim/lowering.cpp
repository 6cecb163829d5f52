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

CollectiveContext Lowering::context(const Protocol& protocol, Fidelity fidelity) {
  return {graph_, routes_, sharp_, fidelity, protocol, &cluster().collectives, &groups_, 1};
}

const Group& Lowering::group(std::vector<Rank> ranks) {
  return context({}, fidelity_).group(std::move(ranks));
}

OpId Lowering::send(Rank from, Rank to, Bytes bytes, OpRole role, std::string_view label,
                    std::uint32_t number) {
  if (from == to) return graph_.add_join(role);
  if (routes_.same_server(from, to)) role = OpRole::kNvLink;
  PathId& path = messages_[{from, to}];
  if (!path.valid()) path = graph_.add_path(routes_.message(from, to));
  return graph_.add_flow(from, path, bytes, role, graph_.label(label), number);
}

// Nothing when they are not alike.
std::optional<FlowPath> Lowering::together(const std::vector<Rank>& from,
                                           const std::vector<Rank>& to) const {
  const bool local = routes_.same_server(from.front(), to.front());
  PathBuilder all;
  Seconds latency;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i] || routes_.same_server(from[i], to[i]) != local) return std::nullopt;
    const FlowPath path = routes_.message(from[i], to[i]);
    if (i > 0 && path.latency != latency) return std::nullopt;
    latency = path.latency;
    all.add(path, 1 / static_cast<double>(from.size()));
  }
  all.delay(latency);
  FlowPath path = std::move(all).build();
  path.fairness = static_cast<double>(from.size());  // as many as they are, against others
  double load = 0;
  for (const Share& share : path.shares) {
    if (routes_.topology().resource(share.resource).kind != ResourceKind::kLink) continue;
    if (load > 0 && share.weight != load) return std::nullopt;
    load = share.weight;
  }
  return path;
}

OpId Lowering::send_together(const std::vector<Rank>& from, const std::vector<Rank>& to,
                             Bytes bytes, OpRole role, std::string_view label,
                             std::uint32_t number) {
  if (routes_.same_server(from.front(), to.front())) role = OpRole::kNvLink;
  PathId& path = messages_[{from.front(), to.front()}];
  if (!path.valid()) {
    std::optional<FlowPath> all = together(from, to);
    require(all.has_value(), "messages that are not alike");
    path = graph_.add_path(std::move(*all));
  }
  return graph_.add_flow(from.front(), path, static_cast<double>(from.size()) * bytes, role,
                         graph_.label(label), number);
}

// Takes the cheapest pair of algorithm and protocol by closed form. Ties go to the first by name.
Lowering::Chosen& Lowering::choose(const CollectiveCall& call) {
  const Key key{call.op, call.bytes.si(), call.group->id};
  const auto [it, is_new] = chosen_.try_emplace(key);
  Chosen& best = it->second;
  if (!is_new) return best;
  order_.push_back(key);
  const CollectiveLibrary& library = cluster().collectives;
  best.choice = {call.op, call.bytes, call.group->size(), call.group->servers(), {}, {}, Seconds(),
                 {},      0};
  const auto consider = [&](const std::string& name, const Collective& algorithm) {
    const std::string reason =
        algorithm.refuses(call, context(library.protocols.begin()->second, fidelity_));
    if (!reason.empty()) {
      best.choice.refused +=
          fmt::format("{}{}: {}", best.choice.refused.empty() ? "" : "; ", name, reason);
      return;
    }
    for (const auto& [protocol_name, protocol] : library.protocols) {
      if (library.protocol != "auto" && library.protocol != protocol_name) continue;
      const Seconds time = algorithm.estimate(call, context(protocol, fidelity_));
      if (best.algorithm != nullptr && time >= best.choice.estimate) continue;
      best.algorithm = &algorithm;
      best.protocol = protocol;
      best.choice.algorithm = name;
      best.choice.protocol = protocol_name;
      best.choice.estimate = time;
    }
  };
  if (library.algorithm != "auto") consider(library.algorithm, *algorithms_.at(library.algorithm));
  if (best.algorithm == nullptr) {
    for (const auto& [name, algorithm] : algorithms_) {
      if (name != library.algorithm && algorithm->applies(*call.group)) consider(name, *algorithm);
    }
  }
  require(best.algorithm != nullptr, "no collective algorithm fits");
  return best;
}

std::vector<OpId> Lowering::collective(const CollectiveCall& call, std::span<const OpId> entry,
                                       Fidelity fidelity) {
  require(entry.size() == call.group->size(), "one entry per rank of the group");
  if (call.group->size() == 1) return {entry.begin(), entry.end()};
  Chosen& chosen = choose(call);
  ++chosen.choice.calls;
  CollectiveCall charged = call;
  if (call.group->servers() == 1) charged.role = OpRole::kNvLink;
  return chosen.algorithm->lower(charged, context(chosen.protocol, fidelity), entry);
}

Seconds Lowering::estimate(const CollectiveCall& call) {
  return call.group->size() == 1 ? Seconds() : choose(call).choice.estimate;
}

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
  return all;
}

}  // namespace trainyard
