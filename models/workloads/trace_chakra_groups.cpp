// Groups of ranks in traces of the format Chakra: as METADATA nodes define them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "models/workloads/trace_chakra.hpp"

namespace trainyard::chakra {
namespace {

// Python prints the list as a string in a list, with a \ before what would end the string.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\'');
    if (!escape) plain += text[i];
  }
  return plain;
}

std::optional<Json> parsed(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const ScenarioError&) {
    return {};
  }
}

bool group_of(const Json& entry, GroupText& group) {
  const Json* name = entry.find("pg_name");
  const Json* ranks = entry.find("ranks");
  if (name == nullptr || ranks == nullptr || !ranks_of(*ranks, group.ranks)) return false;
  if (name->is_string()) group.name = name->as_string();
  if (name->is_integer()) group.name = std::to_string(name->as_integer());
  return name->is_string() || name->is_integer();
}

}  // namespace

bool ranks_of(const Json& list, std::vector<std::uint32_t>& ranks) {
  if (!list.is_array()) return false;
  ranks.clear();
  for (const Json& rank : list.items()) {
    if (!rank.is_integer() || rank.as_integer() < 0 ||
        static_cast<std::uint64_t>(rank.as_integer()) >= TraceBuilder::kMostRanks)
      return false;
    ranks.push_back(static_cast<std::uint32_t>(rank.as_integer()));
  }
  return true;
}

bool groups_of(const Node& node, std::vector<GroupText>& groups) {
  groups.clear();
  const std::string& values = node.inputs().values();
  if (values.find("pg_name") == std::string::npos) return true;
  const std::size_t begin = values.find("[{"), end = values.rfind("}]");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return false;
  const std::string_view list = std::string_view(values).substr(begin, end + 2 - begin);
  std::optional<Json> json = parsed(list);
  if (!json) json = parsed(without_escapes(list));
  if (!json || !json->is_array()) return false;
  for (const Json& entry : json->items()) {
    if (!group_of(entry, groups.emplace_back())) return false;
  }
  return true;
}

std::string groups_text(const std::vector<GroupText>& groups) {
  Json list = Json::array();
  for (const GroupText& group : groups) {
    Json entry = Json::object();
    entry["pg_name"] = group.name;
    Json ranks = Json::array();
    for (const std::uint32_t rank : group.ranks) ranks.push_back(std::size_t{rank});
    entry["ranks"] = std::move(ranks);
    list.push_back(std::move(entry));
  }
  // Readers take two characters off each end: those of a list of one string.
  return "['" + dump_json(list, -1) + "']";
}

const AttributeProto* find_attribute(const GlobalMetadata& metadata, std::string_view name) {
  const auto it = std::find_if(metadata.attr().begin(), metadata.attr().end(),
                               [&](const AttributeProto& a) { return a.name() == name; });
  return it == metadata.attr().end() ? nullptr : &*it;
}

bool groups_only(const Node& node) {
  return node.type() == METADATA_NODE &&
         std::any_of(node.attr().begin(), node.attr().end(), [](const AttributeProto& a) {
           return a.name() == "groups_only" && a.bool_val();
         });
}

}  // namespace trainyard::chakra
