#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/charts/charts.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostNodes = 64;  // of a picture that can still be read

struct Load {
  std::size_t links = 0;
  double sum = 0, highest = 0, bytes = 0;
};

std::string level(std::int64_t tier, const std::string& direction) {
  return tier == 0 ? fmt::format("servers and tier 1, {}", direction)
                   : fmt::format("tiers {} and {}, {}", tier, tier + 1, direction);
}

// The node whose port an end of a link is: "server0" of "server0/nic0".
std::string node_of(const std::string& end, const std::set<std::string>& nodes) {
  std::string name = end;
  while (!nodes.contains(name)) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) return end;
    name.resize(slash);
  }
  return name;
}

Table by_tier(const Json& links) {
  std::map<std::pair<std::int64_t, std::string>, Load> loads;
  for (const Json& link : links.items()) {
    Load& load = loads[{link.at("tier").as_integer(), link.at("direction").as_string()}];
    const double share = link.at("load").as_number();
    ++load.links;
    load.sum += share;
    load.highest = std::max(load.highest, share);
    load.bytes += link.at("carried_bytes").as_number();
  }
  Table table{"Links by tier",
              {"links between", "links", "mean load", "highest load", "carried"},
              "lrrrr",
              {},
              {},
              {}};
  for (const auto& [key, load] : loads) {
    table.rows.push_back({level(key.first, key.second), std::to_string(load.links),
                          fmt::format("{:.2f}%", 100 * load.sum / static_cast<double>(load.links)),
                          fmt::format("{:.2f}%", 100 * load.highest), show(Bytes::of(load.bytes))});
  }
  return table;
}

Table busiest(const std::vector<Json>& sorted) {
  constexpr std::size_t kMost = 20;
  Table table{"Busiest links", {"link", "capacity", "carried", "load"}, "lrrr", {}, {}, {}};
  for (const Json& link : sorted) {
    if (table.rows.size() == kMost) break;
    table.rows.push_back({link.at("from").as_string() + " → " + link.at("to").as_string(),
                          show(BytesPerSecond::of(link.at("capacity_bytes_per_s").as_number())),
                          show(Bytes::of(link.at("carried_bytes").as_number())),
                          fmt::format("{:.2f}%", 100 * link.at("load").as_number())});
  }
  return table;
}

std::vector<Json> by_load(const Json& links) {
  std::vector<Json> sorted = links.items();
  std::stable_sort(sorted.begin(), sorted.end(), [](const Json& a, const Json& b) {
    return a.at("load").as_number() > b.at("load").as_number();
  });
  return sorted;
}

std::string summary(const Json& recording, const std::vector<Json>& sorted) {
  std::string text =
      fmt::format("{} links; the busiest is {} → {} with {:.1f}% of its capacity.", sorted.size(),
                  sorted[0].at("from").as_string(), sorted[0].at("to").as_string(),
                  100 * sorted[0].at("load").as_number());
  const Json* left_out = recording.find("links_left_out");
  if (left_out != nullptr && left_out->as_integer() > 0)
    text += fmt::format(" {} that carry less are left out.", left_out->as_integer());
  return text;
}

}  // namespace

std::optional<Chart> network_chart(const Json& result) {
  const Json* recording = result.find("recording");
  const Json* links = recording != nullptr ? recording->find("links") : nullptr;
  const Json* nodes = recording != nullptr ? recording->find("nodes") : nullptr;
  if (links == nullptr || nodes == nullptr || links->items().empty()) return {};
  std::set<std::string> names;
  for (const Json& node : nodes->items()) names.insert(node.at("name").as_string());
  const std::vector<Json> sorted = by_load(*links);
  Chart chart{names.size() <= kMostNodes ? "topology" : "links",
              "Load of the network's links",
              summary(*recording, sorted),
              {},
              {},
              Json::object(),
              {}};
  chart.columns = {{"from"},
                   {"to"},
                   {"tier", Form::kNumber, "1"},
                   {"direction"},
                   {"capacity", Form::kRate},
                   {"carried", Form::kBytes},
                   {"load", Form::kShare},
                   {"from node"},
                   {"to node"}};
  for (const Json& link : links->items()) {
    Json::Array row;
    for (const char* key :
         {"from", "to", "tier", "direction", "capacity_bytes_per_s", "carried_bytes", "load"})
      row.push_back(link.at(key));
    for (const char* end : {"from", "to"})
      row.emplace_back(node_of(link.at(end).as_string(), names));
    chart.rows.push_back(std::move(row));
  }
  chart.more["nodes"] = *nodes;
  chart.tables = {by_tier(*links), busiest(sorted)};
  return chart;
}

}  // namespace trainyard
