// Collectives as nccl-tests prints them (its out-of-place half), so that what reads its output
// reads ours: the same columns at the same places, then algorithm and protocol.
#include <fmt/format.h>

#include "reports/csv.hpp"
#include "reports/text.hpp"

namespace trainyard {
namespace {

std::string heading(const std::string& operation) {
  const auto columns =
      fmt::runtime("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:<12}  {}");
  const std::string names = fmt::format(columns, "size", "count", "type", "redop", "root", "time",
                                        "algbw", "busbw", "algorithm", "protocol");
  std::string units =
      fmt::format(columns, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "");
  units.erase(units.find_last_not_of(' ') + 1);
  return fmt::format("# {}, time by the simulated clock\n#\n{}\n{}\n", operation, names, units);
}

std::string microseconds(double us) {
  constexpr double kWhole = 1e4, kTenths = 1e2;
  return fmt::format("{:.{}f}", us, us >= kWhole ? 0 : us >= kTenths ? 1 : 2);
}

std::string line(const Json& row) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6.2f}  {:>6.2f}  {:<12}  {}\n",
                     row.at("size").as_integer(), row.at("count").as_integer(),
                     row.at("type").as_string(), row.at("redop").as_string(),
                     row.at("root").as_integer(), microseconds(row.at("time_us").as_number()),
                     row.at("algbw_gb_per_s").as_number(), row.at("busbw_gb_per_s").as_number(),
                     printable(row.at("algorithm").as_string()),
                     printable(row.at("protocol").as_string()));
}

}  // namespace

std::string collective_text(const Json& measured) {
  std::string text = heading(printable(measured.at("collective").as_string()));
  const Json rows = collective_rows(measured);
  double sum = 0;
  for (const Json& row : rows.items()) {
    text += line(row);
    sum += row.at("busbw_gb_per_s").as_number();
  }
  const std::size_t count = rows.items().size();
  return text + fmt::format("# Avg bus bandwidth    : {:g}\n#\n",
                            count > 0 ? sum / static_cast<double>(count) : 0);
}

}  // namespace trainyard
