// Writes structs as JSON: the resolved scenario of a result, which reads back to the same values.
#pragma once

#include "sim/archive.hpp"
#include "sim/json.hpp"

namespace trainyard {

class Writer : public Archive {
 public:
  /// All fields of a struct, with every default and catalogue value written out.
  template <class T>
  static Json write(const T& value) {
    T copy = value;
    return write_moved(copy);
  }
  /// The same for a struct that cannot be copied; it is left unchanged.
  template <class T>
  static Json write_moved(T& value) {
    Writer writer;
    value.fields(writer);
    return std::move(writer.stack_.back());
  }

 protected:
  void leaf(const Slot& s, bool& v) override { put(s, Json(v)); }
  void leaf(const Slot& s, std::int64_t& v) override { put(s, Json(v)); }
  void leaf(const Slot& s, double& v) override { put(s, Json(v)); }
  void leaf(const Slot& s, std::string& v) override { put(s, Json(v)); }
  void quantity(const Slot& s, double& si, Dimension d) override {
    put(s, Json(write_quantity(si, d)));
  }
  void choose(const Slot& s, std::string& v, std::span<const std::string_view>) override {
    put(s, Json(v));
  }
  void object(const Slot&, std::string_view catalog, const std::function<void()>& body) override;
  void list(const Slot&, const ListAccess&) override;
  void map(const Slot&, const MapAccess&) override;
  void visit_plugin(const Slot&, const PluginSet&) override;
  bool wants_optional(const Slot&, bool now) override { return now; }

 private:
  Writer() { stack_.push_back(Json::object()); }
  void put(const Slot&, Json value);
  void nested(const Slot&, Json empty, const std::function<void()>& body);
  std::vector<Json> stack_;
};

}  // namespace trainyard
