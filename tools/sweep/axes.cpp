#include "tools/sweep/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "sim/spelling.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostValues = 1'000'000;

// Keeps where it is in the sweep file, so that faults can say so.
struct Place {
  const std::string& file;
  std::vector<Diagnostic>& faults;
  std::string pointer;

  Place at(std::string_view key) const {
    return {file, faults, fmt::format("{}/{}", pointer, key)};
  }
  Place at(std::size_t index) const { return {file, faults, fmt::format("{}/{}", pointer, index)}; }
  void fail(const std::string& message, const std::string& hint) const {
    faults.push_back({file, pointer, message, hint});
  }
  // Whether the value is of the kind that `right` says.
  bool expect(bool right, const Json& value, std::string_view wanted,
              const std::string& hint) const {
    if (!right) fail(fmt::format("is {}, not {}", value.type_name(), wanted), hint);
    return right;
  }
};

std::string set_of(const std::string& path, const Json& value) {
  return path + "=" + dump_json(value, -1);
}

bool is_path(const Json& value) { return value.is_string() && !value.as_string().empty(); }

/// A number and what stands after it: "400 Gb/s" is 400 and " Gb/s".
struct Split {
  double number = 0;
  std::string unit;
  bool whole = false;
};
std::optional<Split> split_number(const Json& value) {
  if (value.is_number()) return Split{value.as_number(), {}, value.is_integer()};
  if (!value.is_string() || !number_of(value)) return {};
  const std::string& text = value.as_string();
  Split split;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), split.number);
  if (error != std::errc()) return {};
  split.unit.assign(end, text.data() + text.size());
  return split;
}

Json joined(double number, const Split& like, bool whole) {
  if (like.unit.empty())
    return whole ? Json(static_cast<std::int64_t>(std::llround(number))) : Json(number);
  return Json(fmt::format("{}{}", number, like.unit));
}

// from, to and factor or step.
std::vector<Json> range_values(const Json& axis, const Place& place) {
  std::vector<Json> values;
  const auto part = [&](const char* key) {
    const Json* value = axis.find(key);
    return value != nullptr ? split_number(*value) : std::nullopt;
  };
  const bool by_factor = axis.find("factor") != nullptr;
  const auto from = part("from"), to = part("to"), by = part(by_factor ? "factor" : "step");
  if (!from || !to || !by || (by_factor && axis.find("step") != nullptr)) {
    place.fail("has no values",
               R"(give "values": [...], or numbers or quantities "from", "to" and one of "factor" )"
               R"(and "step")");
    return values;
  }
  if (from->unit != to->unit || by->unit != (by_factor ? "" : from->unit)) {
    place.fail("mixes units", R"(write "from", "to" and "step" in one unit)");
    return values;
  }
  const char* key = by_factor ? "factor" : "step";
  if (by_factor ? by->number <= 1 || from->number <= 0 : by->number <= 0) {
    place.at(key).fail("never gets from \"from\" to \"to\"",
                       by_factor ? "a factor above 1, from above 0" : "a step above 0");
    return values;
  }
  const double slack = 1e-12 * std::abs(to->number);
  for (std::size_t i = 0; values.size() <= kMostValues; ++i) {
    const auto steps = static_cast<double>(i);
    const double value =
        by_factor ? from->number * std::pow(by->number, steps) : from->number + by->number * steps;
    if (value > to->number + slack) break;
    values.push_back(joined(value, *from, from->whole && by->whole));
  }
  return values;
}

std::vector<Json> path_values(const Json& axis, const Place& place) {
  const Json* values = axis.find("values");
  if (values == nullptr) return range_values(axis, place);
  if (!place.at("values").expect(values->is_array(), *values, "a list", "like [64, 128]"))
    return {};
  return values->items();
}

void read_grid(const Json& json, const Place& place, Axis& axis) {
  const Json& path = json.at("path");
  if (!place.at("path").expect(is_path(path), path, "a path", "like \"cluster.servers\"")) return;
  const Json* name = json.find("name");
  if (name != nullptr && !place.at("name").expect(is_path(*name), *name, "a name", "a short text"))
    return;
  axis.columns = {name != nullptr ? name->as_string() : path.as_string()};
  for (const Json& value : path_values(json, place))
    axis.choices.push_back({{value}, {set_of(path.as_string(), value)}, {}});
}

