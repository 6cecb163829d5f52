// The catalogue that is built into the program: every entry can be used, every number has a source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "models/transformer.hpp"
#include "sim/cluster.hpp"
#include "sim/reader.hpp"
#include "sim/scenario.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

/// A document {"value": "entry"} whose member is a T, or a plug-in of interface T.
template <class T>
struct Named {
  T value;
  void fields(Archive& ar) { ar.required("value", value, "the entry"); }
};
template <class T>
struct NamedPlugin {
  std::unique_ptr<T> value;
  void fields(Archive& ar) { ar.plugin("value", value, "the entry"); }
};

/// What reading one entry came to.
struct Outcome {
  std::vector<std::string> faults;
  std::vector<Parameter> parameters;
};

template <class Document>
Outcome read(const Catalog& catalog, const std::string& name) {
  Json root = Json::object();
  root["value"] = Json(name);
  Reader reader(root, "test.json", catalog);
  Document document;
  reader.read(document);
  Outcome outcome{{}, reader.parameters()};
  for (const Diagnostic& fault : reader.faults()) outcome.faults.push_back(to_string(fault));
  return outcome;
}

using ReadEntry = Outcome (*)(const Catalog&, const std::string&);

template <class T>
std::pair<std::string, ReadEntry> kind_of_struct() {
  return {std::string(T::kCatalog), read<Named<T>>};
}

/// Which struct the entries of each kind are for.
std::map<std::string, ReadEntry> kinds() {
  return {kind_of_struct<Gpu>(),
          kind_of_struct<NvLink>(),
          kind_of_struct<Nic>(),
          kind_of_struct<Dpu>(),
          kind_of_struct<Host>(),
          kind_of_struct<Switch>(),
          kind_of_struct<Server>(),
          kind_of_struct<CollectiveLibrary>(),
          kind_of_struct<Service>(),
          kind_of_struct<Appliance>(),
          kind_of_struct<Drive>(),
          kind_of_struct<StorageTarget>(),
          kind_of_struct<Storage>(),
          kind_of_struct<Reliability>(),
          kind_of_struct<Site>(),
          kind_of_struct<TransformerModel>(),
          {std::string(Transport::kInterface), read<NamedPlugin<Transport>>}};
}

Catalog catalog_with(const std::string& kind, const std::string& text) {
  Catalog catalog = Catalog::embedded();
  catalog.add(kind, text, "mine/" + kind + ".json");
  return catalog;
}

/// "file pointer" of every fault that adding the text has.
std::vector<std::string> places_of_faults(const std::string& kind, const std::string& text) {
  try {
    catalog_with(kind, text);
  } catch (const ScenarioError& error) {
    std::vector<std::string> places;
    for (const Diagnostic& d : error.diagnostics()) {
      places.push_back(d.file + " " + d.pointer);
      EXPECT_EQ(d.message, "a catalogue value without a source");
      EXPECT_NE(d.hint, "");
    }
    return places;
  }
  return {};
}

TEST(CatalogEntries, EveryKindIsReadSomewhere) {
  const Catalog catalog = Catalog::embedded();
  const auto known = kinds();
  for (const std::string_view kind : catalog.kinds()) {
    EXPECT_TRUE(known.contains(std::string(kind)))
        << "models/catalog/" << kind << ".json: say in kinds() above which struct reads it";
  }
  for (const auto& [kind, read] : known) EXPECT_THAT(catalog.names(kind), Not(IsEmpty())) << kind;
}

TEST(CatalogEntries, EveryEntryReadsWithoutFaults) {
  const Catalog catalog = Catalog::embedded();
  const auto known = kinds();
  for (const std::string_view kind : catalog.kinds()) {
    const auto reader = known.find(std::string(kind));
    if (reader == known.end()) continue;  // the test above says so
    for (const std::string_view name : catalog.names(kind)) {
      const Outcome outcome = reader->second(catalog, std::string(name));
      EXPECT_THAT(outcome.faults, IsEmpty()) << kind << " " << name;
    }
  }
}

TEST(CatalogEntries, EveryNumberHasASourceAndLiesInItsRange) {
  const Catalog catalog = Catalog::embedded();
  const auto known = kinds();
  for (const std::string_view kind : catalog.kinds()) {
    const auto reader = known.find(std::string(kind));
    if (reader == known.end()) continue;
    for (const std::string_view name : catalog.names(kind)) {
      const Outcome outcome = reader->second(catalog, std::string(name));
      EXPECT_THAT(outcome.parameters, Not(IsEmpty())) << kind << " " << name;
      for (const Parameter& p : outcome.parameters) {
        EXPECT_NE(p.text, "") << kind << " " << name << p.pointer;
        EXPECT_FALSE(p.outside()) << kind << " " << name << p.pointer;
        // A judgement without a range cannot be doubted.
        EXPECT_TRUE(p.kind != "assumed" || !p.low.empty()) << kind << " " << name << p.pointer;
      }
    }
  }
}

