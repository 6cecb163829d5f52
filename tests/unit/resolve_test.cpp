#include "sim/resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "tests/golden/command.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;

ResolvedScenario resolve(std::string_view text, const std::vector<std::string>& sets = {}) {
  return resolve_scenario(parse_json(text, "s.json"), "s.json", sets);
}

std::string resolved(std::string_view text, const std::vector<std::string>& sets = {}) {
  return dump_json(resolve(text, sets).root, -1);
}

TEST(Resolve, SetsTakeJsonOrText) {
  EXPECT_EQ(resolved("{}", {"a=1", "b=x y", "/c/d=[true]", "e=\"1\"", "f=a=b"}),
            R"({"a":1,"b":"x y","c":{"d":[true]},"e":"1","f":"a=b"})");
  EXPECT_EQ(resolved(R"({"a":1})", {"a=2", "a=3"}), R"({"a":3})");
  EXPECT_THROW(resolve("{}", {"a"}), UsageError);
}

TEST(Resolve, FeaturesApplyInTheirOwnOrder) {
  const std::string features =
      R"("x": 0, "features": {"one": {"x": 1, "y": 1}, "two": {"x": 2}, "off": {"x": 9}})";
  EXPECT_EQ(resolved("{" + features + R"(, "enable": ["one", "two"]})"),
            R"({"x":2,"enable":["one","two"],"y":1})");
  EXPECT_EQ(resolve("{" + features + R"(, "enable": ["two", "one"]})").root.at("x"), Json(2));
  EXPECT_EQ(resolved("{" + features + "}"), R"({"x":0})");
}

TEST(Resolve, SetWinsOverFeaturesAndCanSwitchThemOn) {
  const std::string text = R"({"x": 0, "features": {"f": {"x": 1, "y": 1}}, "enable": ["f"]})";
  EXPECT_EQ(resolved(text, {"x=7"}), R"({"x":7,"enable":["f"],"y":1})");
  EXPECT_EQ(resolved(text, {"enable=[]"}), R"({"x":0,"enable":[]})");
  EXPECT_EQ(resolved(text, {"features.f.y=5"}), R"({"x":1,"enable":["f"],"y":5})");
}

TEST(Resolve, EveryUnknownFeatureIsNamed) {
  try {
    resolve(R"({"features": {"rdma": {}}, "enable": ["rdam", 3, "rdma"]})");
    FAIL();
  } catch (const ScenarioError& e) {
    ASSERT_EQ(e.diagnostics().size(), 2U);
    EXPECT_EQ(to_string(e.diagnostics()[0]),
              R"(s.json: /enable/0: "rdam" is not a feature (did you mean "rdma"?))");
    EXPECT_EQ(e.diagnostics()[1].pointer, "/enable/1");
  }
}

TEST(Resolve, ExtendsMergesAndRemembersWhereValuesStand) {
  const testing::TemporaryFolder folder;
  folder.write("lib/deep.json", R"({"a": 1, "b": {"c": 1, "d": 1}, "l": [1]})");
  folder.write("mid.json", R"({"extends": "lib/deep.json", "b": {"c": 2}})");
  const std::string top = (folder.path() / "top.json").string();
  const ResolvedScenario r = resolve_scenario(
      parse_json(R"({"extends": "mid.json", "a": null, "e": 3})", top), top, {"b.x=4"});
  EXPECT_EQ(dump_json(r.root, -1), R"({"b":{"c":2,"d":1,"x":4},"l":[1],"e":3})");
  EXPECT_EQ(r.origins.file_of("/b/c"), (folder.path() / "mid.json").string());
  EXPECT_EQ(r.origins.file_of("/b/d"), (folder.path() / "lib/deep.json").string());
  EXPECT_EQ(r.origins.file_of("/l/0"), (folder.path() / "lib/deep.json").string());
  EXPECT_EQ(r.origins.file_of("/e"), top);
  EXPECT_EQ(r.origins.file_of("/e/never/there"), top);
  EXPECT_EQ(r.origins.file_of("/b/x"), "--set");
}

TEST(Resolve, ExtendsMustNameAFileAndNoCycle) {
  EXPECT_THROW(resolve(R"({"extends": 1})"), ScenarioError);
  EXPECT_THROW(resolve("3"), ScenarioError);
  try {
    resolve(R"({"extends": "nowhere/none.json"})");
    FAIL();
  } catch (const ScenarioError& e) {
    EXPECT_THAT(e.what(), HasSubstr("s.json: /extends: there is no file nowhere/none.json"));
  }
}

}  // namespace
}  // namespace trainyard
