// Documents read element by element: what is given away, and what is refused.
#include "sim/json_stream.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Seen {
  StreamedJson end;
  std::vector<std::string> elements, members;
  std::vector<std::uint64_t> positions;
};

Seen read(const std::string& text) {
  ByteSource source("t.json", text);
  Seen seen;
  seen.end = stream_json(
      source, "list",
      [&](const Json& element, std::uint64_t position) {
        seen.elements.push_back(dump_json(element, -1));
        seen.positions.push_back(position);
      },
      [&](const std::string& key, const Json& value) {
        seen.members.push_back(key + "=" + dump_json(value, -1));
      });
  return seen;
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const ScenarioError& e) {
    EXPECT_EQ(e.diagnostics().front().file, "t.json");
    return e.diagnostics().front().pointer + ": " + e.diagnostics().front().message;
  }
  return {};
}

TEST(JsonStream, GivesAwayElementsAndMembersInOrder) {
  const std::string text =
      R"({"a": {"list": [1]}, "list": [{"x": [1, {"y": null}]}, 2.5, "s", [], true], "b": [3]})";
  const Seen seen = read(text);
  EXPECT_THAT(seen.elements, ElementsAre(R"({"x":[1,{"y":null}]})", "2.5", "\"s\"", "[]", "true"));
  EXPECT_THAT(seen.members, ElementsAre(R"(a={"list":[1]})", "b=[3]"));
  EXPECT_TRUE(seen.end.has_list);
  EXPECT_EQ(seen.end.elements, 5U);
  EXPECT_EQ(seen.end.bytes, text.size());
  EXPECT_EQ(seen.positions[0], text.find("{\"x\""));
}

TEST(JsonStream, TakesABareList) {
  const Seen seen = read(" [ {\"x\": 1} , 2 ] ");
  EXPECT_THAT(seen.elements, ElementsAre("{\"x\":1}", "2"));
  EXPECT_TRUE(seen.end.has_list);
  EXPECT_TRUE(read("[]").end.has_list);
  EXPECT_FALSE(read("{\"other\": []}").end.has_list);
}

// A large object is not searched key by key: twins are found in it too.
TEST(JsonStream, OfAKeyThatComesTwiceTheLastValueHolds) {
  EXPECT_THAT(read(R"([{"k": 1, "l": 2, "k": {"m": 3}}])").elements,
              ElementsAre(R"({"k":{"m":3},"l":2})"));
  std::string text = "[{";
  for (int i = 0; i < 100; ++i) text += fmt::format("\"k{}\": {}, ", i % 60, i);
  const Json element = parse_json(read(text + "\"end\": 0}]").elements.front(), "");
  EXPECT_EQ(element.members().size(), 61U);
  EXPECT_EQ(element.at("k5"), Json(65));
  EXPECT_EQ(element.at("k45"), Json(45));
}

TEST(JsonStream, RefusesWhatIsNoSuchDocument) {
  EXPECT_THAT(refusal("3"), HasSubstr("is no JSON object or list"));
  EXPECT_THAT(refusal(R"({"list": {"a": 1}})"), HasSubstr("byte 10: \"list\" is no list"));
  EXPECT_THAT(refusal(R"({"list": 5})"), HasSubstr("\"list\" is no list"));
  EXPECT_THAT(refusal(R"({"list": [], "list": []})"), HasSubstr("\"list\" appears twice"));
  EXPECT_THAT(refusal("[1] x"), StartsWith("byte 5: not valid JSON: "));
  EXPECT_THAT(refusal("[1e999]"), HasSubstr("too large for a double"));
  EXPECT_THAT(refusal("[\"\xff\"]"), HasSubstr("ill-formed UTF-8"));
  EXPECT_THAT(refusal(""), HasSubstr("not valid JSON"));
}

TEST(JsonStream, RefusesDepthBeyondAHundred) {
  const auto nested = [](int levels) {
    return "{\"list\": [" + std::string(levels, '[') + std::string(levels, ']') + "]}";
  };
  EXPECT_EQ(refusal(nested(98)), "");
  EXPECT_THAT(refusal(nested(99)), HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("nested deeper than 100 levels"));
}

TEST(JsonStream, RefusesEveryTruncation) {
  const std::string text = R"({"a": {"b": "c"}, "list": [{"x": [1.5, "é"]}, {"y": {}}]})";
  for (std::size_t i = 0; i < text.size(); ++i)
    EXPECT_THAT(refusal(text.substr(0, i)), HasSubstr("not valid JSON")) << i;
}

TEST(JsonStream, DamageIsAnErrorOrAnotherDocument) {
  const std::string text = R"({"a": {"b": "c"}, "list": [{"x": [1.5, "é"]}, {"y": {}}]})";
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      refusal(damaged);  // must not crash, and throw nothing else
    }
  }
}

// A source that never ends in one element: refused at the limit, with memory for one element.
TEST(JsonStream, RefusesElementsBeyondTheLimitSlow) {
  std::string text = "{\"list\": [1, [";
  text += std::string(kLongestElement + (1 << 20), ' ');
  EXPECT_EQ(refusal(text + "]]}"), "byte 14: is an element longer than 64 MiB");
}

TEST(JsonStream, PassesOverLongMembersSlow) {
  std::string text = "{\"long\": [[0";
  while (text.size() < kLongestMember + 100) text += ",12345678";
  text += "], {\"in\": [1]}], \"short\": 1, \"list\": [{\"x\": 1}]}";
  const Seen seen = read(text);
  EXPECT_THAT(seen.members, ElementsAre("short=1"));
  EXPECT_THAT(seen.elements, ElementsAre("{\"x\":1}"));
}

}  // namespace
}  // namespace trainyard