// The test above must be able to fail: an entry of the wrong shape has faults.
TEST(CatalogEntries, AWrongEntryHasFaults) {
  const Catalog catalog = catalog_with(
      "nvlink", R"({"typo": {"source": "nowhere", "bandwidth": "1 GB/s", "latencyy": "1 us"},
                    "unit": {"source": "nowhere", "bandwidth": "1 GB"},
                    "part": {"source": "nowhere", "latency": "1 us"}})");
  for (const std::string name : {"typo", "unit", "part"})
    EXPECT_EQ(kinds().at("nvlink")(catalog, name).faults.size(), 1U) << name;
}

TEST(CatalogEntries, AValueWithoutASourceIsRefused) {
  EXPECT_THAT(places_of_faults("nvlink", R"({"bare": {"bandwidth": "1 GB/s", "latency": "1 us"}})"),
              ElementsAre("mine/nvlink.json /bare/bandwidth", "mine/nvlink.json /bare/latency"));
  // A source of its own, or of the entry, is enough …
  EXPECT_THAT(places_of_faults("nvlink", R"({"own": {"bandwidth": {"value": "1 GB/s",
                                             "source": "a datasheet"}}})"),
              IsEmpty());
  EXPECT_THAT(
      places_of_faults("nvlink", R"({"all": {"source": "a datasheet", "bandwidth": "1 GB/s"}})"),
      IsEmpty());
  // … but a value that is tagged with nothing has neither, however deep it stands.
  EXPECT_THAT(places_of_faults("switch", R"({"deep": {"sharp": {"radix": {"value": 40}}}})"),
              ElementsAre("mine/switch.json /deep/sharp/radix"));
  EXPECT_THAT(places_of_faults("nvlink", R"({"good": {"source": "x", "bandwidth": "1 GB/s"},
                                             "bad": {"bandwidth": "1 GB/s"}})"),
              ElementsAre("mine/nvlink.json /bad/bandwidth"));
}

TEST(CatalogEntries, AFolderOfOnesOwnIsHeldToTheSame) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("trainyard-catalog-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "nic.json").string();
  std::ofstream(file) << R"({"slow": {"base": "connectx-6-200g", "rate": "100 Gb/s"}})";
  Catalog catalog = Catalog::embedded();
  try {
    catalog.add_directory(folder.string());
    ADD_FAILURE() << "an entry without a source was taken";
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kScenario);
    ASSERT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics()[0].file, file);
    EXPECT_EQ(error.diagnostics()[0].pointer, "/slow/rate");
  }
  std::ofstream(file) << R"({"slow": {"base": "connectx-6-200g", "source": "a datasheet",
                                      "rate": "100 Gb/s"}})";
  catalog = Catalog::embedded();
  catalog.add_directory(folder.string());
  EXPECT_THAT(kinds().at("nic")(catalog, "slow").faults, IsEmpty());
  std::filesystem::remove_all(folder);
}

TEST(CatalogEntries, WhatTheIssueNames) {
  const Catalog catalog = Catalog::embedded();
  for (const char* name : {"dgx-a100", "dgx-h100"})
    EXPECT_NE(catalog.find("server", name), nullptr);
  for (const char* name : {"connectx-6-200g", "connectx-7-400g"})
    EXPECT_NE(catalog.find("nic", name), nullptr);
  for (const char* name : {"bluefield-2", "bluefield-3"})
    EXPECT_NE(catalog.find("dpu", name), nullptr);
  for (const char* name : {"qm8700", "qm9700", "sn5600"})
    EXPECT_NE(catalog.find("switch", name), nullptr);
  for (const char* name : {"gpt3-175b", "megatron-1.7b", "megatron-1t"})
    EXPECT_NE(catalog.find("model", name), nullptr);
}

// What plug-ins registered themselves: a lost object file would shorten these lists silently.
TEST(Plugins, AllRegistered) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(Registry<TopologyPlugin>::of().names(), (Names{"crossbar", "fat-tree"}));
  EXPECT_EQ(Registry<Transport>::of().names(), (Names{"rdma", "tcp"}));
  EXPECT_EQ(Registry<Collective>::of().names(),
            (Names{"direct", "halving_doubling", "hierarchical", "nvls", "nvls_tree", "pat", "ring",
                   "sharp", "tree"}));
  EXPECT_EQ(Registry<Workload>::of().names(),
            (Names{"collective", "fixed-step", "gpt", "trace", "traffic"}));
  EXPECT_EQ(Registry<TraceFormat>::of().names(),
            (Names{"aicb", "chakra", "goal", "jsonl", "kineto"}));
  EXPECT_EQ(Registry<KernelTime>::of().names(), (Names{"roofline"}));
}

}  // namespace
}  // namespace trainyard
