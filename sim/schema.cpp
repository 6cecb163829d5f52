#include "sim/schema.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/scenario.hpp"

namespace trainyard {
namespace {

Json typed(std::string_view type) {
  Json schema = Json::object();
  schema["type"] = Json(type);
  return schema;
}

Json numbers(std::string_view type, const Limits& limits) {
  Json schema = typed(type);
  if (std::isfinite(limits.min))
    schema[limits.min_excluded ? "exclusiveMinimum" : "minimum"] = Json(limits.min);
  if (std::isfinite(limits.max)) schema["maximum"] = Json(limits.max);
  return schema;
}

Json any_of(Json a, Json b) {
  Json schema = Json::object();
  schema["anyOf"] = Json(Json::Array{std::move(a), std::move(b)});
  return schema;
}

// {"value": leaf, "source" | "derived" | "assumed": …, "range": […], "why": …}
Json tagged(const Json& leaf) {
  Json schema = typed("object");
  Json& properties = schema["properties"];
  properties["value"] = leaf;
  properties["source"] = typed("string");
  properties["derived"] = Json::object();
  properties["assumed"] = Json::object();
  properties["range"] = typed("array");
  properties["why"] = typed("string");
  schema["required"] = Json(Json::Array{Json("value")});
  schema["additionalProperties"] = Json(false);
  return schema;
}

Json list_of_strings() {
  Json schema = typed("array");
  schema["items"] = typed("string");
  return schema;
}

}  // namespace

Json SchemaArchive::empty_object() {
  Json schema = typed("object");
  schema["properties"] = Json::object();
  schema["additionalProperties"] = Json(false);
  return schema;
}

void SchemaArchive::add(const Slot& slot, Json schema) {
  Json& top = stack_.back();
  if (top.at("type") == Json("array")) {
    top["items"] = std::move(schema);
    return;
  }
  schema["description"] = Json(slot.doc);
  top["properties"][slot.name] = std::move(schema);
  if (!slot.required) return;
  if (top.find("required") == nullptr) top["required"] = Json::array();
  top["required"].push_back(Json(slot.name));
}

void SchemaArchive::add_leaf(const Slot& slot, Json schema) {
  Json with_tag = tagged(schema);
  add(slot, any_of(std::move(schema), std::move(with_tag)));
}

void SchemaArchive::leaf(const Slot& slot, bool&) { add_leaf(slot, typed("boolean")); }
void SchemaArchive::leaf(const Slot& slot, std::int64_t&) {
  add_leaf(slot, numbers("integer", slot.limits));
}
void SchemaArchive::leaf(const Slot& slot, double&) {
  add_leaf(slot, numbers("number", slot.limits));
}
void SchemaArchive::leaf(const Slot& slot, std::string&) { add_leaf(slot, typed("string")); }

void SchemaArchive::quantity(const Slot& slot, double& /*si*/, Dimension dimension) {
  Json schema = typed("string");
  schema["pattern"] = Json("^\\s*-?[0-9]");
  schema["examples"] = Json(Json::Array{Json(quantity_example(dimension))});
  add_leaf(slot, std::move(schema));
}

void SchemaArchive::choose(const Slot& slot, std::string& /*v*/,
                           std::span<const std::string_view> names) {
  Json schema = typed("string");
  Json all = Json::array();
  for (const std::string_view name : names) all.push_back(Json(name));
  schema["enum"] = std::move(all);
  add_leaf(slot, std::move(schema));
}

Json SchemaArchive::nested(const std::function<void()>& body) {
  stack_.push_back(empty_object());
  body();
  Json schema = std::move(stack_.back());
  stack_.pop_back();
  return schema;
}

// With a catalogue a member may come from the entry, so nothing is required beside "base".
Json SchemaArchive::name_or(std::string_view catalog, Json object) const {
  Json name = typed("string");
  Json names = Json::array();
  for (const std::string_view n : catalog_.names(catalog)) names.push_back(Json(n));
  name["examples"] = std::move(names);
  object["properties"]["base"] = typed("string");
  object["properties"]["source"] = typed("string");
  if (object.find("required") != nullptr) {
    Json required = object.at("required");
    object.erase("required");
    Json based = Json::object();
    based["required"] = Json(Json::Array{Json("base")});
    Json whole = Json::object();
    whole["required"] = std::move(required);
    object["anyOf"] = Json(Json::Array{std::move(based), std::move(whole)});
  }
  return any_of(std::move(name), std::move(object));
}

void SchemaArchive::object(const Slot& slot, std::string_view catalog,
                           const std::function<void()>& body) {
  Json schema = nested(body);
  add(slot, catalog.empty() ? std::move(schema) : name_or(catalog, std::move(schema)));
}

void SchemaArchive::list(const Slot& slot, const ListAccess& access) {
  access.resize(1);
  stack_.push_back(typed("array"));
  access.element(0, Slot{"0", slot.doc, true, slot.limits});
  Json schema = std::move(stack_.back());
  stack_.pop_back();
  access.resize(access.size);
  add(slot, std::move(schema));
}

void SchemaArchive::map(const Slot& slot, const MapAccess& access) {
  Json element = nested([&] { access.element("name", Slot{"name", slot.doc, true, slot.limits}); });
  Json schema = typed("object");
  schema["additionalProperties"] = element.at("properties").at("name");
  add(slot, std::move(schema));
}

void SchemaArchive::visit_plugin(const Slot& slot, const PluginSet& set) {
  Json kinds = Json::array();
  for (const std::string_view kind : set.kinds) {
    set.make(kind);
    Json one = nested(set.body);
    Json constant = Json::object();
    constant["const"] = Json(kind);
    constant["description"] = Json(set.describe(kind));
    one["properties"]["kind"] = std::move(constant);
    kinds.push_back(name_or(set.interface, std::move(one)));
  }
  Json schema = Json::object();
  schema["anyOf"] = std::move(kinds);
  add(slot, std::move(schema));
}

bool SchemaArchive::wants_optional(const Slot&, bool /*now*/) { return true; }

Json scenario_schema(const Catalog& catalog) {
  Scenario scenario;
  Json schema = SchemaArchive::of(scenario, catalog);
  Json& properties = schema["properties"];
  properties["extends"] = typed("string");
  properties["extends"]["description"] =
      Json("a scenario file that this one changes, relative to it");
  properties["features"] = typed("object");
  properties["features"]["description"] = Json("named patches, switched on by \"enable\"");
  properties["enable"] = list_of_strings();
  schema.erase("required");  // an extending file gives only what it changes
  Json out = Json::object();
  out["$schema"] = Json("http://json-schema.org/draft-07/schema#");
  out["title"] = Json("trainyard scenario");
  for (auto& [key, value] : schema.members()) out[key] = std::move(value);
  return out;
}

}  // namespace trainyard
