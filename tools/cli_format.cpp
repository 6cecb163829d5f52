#include "tools/cli_format.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

namespace trainyard {

void add_format(CLI::App* command, CommonOptions& common, const std::vector<std::string>& formats) {
  static const std::map<std::string, Format> kFormats{
      {"text", Format::kText}, {"json", Format::kJson}, {"csv", Format::kCsv}};
  command
      ->add_option_function<std::string>(
          "--format", [&](const std::string& name) { common.format = kFormats.at(name); },
          fmt::format("{} on standard output", fmt::join(formats, ", ")))
      ->check(CLI::IsMember(formats));
}

}  // namespace trainyard
