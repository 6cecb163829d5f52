#include "reports/sweep_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/csv.hpp"
#include "reports/tables.hpp"
#include "reports/text.hpp"

namespace trainyard {
namespace {

std::string counts_text(const Json& counts) {
  std::int64_t all = 0;
  std::string parts;
  for (const auto& [status, count] : counts.members()) {
    all += count.as_integer();
    if (count.as_integer() > 0)
      parts += fmt::format("{}{} {}", parts.empty() ? ": " : ", ", count.as_integer(), status);
  }
  return fmt::format("{} variants{}\n", all, parts);
}

// Where a metric stands among "values"; npos if no variant has it.
std::size_t place_of(const Json& document, const std::string& key) {
  const auto& all = document.at("metrics").items();
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const Json& metric) { return metric.at("key") == Json(key); });
  return at == all.end() ? std::string::npos : static_cast<std::size_t>(at - all.begin());
}

// The variants that have the metric, best first; of equals the earlier.
std::vector<const Json*> ranked(const Json& document, std::size_t place) {
  std::vector<const Json*> found;
  for (const Json& variant : document.at("variants").items()) {
    if (variant.at("status") == Json("ok") && variant.at("values").items()[place].is_number())
      found.push_back(&variant);
  }
  const bool higher = higher_is_better(document.at("metrics").items()[place].at("key").as_string());
  std::stable_sort(found.begin(), found.end(), [&](const Json* a, const Json* b) {
    const double left = a->at("values").items()[place].as_number(),
                 right = b->at("values").items()[place].as_number();
    return higher ? left > right : left < right;
  });
  return found;
}

}  // namespace

Rows best_rows(const Json& document, const std::string& unset) {
  constexpr std::size_t kShown = 10;
  std::vector<std::size_t> places;
  for (const Json& key : document.at("objectives").items()) {
    const std::size_t place = place_of(document, key.as_string());
    if (place != std::string::npos) places.push_back(place);
  }
  if (places.empty()) return {};
  Rows rows{{"best"}};
  for (const Json& axis : document.at("axes").items())
    rows.front().push_back(axis.at("name").as_string());
  for (const std::size_t place : places)
    rows.front().push_back(document.at("metrics").items()[place].at("title").as_string());
  for (const Json* variant : ranked(document, places.front())) {
    if (rows.size() > kShown) break;
    Cells cells{fmt::format("{}", rows.size())};
    for (const Json& value : variant->at("axes").items())
      cells.push_back(value.is_null() ? unset : written(value));
    for (const std::size_t place : places) {
      const Json& value = variant->at("values").items()[place];
      cells.push_back(value.is_null()
                          ? "-"
                          : show_value(document.at("metrics").items()[place].at("key").as_string(),
                                       value.as_number()));
    }
    rows.push_back(std::move(cells));
  }
  return rows.size() > 1 ? rows : Rows();
}

std::vector<ReasonCount> reason_counts(const Json& document) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const Json& variant : document.at("variants").items()) {
    if (variant.at("status") != Json("ok"))
      ++counts[{variant.at("status").as_string(), variant.at("reason").as_string()}];
  }
  std::vector<ReasonCount> all;
  all.reserve(counts.size());
  for (const auto& [key, count] : counts) all.push_back({key.first, key.second, count});
  std::stable_sort(all.begin(), all.end(), [](const ReasonCount& a, const ReasonCount& b) {
    return a.variants > b.variants;
  });
  return all;
}

namespace {

std::string best_text(const Json& document) {
  const Rows rows = best_rows(document, "-");
  return rows.empty() ? std::string() : "\n" + aligned(rows);
}

std::string reasons_text(const Json& document) {
  constexpr std::size_t kShown = 8;
  std::vector<ReasonCount> all = reason_counts(document);
  // What is missing has no reason to give.
  std::erase_if(all, [](const ReasonCount& one) { return one.reason.empty(); });
  std::vector<std::string> sentences;
  for (const ReasonCount& one : all) {
    if (sentences.size() == kShown) {
      sentences.push_back(fmt::format("… and {} more reasons, in sweep.csv", all.size() - kShown));
      break;
    }
    sentences.push_back(fmt::format("{} × {}: {}", one.variants, one.status, one.reason));
  }
  return sentences.empty() ? "" : "\n" + lines(sentences, "  ");
}

}  // namespace

std::string sweep_text(const Json& document) {
  return printable(document.at("name").as_string()) + ": " + counts_text(document.at("counts")) +
         best_text(document) + reasons_text(document);
}

std::string variants_text(const Json& variants) {
  Rows rows{{"variant"}};
  for (const Json& variant : variants.items()) {
    Cells cells{fmt::format("{}", variant.at("variant").as_integer())};
    for (const auto& [name, value] : variant.at("axes").members()) {
      if (rows.size() == 1) rows.front().push_back(name);
      cells.push_back(value.is_null() ? "-" : written(value));
    }
    if (!variant.at("excluded_by").is_null())
      cells.push_back("excluded: " + variant.at("excluded_by").as_string());
    rows.push_back(std::move(cells));
  }
  return aligned(rows);
}

std::string variants_csv(const Json& variants) {
  std::string text;
  for (const Json& variant : variants.items()) {
    std::vector<Json> head{"variant", "id"}, cells{variant.at("variant"), variant.at("id")};
    for (const auto& [name, value] : variant.at("axes").members()) {
      head.emplace_back(name);
      cells.push_back(value);
    }
    head.emplace_back("excluded_by");
    cells.push_back(variant.at("excluded_by"));
    text += (text.empty() ? csv_line(head) : std::string()) + csv_line(cells);
  }
  return text;
}

namespace {

std::string slurm_text(const Json& slurm) {
  std::string text;
  const std::string& note = slurm.at("note").as_string();
  for (const Json& job : slurm.at("jobs").items()) {
    std::string states;
    for (const auto& [state, count] : job.at("states").members())
      states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count.as_integer(), state);
    if (states.empty()) states = note.empty() ? "not in the queue any more" : note;
    text += fmt::format("Slurm job {} ({}): {}\n", job.at("job").as_integer(),
                        job.at("part").as_string(), printable(states));
  }
  return text;
}

}  // namespace

std::string sweep_status_text(const Json& status) {
  std::string text =
      printable(status.at("name").as_string()) + ": " + counts_text(status.at("counts"));
  if (const Json* slurm = status.find("slurm")) text += slurm_text(*slurm);
  Rows rows{{"shard", "rows", "state"}};
  for (const Json& shard : status.at("shards").items()) {
    rows.push_back({shard.at("shard").as_string(), fmt::format("{}", shard.at("rows").as_integer()),
                    shard.at("running").as_bool() ? "running" : "at rest"});
  }
  return text + (rows.size() > 1 ? "\n" + aligned(rows) : std::string());
}

}  // namespace trainyard