void read_zip(const Json& json, const Place& place, Axis& axis) {
  const Json& zip = json.at("zip");
  const Place here = place.at("zip");
  if (!here.expect(
          zip.is_object(), zip, "an object",
          R"(like {"cluster.servers": [32, 64], "jobs.0.workload.global_batch": [512, 1024]})"))
    return;
  for (const auto& [path, values] : zip.members()) {
    if (!here.at(path).expect(values.is_array(), values, "a list", "one value per variant")) return;
    if (!axis.columns.empty() && values.items().size() != axis.choices.size()) {
      here.at(path).fail(fmt::format("has {} values, \"{}\" has {}", values.items().size(),
                                     axis.columns.front(), axis.choices.size()),
                         "zipped lists go in step: as many of each");
      return;
    }
    axis.choices.resize(values.items().size());
    axis.columns.push_back(path);
    for (std::size_t i = 0; i < axis.choices.size(); ++i) {
      axis.choices[i].shown.push_back(values.items()[i]);
      axis.choices[i].sets.push_back(set_of(path, values.items()[i]));
    }
  }
}

void read_list(const Json& json, const Place& place, Axis& axis) {
  const Json& list = json.at("list");
  const Place here = place.at("list");
  if (!here.expect(list.is_array(), list, "a list", R"(like [{"cluster.servers": 64}, …])")) return;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const Json& point = list.items()[i];
    if (!here.at(i).expect(point.is_object(), point, "an object", R"(like {"path": value, …})"))
      return;
    for (const auto& [path, value] : point.members()) {
      if (std::find(axis.columns.begin(), axis.columns.end(), path) == axis.columns.end())
        axis.columns.push_back(path);
    }
  }
  for (const Json& point : list.items()) {
    Choice choice;
    for (const std::string& path : axis.columns) {
      const Json* value = point.find(path);
      choice.shown.push_back(value != nullptr ? *value : Json());
      if (value != nullptr) choice.sets.push_back(set_of(path, *value));
    }
    axis.choices.push_back(std::move(choice));
  }
  axis.own_paths = true;
}

void read_cases(const Json& json, const Place& place, Axis& axis) {
  const Json& cases = json.at("cases");
  const Place here = place.at("cases");
  const Json* name = json.find("name");
  if (name == nullptr || !is_path(*name)) {
    place.fail("has cases and no name", R"(give the axis a "name", like "design")");
    return;
  }
  if (!here.expect(cases.is_object(), cases, "an object",
                   R"(like {"tcp": {"enable": []}, "dpu": {"enable": ["dpu"]}})"))
    return;
  axis.columns = {name->as_string()};
  for (const auto& [label, patch] : cases.members()) {
    if (!here.at(label).expect(patch.is_object(), patch, "an object",
                               "what is merged into the scenario"))
      return;
    if (patch.find("extends") != nullptr)
      here.at(label).fail("extends a file", "write what it changes");
    axis.choices.push_back({{Json(label)}, {}, patch});
  }
  axis.own_paths = true;
}

Condition read_condition(const Json& when, const Place& place, const std::vector<Axis>& earlier) {
  Condition condition;
  std::vector<std::string_view> known;
  for (const Axis& axis : earlier)
    known.insert(known.end(), axis.columns.begin(), axis.columns.end());
  const auto check = [&](const std::string& name) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    place.fail(fmt::format("\"{}\" is not an axis before this one", name),
               known.empty() ? "a condition looks at earlier axes" : suggest(name, known));
  };
  if (when.is_string()) {
    try {
      condition.expression.emplace(when.as_string());
      for (const std::string& name : condition.expression->names()) {
        check(name);
        if (const auto text = first_text(values_of(earlier, name)))
          place.fail(fmt::format("computes with \"{}\", which may be {}", name, *text),
                     fmt::format("compare text like {{\"{}\": [\"…\"]}}", name));
      }
    } catch (const UsageError& e) {
      place.fail(e.what(), "");
    }
    return condition;
  }
  if (!place.expect(when.is_object(), when, "a condition",
                    R"(like "cluster.servers >= 64" or {"design": ["rdma", "dpu"]})"))
    return condition;
  for (const auto& [name, values] : when.members()) {
    check(name);
    condition.matches.push_back(
        {name, values.is_array() ? values.items() : std::vector<Json>{values}});
    const std::vector<Json> possible = values_of(earlier, name);
    for (const Json& value : condition.matches.back().values) {
      if (possible.empty() || std::find(possible.begin(), possible.end(), value) != possible.end())
        continue;
      std::vector<std::string> texts;
      texts.reserve(possible.size());
      for (const Json& one : possible) texts.push_back(shown_text(one));
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      place.fail(fmt::format("\"{}\" is never {}", name, dump_json(value, -1)),
                 suggest(shown_text(value), views));
    }
  }
  return condition;
}

struct Form {
  const char* key;
  void (*read)(const Json&, const Place&, Axis&);
  std::vector<std::string_view> members;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {"path", read_grid, {"path", "name", "values", "from", "to", "factor", "step", "when"}},
      {"zip", read_zip, {"zip", "when"}},
      {"list", read_list, {"list", "when"}},
      {"cases", read_cases, {"cases", "name", "when"}}};
  return all;
}

