// One list of fields per struct, for every use of it.
//
// A struct that a scenario can hold has `void fields(Archive& ar)`, which names each member once:
//
//     struct Gpu {
//       static constexpr std::string_view kCatalog = "gpu";   // may be given by catalogue name
//       BytesPerSecond hbm_bandwidth;
//       void fields(Archive& ar) { ar.required("hbm_bandwidth", hbm_bandwidth, "HBM bandwidth",
//       positive()); }
//     };
//
// The reader (sim/reader.hpp), the writer and the JSON Schema (sim/writer.hpp, sim/schema.hpp) are
// Archives, so what is read, written and documented cannot differ.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/registry.hpp"
#include "sim/units.hpp"

namespace trainyard {

/// The range a number must be in, in SI units.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;  ///< min itself is outside
};
constexpr Limits positive() { return {0, std::numeric_limits<double>::infinity(), true}; }
constexpr Limits non_negative() { return {0, std::numeric_limits<double>::infinity(), false}; }
constexpr Limits at_least(double min) {
  return {min, std::numeric_limits<double>::infinity(), false};
}
constexpr Limits between(double min, double max) { return {min, max, false}; }
/// (0, 1]: efficiencies and shares.
constexpr Limits efficiency() { return {0, 1, true}; }

class Archive {
 public:
  struct Slot {
    std::string_view name;
    std::string_view doc;
    bool required = false;
    Limits limits;
  };
  virtual ~Archive() = default;

  /// A member that may be left out: its present value is the default.
  template <class T>
  void operator()(std::string_view name, T& value, std::string_view doc, Limits limits = {}) {
    visit(Slot{name, doc, false, limits}, value);
  }
  /// A member that must be given.
  template <class T>
  void required(std::string_view name, T& value, std::string_view doc, Limits limits = {}) {
    visit(Slot{name, doc, true, limits}, value);
  }
  /// A name out of a fixed set.
  void choice(std::string_view name, std::string& value, std::vector<std::string_view> names,
              std::string_view doc) {
    choose(Slot{name, doc, false, {}}, value, names);
  }
  /// A member that a plug-in reads: an object whose "kind" names the plug-in.
  template <class P>
  void plugin(std::string_view name, std::unique_ptr<P>& value, std::string_view doc,
              bool is_required = true) {
    const PluginSet set{P::kInterface,
                        value ? value->kind() : std::string(),
                        Registry<P>::of().names(),
                        [&](std::string_view kind) {
                          value = Registry<P>::of().make(kind);
                          value->set_kind(std::string(kind));
                        },
                        [&] { value->fields(*this); },
                        [](std::string_view kind) {
                          return Registry<P>::of().entries().find(kind)->second.description;
                        }};
    visit_plugin(Slot{name, doc, is_required, {}}, set);
  }
  /// A condition between members, checked on reading only: `field` is the one to point at.
  virtual void check(bool /*holds*/, std::string_view /*field*/, const std::string& /*message*/,
                     const std::string& /*hint*/) {}

 protected:
  struct PluginSet {
    std::string_view interface;
    std::string kind;  ///< of the present value, or empty
    std::vector<std::string_view> kinds;
    std::function<void(std::string_view)> make;
    std::function<void()> body;
    std::function<std::string(std::string_view)> describe;
  };
  struct ListAccess {
    std::size_t size = 0;  ///< of the present value
    std::function<void(std::size_t)> resize;
    std::function<void(std::size_t, const Slot&)> element;
  };
  struct MapAccess {
    std::vector<std::string> keys;                                 ///< of the present value
    std::function<void(const std::string&, const Slot&)> element;  ///< makes it when missing
  };

  virtual void leaf(const Slot&, bool&) = 0;
  virtual void leaf(const Slot&, std::int64_t&) = 0;
  virtual void leaf(const Slot&, double&) = 0;
  virtual void leaf(const Slot&, std::string&) = 0;
  virtual void quantity(const Slot&, double& si, Dimension) = 0;
  virtual void choose(const Slot&, std::string&, std::span<const std::string_view> names) = 0;
  virtual void object(const Slot&, std::string_view catalog, const std::function<void()>& body) = 0;
  virtual void list(const Slot&, const ListAccess&) = 0;
  virtual void map(const Slot&, const MapAccess&) = 0;
  virtual void visit_plugin(const Slot&, const PluginSet&) = 0;
  /// Whether an optional member is to be visited; `now` says whether it holds a value.
  virtual bool wants_optional(const Slot&, bool now) = 0;

 private:
  void visit(const Slot& slot, bool& v) { leaf(slot, v); }
  void visit(const Slot& slot, std::int64_t& v) { leaf(slot, v); }
  void visit(const Slot& slot, int& v) {
    std::int64_t wide = v;
    Slot narrow = slot;
    narrow.limits.max = std::min(narrow.limits.max, double{std::numeric_limits<int>::max()});
    narrow.limits.min = std::max(narrow.limits.min, double{std::numeric_limits<int>::min()});
    leaf(narrow, wide);
    v = static_cast<int>(wide);
  }
  void visit(const Slot& slot, double& v) { leaf(slot, v); }
  void visit(const Slot& slot, std::string& v) { leaf(slot, v); }
  template <int B, int S, int F, int J>
  void visit(const Slot& slot, Quantity<B, S, F, J>& v) {
    double si = v.si();
    quantity(slot, si, dimension_of(v));
    v = Quantity<B, S, F, J>::of(si);
  }
  template <class T>
  void visit(const Slot& slot, std::optional<T>& v) {
    if (!wants_optional(slot, v.has_value())) return;
    if (!v) v.emplace();
    visit(slot, *v);
  }
  template <class T>
  void visit(const Slot& slot, std::vector<T>& v) {
    list(slot, {v.size(), [&](std::size_t n) { v.resize(n); },
                [&](std::size_t i, const Slot& element) { visit(element, v[i]); }});
  }
  template <class T>
  void visit(const Slot& slot, std::map<std::string, T>& v) {
    MapAccess access;
    for (const auto& [key, value] : v) access.keys.push_back(key);
    access.element = [&](const std::string& key, const Slot& element) { visit(element, v[key]); };
    map(slot, access);
  }
  template <class T>
  requires requires(T& t, Archive& ar) { t.fields(ar); }
  void visit(const Slot& slot, T& v) {
    std::string_view catalog;
    if constexpr (requires { T::kCatalog; }) catalog = T::kCatalog;
    object(slot, catalog, [&] { v.fields(*this); });
  }
};

/// What every plug-in that a scenario can name is: something with a kind and fields.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual void fields(Archive& ar) = 0;
  const std::string& kind() const { return kind_; }
  void set_kind(std::string kind) { kind_ = std::move(kind); }

 private:
  std::string kind_;
};

}  // namespace trainyard
