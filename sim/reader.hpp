// Fills structs from JSON, collecting every fault instead of stopping at the first.
#pragma once

#include <string>
#include <vector>

#include "sim/archive.hpp"
#include "sim/catalog.hpp"
#include "sim/error.hpp"
#include "sim/json.hpp"
#include "sim/parameter.hpp"
#include "sim/resolve.hpp"

namespace trainyard {

/// - A leaf may be tagged: {"value": v, "source" | "derived" | "assumed": text, "range": [low,
/// high],
///   "why": text}. Tags are collected in parameters().
/// - An object with a catalogue may be a name, or {"base": name, …changes}.
/// - Unknown keys, missing members, wrong types, units and ranges are faults with a remedy.
class Reader : public Archive {
 public:
  /// The message of every unknown key.
  static constexpr const char* kNoField = "is not a field here";
  /// `file` names the input in messages where `origins` (may be null) knows no better.
  Reader(const Json& root, std::string file, const Catalog& catalog,
         const Origins* origins = nullptr);

  /// Reads all of the root object into `value`, which has fields().
  template <class T>
  void read(T& value) {
    read_root([&] { value.fields(*this); });
  }
  const std::vector<Diagnostic>& faults() const { return faults_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Throws ScenarioError with all faults, if there are any.
  void throw_faults() const;

  /// Says nothing in an object where a value could not be read: it would judge a default.
  void check(bool holds, std::string_view field, const std::string& message,
             const std::string& hint) override;

 protected:
  void leaf(const Slot&, bool&) override;
  void leaf(const Slot&, std::int64_t&) override;
  void leaf(const Slot&, double&) override;
  void leaf(const Slot&, std::string&) override;
  void quantity(const Slot&, double& si, Dimension) override;
  void choose(const Slot&, std::string&, std::span<const std::string_view> names) override;
  void object(const Slot&, std::string_view catalog, const std::function<void()>& body) override;
  void list(const Slot&, const ListAccess&) override;
  void map(const Slot&, const MapAccess&) override;
  void visit_plugin(const Slot&, const PluginSet&) override;
  bool wants_optional(const Slot&, bool now) override;

 private:
  struct Frame {
    const Json* node;  ///< an object or a list
    std::string pointer;
    std::vector<std::string_view> known;  ///< member names that fields() asked for
    std::size_t misread;                  ///< unreadable values that were met before this object
  };
  void read_root(const std::function<void()>& body);
  /// The child of that slot without its tag, or nullptr; notes a fault when it is required.
  const Json* take(const Slot&);
  void record(const Slot&, const Json& value, std::optional<double> si, const Dimension* dimension);
  void in_frame(const Json& node, const std::string& pointer, const std::function<void()>& body);
  void check_unknown_keys(const Frame&);
  const Json* expand(const Json& node, std::string_view catalog, const std::string& pointer);
  double in_limits(const Slot&, double value, double present, const Dimension* dimension);
  std::string pointer_to(std::string_view name) const;
  /// A value that could not be read.
  void fault(const std::string& pointer, std::string message, std::string hint = {});
  void add_fault(const std::string& pointer, std::string message, std::string hint);

  std::string file_;
  const Origins* origins_;
  const Catalog& catalog_;
  std::vector<Frame> frames_;
  std::vector<std::unique_ptr<Json>> expanded_;  ///< catalogue merges that frames point into
  const Json* tag_ = nullptr;                    ///< the tagged form of the leaf being read
  std::vector<Diagnostic> faults_;
  std::size_t misread_ = 0;  ///< faults that left a value at its default
  std::vector<Parameter> parameters_;
  const Json& root_;
};

/// Fills a plug-in that the program makes itself, from values that must be right.
void read_fields(Plugin& plugin, const Json& values);

}  // namespace trainyard
