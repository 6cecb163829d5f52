#include "sim/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/units.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Part {
  static constexpr std::string_view kCatalog = "part";
  BytesPerSecond rate;
  int ports = 1;
  void fields(Archive& ar) {
    ar.required("rate", rate, "port rate", positive());
    ar("ports", ports, "ports", between(1, 8));
  }
};

struct Thing {
  bool flag = false;
  double share = 0.5;
  std::string mode = "a", name;
  Seconds delay;
  Part part;
  std::vector<int> list;
  std::map<std::string, Part> parts;
  void fields(Archive& ar) {
    ar("flag", flag, "a flag");
    ar("share", share, "a share", efficiency());
    ar.choice("mode", mode, {"a", "b"}, "a mode");
    ar("name", name, "a name");
    ar("delay", delay, "a delay", non_negative());
    ar("part", part, "a part");
    ar("list", list, "numbers", positive());
    ar("parts", parts, "parts");
    ar.check(part.ports != 3, "part/ports", "is three", "not three");
  }
};

class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() {
    catalog.add("part", R"({"slow": {"source": "its sheet", "rate": "1 Gb/s", "ports": 2},
                            "fast": {"base": "slow", "source": "its sheet", "rate": "8 Gb/s"},
                            "loop": {"base": "loop", "source": "none"}})",
                "part.json");
  }
  /// Reads the text into `thing`; the faults as lines.
  std::vector<std::string> read(std::string_view text) {
    root = parse_json(text, "t");
    Reader reader(root, "t", catalog);
    reader.read(thing);
    parameters = reader.parameters();
    std::vector<std::string> lines;
    for (const Diagnostic& d : reader.faults()) lines.push_back(to_string(d));
    return lines;
  }
  Catalog catalog;
  Json root;
  Thing thing;
  std::vector<Parameter> parameters;
};

TEST_F(ReaderTest, ReadsEveryKindOfMember) {
  EXPECT_THAT(read(R"({"flag": true, "share": 1, "mode": "b", "name": "n", "delay": "2 us",
                       "part": {"rate": "2 GB/s", "ports": 4.0}, "list": [1, 2],
                       "parts": {"x": "slow", "y": {"rate": "1 B/s"}}})"),
              IsEmpty());
  EXPECT_TRUE(thing.flag);
  EXPECT_EQ(thing.share, 1);
  EXPECT_EQ(thing.mode, "b");
  EXPECT_EQ(thing.delay.si(), 2e-6);
  EXPECT_EQ(thing.part.rate.si(), 2e9);
  EXPECT_EQ(thing.part.ports, 4);
  EXPECT_THAT(thing.list, ElementsAre(1, 2));
  EXPECT_EQ(thing.parts.at("x").rate.si(), 1.25e8);
}

TEST_F(ReaderTest, CollectsEveryFaultAndKeepsDefaults) {
  EXPECT_THAT(read(R"({"flag": 1, "share": 1.5, "mode": "c", "delay": 3, "part": {"prts": 1},
                       "list": [0, "x"], "parts": []})"),
              ElementsAre("t: /flag: 1 is not true or false",
                          "t: /share: 1.5 is too large (must be at most 1)",
                          "t: /mode: \"c\" is not a choice here (did you mean \"a\"?)",
                          "t: /delay: 3 has no unit (write seconds as a string with its unit, like "
                          "\"1.5 us\")",
                          "t: /part/rate: is missing (port rate)",
                          "t: /part/prts: is not a field here (did you mean \"ports\"?)",
                          "t: /list/0: 0 is too small (must be above 0)",
                          "t: /list/1: \"x\" is not a whole number (numbers)",
                          "t: /parts: is a list, not an object of names (parts)"));
  EXPECT_EQ(thing.share, 0.5);
  EXPECT_EQ(thing.mode, "a");
}

