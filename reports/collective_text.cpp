// Collectives as nccl-tests prints them (its out-of-place half), so that what reads its output
// reads ours: the same columns at the same places, then algorithm and protocol.
#include <fmt/format.h>

#include <cmath>

#include "reports/csv.hpp"
#include "reports/text.hpp"

namespace trainyard {
namespace {

std::string heading(const std::string& operation, bool measured) {
  const auto columns =
      fmt::runtime("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:<12}  {:<8}{}");
  const auto line = [](std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  const std::string names =
      line(fmt::format(columns, "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                       "algorithm", "protocol", measured ? "  measured    error" : ""));
  const std::string units =
      line(fmt::format(columns, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "",
                       measured ? "      (us)" : ""));
  return fmt::format("# {}, time by the simulated clock\n#\n{}{}", operation, names, units);
}

std::string microseconds(double us) {
  constexpr double kWhole = 1e4, kTenths = 1e2;
  return fmt::format("{:.{}f}", us, us >= kWhole ? 0 : us >= kTenths ? 1 : 2);
}

std::string beside(const Json& row) {
  const Json* time = row.find("measured_time_us");
  if (time == nullptr) return {};
  if (time->is_null()) return "         -        -";
  return fmt::format("  {:>8}  {:>+6.1f}%", microseconds(time->as_number()),
                     100 * row.at("error").as_number());
}

std::string line(const Json& row) {
  const std::string text = fmt::format(
      "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6.2f}  {:>6.2f}  {:<12}  {:<8}",
      row.at("size").as_integer(), row.at("count").as_integer(), row.at("type").as_string(),
      row.at("redop").as_string(), row.at("root").as_integer(),
      microseconds(row.at("time_us").as_number()), row.at("algbw_gb_per_s").as_number(),
      row.at("busbw_gb_per_s").as_number(), printable(row.at("algorithm").as_string()),
      printable(row.at("protocol").as_string()));
  const std::string more = beside(row);
  return (more.empty() ? text.substr(0, text.find_last_not_of(' ') + 1) : text + more) + "\n";
}

// How far off, over the sizes that were measured.
std::string mean_error(const Json& rows) {
  double sum = 0, count = 0;
  for (const Json& row : rows.items()) {
    const Json* error = row.find("error");
    if (error == nullptr || error->is_null()) continue;
    sum += std::abs(error->as_number());
    ++count;
  }
  return count > 0 ? fmt::format("# Mean absolute error  : {:.1f}% of the time, {} sizes\n#\n",
                                 100 * sum / count, count)
                   : std::string();
}

}  // namespace

std::string collective_text(const Json& timed, const Json* measured) {
  std::string text = heading(printable(timed.at("collective").as_string()), measured != nullptr);
  const Json rows = collective_rows(timed, measured);
  double sum = 0;
  for (const Json& row : rows.items()) {
    text += line(row);
    sum += row.at("busbw_gb_per_s").as_number();
  }
  const std::size_t count = rows.items().size();
  return text +
         fmt::format("# Avg bus bandwidth    : {:g}\n#\n",
                     count > 0 ? sum / static_cast<double>(count) : 0) +
         mean_error(rows);
}

}  // namespace trainyard
