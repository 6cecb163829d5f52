#include "sim/background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/error.hpp"

namespace trainyard {
namespace {

BackgroundFlow announce(Lowering& lowering, int server, bool write, Bytes bytes, double cores,
                        std::string_view label) {
  const ServerId id(static_cast<std::size_t>(server));
  const auto per_server = static_cast<std::size_t>(lowering.routes().topology().gpus_per_server());
  return {lowering.announce(lowering.routes().storage(id, write, cores)),
          Rank(id.index() * per_server), bytes, std::string(label)};
}

}  // namespace

Bytes checkpoint_bytes(const Job& job) {
  if (!job.training) return {};
  return Bytes::of(job.training->checkpoint.bytes_per_parameter * job.workload->facts().parameters);
}

void check_training(const Cluster& cluster, const Job& job) {
  if (!job.training) return;
  const TrainingPlan& plan = *job.training;
  const StepFacts facts = job.workload->facts();
  if (facts.samples <= 0) {
    throw DesignError("",
                      fmt::format("the workload \"{}\" counts no samples: it is no training",
                                  job.workload->kind()),
                      "use a training workload, or leave \"training\" out");
  }
  if (plan.tokens > 0 && facts.tokens <= 0)
    throw DesignError("/tokens", "the workload counts no tokens", "give \"steps\" instead");
  if (plan.checkpoint.writers > job.server_count(cluster))
    throw DesignError("/checkpoint/writers",
                      fmt::format("are {}, and the job has {} servers", plan.checkpoint.writers,
                                  job.server_count(cluster)),
                      "at most that many, or 0 for all");
  const auto& appliances = cluster.appliances;
  if (plan.data.preprocess > Seconds() && plan.data.preprocessing == "appliance" &&
      std::none_of(appliances.begin(), appliances.end(),
                   [](const auto& one) { return one.second.load == "data"; }))
    throw DesignError("/data/preprocessing", "is on appliances, and none is sized by \"data\"",
                      "add one, like \"preprocessing-server\", or preprocess on the host");
  if (plan.data.preprocess > Seconds() && plan.data.sample == Bytes())
    throw DesignError("/data/preprocess", "preprocesses samples without bytes",
                      "give data.sample too");
  const Bytes checkpoint = checkpoint_bytes(job);
  if (plan.checkpoint.bytes_per_parameter > 0 && checkpoint == Bytes())
    throw DesignError("/checkpoint", "the workload counts no parameters", "set its \"parameters\"");
  if ((checkpoint > Bytes() || plan.data.sample > Bytes()) && !cluster.storage)
    throw DesignError("", "reads or writes storage, and the cluster has none",
                      "set cluster.storage, like \"nvmeof-flash\"");
  if (checkpoint > Bytes() && checkpoint > cluster.storage->capacity()) {
    throw DesignError("/checkpoint",
                      fmt::format("one checkpoint of {} is larger than the storage, {}",
                                  show(checkpoint), show(cluster.storage->capacity())),
                      "more targets or drives, or fewer bytes_per_parameter",
                      ExitCode::kInfeasible);
  }
}

std::vector<BackgroundFlow> announce_loading(Lowering& lowering, const Job& job) {
  if (!job.training || job.training->data.sample == Bytes()) return {};
  const DataPlan& data = job.training->data;
  const int servers = job.server_count(lowering.cluster());
  const Bytes each = job.workload->facts().samples / servers * data.sample;
  const double cores = data.preprocessing == "host" ? data.preprocess.si() / data.sample.si() : 0;
  std::vector<BackgroundFlow> flows;
  flows.reserve(static_cast<std::size_t>(servers));
  for (int s = 0; s < servers; ++s)
    flows.push_back(announce(lowering, job.first_server + s, false, each, cores, "training data"));
  return flows;
}

std::vector<BackgroundFlow> announce_checkpoint(Lowering& lowering, const Job& job, bool write) {
  if (checkpoint_bytes(job) == Bytes()) return {};
  const int servers = job.server_count(lowering.cluster());
  const int asked = write ? job.training->checkpoint.writers : 0;
  const int taking_part = asked > 0 ? asked : servers;
  const Bytes each = checkpoint_bytes(job) / taking_part;
  std::vector<BackgroundFlow> flows;
  flows.reserve(static_cast<std::size_t>(taking_part));
  for (int s = 0; s < taking_part; ++s)
    flows.push_back(announce(lowering, job.first_server + s, write, each, 0, "checkpoint"));
  return flows;
}

std::vector<OpId> add_background(Lowering& lowering, const std::vector<BackgroundFlow>& flows) {
  OpGraph& graph = lowering.graph();
  std::vector<OpId> ops;
  ops.reserve(flows.size());
  for (const BackgroundFlow& flow : flows)
    ops.push_back(graph.add_flow(flow.rank, graph.add_path(lowering.background_path(flow.index)),
                                 flow.bytes, OpRole::kStorage, graph.label(flow.label)));
  return ops;
}

void wait_for_data(OpGraph& graph, const Topology& topology, const std::vector<OpId>& loading,
                   std::size_t first, std::size_t last) {
  std::map<std::size_t, OpId> by_server;
  for (const OpId op : loading) by_server[topology.server_of(graph.rank(op)).index()] = op;
  for (const OpId op : graph.sources(first, last)) {
    const auto it = by_server.find(topology.server_of(graph.rank(op)).index());
    if (it != by_server.end()) graph.add_edge(it->second, op);
  }
}

}  // namespace trainyard
