// Which ranks of a training step do exactly the same, so that one stands for all: sim/folding.hpp.
#include <algorithm>
#include <map>

#include "models/workloads/gpt_step.hpp"

namespace trainyard {

namespace {

constexpr const char* kUneven = "their traffic loads the network unevenly";
constexpr const char* kApart = "they do not leave their collectives together";

}  // namespace

// Tensor ranks and replicas together, else one of the two. What stands in the way is said.
void GptStep::fold() {
  const GptLayout& l = plan_.layout;
  replicas_.resize(static_cast<std::size_t>(l.data));
  for (std::size_t d = 0; d < replicas_.size(); ++d) replicas_[d] = static_cast<int>(d);
  class_of_replica_.assign(replicas_.begin(), replicas_.end());
  replicas_of_class_.assign(replicas_.size(), 1);
  if (!lowering_.folds() || l.tensor * l.data == 1) return;
  auto& reasons = lowering_.folded().reasons;
  std::string obstacle = unlike_replicas();
  const bool replicas = obstacle.empty() && l.data > 1;
  std::string lanes = unlike_lanes();
  bool folded = false;
  if (lanes.empty()) {
    if (replicas) obstacle = try_fold(1, true);
    folded = (replicas && obstacle.empty()) || try_fold(1, false).empty();
    lanes = folded ? "" : kUneven;
  }
  if (!folded && replicas) obstacle = try_fold(l.tensor, true);
  if (l.tensor > 1 && !lanes.empty()) reasons.push_back("tensor ranks one by one: " + lanes);
  if (obstacle.empty() && simulated_replicas() == l.data) obstacle = kUneven;
  if (l.data > 1 && !obstacle.empty()) reasons.push_back("replicas one by one: " + obstacle);
}

std::string GptStep::unlike_lanes() const {
  if (plan_.layout.tensor == 1) return "there is one";
  if (in_steps()) return "collectives are simulated in steps";
  return lanes_share_servers() ? "" : "a tensor-parallel group spans servers";
}

bool GptStep::in_steps() const {
  return lowering_.fidelity() == Fidelity::kSteps ||
         (plan_.layout.tensor > 1 && plan_.tensor_fidelity == Fidelity::kSteps);
}

// Whether every tensor-parallel group stands in one server.
bool GptStep::lanes_share_servers() const {
  const GptLayout& l = plan_.layout;
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int d = 0; d < l.data; ++d) {
      if (!lowering_.routes().same_server(rank(stage, d, 0), rank(stage, d, l.tensor - 1)))
        return false;
    }
  }
  return true;
}

std::string GptStep::unlike_replicas() const {
  const auto per_server = static_cast<int>(lowering_.cluster().server.gpus);
  if (in_steps()) return "collectives are simulated in steps";
  if (jitter_ > Seconds()) return "launch jitter differs from one to the other";
  if (!lowering_.background().empty()) return "storage traffic runs beside them";
  if (plan_.layout.tensor * plan_.layout.data % per_server != 0)
    return "a server holds ranks of several stages";
  return {};
}

// Simulates `lanes` tensor ranks of each group, the first for all or each, and of the replicas one
// of each class that does the same. Returns what stands in the way; then nothing is folded.
std::string GptStep::try_fold(int lanes, bool replicas) {
  const GptLayout& l = plan_.layout;
  lanes_ = lanes;
  rails_ = lanes == 1 && rails_alike() ? l.tensor : 1;
  FlowCollection flows;
  std::optional<Folding> found;
  const bool together = add_flows(replicas, flows);
  if (together) {
    std::vector<std::uint32_t> classes(static_cast<std::size_t>(l.data));
    for (std::size_t d = 0; d < classes.size() && !replicas; ++d)
      classes[d] = static_cast<std::uint32_t>(d);
    found = Folding::find(lowering_.routes().topology(), std::move(flows), std::move(classes));
  }
  if (!found || (replicas && !servers_hold_one_class(found->classes()))) {
    lanes_ = l.tensor;
    return together ? kUneven : kApart;
  }
  class_of_replica_.assign(found->classes().begin(), found->classes().end());
  replicas_.clear();
  replicas_of_class_.assign(found->class_count(), 0);
  for (int d = 0; d < l.data; ++d) {
    const int klass = class_of_replica_[static_cast<std::size_t>(d)];
    if (klass == simulated_replicas()) replicas_.push_back(d);
    ++replicas_of_class_[static_cast<std::size_t>(klass)];
  }
  note_folding(std::move(*found));
  return {};
}

