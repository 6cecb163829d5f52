// The CSV files of an --out folder.
#include "reports/csv.hpp"
#include "reports/tables.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

class MetricsCsv : public Report {
 public:
  std::string file_name() const override { return "metrics.csv"; }
  std::string render(const Json& document) const override { return metrics_csv(document); }
};

class CollectivesCsv : public Report {
 public:
  std::string file_name() const override { return "collectives.csv"; }
  std::string render(const Json& document) const override { return collectives_csv(document); }
};

class CollectiveTimesCsv : public Report {
 public:
  std::string file_name() const override { return "collective_times.csv"; }
  bool applies(const Json& document) const override {
    if (!is_comparison(document)) return !timed_rows(document).empty();
    for (const Json& result : document.at("results").items()) {
      if (applies(result)) return true;
    }
    return false;
  }
  std::string render(const Json& document) const override { return collective_times_csv(document); }
};

class ParametersCsv : public Report {
 public:
  std::string file_name() const override { return "parameters.csv"; }
  std::string render(const Json& document) const override { return parameters_csv(document); }
};

class EquipmentCsv : public Report {
 public:
  std::string file_name() const override { return "equipment.csv"; }
  bool applies(const Json& document) const override {
    if (!is_comparison(document)) return document.at("metrics").find("equipment") != nullptr;
    for (const Json& result : document.at("results").items()) {
      if (applies(result)) return true;
    }
    return false;
  }
  std::string render(const Json& document) const override { return equipment_csv(document); }
};

class AuditCsv : public Report {
 public:
  std::string file_name() const override { return "audit.csv"; }
  bool applies(const Json& document) const override { return document.find("audit") != nullptr; }
  std::string render(const Json& document) const override { return audit_csv(document); }
};

const Registration<Report, EquipmentCsv> equipment_registered{
    "equipment-csv", "equipment.csv: power, energy and price of everything in use"};
const Registration<Report, AuditCsv> audit_registered{"audit-csv",
                                                      "audit.csv: what each claimed row hangs on"};
const Registration<Report, MetricsCsv> metrics_registered{
    "metrics-csv", "metrics.csv: every metric with its unit"};
const Registration<Report, CollectivesCsv> collectives_registered{
    "collectives-csv", "collectives.csv: what the collective library chose, and why not others"};
const Registration<Report, CollectiveTimesCsv> times_registered{
    "collective-times-csv", "collective_times.csv: what a collective job timed, by size"};
const Registration<Report, ParametersCsv> parameters_registered{
    "parameters-csv", "parameters.csv: where every number comes from"};

}  // namespace
}  // namespace trainyard
