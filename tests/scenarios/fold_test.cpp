// Folding changes what is simulated and nothing that comes out: engine.fold auto against off, what
// switches it off, and repetition in time against closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/metrics.hpp"
#include "tests/support_difference.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using testing::differences;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Sets = std::vector<std::string>;

Sets operator+(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string path_of(const std::string& name) {
  return std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/" + name + ".json";
}

/// What a result says of its folding.
struct Folds {
  std::int64_t tensor_ranks, replicas, classes;
  std::vector<std::string> reasons;
};
Folds folds(const Json& result) {
  const Json& f = result.at("folding");
  Folds out{f.at("tensor_ranks").as_integer(),
            f.at("replicas").as_integer(),
            f.at("replica_classes").as_integer(),
            {}};
  for (const Json& reason : f.at("one_by_one").items()) out.reasons.push_back(reason.as_string());
  return out;
}
std::int64_t operations(const Json& result) {
  return result.at("metrics").at("simulated_ops").as_integer();
}
std::int64_t repeated(const Json& result) {
  return result.at("folding").at("repeated_operations").as_integer();
}
double step_time(const Json& result) { return result.at("metrics").at("step_time_s").as_number(); }

Json run(const std::string& file, const Sets& sets) {
  return testing::run_file_scenario(path_of(file), sets);
}

/// Runs a scenario folded and not, expects the same results, and returns the folded one.
Json expect_same(const std::string& file, const Sets& sets) {
  Json folded = run(file, sets);
  const Json off = run(file, sets + Sets{"engine.fold=off"});
  EXPECT_THAT(differences(folded, off), IsEmpty())
      << file << " " << fmt::format("{}", fmt::join(sets, " "));
  EXPECT_LE(operations(folded), operations(off));
  if (const Json* said = off.find("folding")) {
    EXPECT_EQ(said->at("tensor_ranks").as_integer(), 1);
    EXPECT_EQ(said->at("replica_classes").as_integer(), said->at("replicas").as_integer());
    EXPECT_EQ(said->at("repeated_operations").as_integer(), 0);
  }
  return folded;
}

/// A small transformer of 4 layers on servers of 8 GPUs, ring by default.
struct Step {
  int tensor = 8, pipeline = 2, data = 4, micro_batches = 4;
  std::string more = {};  ///< of the workload
  Sets sets = {};
  int gpus = 8;  ///< and NICs, of a server
  Sets all() const {
    const int servers = tensor * pipeline * data / gpus;
    const std::string job = fmt::format(
        R"({{"kind": "gpt", "model": {{"layers": 4, "hidden": 1024, "heads": 16, "sequence": 1024,
            "vocabulary": 51200}}, "tensor": {}, "pipeline": {}, "global_batch": {}{}}})",
        tensor, pipeline, data * micro_batches, more);
    return Sets{fmt::format("cluster.servers={}", servers),
                fmt::format(R"(cluster.server={{"base": "dgx-h100", "gpus": {0}, "nics": {0}}})",
                            gpus),
                R"(jobs=[{"name": "step"}])", "jobs.0.workload=" + job,
                "cluster.collectives.algorithm=ring"} +
           sets;
  }
};

std::string fat_tree(int ports, int tiers, int rails, const std::string& more = "") {
  return fmt::format(
      R"(cluster.network={{"kind": "fat-tree", "switch": {{"base": "qm9700", "ports": {}}},
          "tiers": {}, "rails": {}, "link_latency": "50 ns"{}}})",
      ports, tiers, rails, more);
}
std::string algorithm(const std::string& name) { return "cluster.collectives.algorithm=" + name; }
const std::string kSharp = "cluster.network.switch.sharp.enabled=true";

