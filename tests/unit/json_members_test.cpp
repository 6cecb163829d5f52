// Members of an object on a line: the same values, and the same texts refused, as by the parser
// that makes trees.
#include "sim/json_members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "sim/error.hpp"
#include "sim/json.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Looks into every value, as a reader does; nothing where the text is refused.
std::optional<Json> tree_of(std::string_view text) {
  Json tree = Json::object();
  JsonMembers members(text);
  while (members.next()) {
    const JsonText& value = members.value();
    std::string storage;
    if (const auto flag = value.flag()) {
      tree[members.key()] = Json(*flag);
    } else if (const auto integer = value.integer();
               integer && value.raw.find_first_of(".eE") == std::string_view::npos) {
      tree[members.key()] = Json(*integer);
    } else if (const auto number = value.number()) {
      tree[members.key()] = Json(*number);
    } else if (const auto word = value.text(storage)) {
      tree[members.key()] = Json(*word);
    } else {
      try {
        tree[members.key()] = parse_json(value.raw, "");
      } catch (const ScenarioError&) {
        return {};
      }
    }
  }
  if (!members.fault().empty()) return {};
  return tree;
}

std::optional<Json> tree_of_parser(std::string_view text) {
  try {
    Json tree = parse_json(text, "");
    if (tree.is_object()) return tree;
  } catch (const ScenarioError&) {
  }
  return {};
}

TEST(JsonMembers, AgreeWithTheParser) {
  constexpr std::array<std::string_view, 46> kTexts{
      R"({})", R"( { } )", R"({"a":1})", R"({ "a" : -0.5e+3 , "b":[1,{"c":"]}"}]})",
      R"({"a":"x\"y\\","b":"é","c":"\u00e9\n"})", R"({"":null,"t":true,"f":false})",
      R"({"a":12345678901234567890})", R"({"a":[]})", R"({"a":{}})", R"({"a\u0062":0})",
      "{\"a\":1}\r", "{\"a\"\t:\t1}", R"({"a":-0})", R"({"a":1E2})",
      // None of these is JSON.
      R"()", R"({)", R"({"a"})", R"({"a":})", R"({"a":1,})", R"({,"a":1})", R"({"a":1 "b":2})",
      R"({"a":01})", R"({"a":1.})", R"({"a":.5})", R"({"a":+1})", R"({"a":1e})", R"({"a":-})",
      R"({"a":NaN})", R"({"a":Infinity})", R"({"a":tru})", R"({"a":truee})", R"({"a":"x)",
      R"({"a":"\q"})", R"({"a":"\ud800"})", "{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}", R"({"a":[1})",
      R"({"a":[1}})", R"({"a":{"b":[}]})", R"({"a":1}})", R"({"a":1} x)", R"({a:1})", R"([1])",
      R"(1)", R"({"a":'x'})", R"({"a":1e999})"};
  for (const std::string_view text : kTexts) EXPECT_EQ(tree_of(text), tree_of_parser(text)) << text;
}

TEST(JsonMembers, SayWhereTheTextIsWrong) {
  JsonMembers members(R"({"a": "x"; "b": 2})");
  EXPECT_TRUE(members.next());
  EXPECT_FALSE(members.next());
  EXPECT_EQ(members.fault(), "not valid JSON, column 10: neither \",\" nor \"}\" after a member");
  EXPECT_FALSE(members.next());
}

TEST(JsonText, NumbersAreInRangeOrNone) {
  EXPECT_EQ(JsonText{"18446744073709551615"}.natural(), 18446744073709551615U);
  EXPECT_EQ(JsonText{"18446744073709551616"}.natural(), std::nullopt);
  EXPECT_EQ(JsonText{"-1"}.natural(), std::nullopt);
  EXPECT_EQ(JsonText{"-9223372036854775808"}.integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(JsonText{"9223372036854775808"}.integer(), std::nullopt);
  EXPECT_EQ(JsonText{"1e3"}.integer(), 1000);
  EXPECT_EQ(JsonText{"1000.0"}.natural(), 1000U);
  EXPECT_EQ(JsonText{"1.5"}.integer(), std::nullopt);
  EXPECT_EQ(JsonText{"1e300"}.integer(), std::nullopt);
  EXPECT_EQ(JsonText{"1e999"}.number(), std::nullopt);
  EXPECT_EQ(JsonText{"0.1"}.number(), 0.1);
}

TEST(JsonText, ListsOfNaturals) {
  std::vector<std::uint64_t> items;
  EXPECT_TRUE(JsonText{"[ 1 ,2, 18446744073709551615 ]"}.naturals(items));
  EXPECT_THAT(items, ElementsAre(1, 2, 18446744073709551615U));
  EXPECT_TRUE(JsonText{"[]"}.naturals(items));
  EXPECT_TRUE(JsonText{"[ ]"}.naturals(items));
  for (const char* text :
       {"[1,]", "[,1]", "[1 2]", "[-1]", "[1.5]", "[[1]]", "[\"1\"]", "[1}", "7"})
    EXPECT_FALSE(JsonText{text}.naturals(items)) << text;
}

}  // namespace
}  // namespace trainyard
