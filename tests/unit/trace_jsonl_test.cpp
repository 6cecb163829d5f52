// Our own format of traces: what is written comes back, to the byte, and what is wrong is named.
#include "models/workloads/trace_jsonl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sim/gzip.hpp"
#include "tests/support_trace.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kHeader = "{\"trainyard_trace\":1,\"ranks\":2,\"durations\":\"recorded\"}\n";
const std::string kOther = "{\"rank\":1,\"id\":0,\"kind\":\"marker\"}\n";

/// The fault of one line of a trace of two ranks.
std::string refusal_of(const std::string& line) {
  return refusal("jsonl", kHeader + kOther + line + "\n");
}

// Each member by hand, from docs/traces.md.
TEST(TraceJsonl, ReadsEveryMember) {
  const ReadTrace read = read_text(
      "jsonl",
      R"({"trainyard_trace": 1, "ranks": 4, "representative": true, "durations": "alone", "groups": {"tp": [2, 3], "all": []}, "attributes": {"model": "gpt"}, "format": "chakra"}
{"rank": 2, "id": 5, "kind": "collective", "name": "ncclX", "op": "reduce_scatter", "group": "tp", "bytes": 1048576, "type": "bf16", "stream": 7, "peer": 3, "tag": -1, "flops": 2e12, "start_s": 0.25, "duration_s": 1.5e-05, "after": [1], "after_control": [2], "after_start": [3], "extra": {"a": 1}}
{"rank": 2, "id": 1, "kind": "marker"}
{"rank": 2, "id": 2, "kind": "host"}
{"rank": 2, "id": 3, "kind": "load", "bytes": 0.5}
)");
  const Trace& trace = read.trace;
  EXPECT_EQ(trace.ranks, 4U);
  EXPECT_TRUE(trace.representative);
  EXPECT_TRUE(trace.alone);
  EXPECT_EQ(trace.format, "chakra");
  EXPECT_EQ(trace.attributes.at("model").as_string(), "gpt");
  ASSERT_EQ(trace.groups.size(), 3U);
  EXPECT_THAT(trace.groups[1].ranks, ElementsAre(2, 3));
  EXPECT_THAT(trace.groups[2].ranks, IsEmpty());
  ASSERT_EQ(trace.programs.size(), 1U);
  EXPECT_EQ(trace.programs[0].rank, 2U);
  ASSERT_EQ(trace.programs[0].ops.size(), 4U);
  const TraceOp& op = trace.programs[0].ops[0];
  EXPECT_EQ(op.id, 5U);
  EXPECT_EQ(op.kind, TraceKind::kCollective);
  EXPECT_EQ(op.collective, TraceCollective::kReduceScatter);
  EXPECT_EQ(trace.name(op), "ncclX");
  EXPECT_EQ(trace.groups[op.group].name, "tp");
  EXPECT_EQ(op.bytes, 1048576);
  EXPECT_EQ(trace.names[op.type], "bf16");
  EXPECT_EQ(op.stream, 7);
  EXPECT_EQ(op.peer, 3);
  EXPECT_EQ(op.tag, -1);
  EXPECT_EQ(op.flops, 2e12);
  EXPECT_EQ(op.start, 0.25);
  EXPECT_EQ(op.duration, 15e-6);
  EXPECT_EQ(trace.extras[op.extra], "{\"a\": 1}");
  ASSERT_EQ(op.needs, 3U);
  const std::vector<TraceNeed>& needs = trace.programs[0].needs;
  const auto kind = [&](std::size_t n) { return needs[op.first_need + n].kind; };
  EXPECT_EQ(needs[op.first_need].op, 1U);
  EXPECT_EQ(kind(0), TraceNeed::Kind::kData);
  EXPECT_EQ(kind(1), TraceNeed::Kind::kControl);
  EXPECT_EQ(kind(2), TraceNeed::Kind::kStart);
  const TraceOp& load = trace.programs[0].ops[3];
  EXPECT_EQ(load.kind, TraceKind::kLoad);
  EXPECT_EQ(load.bytes, 0.5);
  EXPECT_LT(load.duration, 0);
  EXPECT_EQ(load.stream, TraceOp::kNone);
}

