#include "sim/usage.hpp"

#include <algorithm>
#include <set>

namespace trainyard {
namespace {

struct Interval {
  double begin, end;
};

double union_length(std::vector<Interval>& all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  double length = 0, until = 0;
  for (const Interval& one : all) {
    const double from = std::max(until, one.begin);
    if (one.end <= from) continue;
    length += one.end - from;
    until = one.end;
  }
  return length;
}

class Accountant {
 public:
  Accountant(const Topology& topology, const OpGraph& graph, const Timeline& timeline,
             std::size_t first, std::size_t servers)
      : topology_(topology),
        graph_(graph),
        time_(timeline),
        first_(first),
        open_(servers),
        active_(servers * static_cast<std::size_t>(topology.gpus_per_server())),
        computes_(active_.size()) {}

  /// Adds one operation's share of the servers' cores and of their open time.
  void add(OpId op, Usage& sum) {
    const OpRole role = graph_.role(op);
    const bool storage = role == OpRole::kStorage;
    if (graph_.kind(op) == OpKind::kFlow && (storage || is_network(role))) {
      const PathFacts& facts = facts_of(graph_.path_id(op));
      (storage ? sum.storage_cores : sum.network_cores) +=
          graph_.work(op) * facts.core_seconds_per_byte;
    }
    if (graph_.kind(op) == OpKind::kJoin) return;
    const Interval interval{time_.start[op.index()], time_.finish[op.index()]};
    if (graph_.kind(op) == OpKind::kCompute || role == OpRole::kNvLink) add_active(op, interval);
    if (!is_network(role)) return;
    for (const std::size_t server : servers_of(op)) {
      if (server >= first_ && server < first_ + open_.size())
        open_[server - first_].push_back(interval);
    }
  }

  double open_seconds() { return seconds(open_); }
  /// Mean over the GPUs that have kernels, if any: where one is simulated for several, the others
  /// have none.
  double active_seconds() {
    const auto with_kernels = std::count(computes_.begin(), computes_.end(), true);
    if (with_kernels == 0) return seconds(active_) / static_cast<double>(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (!computes_[i]) active_[i].clear();
    }
    return seconds(active_) / static_cast<double>(with_kernels);
  }

 private:
  struct PathFacts {
    bool known = false;
    double core_seconds_per_byte = 0;  ///< host cores of the job's servers, all together
    std::vector<std::size_t> servers;  ///< that it touches
    std::vector<std::size_t> ranks;    ///< whose NVLinks it takes
  };

  static double seconds(std::vector<std::vector<Interval>>& all) {
    double sum = 0;
    for (auto& intervals : all) sum += union_length(intervals);
    return sum;
  }

  void add_active(OpId op, Interval interval) {
    const std::size_t first = first_ * static_cast<std::size_t>(topology_.gpus_per_server());
    for (const std::size_t rank : ranks_of(op)) {
      if (rank < first || rank >= first + active_.size()) continue;
      active_[rank - first].push_back(interval);
      if (graph_.kind(op) == OpKind::kCompute) computes_[rank - first] = true;
    }
  }

  const PathFacts& facts_of(PathId id) {
    if (paths_.size() < graph_.paths()) paths_.resize(graph_.paths());
    PathFacts& facts = paths_[id.index()];
    if (facts.known) return facts;
    facts.known = true;
    std::set<std::size_t> servers, ranks;
    for (const Share& share : graph_.path(id).shares) {
      const Resource& r = topology_.resource(share.resource);
      if (r.server.valid()) servers.insert(r.server.index());
      if (r.kind == ResourceKind::kNvLink) {
        const bool out = topology_.node(r.from).kind == NodeKind::kGpu;
        ranks.insert(topology_.node(out ? r.from : r.to).index);
      }
      if (r.kind == ResourceKind::kPcie) {
        const NodeId nic = topology_.node(r.from).kind == NodeKind::kNic ? r.from : r.to;
        servers.insert(topology_.node(nic).index /
                       static_cast<std::size_t>(topology_.nics_per_server()));
      }
      const bool ours = r.server.valid() && r.server.index() >= first_ &&
                        r.server.index() < first_ + open_.size();
      if (r.kind == ResourceKind::kNetworkCores && ours)
        facts.core_seconds_per_byte += share.weight;
    }
    facts.servers.assign(servers.begin(), servers.end());
    facts.ranks.assign(ranks.begin(), ranks.end());
    return facts;
  }

  std::vector<std::size_t> ranks_of(OpId op) {
    if (graph_.kind(op) == OpKind::kFlow) return facts_of(graph_.path_id(op)).ranks;
    if (graph_.kind(op) == OpKind::kCompute || graph_.occupancy(op) == OpGraph::kNoOccupancy)
      return {graph_.rank(op).index()};
    // A collective as a pause of all its ranks.
    std::set<std::size_t> ranks{graph_.rank(op).index()};
    for (const Rank rank : graph_.occupancy_at(graph_.occupancy(op)).ranks)
      ranks.insert(rank.index());
    return {ranks.begin(), ranks.end()};
  }

