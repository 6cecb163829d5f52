// The JSON Schema of a trace's lines says of them what the reader says, and so does the document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "models/workloads/trace_jsonl.hpp"
#include "tests/support_trace.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;

bool schema_accepts(const std::string& line) {
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  static const valijson::Schema* const schema = [] {
    static const nlohmann::json document = nlohmann::json::parse(trace_schema());
    static valijson::Schema parsed;
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(Adapter(document), parsed);
    return &parsed;
  }();
  const nlohmann::json instance = nlohmann::json::parse(line);
  return valijson::Validator().validate(*schema, Adapter(instance), nullptr);
}

const std::string kHeader = R"({"trainyard_trace":1,"ranks":4,"representative":true})";

bool reader_accepts_op(const std::string& line) {
  return refusal("jsonl", kHeader + "\n" + line + "\n").empty();
}
bool reader_accepts_header(const std::string& line) {
  return refusal("jsonl", line + "\n{\"rank\":0,\"id\":1,\"kind\":\"host\"}\n").empty();
}

TEST(TraceSchema, AcceptsWhatIsWritten) {
  const Trace trace =
      read_text(
          "jsonl",
          R"({"trainyard_trace":1,"ranks":2,"representative":true,"durations":"alone","groups":{"tp":[0,1],"all":[]},"attributes":{"a":1},"format":"chakra"}
{"rank":0,"id":5,"kind":"collective","name":"x","op":"all_reduce","group":"tp","bytes":1,"type":"bf16","stream":7,"peer":1,"tag":-7,"flops":2,"start_s":0.25,"duration_s":1.5e-05,"after":[1],"after_control":[2],"after_start":[3],"extra":{"pg":"0"}}
{"rank":0,"id":1,"kind":"collective","op":"barrier"}
{"rank":0,"id":2,"kind":"load","bytes":0}
{"rank":0,"id":3,"kind":"send","bytes":0.5,"peer":0}
)")
          .trace;
  std::istringstream lines(written("jsonl", trace).text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_TRUE(schema_accepts(line)) << line;
  EXPECT_EQ(count, 5U);
}

TEST(TraceSchema, AcceptsTheOperationsThatTheReaderAccepts) {
  for (const char* line : {
           R"({"rank":0,"id":1,"kind":"host"})",
           R"({"rank":3,"id":9007199254740992,"kind":"compute","flops":1.5,"stream":2147483647})",
           R"({"rank":0,"id":1,"kind":"collective","op":"barrier"})",
           R"({"rank":0,"id":1,"kind":"collective","op":"barrier","bytes":4})",
           R"({"rank":0,"id":1,"kind":"marker","after":[]})",
           R"({"rank":0,"id":1,"kind":"receive","bytes":0,"peer":1,"tag":-2147483648})",
       }) {
    EXPECT_TRUE(schema_accepts(line)) << line;
    EXPECT_TRUE(reader_accepts_op(line)) << line;
  }
}

TEST(TraceSchema, RejectsTheOperationsThatTheReaderRejects) {
  for (const char* line : {
           R"({"rank":0,"id":1})",
           R"({"rank":0,"kind":"host"})",
           R"({"id":1,"kind":"host"})",
           R"({"rank":0,"id":1,"kind":"hots"})",
           R"({"rank":0,"id":1,"kind":"host","colour":1})",
           R"({"rank":-1,"id":1,"kind":"host"})",
           R"({"rank":1000000,"id":1,"kind":"host"})",
           R"({"rank":0,"id":-1,"kind":"host"})",
           R"({"rank":0,"id":"1","kind":"host"})",
           R"({"rank":0,"id":1,"kind":"collective","bytes":1})",
           R"({"rank":0,"id":1,"kind":"collective","op":"all_reduce"})",
           R"({"rank":0,"id":1,"kind":"collective","op":"allreduce","bytes":1})",
           R"({"rank":0,"id":1,"kind":"host","op":"barrier"})",
           R"({"rank":0,"id":1,"kind":"send","bytes":1})",
           R"({"rank":0,"id":1,"kind":"receive","peer":1})",
           R"({"rank":0,"id":1,"kind":"store"})",
           R"({"rank":0,"id":1,"kind":"host","bytes":-1})",
           R"({"rank":0,"id":1,"kind":"host","duration_s":"1"})",
           R"({"rank":0,"id":1,"kind":"host","start_s":null})",
           R"({"rank":0,"id":1,"kind":"host","name":1})",
           R"({"rank":0,"id":1,"kind":"host","stream":2147483648})",
           R"({"rank":0,"id":1,"kind":"host","after":1})",
           R"({"rank":0,"id":1,"kind":"host","after":["1"]})",
           R"({"rank":0,"id":1,"kind":"host","extra":[]})",
       }) {
    EXPECT_FALSE(schema_accepts(line)) << line;
    EXPECT_FALSE(reader_accepts_op(line)) << line;
  }
}

TEST(TraceSchema, AgreesWithTheReaderAboutHeaders) {
  EXPECT_TRUE(schema_accepts(kHeader));
  EXPECT_TRUE(reader_accepts_header(kHeader));
  for (const char* line : {
           R"({"trainyard_trace":1})",
           R"({"trainyard_trace":2,"ranks":1})",
           R"({"trainyard_trace":1,"ranks":0})",
           R"({"trainyard_trace":1,"ranks":1000001})",
           R"({"trainyard_trace":1,"ranks":1,"representative":1})",
           R"({"trainyard_trace":1,"ranks":1,"durations":"both"})",
           R"({"trainyard_trace":1,"ranks":1,"groups":[]})",
           R"({"trainyard_trace":1,"ranks":1,"groups":{"a":1}})",
           R"({"trainyard_trace":1,"ranks":1,"groups":{"a":[0,0]}})",
           R"({"trainyard_trace":1,"ranks":1,"attributes":1})",
           R"({"trainyard_trace":1,"ranks":1,"kind":"host"})",
       }) {
    EXPECT_FALSE(schema_accepts(line)) << line;
    EXPECT_FALSE(reader_accepts_header(line)) << line;
  }
}

TEST(TraceSchema, TheDocumentHasARowForEachMember) {
  const std::string document = bytes_of(std::string(TRAINYARD_SOURCE_DIR) + "/docs/traces.md");
  for (const JsonlField& field : jsonl_header_fields())
    EXPECT_THAT(document, HasSubstr("\n| `" + std::string(field.name) + "` | "));
  for (const JsonlField& field : jsonl_op_fields()) {
    const std::size_t row = document.find("\n| `" + std::string(field.name) + "` | ");
    ASSERT_NE(row, std::string::npos) << field.name;
    const std::string line = document.substr(row + 1, document.find('\n', row + 1) - row - 1);
    EXPECT_THAT(line,
                HasSubstr(" | " + std::string(field.unit) + (field.unit.empty() ? "| " : " | ")));
    if (field.type != JsonlType::kChoice) continue;
    for (const std::string_view word : jsonl_choices(field))
      EXPECT_THAT(line, HasSubstr("`" + std::string(word) + "`"));
  }
}

}  // namespace
}  // namespace trainyard