TEST(TraceJsonl, ComesBackToTheByte) {
  const std::string text =
      R"({"trainyard_trace":1,"ranks":3,"durations":"alone","groups":{"tp":[0,1],"all":[]},"attributes":{"layers":[1,2.5]},"format":"kineto"}
{"rank":0,"id":1,"kind":"compute","name":"gemm \"a\"\n","bytes":4096,"flops":1e+22,"start_s":0,"duration_s":1e-07}
{"rank":0,"id":18446744073709551615,"kind":"collective","name":"名","op":"all_gather","group":"tp","bytes":0,"after":[1]}
{"rank":0,"id":2,"kind":"collective","op":"barrier","after_control":[1],"after_start":[18446744073709551615,1]}
{"rank":1,"id":0,"kind":"send","bytes":9007199254740992,"stream":0,"peer":0,"tag":-2147483648,"extra":{ "b":[1,2] }}
{"rank":1,"id":1,"kind":"receive","bytes":0.1,"peer":0}
{"rank":1,"id":2,"kind":"store","bytes":3,"duration_s":0.3333333333333333}
{"rank":2,"id":0,"kind":"host","type":"int8"}
)";
  EXPECT_EQ(written("jsonl", read_text("jsonl", text).trace).text, text);
}

TEST(TraceJsonl, RanksMayAlternate) {
  const Trace trace = read_text("jsonl", kHeader + R"({"rank":1,"id":1,"kind":"marker"}
{"rank":0,"id":1,"kind":"marker"}
{"rank":1,"id":2,"kind":"marker","after":[1,3]}
{"rank":0,"id":2,"kind":"marker","after":[1]}
{"rank":1,"id":3,"kind":"marker"}
)")
                          .trace;
  ASSERT_EQ(trace.programs.size(), 2U);
  EXPECT_EQ(trace.programs[0].ops.size(), 2U);
  ASSERT_EQ(trace.programs[1].ops.size(), 3U);
  EXPECT_EQ(trace.programs[1].needs[1].op, 2U);
  EXPECT_EQ(written("jsonl", trace).text, kHeader + R"({"rank":0,"id":1,"kind":"marker"}
{"rank":0,"id":2,"kind":"marker","after":[1]}
{"rank":1,"id":1,"kind":"marker"}
{"rank":1,"id":2,"kind":"marker","after":[1,3]}
{"rank":1,"id":3,"kind":"marker"}
)");
}

TEST(TraceJsonl, ARankThatDoesNothingHasAMarker) {
  Trace trace =
      read_text("jsonl", kHeader + kOther + "{\"rank\":0,\"id\":4,\"kind\":\"host\"}\n").trace;
  trace.programs[1].ops.clear();
  EXPECT_THAT(written("jsonl", trace).text,
              HasSubstr("\n{\"rank\":1,\"id\":0,\"kind\":\"marker\"}\n"));
}

