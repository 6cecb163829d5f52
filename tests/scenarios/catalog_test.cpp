// Every catalogue entry reads as what it is, and none stands without a source.
#include <gtest/gtest.h>

#include "models/transformer.hpp"
#include "sim/reader.hpp"
#include "sim/scenario.hpp"

namespace trainyard {
namespace {

/// An object whose only member is of a catalogue kind.
template <class T>
struct Holder {
  T it;
  void fields(Archive& ar) { ar.required("it", it, "the entry"); }
};

template <class T>
void expect_readable(const Catalog& catalog) {
  ASSERT_FALSE(catalog.names(T::kCatalog).empty()) << T::kCatalog;
  for (const std::string_view name : catalog.names(T::kCatalog)) {
    Json root = Json::object();
    root["it"] = Json(name);
    Holder<T> holder;
    Reader reader(root, "test", catalog);
    reader.read(holder);
    EXPECT_NO_THROW(reader.throw_faults()) << T::kCatalog << "/" << name;
    EXPECT_FALSE(reader.parameters().empty()) << name << " has no tagged values";
    for (const Parameter& p : reader.parameters()) EXPECT_FALSE(p.outside()) << name << p.pointer;
  }
}

TEST(CatalogEntries, AllRead) {
  const Catalog catalog = Catalog::embedded();
  expect_readable<Gpu>(catalog);
  expect_readable<NvLink>(catalog);
  expect_readable<Nic>(catalog);
  expect_readable<Dpu>(catalog);
  expect_readable<Host>(catalog);
  expect_readable<Switch>(catalog);
  expect_readable<Server>(catalog);
  expect_readable<CollectiveLibrary>(catalog);
  expect_readable<TransformerModel>(catalog);
}

TEST(CatalogEntries, WhatTheIssueNames) {
  const Catalog catalog = Catalog::embedded();
  for (const char* name : {"dgx-a100", "dgx-h100"})
    EXPECT_NE(catalog.find("server", name), nullptr);
  for (const char* name : {"connectx-6-200g", "connectx-7-400g"})
    EXPECT_NE(catalog.find("nic", name), nullptr);
  for (const char* name : {"bluefield-2", "bluefield-3"})
    EXPECT_NE(catalog.find("dpu", name), nullptr);
  for (const char* name : {"qm8700", "qm9700"}) EXPECT_NE(catalog.find("switch", name), nullptr);
  for (const char* name : {"gpt3-175b", "megatron-1.7b", "megatron-1t"})
    EXPECT_NE(catalog.find("model", name), nullptr);
}

TEST(CatalogEntries, NoneWithoutASource) {
  Catalog catalog;
  try {
    catalog.add(
        "gpu",
        R"({"mine": {"memory": "80 GiB", "hbm_bandwidth": {"value": "2 TB/s", "source": "measured"}}})",
        "mine/gpu.json");
    FAIL() << "accepted";
  } catch (const ScenarioError& e) {
    ASSERT_EQ(e.diagnostics().size(), 1U);
    EXPECT_EQ(e.diagnostics()[0].file, "mine/gpu.json");
    EXPECT_EQ(e.diagnostics()[0].pointer, "/mine/memory");
  }
}

// What plug-ins registered themselves: a lost object file would shorten these lists silently.
TEST(Plugins, AllRegistered) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(Registry<TopologyPlugin>::of().names(), (Names{"crossbar", "fat-tree"}));
  EXPECT_EQ(Registry<Transport>::of().names(), (Names{"rdma", "tcp"}));
  EXPECT_EQ(Registry<Collective>::of().names(), (Names{"hierarchical", "ring", "sharp", "tree"}));
  EXPECT_EQ(Registry<Workload>::of().names(), (Names{"collective", "gpt"}));
  EXPECT_EQ(Registry<KernelTime>::of().names(), (Names{"roofline"}));
}

}  // namespace
}  // namespace trainyard