/// The same result as unfolded, and of so many tensor ranks and replicas one each was simulated.
Json expect_folds(const Step& step, std::int64_t tensor_ranks, std::int64_t classes) {
  Json result = expect_same("scale/base", step.all());
  const Folds f = folds(result);
  const std::string what = fmt::format("TP {} PP {} DP {} {}", step.tensor, step.pipeline,
                                       step.data, fmt::join(step.sets, " "));
  EXPECT_EQ(f.tensor_ranks, tensor_ranks) << what;
  EXPECT_EQ(f.replicas, step.data) << what;
  EXPECT_EQ(f.classes, classes) << what;
  return result;
}
/// All that do the same: rails and no oversubscription leave no two replicas apart.
Json expect_whole(const Step& step) {
  Json result = expect_folds(step, step.tensor, 1);
  EXPECT_THAT(folds(result).reasons, IsEmpty());
  return result;
}

// Every leaf switch serves all servers, so that no two replicas differ.
TEST(FoldSlow, Layouts) {
  for (const int tensor : {1, 2, 4, 8}) {
    for (const int pipeline : {1, 2, 4}) {
      for (const int data : {2, 4, 8, 16, 24}) {
        const int gpus = tensor * pipeline * data;
        if (gpus < 64 || gpus > 512 || tensor * data % 8 != 0) continue;
        expect_whole({tensor, pipeline, data, 4, "", {fat_tree(128, 2, 8)}});
      }
    }
  }
}

TEST(FoldSlow, Networks) {
  const Step step{8, 2, 8, 4, R"(, "bucket": "4 MB")", {}};
  for (const int tiers : {2, 3}) {
    for (const int rails : {1, 8}) {
      for (const std::string more : {"", R"(, "oversubscription": 3)"}) {
        Step on = step;
        on.sets = {fat_tree(64, tiers, rails, more)};
        expect_same("scale/base", on.all());
      }
    }
  }
  for (const int ports : {64, 33, 32, 20, 17}) {
    Step on = step;
    on.sets = {fat_tree(ports, 3, 8)};
    expect_same("scale/base", on.all());
  }
  Step crossbar = step;
  crossbar.sets = {R"(cluster.network={"kind": "crossbar", "switch": "qm9700"})"};
  expect_whole(crossbar);
}

// Of four replicas in a double binary tree two send half a buffer and two a whole one.
TEST(FoldSlow, Algorithms) {
  for (const std::string name : {"ring", "tree", "pat", "hierarchical", "sharp", "auto"}) {
    for (const std::string tensor : {"analytic", "flow"}) {
      expect_folds({8,
                    2,
                    4,
                    2,
                    R"(, "bucket": "4 MB")",
                    {algorithm(name), kSharp, "engine.tensor_fidelity=" + tensor}},
                   8, name == "tree" ? 2 : 1);
    }
  }
}

TEST(FoldSlow, TransportsAndServices) {
  const Sets tcp{"cluster.transport=kernel-tcp", "cluster.gpudirect=false"};
  const Sets dpu{
      R"(cluster.server={"base": "dgx-h100", "dpu": "bluefield-3", "dpus": 2, "storage_nics": 0})",
      R"(cluster.services={"launch": "launch-threads", "proxies": "proxy-threads",
          "isolation": {"base": "isolation", "placement": "engine", "jitter": "0 ms"},
          "telemetry": {"base": "telemetry", "placement": "dpu", "jitter": "0 ms"}})"};
  for (const Sets& sets : {tcp, dpu, tcp + dpu, Sets{"cluster.gpudirect=false"}}) {
    for (const std::string fidelity : {"flow", "analytic"})
      expect_whole({8, 4, 4, 4, "", sets + Sets{"engine.tensor_fidelity=" + fidelity}});
  }
}

TEST(FoldSlow, Schedules) {
  for (const int micro_batches : {1, 2, 8, 100}) {
    for (const std::string more :
         {R"("sequence_parallel": true)", R"("recompute": "full")",
          R"("sequence_parallel": true, "recompute": "selective", "overlap_gradients": false)",
          R"("scatter_gather": true, "bucket": "1 MB")",
          R"("overlap_gradients": false, "bucket": "1 MB")",
          R"("stage_forward": "3 ms", "stage_backward": "6 ms")"}) {
      expect_whole({8, 2, 4, micro_batches, ", " + more, {}});
      expect_whole({4, 4, 8, micro_batches, ", " + more, {}});
    }
  }
}