  std::vector<std::size_t> servers_of(OpId op) {
    if (graph_.kind(op) == OpKind::kFlow) return facts_of(graph_.path_id(op)).servers;
    std::set<std::size_t> servers;
    for (const std::size_t rank : ranks_of(op))
      servers.insert(topology_.server_of(Rank(rank)).index());
    return {servers.begin(), servers.end()};
  }

  const Topology& topology_;
  const OpGraph& graph_;
  const Timeline& time_;
  std::size_t first_;
  std::vector<std::vector<Interval>> open_;    ///< by server of the job
  std::vector<std::vector<Interval>> active_;  ///< by rank of the job
  std::vector<bool> computes_;                 ///< by rank of the job: it has kernels
  std::vector<PathFacts> paths_;
};

// Mean load of resources, of each pair the busier direction.
double load(const Topology& topology, const Timeline& timeline, ResourceId a, ResourceId b) {
  const auto one = [&](ResourceId id) {
    return timeline.carried[id.index()] / topology.resource(id).capacity;
  };
  return std::max(one(a), one(b));
}

void add_ports(const Topology& topology, const Timeline& timeline, ServerId server, Usage& sum) {
  const int nics = topology.nics_per_server();
  for (int n = 0; n < nics; ++n) {
    const ResourceId out = topology.port_out(server, n), in = topology.port_in(server, n);
    if (!out.valid()) continue;
    sum.nic_load += load(topology, timeline, out, in) / nics;
    sum.sent_per_second += timeline.carried[out.index()];
  }
  if (const ResourceId cores = topology.dpu_cores(server); cores.valid())
    sum.dpu_cores += timeline.carried[cores.index()];
  const StorageResources* storage = topology.storage();
  if (storage != nullptr && !storage->ports_in.empty()) {
    const std::size_t s = server.index();
    sum.storage_load += load(topology, timeline, storage->ports_in[s], storage->ports_out[s]);
  }
}

double fabric_load(const Topology& topology, const Timeline& timeline) {
  double carried = 0, capacity = 0;
  for (std::size_t i = 0; i < timeline.carried.size(); ++i) {
    if (topology.resources()[i].kind != ResourceKind::kLink) continue;
    carried += timeline.carried[i];
    capacity += topology.resources()[i].capacity;
  }
  return capacity > 0 ? carried / capacity : 0;
}

}  // namespace

Usage usage_of(const Cluster& cluster, const Topology& topology, const OpGraph& graph,
               const Timeline& timeline, ServerId first, int servers, double end) {
  Usage sum;
  if (end <= 0) return sum;
  const auto count = static_cast<std::size_t>(servers);
  Accountant accountant(topology, graph, timeline, first.index(), count);
  for (std::size_t i = 0; i < graph.size(); ++i) accountant.add(OpId(i), sum);
  sum.open_share = accountant.open_seconds();
  sum.gpu_active = accountant.active_seconds() / end;
  if (!timeline.carried.empty()) {
    for (std::size_t s = 0; s < count; ++s)
      add_ports(topology, timeline, ServerId(first.index() + s), sum);
    sum.fabric_load = fabric_load(topology, timeline) / end;
  }
  for (double* each : {&sum.network_cores, &sum.storage_cores, &sum.open_share, &sum.dpu_cores,
                       &sum.nic_load, &sum.storage_load, &sum.sent_per_second})
    *each /= servers * end;
  // Threads that spin take every core that nothing is pinned to; those that move bytes are among
  // them.
  const ServerLoad server_load = cluster.load();
  const double free = std::max(0.0, cluster.server.host.cores - server_load.host_reserved);
  sum.polling_cores = std::min(server_load.polling, free) * sum.open_share;
  return sum;
}

namespace {

template <class U, class F>
void each_field(U& usage, F body) {
  body("gpu_active", usage.gpu_active);
  body("network_cores", usage.network_cores);
  body("storage_cores", usage.storage_cores);
  body("polling_cores", usage.polling_cores);
  body("open_share", usage.open_share);
  body("dpu_cores", usage.dpu_cores);
  body("nic_load", usage.nic_load);
  body("storage_load", usage.storage_load);
  body("fabric_load", usage.fabric_load);
  body("sent_bytes_per_s", usage.sent_per_second);
}

}  // namespace

Json usage_to_json(const Usage& usage) {
  Json out = Json::object();
  each_field(usage, [&](const char* key, double value) { out[key] = Json(value); });
  return out;
}

Usage usage_from_json(const Json& json) {
  Usage usage;
  each_field(usage, [&](const char* key, double& value) { value = json.at(key).as_number(); });
  return usage;
}

}  // namespace trainyard
