// The members of the lines of a trace, and the schema that is made of them.
#include <fmt/format.h>

#include <array>

#include "models/workloads/trace_jsonl.hpp"
#include "sim/trace_builder.hpp"

namespace trainyard {
namespace {

constexpr unsigned int bit(TraceKind kind) { return 1U << static_cast<unsigned int>(kind); }
constexpr unsigned int kAllKinds = 0xff;
constexpr unsigned int kMessages = bit(TraceKind::kSend) | bit(TraceKind::kReceive);
constexpr unsigned int kMoves =
    kMessages | bit(TraceKind::kCollective) | bit(TraceKind::kLoad) | bit(TraceKind::kStore);
constexpr double kMostInt = 2147483647, kLastRank = TraceBuilder::kMostRanks - 1;
using Type = JsonlType;

constexpr std::array kHeader{
    JsonlField{"trainyard_trace", Type::kInteger, "", "version of the format", 1, 1, 1},
    JsonlField{"ranks", Type::kInteger, "", "ranks of the job", 1, kLastRank + 1, 1},
    JsonlField{"representative", Type::kFlag, "",
               "ranks without operations do at each moment what the others do; else every rank has "
               "a line"},
    JsonlField{"durations", Type::kChoice, "",
               "of kernels: alone on the GPU, so that communication beside them slows them, or as "
               "recorded beside whatever there was (the default)"},
    JsonlField{"groups", Type::kGroups, "",
               "ranks of each communicator by its name; an empty list is all ranks"},
    JsonlField{"attributes", Type::kObject, "", "what else is said of the whole"},
    JsonlField{"format", Type::kText, "", "format that the trace was first read from"},
};

constexpr std::array kOps{
    JsonlField{"rank", Type::kInteger, "", "whose operation it is", 0, kLastRank, kAllKinds},
    JsonlField{"id", Type::kId, "", "unique on its rank", 0, 0, kAllKinds},
    JsonlField{"kind", Type::kChoice, "", "what it does", 0, 0, kAllKinds},
    JsonlField{"name", Type::kText, "", "for people"},
    JsonlField{"op", Type::kChoice, "", "which collective", 0, 0, bit(TraceKind::kCollective)},
    JsonlField{"group", Type::kText, "", "communicator of a collective; all ranks by default"},
    JsonlField{
        "bytes", Type::kNumber, "B",
        "of a message; what a kernel moves in memory; of a collective its whole buffer: what "
        "all_gather ends with and reduce_scatter begins with on each rank",
        0, 0, kMoves},
    JsonlField{"type", Type::kText, "", "data type"},
    JsonlField{"stream", Type::kInteger, "",
               "what is on one stream of a rank runs in the order of the lines", 0, kMostInt},
    JsonlField{"peer", Type::kInteger, "",
               "rank that a message goes to or comes from; root of a collective that has one", 0,
               kLastRank, kMessages},
    JsonlField{"tag", Type::kInteger, "",
               "a message matches the next of the same two ranks and tag; 0 by default",
               -kMostInt - 1, kMostInt},
    JsonlField{"flops", Type::kNumber, "FLOP", "floating-point operations of a kernel"},
    JsonlField{"start_s", Type::kNumber, "s", "when it was recorded to start"},
    JsonlField{"duration_s", Type::kNumber, "s", "how long it was recorded to take"},
    JsonlField{"after", Type::kIds, "", "operations of the rank that end before it starts"},
    JsonlField{"after_control", Type::kIds, "",
               "the same, for formats that tell control dependencies from data dependencies"},
    JsonlField{"after_start", Type::kIds, "", "operations of the rank that start before it does"},
    JsonlField{"extra", Type::kObject, "", "what the format it comes from says besides"},
};

constexpr std::array<std::string_view, 2> kDurationNames{"recorded", "alone"};

template <class Enum, std::size_t count>
std::array<std::string_view, count> names_of(std::string_view (*name)(Enum)) {
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) names[i] = name(static_cast<Enum>(i));
  return names;
}

// A collective moves bytes, but for this one.
Json barrier() {
  return parse_json(R"({"properties": {"op": {"const": "barrier"}}, "required": ["op"]})", "");
}

Json schema_of_value(const JsonlField& field) {
  Json schema = Json::object();
  const auto set_type = [&](const char* name) { schema["type"] = name; };
  switch (field.type) {
    case Type::kInteger:
      set_type("integer");
      schema["minimum"] = static_cast<std::int64_t>(field.least);
      schema["maximum"] = static_cast<std::int64_t>(field.most);
      break;
    case Type::kId:
      set_type("integer");
      schema["minimum"] = 0;
      break;
    case Type::kNumber:
      set_type("number");
      schema["minimum"] = 0;
      break;
    case Type::kFlag:
      set_type("boolean");
      break;
    case Type::kText:
      set_type("string");
      break;
    case Type::kObject:
      set_type("object");
      break;
    case Type::kChoice:
      schema["enum"] = Json::array();
      for (const std::string_view word : jsonl_choices(field)) schema["enum"].push_back(word);
      break;
    case Type::kIds:
      set_type("array");
      schema["items"] = schema_of_value(jsonl_field(JsonlOp::kId));
      schema["items"].erase("description");
      break;
    case Type::kGroups:
      set_type("object");
      schema["additionalProperties"] = parse_json(
          R"({"type": "array", "items": {"type": "integer", "minimum": 0}, "uniqueItems": true})",
          "");
      break;
  }
  schema["description"] =
      field.unit.empty() ? std::string(field.doc) : fmt::format("{}, in {}", field.doc, field.unit);
  return schema;
}

Json schema_of_line(std::span<const JsonlField> fields, unsigned int everywhere) {
  Json schema = Json::object();
  schema["type"] = "object";
  schema["properties"] = Json::object();
  schema["required"] = Json::array();
  for (const JsonlField& field : fields) {
    schema["properties"][field.name] = schema_of_value(field);
    if (field.required == everywhere) schema["required"].push_back(field.name);
  }
  schema["additionalProperties"] = false;
  return schema;
}

Json kinds_in(unsigned int set) {
  Json kinds = Json::array();
  for (std::size_t i = 0; i < 8; ++i) {
    if ((set >> i & 1U) != 0) kinds.push_back(trace_kind_name(static_cast<TraceKind>(i)));
  }
  return kinds;
}

// {"if": the kind is one of those, "then": the member is there}.
Json required_of_kinds(const JsonlField& field) {
  Json rule = Json::object(), when = Json::object(), then = Json::object();
  when["properties"]["kind"]["enum"] = kinds_in(field.required);
  if (field.type == Type::kNumber) when["not"] = barrier();
  then["required"] = Json::array();
  then["required"].push_back(field.name);
  rule["if"] = std::move(when);
  rule["then"] = std::move(then);
  return rule;
}

}  // namespace