// Whether each tensor rank has a rail of its own and the rails cannot be told apart, so that what
// holds for the first holds for all.
bool GptStep::rails_alike() {
  const Server& server = lowering_.cluster().server;
  return plan_.layout.tensor > 1 && server.nics == server.gpus &&
         plan_.layout.tensor * plan_.layout.data % server.gpus == 0 &&
         lowering_.routes().topology().rails_alike() && lowering_.background().empty() &&
         lowering_.follows_routes(gradient_call(0, 0, 0));
}

// What is measured of a server comes from the replicas on it that are simulated.
bool GptStep::servers_hold_one_class(const std::vector<std::uint32_t>& classes) const {
  const auto per_server = static_cast<std::size_t>(lowering_.cluster().server.gpus),
             tensor = static_cast<std::size_t>(plan_.layout.tensor);
  for (std::size_t d = 1; d < classes.size(); ++d) {
    if (d * tensor / per_server == (d * tensor - 1) / per_server && classes[d] != classes[d - 1])
      return classes.size() == *std::max_element(classes.begin(), classes.end()) + 1;
  }
  return true;
}

void GptStep::note_folding(Folding found) {
  const GptLayout& l = plan_.layout;
  const double ranks_of_lane = static_cast<double>(l.tensor) / lanes_;
  const Topology& topology = lowering_.routes().topology();
  Folded& folded = lowering_.folded();
  folded.tensor_ranks = l.tensor / lanes_;
  folded.rails = rails_;
  folded.replicas = l.data;
  folded.replica_classes = static_cast<int>(replicas_.size());
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int c = 0; c < folded.replica_classes; ++c) {
      for (int lane = 0; lane < lanes_; ++lane) {
        folded.servers[topology.server_of(rank(stage, replica_at(c), lane))] +=
            stands_for(c) * ranks_of_lane / topology.gpus_per_server();
      }
    }
  }
  folded.folding = std::move(found);
}

// Every flow of the step, once for all micro-batches or buckets that it is made for, and the pauses
// in which replicas may differ. Collectives are tried in the order in which they are lowered: SHARP
// gives its trees to who comes first. False when ranks of which one is to stand for the others do
// not leave a collective together.
bool GptStep::add_flows(bool replicas, FlowCollection& flows) {
  const GptLayout& l = plan_.layout;
  FlowCollection::Kind kind = 0;
  for (const FlowPath& path : lowering_.background())
    flows.add(kind++, FlowCollection::kShared, path);
  gradient_flows_ = tensor_flows_ = 0;
  const bool calls = l.tensor > 1 && plan_.fixed_forward == Seconds();
  // Pauses in one server are those in any other: servers are all alike.
  const bool pauses = plan_.tensor_fidelity == Fidelity::kAnalytic && lanes_share_servers();
  if (calls && !pauses && !add_tensor_collectives(flows)) return false;
  add_messages(flows);
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int t = 0; t < l.tensor; t += rails_) {
      const auto tried = lowering_.try_collective(gradient_call(stage, t, 0), lowering_.fidelity());
      if (!all_alike(tried, gradient_flows_) || (replicas && !tried.ends_together)) return false;
      add_collective(tried, gradient_kind(stage, lanes_ == 1 ? 0 : t), FlowCollection::kShared,
                     rails_, flows);
    }
  }
  return true;
}

