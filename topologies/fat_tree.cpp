// Fat tree of two or three tiers, of any radix and leaf oversubscription, with or without rails.
//
// Switches have `radix` ports. A leaf gives d ports to NICs and u upwards, d/u the
// oversubscription; tiers above are non-blocking. With R rails, NIC n of every server hangs on a
// leaf of rail n·R/nics, so one leaf serves one rail of d servers; without rails (R = 1) a leaf
// serves whole servers. Counts (N = servers·nics ports; ceil = rounded up):
//   leaves   L = R · ceil(N/R / d)
//   2 tiers  spines S = the least divisor of u with L·u/S ≤ radix
//   3 tiers  pods of P leaves (P ≤ radix/2, whole groups of rails), u aggregation switches each;
//            cores u · C, C the least divisor of P with pods·P/C ≤ radix
//   bisection (non-oversubscribed) = N/2 · port rate; oversubscribed by o: that / o.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/topology.hpp"

namespace trainyard {
namespace {

struct Shape {
  int radix = 0, nics = 0, rails = 1, tiers = 2;
  int down = 0, up = 0;  // leaf ports
  int per_rail = 1;      // NICs of a server on one rail
  int leaves = 0;
  int leaves_per_pod = 0, pods = 1;
  int roots = 0;  // spines, or cores per aggregation index
};

struct Settings {
  Switch device;
  int tiers = 2, radix = 0, rails = 1;
  double oversubscription = 1;
  Seconds link_latency;
  std::string routing = "d-mod-k";
  std::int64_t seed = 1;
};

int least_divisor(int ports, int lower_switches, int radix) {
  for (int roots = 1; roots <= ports; ++roots) {
    if (ports % roots == 0 && lower_switches * (ports / roots) <= radix) return roots;
  }
  return 0;
}

std::uint64_t mix(std::uint64_t x) {  // the splitmix64 finalizer
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class FatTree : public Topology {
 public:
  FatTree(const Server& server, int servers, const Settings& settings, const Shape& shape)
      : Topology(server, servers), settings_(settings), shape_(shape) {
    add_servers();
    connect_nics(server);
    if (shape_.leaves > 1) connect_leaves();
    if (shape_.pods > 1) connect_pods();
  }

  void route(NodeId from, NodeId to, std::vector<ResourceId>& out) const override {
    const std::size_t a = nic_of(from), b = nic_of(to);
    const int leaf_a = leaf(a), leaf_b = leaf(b);
    out.push_back(nic_tx_[a]);
    if (leaf_a != leaf_b) {
      const auto [j, c] = choose(a, b);
      const int pod_a = pod(leaf_a), pod_b = pod(leaf_b);
      out.push_back(leaf_up_[port(leaf_a, j)]);
      if (pod_a != pod_b) {
        out.push_back(pod_up_[pod_port(pod_a, j, c)]);
        out.push_back(pod_down_[pod_port(pod_b, j, c)]);
      }
      out.push_back(leaf_down_[port(leaf_b, j)]);
    }
    out.push_back(nic_rx_[b]);
  }

  const Switch& switch_at(NodeId) const override { return settings_.device; }

  AggregationTree aggregation_tree(std::span<const NodeId> nics,
                                   std::size_t spread) const override {
    AggregationTree tree;
    std::map<int, int> per_leaf, per_pod, leaves_of_pod;
    for (const NodeId node : nics) {
      const std::size_t nic = nic_of(node);
      tree.edges.push_back({nic_tx_[nic], nic_rx_[nic], 0, 1});
      ++per_leaf[leaf(nic)];
    }
    const int j = static_cast<int>(spread % static_cast<std::size_t>(shape_.up));
    const int width = std::max(1, shape_.leaves_per_pod);
    const int c = static_cast<int>(spread / static_cast<std::size_t>(shape_.up) %
                                   static_cast<std::size_t>(width));
    for (const auto& [at, members] : per_leaf) {
      tree.switches.push_back(leaves_[static_cast<std::size_t>(at)]);
      tree.widest = std::max(tree.widest, members);
      per_pod[pod(at)] += members;
      ++leaves_of_pod[pod(at)];
      if (per_leaf.size() > 1)
        tree.edges.push_back({leaf_up_[port(at, j)], leaf_down_[port(at, j)], 1, members});
    }
    if (per_leaf.size() > 1) {
      for (const auto& [at, members] : per_pod) {
        tree.switches.push_back(upper_[flat_index(at, upper_per_pod(), upper_index(j))]);
        tree.widest = std::max(tree.widest, leaves_of_pod[at]);
        if (per_pod.size() > 1)
          tree.edges.push_back(
              {pod_up_[pod_port(at, j, c)], pod_down_[pod_port(at, j, c)], 2, members});
      }
    }
    if (per_pod.size() > 1) {
      tree.switches.push_back(core_at(j, c));
      tree.widest = std::max(tree.widest, static_cast<int>(per_pod.size()));
    }
    tree.depth = per_pod.size() > 1 ? 3 : per_leaf.size() > 1 ? 2 : 1;
    tree.latency =
        2 * tree.depth * settings_.link_latency + (2 * tree.depth - 1) * settings_.device.latency;
    return tree;
  }

 private:
  // A link's latency includes the switch that it leads into.
  Seconds into_switch() const { return settings_.link_latency + settings_.device.latency; }
  double rate() const { return settings_.device.rate.si(); }
  std::size_t nic_of(NodeId id) const { return node(id).index; }
  std::size_t port(int leaf, int j) const {
    return static_cast<std::size_t>(leaf) * static_cast<std::size_t>(shape_.up) +
           static_cast<std::size_t>(j);
  }
  std::size_t pod_port(int pod, int j, int c) const {
    return (static_cast<std::size_t>(pod) * static_cast<std::size_t>(shape_.up) +
            static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(shape_.leaves_per_pod) +
           static_cast<std::size_t>(c);
  }
  int place(std::size_t nic) const {  // among the NICs of its rail
    const int server = static_cast<int>(nic) / shape_.nics, n = static_cast<int>(nic) % shape_.nics;
    return server * shape_.per_rail + n % shape_.per_rail;
  }
  int leaf(std::size_t nic) const {
    const int rail = static_cast<int>(nic) % shape_.nics / shape_.per_rail;
    return place(nic) / shape_.down * shape_.rails + rail;
  }
  int pod(int leaf) const { return shape_.tiers == 3 ? leaf / shape_.leaves_per_pod : 0; }
  int upper_per_pod() const { return shape_.tiers == 3 ? shape_.up : shape_.roots; }
  int upper_index(int j) const { return j % upper_per_pod(); }
  NodeId core_at(int j, int c) const {
    return cores_[flat_index(j, shape_.roots, c % shape_.roots)];
  }

  // Which of the parallel ways up: by destination (no two destinations of a leaf share one where it
  // is not oversubscribed), or by a seeded hash of the pair as ECMP does (collisions are real).
  std::pair<int, int> choose(std::size_t a, std::size_t b) const {
    const int width = std::max(1, shape_.leaves_per_pod);
    if (settings_.routing == "ecmp") {
      const std::uint64_t h = mix(mix(a + 1) ^ (b + 0x9e3779b97f4a7c15ULL) ^
                                  mix(static_cast<std::uint64_t>(settings_.seed)));
      return {static_cast<int>(h % static_cast<std::uint64_t>(shape_.up)),
              static_cast<int>((h >> 32) % static_cast<std::uint64_t>(width))};
    }
    return {place(b) % shape_.down % shape_.up, leaf(b) % width};
  }

  void add_pair(NodeId low, NodeId high, Seconds up_latency, Seconds down_latency, double capacity,
                std::vector<ResourceId>& up, std::vector<ResourceId>& down) {
    up.push_back(add_edge(ResourceKind::kLink, low, high, capacity, up_latency));
    down.push_back(add_edge(ResourceKind::kLink, high, low, capacity, down_latency));
  }

  void connect_nics(const Server& server) {
    for (int i = 0; i < shape_.leaves; ++i)
      leaves_.push_back(add_node({NodeKind::kSwitch, 1, static_cast<std::uint32_t>(i)}));
    const double port_rate = std::min(rate(), (server.nic.rate * server.nic.efficiency).si());
    for (int s = 0; s < servers(); ++s) {
      for (int n = 0; n < shape_.nics; ++n) {
        const NodeId nic = nic_node(ServerId(static_cast<std::size_t>(s)), n);
        const NodeId at = leaves_[static_cast<std::size_t>(leaf(nic_of(nic)))];
        add_pair(nic, at, into_switch(), settings_.link_latency, port_rate, nic_tx_, nic_rx_);
      }
    }
  }

  void connect_leaves() {
    const int pods = shape_.tiers == 3 ? shape_.pods : 1;
    for (int i = 0; i < pods * upper_per_pod(); ++i)
      upper_.push_back(add_node({NodeKind::kSwitch, 2, static_cast<std::uint32_t>(i)}));
    for (int i = 0; i < shape_.leaves; ++i) {
      for (int j = 0; j < shape_.up; ++j) {
        const NodeId high = upper_[flat_index(pod(i), upper_per_pod(), upper_index(j))];
        add_pair(leaves_[static_cast<std::size_t>(i)], high, into_switch(), into_switch(), rate(),
                 leaf_up_, leaf_down_);
      }
    }
  }

  void connect_pods() {
    for (int i = 0; i < shape_.up * shape_.roots; ++i)
      cores_.push_back(add_node({NodeKind::kSwitch, 3, static_cast<std::uint32_t>(i)}));
    for (int p = 0; p < shape_.pods; ++p) {
      for (int j = 0; j < shape_.up; ++j) {
        for (int c = 0; c < shape_.leaves_per_pod; ++c) {
          const NodeId low = upper_[flat_index(p, shape_.up, j)];
          add_pair(low, core_at(j, c), into_switch(), into_switch(), rate(), pod_up_, pod_down_);
        }
      }
    }
  }

  Settings settings_;
  Shape shape_;
  std::vector<NodeId> leaves_, upper_, cores_;
  std::vector<ResourceId> nic_tx_, nic_rx_, leaf_up_, leaf_down_, pod_up_, pod_down_;
};

class FatTreePlugin : public TopologyPlugin {
 public:
  void fields(Archive& ar) override {
    ar.required("switch", settings_.device, "the switch of every tier");
    ar("tiers", settings_.tiers, "2 or 3 tiers of switches", between(2, 3));
    ar("radix", settings_.radix, "ports used per switch (0: all)", non_negative());
    ar("rails", settings_.rails, "rails: 1, or a divisor of the NICs per server", at_least(1));
    ar("oversubscription", settings_.oversubscription, "leaf downlinks per uplink", at_least(1));
    ar("link_latency", settings_.link_latency, "one cable", non_negative());
    ar.choice("routing", settings_.routing, {"d-mod-k", "ecmp"},
              "by destination, or by a hash of the pair");
    ar("seed", settings_.seed, "seed of the ECMP hash");
    ar.check(settings_.radix <= settings_.device.ports, "radix",
             "is more than the switch has ports", "at most \"ports\"");
  }

  std::unique_ptr<Topology> build(const Server& server, int servers) const override {
    return std::make_unique<FatTree>(server, servers, settings_, shape(server, servers));
  }

 private:
  Shape shape(const Server& server, int servers) const {
    Shape s;
    s.radix = settings_.radix > 0 ? settings_.radix : settings_.device.ports;
    s.nics = server.nics;
    s.rails = settings_.rails;
    s.tiers = settings_.tiers;
    if (s.nics % s.rails != 0) {
      throw DesignError("/rails",
                        fmt::format("{} rails do not divide {} NICs per server", s.rails, s.nics),
                        "use 1 or a divisor");
    }
    s.per_rail = s.nics / s.rails;
    s.up = static_cast<int>(s.radix / (1 + settings_.oversubscription));
    if (s.up < 1)
      throw DesignError("/oversubscription", "leaves a leaf switch without uplinks",
                        "use less, or a larger radix");
    s.down = std::min(s.radix - s.up, static_cast<int>(s.up * settings_.oversubscription));
    const int ports_per_rail = servers * s.per_rail;
    s.leaves = s.rails * ((ports_per_rail + s.down - 1) / s.down);
    return s.tiers == 2 ? two_tiers(s) : three_tiers(s);
  }

  static Shape two_tiers(Shape s) {
    s.roots = least_divisor(s.up, s.leaves, s.radix);
    if (s.roots > 0) return s;
    throw DesignError(
        "/tiers",
        fmt::format(
            "two tiers of {}-port switches hold {} leaf switches, and these servers need {}",
            s.radix, s.radix, s.leaves),
        "use 3 tiers, more ports, or fewer servers");
  }

  static Shape three_tiers(Shape s) {
    const int half = s.radix / 2;
    s.leaves_per_pod = s.rails <= half ? half / s.rails * s.rails : half;
    s.pods = (s.leaves + s.leaves_per_pod - 1) / s.leaves_per_pod;
    s.roots = least_divisor(s.leaves_per_pod, s.pods, s.radix);
    if (s.roots > 0) return s;
    throw DesignError(
        "/tiers",
        fmt::format("three tiers of {}-port switches hold {} pods, and these servers need {}",
                    s.radix, s.radix, s.pods),
        "use more ports or fewer servers");
  }

  Settings settings_;
};

const Registration<TopologyPlugin, FatTreePlugin> registered{
    "fat-tree", "fat tree of 2 or 3 tiers, any radix and oversubscription, with or without rails"};

}  // namespace
}  // namespace trainyard