TEST_F(ReaderTest, ConditionsJudgeOnlyWhatCouldBeRead) {
  const std::string three = R"("part": {"rate": "1 B/s", "ports": 3})";
  EXPECT_THAT(read("{" + three + "}"), ElementsAre("t: /part/ports: is three (not three)"));
  EXPECT_THAT(read("{" + three + R"(, "flog": true})"),
              ElementsAre("t: /part/ports: is three (not three)",
                          "t: /flog: is not a field here (did you mean \"flag\"?)"));
  EXPECT_THAT(read("{" + three + R"(, "flag": 0})"),
              ElementsAre("t: /flag: 0 is not true or false"));
}

TEST_F(ReaderTest, CatalogueNamesAndBases) {
  EXPECT_THAT(read(R"({"part": "fast"})"), IsEmpty());
  EXPECT_EQ(thing.part.rate.si(), 1e9);
  EXPECT_EQ(thing.part.ports, 2);
  EXPECT_THAT(read(R"({"part": {"base": "fast", "ports": 8}})"), IsEmpty());
  EXPECT_EQ(thing.part.ports, 8);
  EXPECT_THAT(read(R"({"part": "fats"})"),
              ElementsAre("t: /part: \"fats\" is not in the catalogue of kind part (did you mean "
                          "\"fast\"?)"));
  EXPECT_THAT(read(R"({"part": "loop"})"),
              ElementsAre("t: /part: catalogue entry \"loop\" is based on itself"));
}

TEST_F(ReaderTest, TaggedLeavesBecomeParameters) {
  EXPECT_THAT(read(R"({"share": {"value": 0.9, "assumed": true, "range": [0.2, 0.8], "why": "w"},
                       "delay": {"value": "1 us", "source": "s", "range": ["500 ns", "2 us"]}})"),
              IsEmpty());
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(thing.share, 0.9);
  EXPECT_EQ(parameters[0].pointer, "/share");
  EXPECT_EQ(parameters[0].kind, "assumed");
  EXPECT_EQ(parameters[0].text, "w");
  EXPECT_TRUE(parameters[0].outside());
  EXPECT_EQ(parameters[1].kind, "sourced");
  EXPECT_EQ(parameters[1].low_si, 5e-7);
  EXPECT_FALSE(parameters[1].outside());
}

TEST_F(ReaderTest, TagsMustBeWhole) {
  EXPECT_THAT(
      read(R"({"share": {"value": 0.9}, "name": {"value": "n", "assumed": true},
               "delay": {"value": "1 us", "source": "s", "range": ["1 B", "2 us"], "wy": "x"}})"),
      ElementsAre("t: /share: a tagged value without its tag (add source, derived or assumed)",
                  "t: /name: an assumed value without a reason (add \"why\")",
                  "t: /delay/range: \"1 B\" is bytes, not seconds; write it like \"1.5 us\"",
                  "t: /delay/wy: is not part of a tagged value (use value, source | derived | "
                  "assumed, range [low, high], why)"));
}

TEST_F(ReaderTest, CatalogueLeavesKeepTheirSource) {
  EXPECT_THAT(read(R"({"part": {"base": "fast", "ports": 8}})"), IsEmpty());
  ASSERT_EQ(parameters.size(), 1U);  // "ports" is the scenario's own by now
  EXPECT_EQ(parameters[0].pointer, "/part/rate");
  EXPECT_EQ(parameters[0].text, "its sheet");
}

TEST_F(ReaderTest, MessagesNameTheFileAValueStandsIn) {
  root = parse_json(R"({"flag": 1, "share": 2})", "top.json");
  Origins origins;
  origins.note(root, "", "top.json");
  origins.note(*root.find("share"), "/share", "base.json");
  Reader reader(root, "top.json", catalog, &origins);
  reader.read(thing);
  ASSERT_EQ(reader.faults().size(), 2U);
  EXPECT_EQ(reader.faults()[0].file, "top.json");
  EXPECT_EQ(reader.faults()[1].file, "base.json");
  EXPECT_THROW(reader.throw_faults(), ScenarioError);
}

}  // namespace
}  // namespace trainyard
