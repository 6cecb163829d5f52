#include "reports/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "sim/units.hpp"

namespace trainyard {
namespace {

constexpr const char* kNone = "–";

// 280814 as "280,814"; what has more digits than anyone reads, or fewer, with four of them.
std::string grouped(double value) {
  constexpr double kPlain = 1e4, kMost = 1e15;
  if (std::abs(value) < kPlain || std::abs(value) >= kMost) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string unit_after_number(std::string_view unit) {
  if (unit == "1") return {};
  return unit.starts_with("1/") ? std::string(unit.substr(1)) : " " + std::string(unit);
}

Cells timed_cells(const std::string& name, const Json& timed) {
  return {name,
          show(Bytes::of(timed.at("size_bytes").as_number())),
          std::to_string(timed.at("ranks").as_integer()),
          show(Seconds::of(timed.at("time_s").as_number())),
          show(BytesPerSecond::of(timed.at("algbw_bytes_per_s").as_number())),
          show(BytesPerSecond::of(timed.at("busbw_bytes_per_s").as_number())),
          timed.at("algorithm").as_string(),
          timed.at("protocol").as_string()};
}

// Every choice of the collective library, of the jobs and then of each probe.
void for_each_choice(const Json& result,
                     const std::function<void(const std::string& where, const Json&)>& visit) {
  if (const Json* all = result.find("collectives")) {
    for (const Json& choice : all->items()) visit("jobs", choice);
  }
  const Json* probes = result.find("probes");
  if (probes == nullptr) return;
  for (const auto& [name, probe] : probes->members()) {
    for (const Json& choice : probe.at("collectives").items()) visit("probe " + name, choice);
  }
}

// The i-th of a row's claims or deviations; null where there is none.
Json nth(const Json& list, std::size_t i) { return list.is_null() ? Json() : list.items().at(i); }

}  // namespace

std::string show_value(const Metric& metric, double value) {
  if (metric.show != Metric::Show::kNumber) return show_metric(metric, value);
  return grouped(value) + unit_after_number(metric.unit);
}

std::string show_value(std::string_view key, double value) {
  const Metric* metric = find_metric(key);
  return metric != nullptr ? show_value(*metric, value) : grouped(value);
}

Rows metric_rows(const Json& values) {
  Rows rows;
  for (const Metric& metric : metrics()) {
    if (const auto v = metric_value(values, metric.key))
      rows.push_back({std::string(metric.title), show_value(metric, *v)});
  }
  return rows;
}

std::optional<double> measured_time(const Json* measured, double bytes) {
  double sum = 0, count = 0;
  if (measured == nullptr) return {};
  for (const Json& row : measured->items()) {
    const Json* time = row.find("time_s");
    if (time == nullptr || row.at("bytes").as_number() != bytes) continue;
    sum += time->as_number();
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

Rows gpu_time_rows(const Json& values) {
  const Json* waits = values.find("gpu_wait_fractions");
  const auto step = metric_value(values, "step_time_s");
  if (waits == nullptr || !step) return {};
  const auto days = metric_value(values, "training_days");
  const auto row = [&](std::string title, double share) {
    return Cells{std::move(title), fmt::format("{:.2f}%", 100 * share),
                 days ? fmt::format("{:.2f} d", share * *days) : show(Seconds::of(share * *step))};
  };
  double computing = 1;
  Rows rows;
  for (const auto& [name, share] : waits->members()) {
    computing -= share.as_number();
    const Metric* known = find_metric("gpu_wait_fractions." + name);
    rows.push_back(
        row(known != nullptr ? std::string(known->title) : "waiting: " + name, share.as_number()));
  }
  rows.insert(rows.begin(), row("computing", computing));
  return rows;
}

Rows equipment_rows(const Json& values) {
  Rows rows;
  const Json* all = values.find("equipment");
  if (all == nullptr) return rows;
  for (const Json& e : all->items()) {
    rows.push_back({e.at("equipment").as_string(), grouped(e.at("count").as_number()),
                    grouped(e.at("average_power_w").as_number()) + " W",
                    fmt::format("{:.4g} MWh", e.at("energy_mwh").as_number()),
                    grouped(e.at("capital_usd").as_number()) + " USD"});
  }
  return rows;
}

namespace {

std::string joined(const Json& names, const char* between) {
  std::string text;
  for (const Json& name : names.items()) text += (text.empty() ? "" : between) + name.as_string();
  return text;
}

std::string changes(const Json& changes) {
  std::string text;
  for (const Json& change : changes.items())
    text += fmt::format("{}{:+.1f}%", text.empty() ? "" : " / ", 100 * change.as_number());
  return text;
}

}  // namespace

std::vector<AuditedRow> audited_rows(const Json& comparison) {
  std::vector<AuditedRow> rows;
  const Json* audit = comparison.find("audit");
  if (audit == nullptr) return rows;
  for (const Json& row : audit->at("rows").items()) {
    AuditedRow one{row.at("title").as_string(), row.at("holds").as_bool(), {}, {}};
    for (const Json& e : row.at("hangs_on").items()) {
      one.effects.push_back({e.at("pointer").as_string(), joined(e.at("runs"), ", "),
                             written(e.at("value")), e.at("tried").as_string(), range_of(e),
                             changes(e.at("change")),
                             !one.holds                 ? kNone
                             : e.at("breaks").as_bool() ? "no"
                                                        : "yes"});
      one.outside.push_back(e.at("outside").as_bool());
    }
    rows.push_back(std::move(one));
  }
  return rows;
}

std::string audited_runs(const Json& comparison) {
  const Json* audit = comparison.find("audit");
  return audit != nullptr ? joined(audit->at("runs"), " / ") : std::string();
}

namespace {

// An older document may lack the member.
std::vector<std::string> sentences(const Json& document, std::string_view member) {
  std::vector<std::string> all;
  if (const Json* found = document.find(member)) {
    for (const Json& sentence : found->items()) all.push_back(sentence.as_string());
  }
  return all;
}

}  // namespace

std::vector<std::string> comparison_notes(const Json& comparison) {
  return sentences(comparison, "notes");
}

std::vector<std::string> contradictions(const Json& comparison) {
  return sentences(comparison, "contradictions");
}

std::string first_of_jobs(const Json& result) {
  const Json* jobs = result.find("jobs");
  if (jobs == nullptr || jobs->items().size() < 2) return {};
  return fmt::format("first of {} jobs: {}", jobs->items().size(),
                     jobs->items().front().at("name").as_string());
}

Rows probe_rows(const Json& result) {
  Rows rows;
  const Json* probes = result.find("probes");
  if (probes == nullptr) return rows;
  for (const auto& [name, probe] : probes->members()) rows.push_back(timed_cells(name, probe));
  return rows;
}

Rows choice_rows(const Json& result) {
  Rows rows;
  for_each_choice(result, [&](const std::string& where, const Json& c) {
    const Json* refused = c.find("refused");
    rows.push_back({where, c.at("operation").as_string(),
                    show(Bytes::of(c.at("bytes").as_number())),
                    std::to_string(c.at("ranks").as_integer()),
                    std::to_string(c.at("servers").as_integer()), c.at("algorithm").as_string(),
                    c.at("protocol").as_string(), std::to_string(c.at("calls").as_integer()),
                    show(Seconds::of(c.at("estimate_s").as_number())),
                    refused != nullptr ? refused->as_string() : ""});
  });
  return rows;
}

Rows timed_rows(const Json& result) {
  Rows rows;
  const Json* jobs = result.find("jobs");
  if (jobs == nullptr) return rows;
  for (const Json& job : jobs->items()) {
    const Json* timed = job.at("metrics").find("rows");
    if (timed == nullptr) continue;
    for (const Json& one : timed->items())
      rows.push_back(timed_cells(job.at("name").as_string(), one));
  }
  return rows;
}

std::string parameter_summary(const Json& result) {
  std::map<std::string, int> kinds;
  int outside = 0;
  for (const Json& p : result.at("parameters").items()) {
    ++kinds[p.at("kind").as_string()];
    outside += p.find("outside") != nullptr ? 1 : 0;
  }
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return text + fmt::format("{}{} outside their range", text.empty() ? "" : "; ", outside);
}

std::string written(const Json& value) {
  return value.is_string() ? value.as_string() : dump_json(value, -1);
}

std::string range_of(const Json& parameter) {
  const Json* range = parameter.find("range");
  if (range == nullptr) return {};
  return range->items().at(0).as_string() + " to " + range->items().at(1).as_string();
}

std::vector<std::string> outside_parameters(const Json& result) {
  std::vector<std::string> all;
  for (const Json& p : result.at("parameters").items()) {
    if (p.find("outside") == nullptr) continue;
    all.push_back(fmt::format("{} = {} is outside its range, {}: {}", p.at("pointer").as_string(),
                              written(p.at("value")), range_of(p), p.at("text").as_string()));
  }
  return all;
}

std::vector<std::string> refusals(const Json& result) {
  std::vector<std::string> all;
  for_each_choice(result, [&](const std::string&, const Json& c) {
    const Json* reasons = c.find("refused");
    if (reasons == nullptr || c.at("servers").as_integer() == 1) return;
    all.push_back(fmt::format("{} of {} on {} ranks could not use {}",
                              c.at("operation").as_string(),
                              show(Bytes::of(c.at("bytes").as_number())),
                              c.at("ranks").as_integer(), reasons->as_string()));
  });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<std::string> simulation_notes(const Json& result) {
  std::vector<std::string> all;
  for (const Json& reason : result.at("inactive").items())
    all.push_back("inactive: " + reason.as_string());
  const Json* folding = result.find("folding");
  if (folding == nullptr) return all;
  const auto number = [folding](std::string_view key) { return folding->at(key).as_integer(); };
  std::string once;
  if (number("tensor_ranks") > 1)
    once = fmt::format("one tensor rank for {}", number("tensor_ranks"));
  if (number("replica_classes") < number("replicas"))
    once += fmt::format("{}{} of {} replicas", once.empty() ? "" : ", ", number("replica_classes"),
                        number("replicas"));
  if (!once.empty()) all.push_back("simulated for all that do the same: " + once);
  const std::int64_t repeated = folding->at("repeated_operations").as_integer();
  if (repeated > 0)
    all.push_back(
        fmt::format("a state of the run recurs: {} operations follow from others", repeated));
  for (const Json& reason : folding->at("one_by_one").items()) all.push_back(reason.as_string());
  return all;
}

std::vector<ComparedRun> compared_runs(const Json& comparison) {
  std::vector<ComparedRun> runs;
  std::map<std::string, int> seen;
  for (const Json& result : comparison.at("results").items()) {
    const std::string& name = result.at("name").as_string();
    const int count = ++seen[name];
    runs.push_back({count > 1 ? fmt::format("{} ({})", name, count) : name, false});
  }
  for (const Json& row : comparison.at("rows").items()) {
    for (std::size_t i = 0; i < runs.size(); ++i)
      runs[i].claimed = runs[i].claimed || !nth(row.at("claim"), i).is_null();
  }
  return runs;
}

Cells compared_cells(const Json& row, const std::vector<ComparedRun>& runs) {
  const std::string& key = row.at("metric").as_string();
  const auto& values = row.at("values").items();
  Cells cells{row.at("title").as_string()};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    cells.push_back(show_value(key, values.at(i).as_number()));
    if (!runs[i].claimed) continue;
    const Json claim = nth(row.at("claim"), i), deviation = nth(row.at("deviation"), i);
    cells.push_back(claim.is_null() ? kNone : show_value(key, claim.as_number()));
    cells.push_back(deviation.is_null() ? kNone
                                        : fmt::format("{:+.1f}%", 100 * deviation.as_number()));
  }
  const double first = values.at(0).as_number();
  cells.push_back(first != 0 ? fmt::format("{:.3f}", values.back().as_number() / first) : kNone);
  return cells;
}

std::string claimed_only(const Json& comparison) {
  std::string text;
  for (const Json& key : comparison.at("claimed_only").items())
    text += (text.empty() ? "" : ", ") + key.as_string();
  return text;
}

}  // namespace trainyard