Axis read_axis(const Json& json, const Place& place, const std::vector<Axis>& earlier) {
  Axis axis;
  if (!place.expect(json.is_object(), json, "an axis",
                    R"(like {"path": "cluster.servers", "values": [64, 128]})"))
    return axis;
  const auto form = std::find_if(forms().begin(), forms().end(),
                                 [&](const Form& one) { return json.find(one.key) != nullptr; });
  if (form == forms().end()) {
    place.fail("names nothing to vary", R"(give it one of "path", "zip", "list" and "cases")");
    return axis;
  }
  for (const auto& [key, value] : json.members()) {
    if (std::find(form->members.begin(), form->members.end(), key) == form->members.end())
      place.at(key).fail("is not a field here", suggest(key, form->members));
  }
  const std::size_t before = place.faults.size();
  form->read(json, place, axis);
  if (const Json* when = json.find("when"))
    axis.when = read_condition(*when, place.at("when"), earlier);
  if (place.faults.size() == before && axis.choices.empty())
    place.fail("has no values: the sweep would be empty", "give it at least one");
  if (axis.choices.size() > kMostValues)
    place.fail("has more than a million values", "a larger step or factor");
  return axis;
}

// Parts at commas that stand in no quotes, brackets or braces.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && !quoted && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// "8:64:2x" or "8:64:+8", of numbers or quantities. Throws UsageError for what was meant to be one.
std::optional<Json> range_of(const std::string& path, const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos || text.find_first_of("\"[{,") != std::string::npos) return {};
  const auto number = [](const std::string& part) {
    return split_number(parse_json_or_text(part));
  };
  if (!number(text.substr(0, first))) return {};
  const std::size_t second = std::min(text.find(':', first + 1), text.size());
  std::string by = second < text.size() ? text.substr(second + 1) : "";
  const bool factor = by.ends_with('x'), step = by.starts_with('+');
  if (factor) by.pop_back();
  if (step) by.erase(0, 1);
  Json range = Json::object();
  range["path"] = Json(path);
  range["from"] = parse_json_or_text(text.substr(0, first));
  range["to"] = parse_json_or_text(text.substr(first + 1, second - first - 1));
  range[factor ? "factor" : "step"] = parse_json_or_text(by);
  if (factor == step || !number(by) || !split_number(range.at("to"))) {
    throw UsageError(
        fmt::format("--axis \"{}={}\" is no range (write {}=64:1024:2x, =8:64:+8, or a list)", path,
                    text, path));
  }
  return range;
}

}  // namespace

std::vector<Axis> read_axes(const Json& axes, const std::string& file,
                            std::vector<Diagnostic>& faults) {
  const Place place{file, faults, "/axes"};
  std::vector<Axis> all;
  if (!place.expect(axes.is_array(), axes, "a list of axes",
                    R"(like [{"path": …, "values": […]}])"))
    return all;
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < axes.items().size(); ++i) {
    all.push_back(read_axis(axes.items()[i], place.at(i), all));
    for (const std::string& column : all.back().columns) {
      if (std::find(columns.begin(), columns.end(), column) != columns.end())
        place.at(i).fail(fmt::format("\"{}\" is varied by an axis before it too", column),
                         "one axis for each, or \"zip\" what goes together");
      columns.push_back(column);
    }
  }
  return all;
}

Json parse_axis_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(fmt::format(
        "--axis \"{}\" is not path=values (write --axis cluster.servers=64,128 or =64:1024:2x)",
        text));
  }
  const std::string path = text.substr(0, equals), values = text.substr(equals + 1);
  if (values.empty()) {
    throw UsageError(fmt::format(
        "--axis \"{}\" has no values: the sweep would be empty (give at least one)", text));
  }
  if (std::optional<Json> range = range_of(path, values)) return *std::move(range);
  Json axis = Json::object();
  axis["path"] = Json(path);
  axis["values"] = Json::array();
  for (const std::string& part : split_values(values)) {
    if (part.empty())
      throw UsageError(
          fmt::format("--axis \"{}\" has an empty value (\"\" is an empty text)", text));
    axis["values"].push_back(parse_json_or_text(part));
  }
  return axis;
}

std::vector<Json> values_of(const std::vector<Axis>& axes, const std::string& column) {
  std::vector<Json> values;
  for (const Axis& axis : axes) {
    const auto at = std::find(axis.columns.begin(), axis.columns.end(), column);
    if (at == axis.columns.end()) continue;
    for (const Choice& choice : axis.choices)
      values.push_back(choice.shown[static_cast<std::size_t>(at - axis.columns.begin())]);
  }
  return values;
}

std::optional<std::string> first_text(const std::vector<Json>& values) {
  const auto at = std::find_if(values.begin(), values.end(), [](const Json& value) {
    return !value.is_null() && !number_of(value);
  });
  return at != values.end() ? std::optional(dump_json(*at, -1)) : std::nullopt;
}

std::string shown_text(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.as_string() : dump_json(value, -1);
}

}  // namespace trainyard