TEST(FoldSlow, ReadyScenarios) {
  for (const std::string service : {"in-network", "management", "rdma", "security", "storage"}) {
    for (const std::string state : {"-off", "-on"}) expect_same("services/" + service + state, {});
  }
  for (const std::string name :
       {"storage/megatron-1t-checkpoint", "reliability/llama3-16384", "scale/alltoall-2048"})
    expect_same(name, {});
}

TEST(FoldSlow, LargeScenarios) {
  for (const std::string name : {"scale/gpt3-1024", "scale/random-4096"}) expect_same(name, {});
  for (const std::string name : {"scale/gpt3-1024-tp", "validation/mlperf-gpt3-512-h100"})
    EXPECT_LT(2 * operations(expect_same(name, {})), operations(run(name, {"engine.fold=off"})));
}

TEST(FoldSlow, EvidenceWithTcp) { expect_same("evidence/traditional", {}); }
TEST(FoldSlow, EvidenceWithRdma) { expect_same("evidence/rdma", {}); }
TEST(FoldSlow, EvidenceWithDpu) { expect_same("evidence/dpu", {}); }

// What breaks symmetry switches folding off where it does, and without it all are alike.

const char* const kJitter =
    R"(cluster.services={"telemetry": {"base": "telemetry", "jitter": "0.2 ms"}})";

TEST(Fold, LaunchJitter) {
  expect_whole({});
  const Json result = expect_folds({8, 2, 4, 4, "", {kJitter}}, 8, 4);
  EXPECT_THAT(folds(result).reasons,
              ElementsAre("replicas one by one: launch jitter differs from one to the other"));
  expect_whole({8, 2, 4, 4, "", {kJitter, "cluster.services.telemetry.jitter=0 ms"}});
}

// One leaf for all: ECMP has no choice. Two: flows of replicas that are alike meet by chance.
TEST(Fold, CollisionsOfEcmp) {
  const std::string ecmp = R"(, "routing": "ecmp")";
  expect_whole({4, 2, 4, 4, "", {fat_tree(64, 2, 4, ecmp)}, 4});
  const Json result = expect_folds({4, 2, 4, 4, "", {fat_tree(8, 2, 4, ecmp)}, 4}, 1, 4);
  EXPECT_THAT(folds(result).reasons,
              ElementsAre("tensor ranks one by one: their traffic loads the network unevenly",
                          "replicas one by one: their traffic loads the network unevenly"));
}

TEST(Fold, StorageTrafficBeside) {
  const Step step{8,
                  2,
                  4,
                  4,
                  "",
                  {R"(cluster.storage={"base": "nvmeof-flash", "targets": 8})",
                   R"(cluster.services={"initiator": "nvme-tcp-initiator"})"}};
  expect_whole(step);
  Step loading = step;
  loading.sets.emplace_back(
      R"(jobs.0.training={"steps": 1000, "data": {"sample": "8 KiB", "prefetch": 2}})");
  const Json result = expect_folds(loading, 8, 4);
  EXPECT_THAT(folds(result).reasons,
              ElementsAre("replicas one by one: storage traffic runs beside them"));
}

TEST(Fold, SecondJob) {
  const std::string first = R"({"servers": 8, "workload": {"kind": "gpt", "tensor": 8,
      "pipeline": 2, "global_batch": 16, "model": {"layers": 4, "hidden": 1024, "heads": 16,
      "sequence": 1024, "vocabulary": 51200}}})";
  const std::string second = R"({"first_server": 8, "workload": {"kind": "collective",
      "operation": "all_reduce", "sizes": ["64 MiB"]}})";
  const auto with = [](const std::string& jobs) {
    return folds(expect_same("scale/base",
                             {"cluster.servers=10", "jobs=[" + jobs + "]", algorithm("ring")}));
  };
  EXPECT_EQ(with(first).tensor_ranks, 8);
  EXPECT_EQ(with(first).classes, 1);
  const Folds both = with(first + "," + second);
  EXPECT_EQ(both.tensor_ranks, 1);
  EXPECT_THAT(both.reasons, ElementsAre("tensor ranks and replicas one by one: several jobs run"));
}

