// The JSON Schema says of a scenario what the reader says.
#include "sim/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/error.hpp"
#include "sim/scenario.hpp"

namespace trainyard {
namespace {

const std::string kClaims = std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/";

bool schema_accepts(const std::string& text) {
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  static const valijson::Schema* const schema = [] {
    static const nlohmann::json document =
        nlohmann::json::parse(dump_json(scenario_schema(Catalog::embedded())));
    static valijson::Schema parsed;
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(Adapter(document), parsed);
    return &parsed;
  }();
  const nlohmann::json instance = nlohmann::json::parse(text);
  return valijson::Validator().validate(*schema, Adapter(instance), nullptr);
}

bool reader_accepts(const std::string& text) {
  try {
    load_scenario_text(text, "s.json", {});
    return true;
  } catch (const ScenarioError&) {
    return false;
  }
}

TEST(Schema, AcceptsTheScenariosOfTheClaim) {
  for (const char* name : {"base.json", "dpu.json", "traditional.json"}) {
    EXPECT_TRUE(schema_accepts(read_text_file(kClaims + name))) << name;
    EXPECT_NO_THROW(load_scenario(kClaims + name, {})) << name;
  }
}

TEST(Schema, RejectsWhatTheReaderRejects) {
  const std::pair<const char*, const char*> changes[] = {
      {"cluster.gpudirekt", "true"},
      {"nmae", "\"x\""},
      {"cluster.servers", "\"many\""},
      {"cluster.servers", "0"},
      {"cluster.gpudirect", "1"},
      {"cluster.network.link_latency", "5"},
      {"cluster.network.kind", "\"fat-tee\""},
      {"cluster.server", "{\"base\": \"dgx-a100\", \"gpsu\": 4}"},
      {"engine.executor", "\"fast\""},
      {"jobs", "{}"},
      {"jobs.0.workload.tensor", "1.5"},
      {"jobs.0.workload.colour", "1"},
      {"probes.allreduce.bytes", "null"},
      {"name", "{\"value\": \"x\", \"source\": \"s\", \"whi\": 1}"},
  };
  for (const auto& [path, value] : changes) {
    Json root = parse_json(read_text_file(kClaims + "base.json"), "base.json");
    set_at(root, split_pointer(path), parse_json(value, path));
    const std::string text = dump_json(root);
    EXPECT_FALSE(schema_accepts(text)) << path << " = " << value;
    EXPECT_FALSE(reader_accepts(text)) << path << " = " << value;
  }
}

TEST(Schema, AcceptsWhatTheReaderAccepts) {
  const std::pair<const char*, const char*> changes[] = {
      {"cluster.servers", "{\"value\": 256, \"source\": \"s\"}"},
      {"cluster.server", "{\"base\": \"dgx-a100\", \"nics\": 8}"},
      {"cluster.transport", "\"rdma\""},
      {"cluster.transport", "{\"kind\": \"rdma\"}"},
      {"name", "\"x\""},
  };
  for (const auto& [path, value] : changes) {
    Json root = parse_json(read_text_file(kClaims + "base.json"), "base.json");
    set_at(root, split_pointer(path), parse_json(value, path));
    const std::string text = dump_json(root);
    EXPECT_TRUE(schema_accepts(text)) << path << " = " << value;
    EXPECT_TRUE(reader_accepts(text)) << path << " = " << value;
  }
}

}  // namespace
}  // namespace trainyard
