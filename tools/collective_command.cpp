#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reports/csv.hpp"
#include "reports/folder.hpp"
#include "reports/text.hpp"
#include "sim/run.hpp"
#include "tools/commands.hpp"
#include "tools/nccl_output.hpp"

namespace trainyard {
namespace {

// "8", "64K", "1M", "16G" as nccl-tests takes them (powers of 1024), or a quantity ("1 MiB").
double size_of(const std::string& text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix(end, text.data() + text.size());
  const double unit = suffix.empty()  ? 1
                      : suffix == "K" ? 0x1p10
                      : suffix == "M" ? 0x1p20
                      : suffix == "G" ? 0x1p30
                                      : 0;
  if (code == std::errc() && unit > 0) number *= unit;
  if (code != std::errc() || unit == 0) {
    const ParsedQuantity parsed = parse_quantity(text, dimension_of(Bytes()));
    if (!parsed.error.empty())
      throw UsageError(fmt::format("--sizes: {} (or 8, 64K, 1M, 16G)", parsed.error));
    number = parsed.si;
  }
  if (!(number > 0) || !std::isfinite(number))
    throw UsageError(fmt::format("--sizes: \"{}\" is not a positive size", text));
  return number;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

// "from:to:factor x" or a comma-separated list.
Json sizes_json(const std::string& text) {
  Json sizes = Json::array();
  const auto add = [&](double bytes) {
    sizes.push_back(Json(write_quantity(bytes, dimension_of(Bytes()))));
  };
  const std::vector<std::string> range = split(text, ':');
  if (range.size() == 1) {
    for (const std::string& one : split(text, ',')) add(size_of(one));
    return sizes;
  }
  std::string factor_text = range.size() == 3 ? range[2] : "2x";
  if (!factor_text.empty() && (factor_text.back() == 'x' || factor_text.back() == 'X'))
    factor_text.pop_back();
  double factor = 0;
  std::from_chars(factor_text.data(), factor_text.data() + factor_text.size(), factor);
  constexpr double kLeastFactor = 1.01;
  if (range.size() > 3 || !(factor >= kLeastFactor) || !std::isfinite(factor)) {
    throw UsageError(fmt::format(
        "--sizes: \"{}\" is not from:to:factor (write 8:16G:2x, or a list 1M,1G)", text));
  }
  const double to = size_of(range[1]);
  if (size_of(range[0]) > to)
    throw UsageError(fmt::format("--sizes: \"{}\" begins above its end", text));
  for (double bytes = size_of(range[0]); bytes <= to * (1 + 1e-12); bytes *= factor) add(bytes);
  return sizes;
}

}  // namespace

namespace {

// The sizes to simulate: those asked for, or those measured, or a default.
Json sizes_of(const CollectiveOptions& what, const std::vector<MeasuredRow>& measured) {
  if (!what.sizes.empty() || measured.empty())
    return sizes_json(what.sizes.empty() ? "1M:1G:4x" : what.sizes);
  Json sizes = Json::array();
  for (const MeasuredRow& row : measured)
    sizes.push_back(Json(write_quantity(row.bytes, dimension_of(Bytes()))));
  return sizes;
}

// Bus over algorithm bandwidth, 2(n-1)/n of an all-reduce over n ranks, tells collectives and ranks
// apart: says so where those of the table and of the simulation differ.
void check_same_kind(const std::vector<MeasuredRow>& measured, const Json& timed) {
  constexpr double kRounding = 0.03;  // of two decimals, in the largest rows
  const MeasuredRow& largest =
      *std::max_element(measured.begin(), measured.end(),
                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const Json& row = timed.at("rows").items().front();
  const double theirs = largest.busbw_bytes_per_s * largest.time_s / largest.bytes;
  const double ours =
      row.at("busbw_bytes_per_s").as_number() / row.at("algbw_bytes_per_s").as_number();
  if (std::abs(theirs / ours - 1) <= kRounding) return;
  fmt::print(stderr,
             "warning: the measured bus bandwidth is {:.3g} times the algorithm bandwidth, that of "
             "{} over {} ranks is {:.3g} times: another collective or number of ranks? (--op, "
             "--ranks)\n",
             theirs, timed.at("collective").as_string(), row.at("ranks").as_integer(), ours);
}

Json measured_json(const std::vector<MeasuredRow>& rows) {
  Json all = Json::array();
  for (const MeasuredRow& row : rows) {
    Json one = Json::object();
    one["bytes"] = Json(row.bytes);
    one["time_s"] = Json(row.time_s);
    one["busbw_bytes_per_s"] = Json(row.busbw_bytes_per_s);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

ExitCode collective_command(const std::string& scenario, const CollectiveOptions& what,
                            const CommonOptions& options) {
  const std::vector<MeasuredRow> beside =
      what.measured.empty() ? std::vector<MeasuredRow>() : read_nccl_output(what.measured);
  LoadOptions load = options.load;
  Json workload = Json::object();
  workload["kind"] = Json("collective");
  workload["operation"] = Json(what.operation);
  workload["sizes"] = sizes_of(what, beside);
  workload["ranks"] = Json(what.ranks);
  Json job = Json::object();
  job["name"] = Json(what.operation);
  job["workload"] = std::move(workload);
  load.sets.push_back("jobs=" + dump_json(Json(Json::Array{std::move(job)}), -1));
  load.sets.emplace_back("probes={}");
  if (!what.algorithm.empty())
    load.sets.push_back("cluster.collectives.algorithm=" + what.algorithm);
  if (!what.protocol.empty()) load.sets.push_back("cluster.collectives.protocol=" + what.protocol);
  if (!what.fidelity.empty()) load.sets.push_back("engine.fidelity=" + what.fidelity);
  LoadedScenario loaded = load_scenario(scenario, load);
  if (!options.out.empty()) prepare_folder(options.out);
  Json result = run_scenario(loaded);
  Json& timed = result["jobs"].items().front();
  if (!beside.empty()) timed["measured"] = measured_json(beside);
  if (!options.out.empty()) write_folder(options.out, result);
  const Json& metrics = timed.at("metrics");
  const Json* measured = timed.find("measured");
  print_as(
      options.format, [&] { return collective_text(metrics, measured); },
      [&] { return dump_json(collective_rows(metrics, measured)); },
      [&] { return collective_csv(metrics, measured); });
  if (!beside.empty()) check_same_kind(beside, metrics);
  for (const Json& choice : result.at("collectives").items()) {
    const Json* refused = choice.find("refused");
    if (what.algorithm.empty() || refused == nullptr) continue;
    fmt::print(stderr, "{} took {} instead of {}: {}\n",
               show(Bytes::of(choice.at("bytes").as_number())), choice.at("algorithm").as_string(),
               what.algorithm, refused->as_string());
  }
  return ExitCode::kOk;
}

}  // namespace trainyard
