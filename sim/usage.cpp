#include "sim/usage.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

/// How long at least one iteration of these operations was open.
double open_time(const std::vector<OpId>& ops, const Timeline& time,
                 std::vector<std::pair<double, double>>& intervals) {
  intervals.clear();
  for (const OpId op : ops) {
    for (std::uint32_t k = 0; k < time.iterations(op); ++k) {
      const std::size_t record = time.record(op, k);
      intervals.emplace_back(time.start(record), time.finish(record));
    }
  }
  std::sort(intervals.begin(), intervals.end());
  double length = 0, until = 0;
  for (const auto& [begin, end] : intervals) {
    const double from = std::max(until, begin);
    if (end <= from) continue;
    length += end - from;
    until = end;
  }
  return length;
}

class Accountant {
 public:
  Accountant(const Lowering& lowering, const Timeline& timeline, std::size_t first,
             std::size_t servers)
      : topology_(lowering.routes().topology()),
        graph_(lowering.graph()),
        folded_(lowering.folded()),
        time_(timeline),
        first_(first),
        open_(servers),
        active_(servers * static_cast<std::size_t>(topology_.gpus_per_server())),
        computes_(active_.size()),
        weight_(servers, folded_.servers.empty() ? 1 : 0) {
    for (const auto& [server, count] : folded_.servers) weight_[server.index() - first_] = count;
  }

  /// The host cores that all flows take, of the job's servers.
  void add_cores(Usage& sum) {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const OpId op(i);
      const OpRole role = graph_.role(op);
      const bool storage = role == OpRole::kStorage;
      if (graph_.kind(op) != OpKind::kFlow || !(storage || is_network(role))) continue;
      (storage ? sum.storage_cores : sum.network_cores) +=
          graph_.work(op) * graph_.iterations(op) *
          facts_of(graph_.path_id(op)).core_seconds_per_byte;
    }
  }

  /// Sorts operations by the servers and GPUs that have them open.
  void add_operations() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const OpId op(i);
      if (graph_.kind(op) == OpKind::kJoin) continue;
      const OpRole role = graph_.role(op);
      const bool active = graph_.kind(op) == OpKind::kCompute || role == OpRole::kNvLink;
      if (!active && !is_network(role)) continue;
      const Touched& touched = touched_by(op);
      if (active) add_active(op, touched);
      if (!is_network(role)) continue;
      for (const std::size_t server : touched.servers) {
        if (server >= first_ && server < first_ + open_.size())
          open_[server - first_].push_back(op);
      }
    }
  }

  /// The time in which a server has something open, summed over the servers.
  double open_seconds() const {
    double sum = 0;
    std::vector<std::pair<double, double>> intervals;
    for (std::size_t s = 0; s < open_.size(); ++s) {
      if (!open_[s].empty()) sum += weight_[s] * open_time(open_[s], time_, intervals);
    }
    return sum;
  }
  /// The time in which a GPU runs something: mean over the GPUs that have kernels, if any; where
  /// one is simulated for several, the others have none.
  double active_seconds() const {
    const bool any = std::count(computes_.begin(), computes_.end(), true) > 0;
    double sum = 0, all = 0;
    std::vector<std::pair<double, double>> intervals;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (any && !computes_[i]) continue;
      const double weight = weight_[i / static_cast<std::size_t>(topology_.gpus_per_server())];
      sum += weight * open_time(active_[i], time_, intervals);
      all += weight;
    }
    return all > 0 ? sum / all : 0;
  }

 private:
  struct Touched {
    std::vector<std::size_t> servers, ranks;
  };
  struct PathFacts {
    bool known = false;
    double core_seconds_per_byte = 0;  ///< host cores of the job's servers, all together
    Touched touched;                   ///< servers, and ranks whose NVLinks it takes
  };

  /// Whether what happens there counts: it is a server of the job, and simulated.
  bool counts(std::size_t server) const {
    return server >= first_ && server < first_ + weight_.size() && weight_[server - first_] > 0;
  }

  void add_active(OpId op, const Touched& touched) {
    const std::size_t first = first_ * static_cast<std::size_t>(topology_.gpus_per_server());
    for (const std::size_t rank : touched.ranks) {
      if (rank < first || rank >= first + active_.size()) continue;
      active_[rank - first].push_back(op);
      if (graph_.kind(op) == OpKind::kCompute) computes_[rank - first] = true;
    }
  }

  /// The GPU of an NVLink, the NIC of a PCIe link.
  NodeId edge_end(const Resource& r) const {
    const NodeKind wanted = r.kind == ResourceKind::kNvLink ? NodeKind::kGpu : NodeKind::kNic;
    return r.from.valid() && topology_.node(r.from).kind == wanted ? r.from : r.to;
  }

  const PathFacts& facts_of(PathId id) {
    if (paths_.size() < graph_.paths()) paths_.resize(graph_.paths());
    PathFacts& facts = paths_[id.index()];
    if (facts.known) return facts;
    facts.known = true;
    std::set<std::size_t> servers, ranks;
    for (const Share& share : graph_.path(id).shares) {
      if (topology_.kind_of(share.resource) == ResourceKind::kLink) continue;  // of no server
      const Resource r = topology_.resource(share.resource);
      const NodeId end = edge_end(r);
      std::size_t server = r.server.valid() ? r.server.index() : 0;
      if (r.kind == ResourceKind::kNvLink)
        server = topology_.server_of(Rank(topology_.node(end).index)).index();
      if (r.kind == ResourceKind::kPcie)
        server = topology_.node(end).index / static_cast<std::size_t>(topology_.nics_per_server());
      const bool owned = r.server.valid() || r.kind == ResourceKind::kPcie;
      if (owned && counts(server)) servers.insert(server);
      if (r.kind == ResourceKind::kNvLink && counts(server))
        ranks.insert(topology_.node(end).index);
      const bool ours = r.server.valid() && r.server.index() >= first_ &&
                        r.server.index() < first_ + open_.size();
      if (r.kind == ResourceKind::kNetworkCores && ours)
        facts.core_seconds_per_byte +=
            share.weight * (folded_.folding ? folded_.folding->stands_for(share.resource) : 1);
    }
    facts.touched.servers.assign(servers.begin(), servers.end());
    facts.touched.ranks.assign(ranks.begin(), ranks.end());
    return facts;
  }

  // Valid until the next call.
  const Touched& touched_by(OpId op) {
    if (graph_.kind(op) == OpKind::kFlow) {
      const auto own = folded_.own_paths.find(op);
      return facts_of(own == folded_.own_paths.end() ? graph_.path_id(op) : own->second).touched;
    }
    if (graph_.kind(op) == OpKind::kDelay && graph_.occupancy(op) != OpGraph::kNoOccupancy)
      return pause_of(graph_.occupancy(op), graph_.rank(op));
    const Rank rank = graph_.rank(op);
    one_.ranks = {rank.index()};
    one_.servers = {topology_.server_of(rank).index()};
    return one_;
  }

  // A collective as a pause of all its ranks.
  const Touched& pause_of(std::uint32_t occupancy, Rank first) {
    Touched& touched = pauses_[occupancy];
    if (!touched.ranks.empty()) return touched;
    std::set<std::size_t> servers, ranks;
    const auto add = [&](Rank rank) {
      ranks.insert(rank.index());
      servers.insert(topology_.server_of(rank).index());
    };
    add(first);
    for (const Rank rank : graph_.occupancy_at(occupancy).ranks) add(rank);
    touched.ranks.assign(ranks.begin(), ranks.end());
    touched.servers.assign(servers.begin(), servers.end());
    return touched;
  }

  const Topology& topology_;
  const OpGraph& graph_;
  const Folded& folded_;
  const Timeline& time_;
  std::size_t first_;
  std::vector<std::vector<OpId>> open_;    ///< by server of the job
  std::vector<std::vector<OpId>> active_;  ///< by rank of the job
  std::vector<bool> computes_;             ///< by rank of the job: it has kernels
  std::vector<double> weight_;             ///< by server of the job: servers for which it stands
  std::vector<PathFacts> paths_;
  std::map<std::uint32_t, Touched> pauses_;  ///< by occupancy
  Touched one_;
};

