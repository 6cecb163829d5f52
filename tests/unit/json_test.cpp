#include "sim/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/error.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;

Json json(std::string_view text) { return parse_json(text, "test"); }

std::string merged(std::string_view target, std::string_view patch) {
  Json value = json(target);
  merge_patch(value, json(patch));
  return dump_json(value, -1);
}

std::string with(std::string_view root, std::string_view pointer, Json value) {
  Json changed = json(root);
  set_at(changed, split_pointer(pointer), std::move(value));
  return dump_json(changed, -1);
}

// The table of RFC 7386, appendix A, but for the row that lays an object over a string.
TEST(MergePatch, Rfc7386) {
  const char* const rows[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [target, patch, result] : rows) {
    EXPECT_EQ(merged(target, patch), result) << target << " + " << patch;
  }
}

TEST(MergePatch, TaggedLeafReplacesItsTargetWhole) {
  EXPECT_EQ(merged(R"({"a":{"value":1,"source":"s"}})", R"({"a":{"value":2,"assumed":true}})"),
            R"({"a":{"value":2,"assumed":true}})");
  EXPECT_EQ(merged(R"({"a":{"b":1}})", R"({"a":{"value":2}})"), R"({"a":{"value":2}})");
}

TEST(MergePatch, ObjectOverANameIsBasedOnIt) {
  EXPECT_EQ(merged(R"({"gpu":"a100"})", R"({"gpu":{"memory":"1 B"}})"),
            R"({"gpu":{"base":"a100","memory":"1 B"}})");
}

TEST(MergePatch, AnotherKindOrBaseStartsAfresh) {
  EXPECT_EQ(merged(R"({"kind":"a","x":1})", R"({"kind":"b","y":2})"), R"({"kind":"b","y":2})");
  EXPECT_EQ(merged(R"({"kind":"a","x":1})", R"({"kind":"a","y":2})"),
            R"({"kind":"a","x":1,"y":2})");
  EXPECT_EQ(merged(R"({"base":"a","x":1})", R"({"base":"b"})"), R"({"base":"b"})");
}

TEST(SplitPointer, BothNotations) {
  EXPECT_THAT(split_pointer("/a/b~1c/~01"), ElementsAre("a", "b/c", "~1"));
  EXPECT_THAT(split_pointer("a.b.0"), ElementsAre("a", "b", "0"));
  for (const char* bad : {"", "/", "a..b", "/a//b", "a."}) {
    EXPECT_THROW(split_pointer(bad), UsageError) << bad;
  }
}

TEST(SetAt, ReplacesMakesAndIndexes) {
  EXPECT_EQ(with(R"({"a":{"b":1}})", "a.b", Json(2)), R"({"a":{"b":2}})");
  EXPECT_EQ(with(R"({})", "/a/b", Json("x")), R"({"a":{"b":"x"}})");
  EXPECT_EQ(with(R"({"a":[{"b":1},{}]})", "a.1.b", Json(2)), R"({"a":[{"b":1},{"b":2}]})");
  EXPECT_EQ(with(R"({"gpu":"a100"})", "gpu.memory", Json("1 B")),
            R"({"gpu":{"base":"a100","memory":"1 B"}})");
  EXPECT_EQ(with(R"({"a":{"value":1,"source":"s"}})", "a", Json(2)), R"({"a":2})");
  EXPECT_THROW(with(R"({"a":[1]})", "a.1", Json(2)), UsageError);
  EXPECT_THROW(with(R"({"a":[1]})", "a.x", Json(2)), UsageError);
}

TEST(Json, NumbersComeBackBitForBit) {
  for (const double number : {0.1, 1.0 / 3, 5e-324, std::numeric_limits<double>::max(), -2.5e-9,
                              123456789.123456789, 1e22, 3.0}) {
    const Json back = json(dump_json(Json(number), -1));
    EXPECT_EQ(back.as_number(), number);
  }
  for (const std::int64_t number : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()}) {
    const Json back = json(dump_json(Json(number), -1));
    ASSERT_TRUE(back.is_integer());
    EXPECT_EQ(back.as_integer(), number);
  }
  EXPECT_EQ(dump_json(Json(std::nan("")), -1), "null");
  EXPECT_EQ(dump_json(Json(HUGE_VAL), -1), "null");
}

TEST(Json, KeepsOrderAndText) {
  const std::string text = R"({"z":1,"a":[true,null,"ü \"<\n"],"m":{}})";
  EXPECT_EQ(dump_json(json(text), -1), text);
  EXPECT_EQ(dump_json(json("{\"a\":1}")), "{\n  \"a\": 1\n}\n");
}

TEST(Json, NestingMayBeAHundredDeep) {
  const std::string open(100, '['), close(100, ']');
  EXPECT_EQ(dump_json(json(open + close), -1), open + close);
  EXPECT_THROW(json("[" + open + close + "]"), ScenarioError);
}

}  // namespace
}  // namespace trainyard