// Stage 0 is servers 0 to 3, stage 1 servers 4 to 7, and a leaf serves six of them. Messages of
// replicas 0 and 1 stay below one leaf. Those of 2 and 3 go up: to server 6 beside the ring of
// stage 1, which goes there from server 5, to server 7 alone. So there are three kinds of replicas.
TEST(Fold, ReplicasThatCrossLeavesDifferently) {
  expect_whole({4, 2, 4, 4, "", {fat_tree(16, 2, 4)}, 4});
  const Json result = expect_folds({4, 2, 4, 4, "", {fat_tree(12, 2, 4)}, 4}, 4, 3);
  EXPECT_THAT(folds(result).reasons, IsEmpty());
}

// A leaf of the switch of 64 ports serves 32 servers. With stages of 24 the messages from 0 … 7
// stay below it, that from 8 goes to 32 beside stage 1's ring, those from 9 … 23 alone. With four
// stages of 12 servers, stage 2 (24 … 35) is divided, and its ring goes from 31 to 32 and from 35
// to 24: there are replicas on its servers 24, 25 … 31, 32 and 33 … 35.
TEST(FoldSlow, StagesThatCrossLeaves) {
  expect_folds({8, 2, 24, 4, "", {}}, 8, 3);
  expect_folds({4, 4, 24, 4, "", {}}, 4, 4);
}

// Of three replicas on half a server each, stage 0 ends in the middle of server 1.
TEST(Fold, ServerOfSeveralStages) {
  expect_whole({4, 2, 4, 4, "", {}});
  const Json result = expect_folds({4, 2, 3, 4, "", {}}, 4, 3);
  EXPECT_THAT(folds(result).reasons,
              ElementsAre("replicas one by one: a server holds ranks of several stages"));
}

TEST(Fold, TensorGroupOverTwoServers) {
  const std::string network = fat_tree(64, 2, 4);
  expect_whole({4, 2, 4, 4, "", {network}, 4});
  for (const std::string fidelity : {"analytic", "flow"}) {
    const Json result =
        expect_folds({8, 2, 4, 4, "", {network, "engine.tensor_fidelity=" + fidelity}, 4}, 1, 1);
    EXPECT_THAT(folds(result).reasons,
                ElementsAre("tensor ranks one by one: a tensor-parallel group spans servers"));
  }
}

TEST(Fold, EveryMessage) {
  const Json result = expect_same("scale/base", Step().all() + Sets{"engine.fidelity=steps"});
  EXPECT_EQ(folds(result).tensor_ranks, 1);
  EXPECT_THAT(folds(result).reasons,
              ElementsAre("tensor ranks one by one: collectives are simulated in steps",
                          "replicas one by one: collectives are simulated in steps"));
  const Json tensor =
      expect_same("scale/base", Step{8, 2, 4, 2}.all() + Sets{"engine.tensor_fidelity=steps"});
  EXPECT_EQ(folds(tensor).tensor_ranks, 1);
  EXPECT_EQ(folds(tensor).reasons.size(), 2U);
}

// A switch holds trees for two of the eight groups of tensor ranks; with one for each all use them.
TEST(Fold, TreesForSomeOnly) {
  const std::string trees = "cluster.network.switch.sharp.streaming_trees=";
  const Sets sharp{fat_tree(64, 2, 1), algorithm("sharp"), kSharp};
  expect_whole({8, 2, 4, 4, "", sharp + Sets{trees + "16"}});
  const Json result = expect_same("scale/base", Step{8, 2, 4, 4, "", sharp}.all());
  EXPECT_EQ(folds(result).tensor_ranks, 1);
  EXPECT_THAT(folds(result).reasons, ::testing::Contains(::testing::HasSubstr("tensor ranks")));
}