/// What resources carried, of those too for which another stands in.
class Carried {
 public:
  Carried(const Lowering& lowering, const Timeline& timeline)
      : topology_(lowering.routes().topology()),
        folding_(lowering.folded().folding),
        rails_(lowering.folded().rails),
        time_(timeline) {}

  double bytes(ResourceId id) const {
    return time_.carried(folding_ ? folding_->stand_in(id) : id);
  }
  /// Bytes / capacity, of two resources the busier one.
  double load(ResourceId a, ResourceId b) const {
    return std::max(bytes(a) / topology_.capacity_of(a), bytes(b) / topology_.capacity_of(b));
  }

  void add_ports(ServerId server, Usage& sum) const {
    const int nics = topology_.nics_per_server();
    for (int n = 0; n < nics; n += rails_) {
      const ResourceId out = topology_.port_out(server, n), in = topology_.port_in(server, n);
      if (!out.valid()) continue;
      sum.nic_load += load(out, in) * rails_ / nics;
      sum.sent_per_second += bytes(out) * rails_;
    }
    if (const ResourceId cores = topology_.dpu_cores(server); cores.valid())
      sum.dpu_cores += bytes(cores);
    const StorageResources* storage = topology_.storage();
    if (storage != nullptr && storage->ports_in.valid())
      sum.storage_load += load(storage->ports_in[server], storage->ports_out[server]);
  }

  /// Of all fabric links together.
  double fabric_load() const {
    double carried = 0;
    for (const auto& [resource, bytes] : time_.carried()) {
      if (topology_.kind_of(resource) == ResourceKind::kLink)
        carried += bytes * (folding_ ? folding_->stands_for(resource) : 1);
    }
    carried *= rails_;
    const double capacity = topology_.capacity_of_all(ResourceKind::kLink);
    return capacity > 0 ? carried / capacity : 0;
  }

 private:
  const Topology& topology_;
  const std::optional<Folding>& folding_;
  int rails_;
  const Timeline& time_;
};

}  // namespace

Usage usage_of(const Lowering& lowering, const Timeline& timeline, ServerId first, int servers,
               double end) {
  Usage sum;
  if (end <= 0) return sum;
  const Cluster& cluster = lowering.cluster();
  Accountant accountant(lowering, timeline, first.index(), static_cast<std::size_t>(servers));
  accountant.add_cores(sum);
  accountant.add_operations();
  sum.open_share = accountant.open_seconds();
  sum.gpu_active = accountant.active_seconds() / end;
  const Carried carried(lowering, timeline);
  const auto count = static_cast<std::size_t>(servers);
  for (std::size_t s = 0; s < count; ++s) carried.add_ports(ServerId(first.index() + s), sum);
  sum.fabric_load = carried.fabric_load() / end;
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