std::span<const JsonlField> jsonl_header_fields() { return kHeader; }
std::span<const JsonlField> jsonl_op_fields() { return kOps; }
const JsonlField& jsonl_field(JsonlHeader field) {
  return kHeader[static_cast<std::size_t>(field)];
}
const JsonlField& jsonl_field(JsonlOp field) { return kOps[static_cast<std::size_t>(field)]; }

std::span<const std::string_view> jsonl_choices(const JsonlField& field) {
  static const auto kinds = names_of<TraceKind, 8>(trace_kind_name);
  static const auto collectives = names_of<TraceCollective, 9>(trace_collective_name);
  if (field.name == "kind") return kinds;
  if (field.name == "op") return collectives;
  return kDurationNames;
}

std::string trace_schema() {
  Json op = schema_of_line(kOps, kAllKinds);
  op["allOf"] = Json::array();
  for (const JsonlField& field : kOps) {
    if (field.required != 0 && field.required != kAllKinds)
      op["allOf"].push_back(required_of_kinds(field));
  }
  // Only collectives have an "op".
  op["dependencies"]["op"]["properties"]["kind"]["const"] = trace_kind_name(TraceKind::kCollective);
  Json schema = Json::object();
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = "A line of a trainyard trace";
  schema["if"]["required"] = Json(Json::Array{Json(kHeader[0].name)});
  schema["then"] = schema_of_line(kHeader, 1);
  schema["else"] = std::move(op);
  return dump_json(schema);
}

}  // namespace trainyard