// The stock executor takes no weighted flows.
TEST(Fold, StockExecutor) {
  testing::Ideal c;
  c.servers = 4, c.gpus_per_server = 4, c.fidelity = "analytic";
  const std::string job = R"("jobs": [{"workload": {"kind": "gpt", "tensor": 4, "pipeline": 2,
      "global_batch": 8, "model": {"layers": 2, "hidden": 64, "heads": 4, "sequence": 64,
      "vocabulary": 64}}}])";
  const Json flow = testing::run_text_scenario(testing::ideal_scenario(c, job));
  EXPECT_EQ(folds(flow).tensor_ranks, 4);
  EXPECT_EQ(folds(flow).classes, 1);
  c.executor = "stock";
  const Json stock = testing::run_text_scenario(testing::ideal_scenario(c, job));
  EXPECT_EQ(folds(stock).tensor_ranks, 1);
  EXPECT_EQ(folds(stock).classes, folds(stock).replicas);
  const Json off = testing::run_text_scenario(testing::ideal_scenario(c, job), {"engine.fold=off"});
  EXPECT_THAT(differences(stock, off), IsEmpty());
  EXPECT_NEAR(step_time(stock) / step_time(flow), 1, 1e-9);
}

// What stands for others is measured on its own servers and GPUs, and in its own groups.

TEST(Fold, AnalyticCollectives) {
  for (const std::string name : {"ring", "tree", "pat", "hierarchical", "sharp", "auto"}) {
    for (const std::string tensor : {"analytic", "flow"}) {
      expect_whole({8,
                    2,
                    4,
                    2,
                    R"(, "bucket": "4 MB")",
                    {algorithm(name), kSharp, "engine.fidelity=analytic",
                     "engine.tensor_fidelity=" + tensor}});
    }
  }
}

// Both replicas stand in one server: only messages leave it, and each touches two servers.
TEST(Fold, ReplicasInOneServer) { expect_whole({4, 2, 2, 4, "", {}}); }

TEST(Fold, ActivityOfGpusOneByOne) {
  const Json result =
      expect_folds({8,
                    1,
                    12,
                    1,
                    "",
                    {fat_tree(64, 3, 1, R"(, "routing": "ecmp")"), "engine.tensor_fidelity=flow"}},
                   1, 1);
  EXPECT_EQ(folds(result).reasons.size(), 1U);
}

// Measured passes hold their collectives already: none is called, and none is listed.
TEST(Fold, MeasuredPassesHaveNoCollectives) {
  expect_whole({8,
                2,
                4,
                2,
                R"(, "stage_forward": "3 ms", "stage_backward": "6 ms")",
                {"engine.tensor_fidelity=flow"}});
}

// Ten ports down, two per server: the first group of four servers stays below a leaf, the second
// has servers 4 and 5 … 7 below two.
TEST(Fold, TensorGroupsOverLeaves) {
  const Step step{8, 1, 2, 4, "", {fat_tree(20, 2, 1)}, 2};
  EXPECT_EQ(folds(expect_same("scale/base", step.all())).classes, 2);
}

// Of three groups of four ranks on two servers of six the middle one stands on both.
TEST(Fold, TensorGroupOverTwoServersAmongOthers) {
  const Step step{4, 2, 3, 4, "", {fat_tree(64, 2, 1), "cluster.server.nics=1"}, 6};
  const Json result = expect_same("scale/base", step.all());
  EXPECT_EQ(folds(result).tensor_ranks, 1);
  EXPECT_THAT(
      folds(result).reasons,
      ::testing::Contains("tensor ranks one by one: a tensor-parallel group spans servers"));
}