TEST(TraceJsonl, FaultsNameLineAndMember) {
  EXPECT_EQ(refusal_of(R"({"rank":0,"id":1,"kind":"compute","byte":1})"),
            "t: line 3: \"byte\": is no member of this line; did you mean \"bytes\"? (--lenient "
            "makes this of members that are not known: left out)");
  const std::pair<const char*, const char*> kLines[] = {
      {R"({"rank":0,"id":1})", "\"kind\": is missing: each operation has rank, id, kind"},
      {R"({"rank":0,"kind":"host"})", "\"id\": is missing"},
      {R"({"id":1,"kind":"host"})", "\"rank\": is missing"},
      {R"({"rank":0,"id":1,"kind":"collective","bytes":1})",
       "\"op\": is missing: collective has rank, id, kind, op, bytes"},
      {R"({"rank":0,"id":1,"kind":"collective","op":"all_reduce"})", "\"bytes\": is missing"},
      {R"({"rank":0,"id":1,"kind":"send","bytes":1})", "\"peer\": is missing"},
      {R"({"rank":0,"id":1,"kind":"load"})", "\"bytes\": is missing"},
      {R"({"rank":0,"id":1,"kind":"colective"})",
       "\"kind\": \"colective\" is none; did you mean \"collective\"?"},
      {R"({"rank":0,"id":1,"kind":"collective","op":"allreduce","bytes":1})",
       "did you mean \"all_reduce\"?"},
      {R"({"rank":0,"id":1,"kind":"host","op":"barrier"})", "\"op\": is what a collective has"},
      {R"({"rank":2,"id":1,"kind":"host"})", "\"rank\": is 2 of 2 ranks"},
      {R"({"rank":1e7,"id":1,"kind":"host"})",
       "must be a whole number from 0 to 999999 and is 1e7"},
      {R"({"rank":0.5,"id":1,"kind":"host"})", "and is 0.5"},
      {R"({"rank":0,"id":-1,"kind":"host"})", "must be a whole number from 0 to 2^64 - 1"},
      {R"({"rank":0,"id":1,"kind":"send","bytes":1,"peer":2})", "\"peer\": is rank 2 of 2"},
      {R"({"rank":0,"id":1,"kind":"send","bytes":-1,"peer":1})",
       "must be a finite number of 0 or more in B and is -1"},
      {R"({"rank":0,"id":1,"kind":"send","bytes":1e999,"peer":1})", "and is 1e999"},
      {R"({"rank":0,"id":1,"kind":"send","bytes":"1","peer":1})", "and is \"1\""},
      {R"({"rank":0,"id":1,"kind":"host","duration_s":null})", "in s and is null"},
      {R"({"rank":0,"id":1,"kind":"host","stream":2147483648})", "from 0 to 2147483647"},
      {R"({"rank":0,"id":1,"kind":"host","after":[1.5]})", "\"after\": must be a list of ids"},
      {R"({"rank":0,"id":1,"kind":"host","extra":[]})", "must be a JSON object"},
      {R"({"rank":0,"id":1,"id":1,"kind":"host"})", "\"id\": appears twice"},
      {R"({"rank":0,"id":1,"kind":"host","extra":{"a":1,"a":2}})", "appears twice in one object"},
      {R"({"rank":0,"id":1,"kind":"ho)",
       "line 3: not valid JSON, column 28: a string without an end"},
      {R"({"rank":0,"id":1,"kind":"host"} {})", "goes on after the end of the object"},
      {"{\"rank\":0,\"id\":1,\"kind\":\"host\",\"name\":\"\xff\"}", "a string in UTF-8"},
      {R"({"rank":0,"id":1,"kind":"host","group":"tq"})", "group \"tq\": is used and not defined"},
      {R"({"rank":0,"id":1,"kind":"host","after":[9]})",
       "waits for node 9, which is not in the file"},
  };
  for (const auto& [line, message] : kLines)
    EXPECT_THAT(refusal_of(line), HasSubstr(message)) << line;
}

