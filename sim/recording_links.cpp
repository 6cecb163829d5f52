// What each link of the fabric carried in a recording.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/recording_parts.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostLinks = 4096;

struct Loaded {
  ResourceId link;
  double carried, load;
};

// Of rails that are alike only the first was simulated: what the others carried is known of none of
// their links, only that it is as much.
std::vector<Loaded> loads_of(const Recorded& run) {
  const double end = run.timeline.end();
  const bool rails = run.lowering.folded().rails > 1;
  std::vector<Loaded> all;
  run.topology.each_resource([&](ResourceId id, const ResourceTraits& traits) {
    if (traits.kind != ResourceKind::kLink) return;
    const double carried = run.timeline.carried(run.stand_in(id));
    if (rails && carried == 0) return;
    all.push_back({id, carried, end > 0 ? carried / (traits.capacity * end) : 0});
  });
  return all;
}

int tier_of(const TopologyNode& node) { return node.kind == NodeKind::kSwitch ? node.tier : 0; }

/// The nodes that links name, lower tiers first.
class Nodes {
 public:
  explicit Nodes(const Topology& topology) : topology_(topology) {}

  /// The tier of a link's end, whose server or switch becomes a node.
  int add(NodeId id) {
    const TopologyNode node = topology_.node(id);
    const bool is_switch = node.kind == NodeKind::kSwitch;
    const auto nics = static_cast<std::size_t>(topology_.nics_per_server());
    const std::size_t number = is_switch ? id.index() : node.index / nics;
    const int tier = tier_of(node);
    const auto [it, is_new] = names_.try_emplace({tier, number});
    if (is_new) it->second = is_switch ? topology_.node_name(id) : fmt::format("server{}", number);
    return tier;
  }

  Json json() const {
    Json all = Json::array();
    for (const auto& [key, name] : names_) {
      Json node = Json::object();
      node["name"] = Json(name);
      node["kind"] = Json(key.first == 0 ? "server" : "switch");
      node["tier"] = Json(key.first);
      all.push_back(std::move(node));
    }
    return all;
  }

 private:
  const Topology& topology_;
  std::map<std::pair<int, std::size_t>, std::string> names_;  ///< by tier and number
};

Json link_json(const Topology& topology, const Loaded& loaded, Nodes& nodes) {
  const Resource link = topology.resource(loaded.link);
  const int from = nodes.add(link.from), to = nodes.add(link.to);
  Json out = Json::object();
  out["from"] = Json(topology.node_name(link.from));
  out["to"] = Json(topology.node_name(link.to));
  out["tier"] = Json(std::min(from, to));
  out["direction"] = Json(from < to ? "up" : from > to ? "down" : "across");
  out["capacity_bytes_per_s"] = Json(link.capacity);
  out["carried_bytes"] = Json(loaded.carried);
  out["load"] = Json(loaded.load);
  return out;
}

}  // namespace

void record_links(const Recorded& run, Json& recording, std::vector<std::string>& notes) {
  std::vector<Loaded> all = loads_of(run);
  const std::size_t count = 2 * run.topology.fabric_links(),
                    kept = std::min(all.size(), kMostLinks);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Loaded& a, const Loaded& b) {
                      return std::tuple(-a.load, a.link) < std::tuple(-b.load, b.link);
                    });
  all.resize(kept);
  Nodes nodes(run.topology);
  Json links = Json::array();
  for (const Loaded& one : all) links.push_back(link_json(run.topology, one, nodes));
  recording["links"] = std::move(links);
  recording["nodes"] = nodes.json();
  recording["links_left_out"] = Json(count - kept);
  const int rails = run.lowering.folded().rails;
  if (rails > 1) {
    notes.push_back(fmt::format(
        "Links are listed of the first of {} rails that are alike: the others carried as much.",
        rails));
  } else if (kept < count) {
    notes.push_back(fmt::format("The busiest {} of {} links are listed.", kept, count));
  }
}

}  // namespace trainyard
