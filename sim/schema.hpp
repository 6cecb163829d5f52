// The JSON Schema of a struct, from the same fields() that read it.
#pragma once

#include "sim/archive.hpp"
#include "sim/catalog.hpp"
#include "sim/json.hpp"

namespace trainyard {

/// Draft 7. Leaves may be tagged ({"value", "source"…}); objects with a catalogue may be a name;
/// plug-ins are told apart by "kind". For editors, and for the test that schema and reader agree.
class SchemaArchive : public Archive {
 public:
  explicit SchemaArchive(const Catalog& catalog) : catalog_(catalog) {
    stack_.push_back(empty_object());
  }
  template <class T>
  static Json of(T& value, const Catalog& catalog) {
    SchemaArchive archive(catalog);
    value.fields(archive);
    return std::move(archive.stack_.back());
  }

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
  static Json empty_object();
  void add(const Slot&, Json schema);
  void add_leaf(const Slot&, Json schema);
  Json name_or(std::string_view catalog, Json object) const;
  Json nested(const std::function<void()>& body);

  const Catalog& catalog_;
  std::vector<Json> stack_;
};

/// The whole scenario's schema, "extends", "features" and "enable" included: `trainyard schema`.
Json scenario_schema(const Catalog& catalog);

}  // namespace trainyard