// Trees go to who asks first, folded or not: tensor groups before gradients.
TEST(Fold, TreesAreGivenInOneOrder) {
  for (const std::string fidelity : {"analytic", "flow"}) {
    expect_same("scale/base", Step{8,
                                   2,
                                   8,
                                   4,
                                   "",
                                   {fat_tree(20, 2, 4), algorithm("auto"), kSharp,
                                    "engine.tensor_fidelity=" + fidelity},
                                   4}
                                  .all());
  }
}

// Repetition in time.

/// Four equal stages of one rank whose messages take no time, so many micro-batches.
Json pipeline(int micro_batches, const Sets& sets = {}) {
  testing::Ideal c;
  c.servers = 4;
  c.port = 1e18;
  c.fidelity = "flow";
  const std::string job = fmt::format(
      R"("jobs": [{{"workload": {{"kind": "gpt", "tensor": 1, "pipeline": 4, "global_batch": {},
          "model": {{"layers": 4, "hidden": 16, "heads": 1, "sequence": 1, "vocabulary": 16}},
          "stage_forward": "3 ms", "stage_backward": "6 ms"}}}}])",
      micro_batches);
  return testing::run_text_scenario(testing::ideal_scenario(c, job), sets);
}

// 1F1B: the first micro-batch reaches the last stage after P - 1 forward passes and its gradients
// come back over P - 1 backward ones; a stage computes M (f + b).
TEST(Fold, PipelineOfEqualStages) {
  const double pass = 3e-3 + 6e-3;
  const Json few = pipeline(32), many = pipeline(32768);
  EXPECT_NEAR(step_time(few) / ((4 - 1 + 32) * pass), 1, 1e-9);
  EXPECT_NEAR(step_time(many) / ((4 - 1 + 32768) * pass), 1, 1e-9);
  EXPECT_LE(operations(many), 2 * operations(few));
  // A forward and a backward pass on four ranks, a message each way between them, and four
  // optimizers.
  EXPECT_GE(repeated(many) + operations(many), 32768 * (4 * 2 + 3 * 2) + 4);
  const Json some = pipeline(512), each = pipeline(512, {"engine.fold=off"});
  EXPECT_GT(repeated(some), 0);
  EXPECT_EQ(repeated(some) + operations(some), operations(each));
  EXPECT_NEAR(step_time(some) / ((4 - 1 + 512) * pass), 1, 1e-9);
  EXPECT_NEAR(step_time(each) / step_time(some), 1, 1e-9);
}

TEST(FoldSlow, ManyMicroBatches) {
  const auto step = [](int micro_batches) {
    return run("scale/base", Step{8, 4, 4, micro_batches, "", {}}.all());
  };
  EXPECT_LE(operations(step(32768)), 2 * operations(step(32)));
  const Json result = expect_whole({8, 4, 4, 512, "", {}});
  EXPECT_GT(repeated(result), 0);
}

// 2 (n - 1) rounds of n messages, all alike.
TEST(FoldSlow, RingInSteps) {
  for (const int servers : {4, 16}) {
    const Sets fewer{fmt::format("cluster.servers={}", servers)};
    const Json result = expect_same("scale/ring-1024-steps", fewer);
    const std::int64_t n = 8 * servers;
    EXPECT_GE(operations(result) + repeated(result), 2 * (n - 1) * n);
    EXPECT_GT(repeated(result), operations(result));
  }
}

TEST(FoldSlow, SameInputSameBytes) {
  const auto bytes = [](const std::string& file, const Sets& sets) {
    return dump_json(run(file, sets));
  };
  for (const std::string fold : {"engine.fold=auto", "engine.fold=off"}) {
    for (const std::string name : {"scale/gpt3-1024", "scale/alltoall-2048", "scale/random-4096"})
      EXPECT_EQ(bytes(name, {fold}), bytes(name, {fold})) << name;
  }
}

}  // namespace
}  // namespace trainyard