TEST(TraceJsonl, FaultsOfTheHeader) {
  const std::pair<const char*, const char*> kHeaders[] = {
      {"", "has no lines"},
      {R"({"rank":0,"id":1,"kind":"host"})", "t: line 1: is no header (the first line says"},
      {R"({"ranks":1})", "is no header"},
      {R"({"trainyard_trace":1})", "\"ranks\": is missing"},
      {R"({"trainyard_trace":2,"ranks":1})", "\"trainyard_trace\": must be 1 and is 2"},
      {R"({"trainyard_trace":1,"ranks":0})", "from 1 to 1000000 and is 0"},
      {R"({"trainyard_trace":1,"ranks":1000001})", "from 1 to 1000000"},
      {R"({"trainyard_trace":1,"ranks":1,"durations":"Alone"})", "did you mean \"alone\"?"},
      {R"({"trainyard_trace":1,"ranks":2,"groups":{"tp":[2]}})", "must be a list of ranks below 2"},
      {R"({"trainyard_trace":1,"ranks":2,"groups":{"tp":[0,0]}})", "names a rank twice"},
      {R"({"trainyard_trace":1,"ranks":2,"groups":{"":[0]}})", "is the group of all ranks"},
      {R"({"trainyard_trace":1,"ranks":2,"groups":{"tp":{}}})", "must be a list of ranks"},
      {R"({"trainyard_trace":1,"ranks":1})", "has no operations"},
  };
  for (const auto& [text, message] : kHeaders)
    EXPECT_THAT(refusal("jsonl", std::string(text) + "\n"), HasSubstr(message)) << text;
  EXPECT_EQ(refusal("jsonl", R"({"trainyard_trace":1,"ranks":3}
{"rank":1,"id":1,"kind":"host"})"),
            "t: rank 0 and 1 more have no line (say \"representative\": true in the header if the "
            "others stand for them, else give each a line: {\"rank\": 0, \"id\": 0, \"kind\": "
            "\"marker\"})");
}

TEST(TraceJsonl, LenientlyWhatIsWrongIsLeftOut) {
  const ReadTrace read = read_text("jsonl", kHeader + kOther + R"({"rank":0,"id":1,"kind":"hots"}
{"rank":0,"id":2,"kind":"host","color":[1,{"a":2}]}
{"rank":0,"id":3,"kind":"host","after":[1]}
{"rank":0,"id":4,"ki
)",
                                   true);
  EXPECT_EQ(read.trace.programs[0].ops.size(), 2U);
  ASSERT_EQ(read.repairs.size(), 3U);
  EXPECT_EQ(read.repairs[0].what, "lines that cannot be used: left out");
  EXPECT_EQ(read.repairs[0].count, 2U);
  EXPECT_THAT(read.repairs[0].first, StartsWith("t: line 3: \"kind\""));
  EXPECT_EQ(read.repairs[1].what, "members that are not known: left out");
  EXPECT_THAT(read.repairs[2].what, HasSubstr("not in the file"));
}

TEST(TraceJsonl, IsRecognizedByItsFirstLine) {
  const auto format = Registry<TraceFormat>::of().make("jsonl");
  EXPECT_TRUE(format->recognizes("x", kHeader + kOther));
  EXPECT_TRUE(format->recognizes("x", " {\"ranks\": 2, \"trainyard_trace\": 1}"));
  EXPECT_FALSE(format->recognizes("x", "{\"traceEvents\": []}\n{\"trainyard_trace\": 1}"));
  EXPECT_FALSE(format->recognizes("x", "num_ranks 4 // \"trainyard_trace\""));
}

TEST(TraceJsonl, PacksWhereTheNameSaysSo) {
  const TraceFolder folder;
  const Trace trace =
      read_text("jsonl", kHeader + kOther + "{\"rank\":0,\"id\":1,\"kind\":\"host\"}\n").trace;
  const std::string path = folder.file("t.jsonl.gz");
  EXPECT_THAT(Registry<TraceFormat>::of().make("jsonl")->write(trace, path), IsEmpty());
  EXPECT_EQ(gunzip(bytes_of(path), 1 << 20, path), written("jsonl", trace).text);
  EXPECT_EQ(read_trace(path, "", {}).trace.size(), 2U);
}

TEST(TraceJsonl, AnUnwritablePlaceIsTheUsersFault) {
  const Trace trace =
      read_text("jsonl", kHeader + kOther + "{\"rank\":0,\"id\":1,\"kind\":\"host\"}\n").trace;
  EXPECT_THROW(Registry<TraceFormat>::of().make("jsonl")->write(trace, "/nonexistent/x"),
               UsageError);
}

}  // namespace
}  // namespace trainyard
