// What is written into an --out folder: the plug-in interface of one file.
#pragma once

#include <string>

#include "sim/json.hpp"
#include "sim/registry.hpp"

namespace trainyard {

/// A pure function of a document, which is a run's result.json, a comparison ({"rows", "results",
/// …}) or a sweep ({"axes", "variants", …}): the same document gives the same bytes.
class Report {
 public:
  static constexpr std::string_view kInterface = "report";
  virtual ~Report() = default;
  virtual std::string file_name() const = 0;
  /// Whether it has anything to say about the document; if not, the folder does without its file.
  virtual bool applies(const Json&) const { return true; }
  virtual std::string render(const Json& document) const = 0;
};

/// The rows of a sweep, not a run.
inline bool is_sweep(const Json& document) { return document.find("variants") != nullptr; }
/// A comparison, not a run.
inline bool is_comparison(const Json& document) { return document.find("results") != nullptr; }

}  // namespace trainyard
