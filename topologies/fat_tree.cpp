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
#include <map>

#include "sim/mix.hpp"
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
    const std::int64_t down = static_cast<std::int64_t>(lower_switches) * (ports / roots);
    if (ports % roots == 0 && down <= radix) return roots;
  }
  return 0;
}

class FatTree final : public Topology {
 public:
  FatTree(const Server& server, int servers, const Settings& settings, const Shape& shape)
      : Topology(server, servers), settings_(settings), shape_(shape) {
    add_servers();
    connect_nics(server);
    if (shape_.leaves > 1) connect_leaves();
    if (shape_.pods > 1) connect_pods();
  }

  // Leaves are numbered rail by rail, and the ways up between pods by the leaf in its pod: each
  // rail has its own, where pods hold whole groups of rails.
  bool rails_alike() const override {
    return settings_.routing == "d-mod-k" && shape_.per_rail == 1 &&
           (shape_.pods <= 1 || shape_.leaves_per_pod % shape_.rails == 0);
  }

  Route route(NodeId from, NodeId to) const override {
    const Port a = port_of(from), b = port_of(to);
    Route links;
    links.push_back(ports().up(a.nic));
    if (a.leaf != b.leaf) {
      const Way way = choose(a, b);
      links.push_back(leaf_links_.up(leaf_pair(a.leaf, way.j)));
      if (a.pod != b.pod) {
        links.push_back(pod_links_.up(pod_pair(a.pod, way)));
        links.push_back(pod_links_.down(pod_pair(b.pod, way)));
      }
      links.push_back(leaf_links_.down(leaf_pair(b.leaf, way.j)));
    }
    links.push_back(ports().down(b.nic));
    return links;
  }

  const Switch& switch_at(NodeId) const override { return settings_.device; }

  AggregationTree aggregation_tree(std::span<const NodeId> nics,
                                   std::size_t spread) const override {
    AggregationTree tree;
    const Way way{static_cast<std::uint32_t>(spread % uplinks()),
                  static_cast<std::uint32_t>(spread / uplinks() % width_)};
    std::map<std::uint32_t, int> leaves;  // members of each
    auto last = leaves.end();             // members mostly come leaf by leaf
    tree.edges.reserve(nics.size());
    for (const NodeId node : nics) {
      const Port port = port_of(node);
      tree.edges.push_back({ports().up(port.nic), ports().down(port.nic), 0, 1});
      if (last == leaves.end() || last->first != port.leaf)
        last = leaves.try_emplace(port.leaf, 0).first;
      ++last->second;
    }
    std::vector<Below> pods;
    for (const auto& [leaf, members] : leaves) {
      if (pods.empty() || pods.back().at != pod_of(leaf)) pods.push_back({pod_of(leaf), 0, 0});
      pods.back().members += members;
      ++pods.back().children;
      aggregate(tree, {leaf, members, members}, NodeId(leaves_.index() + leaf),
                leaves.size() > 1 ? &leaf_links_ : nullptr, leaf_pair(leaf, way.j), 1);
    }
    for (std::size_t i = 0; i < pods.size() && leaves.size() > 1; ++i) {
      aggregate(tree, pods[i], upper_at(pods[i].at, way.j), pods.size() > 1 ? &pod_links_ : nullptr,
                pod_pair(pods[i].at, way), 2);
    }
    if (pods.size() > 1) {
      tree.switches.push_back(core_at(way));
      tree.widest = std::max(tree.widest, static_cast<int>(pods.size()));
    }
    tree.depth = pods.size() > 1 ? 3 : leaves.size() > 1 ? 2 : 1;
    tree.latency =
        2 * tree.depth * settings_.link_latency + (2 * tree.depth - 1) * settings_.device.latency;
    return tree;
  }

 private:
  /// Where a NIC hangs.
  struct Port {
    std::size_t nic;  ///< its number
    std::uint32_t leaf, pod;
    std::uint32_t place;  ///< among the leaf's ports downwards
    std::uint32_t leaf_in_pod;
  };
  /// One of the parallel ways up: uplink of a leaf, uplink of an aggregation switch.
  struct Way {
    std::uint32_t j, c;
  };
  /// A switch of a reduction tree and what reduces there.
  struct Below {
    std::uint32_t at;  ///< leaf or pod
    int members;       ///< NICs below
    int children;      ///< links from below
  };

  // A link's latency includes the switch that it leads into.
  Seconds into_switch() const { return settings_.link_latency + settings_.device.latency; }
  double rate() const { return settings_.device.rate.si(); }
  // Unsigned and of 32 bits, since every message divides by them.
  std::uint32_t uplinks() const { return static_cast<std::uint32_t>(shape_.up); }

