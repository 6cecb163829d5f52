#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <variant>

#include "reports/docs.hpp"
#include "reports/folder.hpp"
#include "sim/metrics.hpp"
#include "sim/spelling.hpp"
#include "tools/commands.hpp"
#include "tools/sweep_command.hpp"

namespace trainyard {

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw UsageError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void print_as(Format format, const std::function<std::string()>& text,
              const std::function<std::string()>& json, const std::function<std::string()>& csv) {
  switch (format) {
    case Format::kText:
      return print(text());
    case Format::kJson:
      return print(json());
    case Format::kCsv:
      return print(csv());
  }
}

std::vector<Assertion> parse_asserts(const std::vector<std::string>& texts) {
  std::vector<Assertion> asserts;
  for (const std::string& text : texts) {
    const std::size_t at = text.find_first_of("<>");
    Assertion a;
    a.or_equal = at != std::string::npos && at + 1 < text.size() && text[at + 1] == '=';
    const char* begin = text.data() + std::min(text.size(), at + (a.or_equal ? 2 : 1));
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), a.limit);
    if (at == std::string::npos || error != std::errc() || end != text.data() + text.size()) {
      throw UsageError(fmt::format(
          "--assert \"{}\" is not metric<number (write --assert 'step_time_s<10'; also <=, >, >=)",
          text));
    }
    a.metric = text.substr(0, at);
    a.condition = text.substr(at);
    asserts.push_back(std::move(a));
  }
  return asserts;
}

ExitCode check_asserts(const std::vector<Assertion>& asserts, const Json& result) {
  ExitCode code = ExitCode::kOk;
  for (const Assertion& a : asserts) {
    const std::string& key = a.metric;
    const auto value = metric_value(result.at("metrics"), key);
    if (!value) {
      std::vector<std::string_view> names;
      for (const Metric& m : metrics()) {
        if (metric_value(result.at("metrics"), m.key)) names.push_back(m.key);
      }
      throw UsageError(
          fmt::format("--assert: this result has no metric \"{}\" ({})", key, suggest(key, names)));
    }
    const bool less = a.condition.front() == '<';
    const bool holds =
        (less ? *value < a.limit : *value > a.limit) || (a.or_equal && *value == a.limit);
    if (holds) continue;
    fmt::print(stderr, "assertion failed: {} is {}, not {}\n", key, *value, a.condition);
    code = ExitCode::kAssert;
  }
  return code;
}

namespace {

void report_folder(const std::string& directory) {
  const Json document = read_folder(directory);
  const auto refuse = [&](const std::exception& e) {
    throw ScenarioError(Diagnostic{directory, "",
                                   fmt::format("does not hold a whole result: {}", e.what()),
                                   "run the scenario again"});
  };
  try {
    write_folder(directory, document);
  } catch (const std::out_of_range& e) {  // a member is missing
    refuse(e);
  } catch (const std::bad_variant_access& e) {  // a member is of another type
    refuse(e);
  }
}

}  // namespace

ExitCode report_command(const std::string& directory) {
  if (has_sweep(directory)) {
    report_sweep(directory);
  } else {
    report_folder(directory);
  }
  print(fmt::format("{}/report.html\n", directory));
  return ExitCode::kOk;
}

ExitCode docs_command(const std::string& page) {
  if (page != "metrics")
    throw UsageError(fmt::format("docs: there is no page \"{}\" (metrics)", page));
  print(metrics_markdown());
  return ExitCode::kOk;
}

}  // namespace trainyard