bool GptStep::add_tensor_collectives(FlowCollection& flows) {
  // One of each kind: those of one rank follow each other.
  std::map<CollectiveOp, Bytes> kinds;
  for (const Piece& piece : forward_layer()) kinds.emplace(piece.op, piece.bytes);
  for (int stage = 0; stage < plan_.layout.pipeline; ++stage) {
    for (int d = 0; d < plan_.layout.data; ++d) {
      for (const auto& [op, bytes] : kinds) {
        const auto tried = try_tensor({op, bytes, &tensor_group(stage, d), OpRole::kTensorComm, 0});
        if (!all_alike(tried, tensor_flows_) || (lanes_ == 1 && !tried.ends_together)) return false;
        add_collective(tried, tensor_kind(stage, op), static_cast<FlowCollection::Member>(d), 1,
                       flows);
      }
    }
  }
  return true;
}

// Analytic ones are pauses, which differ between groups that reach over other switches.
Lowering::Tried GptStep::try_tensor(const CollectiveCall& call) {
  if (plan_.tensor_fidelity != Fidelity::kAnalytic)
    return lowering_.try_collective(call, plan_.tensor_fidelity);
  Lowering::Tried tried;
  tried.flows.emplace_back().latency = lowering_.estimate(call);
  return tried;
}

// `count`: of the flows of each collective of its kind; 0: not known yet.
bool GptStep::all_alike(const Lowering::Tried& tried, std::size_t& count) {
  if (count == 0) count = tried.flows.size();
  return tried.flows.size() == count;
}

void GptStep::add_collective(const Lowering::Tried& tried, FlowCollection::Kind first,
                             FlowCollection::Member member, int rails, FlowCollection& flows) {
  for (const FlowPath& path : tried.flows) flows.add(first++, member, path, rails);
}

void GptStep::add_messages(FlowCollection& flows) const {
  const GptLayout& l = plan_.layout;
  const auto add = [&](int stage, int other, int d) {
    for (int t = 0; t < l.tensor; t += rails_) {
      const FlowPath path = lowering_.routes().message(rank(stage, d, t), rank(other, d, t));
      flows.add(message_kind(stage, other, lanes_ == 1 ? 0 : t),
                static_cast<FlowCollection::Member>(d), path, rails_);
    }
  };
  for (int stage = 0; stage + 1 < l.pipeline; ++stage) {
    for (int d = 0; d < l.data; ++d) {
      add(stage, stage + 1, d);
      add(stage + 1, stage, d);
    }
  }
}

FlowCollection::Kind GptStep::message_kind(int stage, int other, int lane) const {
  const auto pair = static_cast<int>(flat_index(std::min(stage, other), 2, other > stage ? 0 : 1));
  return static_cast<FlowCollection::Kind>(lowering_.background().size() +
                                           flat_index(pair, lanes_, lane));
}

FlowCollection::Kind GptStep::tensor_kind(int stage, CollectiveOp op) const {
  const int kinds = static_cast<int>(collective_names().size());
  const auto messages = flat_index(2 * (plan_.layout.pipeline - 1), lanes_, 0);
  return static_cast<FlowCollection::Kind>(lowering_.background().size() + messages +
                                           flat_index(stage, kinds, static_cast<int>(op)) *
                                               tensor_flows_);
}

FlowCollection::Kind GptStep::gradient_kind(int stage, int lane) const {
  return static_cast<FlowCollection::Kind>(
      tensor_kind(plan_.layout.pipeline, static_cast<CollectiveOp>(0)) +
      flat_index(stage, lanes_, lane) * gradient_flows_);
}

void GptStep::fold_path(OpId op, FlowCollection::Kind kind, FlowCollection::Member member) {
  const std::optional<Folding>& folding = lowering_.folded().folding;
  if (!folding || graph_.kind(op) != OpKind::kFlow) return;
  lowering_.folded().own_paths.emplace(op, graph_.path_id(op));
  PathId& path = folded_paths_[{kind, member}];  // buckets of gradients take the same
  if (!path.valid()) path = graph_.add_path(folding->fold(kind, member, graph_.path(op)));
  graph_.set_path(op, path);
}

}  // namespace trainyard