  Port port_of(NodeId nic_node) const {
    const auto [server, nic] = nic_place(nic_node);
    const auto per_rail = static_cast<std::uint32_t>(shape_.per_rail);
    const std::uint32_t rail = nic / per_rail, among_rail = server * per_rail + nic % per_rail;
    const auto down = static_cast<std::uint32_t>(shape_.down);
    const std::uint32_t leaf = among_rail / down * static_cast<std::uint32_t>(shape_.rails) + rail;
    return {static_cast<std::size_t>(server) * static_cast<std::size_t>(shape_.nics) + nic, leaf,
            pod_of(leaf), among_rail % down, leaf % width_};
  }
  std::uint32_t pod_of(std::uint32_t leaf) const { return shape_.tiers == 3 ? leaf / width_ : 0; }
  std::size_t leaf_pair(std::uint32_t leaf, std::uint32_t j) const {
    return static_cast<std::size_t>(leaf) * uplinks() + j;
  }
  std::size_t pod_pair(std::uint32_t pod, Way way) const {
    return (static_cast<std::size_t>(pod) * uplinks() + way.j) * width_ + way.c;
  }
  std::size_t upper_per_pod() const {
    return static_cast<std::size_t>(shape_.tiers == 3 ? shape_.up : shape_.roots);
  }
  NodeId upper_at(std::uint32_t pod, std::uint32_t j) const {
    return NodeId(upper_.index() + pod * upper_per_pod() + j % upper_per_pod());
  }
  NodeId core_at(Way way) const {
    const auto roots = static_cast<std::size_t>(shape_.roots);
    return NodeId(cores_.index() + way.j * roots + way.c % roots);
  }

  // Which of the parallel ways up: by destination (no two destinations of a leaf share one where it
  // is not oversubscribed), or by a seeded hash of the pair as ECMP does (collisions are real).
  Way choose(const Port& a, const Port& b) const {
    if (!ecmp_) return {b.place % uplinks(), b.leaf_in_pod};
    const std::uint64_t h = mix(mix(a.nic + 1) ^ (b.nic + 0x9e3779b97f4a7c15ULL) ^
                                mix(static_cast<std::uint64_t>(settings_.seed)));
    return {static_cast<std::uint32_t>(h % uplinks()),
            static_cast<std::uint32_t>((h >> 32) % width_)};
  }

  // Adds a switch to a tree, and the pair of links above it if it is not the root.
  static void aggregate(AggregationTree& tree, const Below& below, NodeId node,
                        const LinkPairs* above, std::size_t pair, int level) {
    tree.switches.push_back(node);
    tree.widest = std::max(tree.widest, below.children);
    if (above == nullptr) return;
    tree.edges.push_back({above->up(pair), above->down(pair), level, below.members});
  }

  void connect_nics(const Server& server) {
    leaves_ = add_switches(1, static_cast<std::size_t>(shape_.leaves));
    const double port_rate = std::min(rate(), (server.nic.rate * server.nic.efficiency).si());
    const auto nics = static_cast<std::size_t>(shape_.nics);
    add_ports(port_rate, into_switch(), settings_.link_latency, [this, nics](std::size_t nic) {
      const NodeId node = nic_node(ServerId(nic / nics), static_cast<int>(nic % nics));
      return NodeId(leaves_.index() + port_of(node).leaf);
    });
  }

  void connect_leaves() {
    const auto pods = static_cast<std::size_t>(shape_.tiers == 3 ? shape_.pods : 1);
    upper_ = add_switches(2, pods * upper_per_pod());
    const auto ends = [this](std::size_t pair) {
      const auto leaf = static_cast<std::uint32_t>(pair / uplinks());
      return Ends{NodeId(leaves_.index() + leaf),
                  upper_at(pod_of(leaf), static_cast<std::uint32_t>(pair % uplinks()))};
    };
    leaf_links_ = add_links(static_cast<std::size_t>(shape_.leaves) * uplinks(), rate(),
                            into_switch(), into_switch(), ends);
  }

  void connect_pods() {
    cores_ = add_switches(3, uplinks() * static_cast<std::size_t>(shape_.roots));
    const auto ends = [this](std::size_t pair) {
      const auto upper = static_cast<std::uint32_t>(pair / width_);
      const Way way{upper % uplinks(), static_cast<std::uint32_t>(pair % width_)};
      return Ends{upper_at(upper / uplinks(), way.j), core_at(way)};
    };
    pod_links_ = add_links(static_cast<std::size_t>(shape_.pods) * uplinks() * width_, rate(),
                           into_switch(), into_switch(), ends);
  }

  Settings settings_;
  Shape shape_;
  bool ecmp_ = settings_.routing == "ecmp";
  std::uint32_t width_ = static_cast<std::uint32_t>(std::max(1, shape_.leaves_per_pod));
  NodeId leaves_, upper_, cores_;  ///< the first of each
  LinkPairs leaf_links_, pod_links_;
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
