#include <fmt/format.h>

#include "sim/collective.hpp"
#include "sim/kernel_time.hpp"
#include "sim/report.hpp"
#include "sim/spelling.hpp"
#include "sim/trace_format.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

struct Section {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> rows;  ///< name, one line
};

template <class P>
Section plugins() {
  Section section{std::string(P::kInterface), {}};
  for (const auto& [name, entry] : Registry<P>::of().entries())
    section.rows.emplace_back(name, entry.description);
  return section;
}

std::string one_line(const Json& entry) {
  const Json* source = entry.find("source");
  return source != nullptr && source->is_string() ? source->as_string() : std::string();
}

std::vector<Section> sections(const Catalog& catalog) {
  std::vector<Section> all{plugins<TopologyPlugin>(), plugins<Transport>(),   plugins<Collective>(),
                           plugins<Workload>(),       plugins<TraceFormat>(), plugins<KernelTime>(),
                           plugins<Report>()};
  for (Section& section : all) section.kind += " (plug-in)";
  for (const std::string_view kind : catalog.kinds()) {
    Section section{std::string(kind), {}};
    for (const std::string_view name : catalog.names(kind))
      section.rows.emplace_back(name, one_line(*catalog.find(kind, name)));
    all.push_back(std::move(section));
  }
  return all;
}

std::string text(const Section& section) {
  std::string out = section.kind + "\n";
  for (const auto& [name, line] : section.rows) out += fmt::format("  {:<18} {}\n", name, line);
  return out;
}

Json json(const Section& section) {
  Json rows = Json::object();
  for (const auto& [name, line] : section.rows) rows[name] = Json(line);
  return rows;
}

}  // namespace

ExitCode list_command(const std::string& kind, const CommonOptions& options) {
  Catalog catalog = Catalog::embedded();
  if (!options.load.catalog_directory.empty())
    catalog.add_directory(options.load.catalog_directory);
  const std::vector<Section> all = sections(catalog);
  std::vector<std::string_view> kinds;
  std::string printed;
  Json as_json = Json::object();
  for (const Section& section : all) {
    const std::string name = section.kind.substr(0, section.kind.find(' '));
    kinds.push_back(std::string_view(section.kind).substr(0, name.size()));
    if (!kind.empty() && kind != name) continue;
    printed += text(section);
    as_json[section.kind] = json(section);
  }
  if (printed.empty())
    throw UsageError(fmt::format("list: there is no kind \"{}\" ({})", kind, suggest(kind, kinds)));
  print(options.format == Format::kJson ? dump_json(as_json) : printed);
  return ExitCode::kOk;
}

}  // namespace trainyard
