#include "models/workloads/trace_replay.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

void LogGops::fields(Archive& ar) {
  ar.required("L", latency, "latency of the network", non_negative());
  ar.required("o", overhead, "of a core per message, on both ends", non_negative());
  ar.required("g", gap, "between messages of a NIC", non_negative());
  ar.required("G", per_byte, "of a NIC per byte", non_negative());
  ar("S", rendezvous, "a larger message leaves when its receive is posted (0: none does)",
     non_negative());
}

namespace {

// A matrix product of that many FLOPs with equal sides: shapes are not known.
Kernel kernel_of(const TraceOp& op) {
  Kernel kernel;
  kernel.m = kernel.n = kernel.k = std::cbrt(op.flops / 2);
  kernel.traffic = Bytes::of(op.bytes);
  return kernel;
}

}  // namespace

std::optional<Seconds> replayed_time(const TraceOp& op, const ReplayPlan& plan,
                                     const Cluster& cluster) {
  const bool known = op.kind == TraceKind::kCompute && (op.flops > 0 || op.bytes > 0);
  if (op.duration >= 0 && !(plan.recompute && known))
    return Seconds::of(op.duration * plan.compute_scale);
  if (known) return plan.compute_scale * cluster.kernels->time(cluster.loaded_gpu(), kernel_of(op));
  if (op.bytes > 0 && op.kind != TraceKind::kHost)
    return Bytes::of(op.bytes) / cluster.server.nic.pcie_bandwidth;
  return std::nullopt;
}

TraceReplay::TraceReplay(const Trace& trace, const TraceMatches& matches, const ReplayPlan& plan,
                         Lowering& lowering, std::span<const Rank> gpus)
    : trace_(trace),
      matches_(matches),
      plan_(plan),
      lowering_(lowering),
      graph_(lowering.graph()),
      gpus_(gpus) {
  labels_.reserve(trace.names.size());
  for (const std::string& name : trace.names) labels_.push_back(graph_.label(name));
  for (const TraceProgram& program : trace.programs) sent_.emplace_back(program.ops.size());
  for (const TraceMessage& message : matches.messages)
    sent_[message.send.program][message.send.op] = true;
  for (const TraceRef& send : matches.lone_sends) sent_[send.program][send.op] = true;
  instances_.resize(static_cast<std::size_t>(plan.replicas) * trace.programs.size());
  for (Instance& instance : instances_) {
    instance.compute_queue = graph_.add_queue();
    instance.host_queue = graph_.add_queue();
    if (!plan.loggops) continue;
    instance.nic_out = graph_.add_queue();
    instance.nic_in = graph_.add_queue();
  }
  graph_.allow_overlap();
}

void TraceReplay::lower() {
  for (int i = 0; i < plan_.repeat; ++i) lower_once();
  for (const Instance& instance : instances_) ends_.push_back(instance.before);
  instances_ = {};
}

void TraceReplay::lower_once() {
  for (int r = 0; r < plan_.replicas; ++r) {
    for (std::size_t p = 0; p < trace_.programs.size(); ++p) add_ops(r, p);
  }
  add_calls();
  for (int r = 0; r < plan_.replicas; ++r) add_messages(r);
  for (int r = 0; r < plan_.replicas; ++r) {
    for (std::size_t p = 0; p < trace_.programs.size(); ++p) {
      connect(r, p);
      finish(r, p);
    }
  }
}

void TraceReplay::add_ops(int replica, std::size_t program) {
  const TraceProgram& of = trace_.programs[program];
  Instance& instance = at(replica, program);
  instance.start.assign(of.ops.size(), OpId());
  instance.end.assign(of.ops.size(), OpId());
  const Rank rank = gpu(of.rank, replica);
  for (std::size_t i = 0; i < of.ops.size(); ++i) {
    const TraceOp& op = of.ops[i];
    if (op.kind == TraceKind::kSend && sent_[program][i]) {
      add_send(op, rank, replica, instance, i);
    } else if (op.kind == TraceKind::kCompute || op.kind == TraceKind::kHost ||
               op.kind == TraceKind::kLoad || op.kind == TraceKind::kStore) {
      add_work(op, rank, instance, i);
    } else {
      instance.start[i] = instance.end[i] = graph_.add_join();
    }
  }
}

void TraceReplay::add_work(const TraceOp& op, Rank gpu, Instance& instance, std::size_t index) {
  const Seconds time = replayed_time(op, plan_, lowering_.cluster()).value_or(Seconds());
  const auto number = static_cast<std::uint32_t>(op.id);
  OpId added;
  if (op.kind == TraceKind::kCompute) {
    added = graph_.add_compute(gpu, time, OpRole::kCompute, labels_[op.name], number);
    if (!trace_.alone && !plan_.recompute) graph_.set_steady(added);
    if (op.stream == TraceOp::kNone) graph_.set_queues(added, instance.compute_queue);
  } else {
    const OpRole role = op.kind == TraceKind::kHost ? OpRole::kHost : OpRole::kStorage;
    added = graph_.add_delay(gpu, time, role, labels_[op.name], number);
    if (op.kind == TraceKind::kHost && op.stream == TraceOp::kNone)
      graph_.set_queues(added, instance.host_queue);
  }
  instance.start[index] = instance.end[index] = added;
}

// Of LogGOPS: the core's overhead, then the NIC is held for what is left of the gap.
void TraceReplay::add_send(const TraceOp& op, Rank gpu, int replica, Instance& instance,
                           std::size_t index) {
  const Rank to = this->gpu(static_cast<std::uint32_t>(op.peer), replica);
  const auto number = static_cast<std::uint32_t>(op.id);
  const std::uint32_t label = labels_[op.name];
  if (!plan_.loggops) {
    instance.start[index] = instance.end[index] = lowering_.send(
        gpu, to, Bytes::of(op.bytes), OpRole::kPipelineComm, trace_.name(op), number);
    return;
  }
  const LogGops& model = *plan_.loggops;
  const Seconds body = std::max(0.0, op.bytes - 1) * model.per_byte;
  const OpId send = graph_.add_delay(gpu, model.overhead, OpRole::kHost, label, number);
  graph_.set_queues(send, instance.host_queue, instance.nic_out);
  const Seconds held = std::max(Seconds(), model.gap + body - model.overhead);
  const OpId nic = graph_.add_delay(gpu, held, OpRole::kPipelineComm, label, number);
  graph_.set_queues(nic, instance.nic_out);
  graph_.add_edge(send, nic);
  instance.start[index] = instance.end[index] = send;
}

std::vector<Rank> TraceReplay::ranks_of(std::uint32_t group, int replica) const {
  std::vector<Rank> ranks;
  const auto add = [&](int r) {
    if (trace_.groups[group].ranks.empty()) {
      for (std::uint32_t i = 0; i < trace_.ranks; ++i) ranks.push_back(gpu(i, r));
    } else {
      for (const std::uint32_t i : trace_.groups[group].ranks) ranks.push_back(gpu(i, r));
    }
  };
  if (plan_.across[group]) {
    for (int r = 0; r < plan_.replicas; ++r) add(r);
  } else {
    add(replica);
  }
  return ranks;
}

void TraceReplay::add_calls() {
  for (std::uint32_t c = 0; c < matches_.calls.size(); ++c) {
    const bool across = plan_.across[matches_.calls[c].group];
    for (int r = 0; r < (across ? 1 : plan_.replicas); ++r) add_call(c, r);
  }
}

void TraceReplay::add_call(std::uint32_t index, int replica) {
  const TraceCall& call = matches_.calls[index];
  const bool across = plan_.across[call.group];
  // Who takes part: of a representative trace all ranks of the group, else those that join.
  std::vector<Rank> ranks;
  std::vector<std::pair<Instance*, std::uint32_t>> joining;  // and the op
  std::map<Rank, OpId> entry_of;
  for (int r = replica; r < (across ? plan_.replicas : replica + 1); ++r) {
    for (std::uint32_t m = call.first; m < call.first + call.members; ++m) {
      const TraceRef ref = matches_.members[m];
      Instance& instance = at(r, ref.program);
      joining.emplace_back(&instance, ref.op);
      const Rank rank = gpu(trace_.programs[ref.program].rank, r);
      if (!trace_.representative) ranks.push_back(rank);
      entry_of[rank] = instance.start[ref.op];
    }
  }
  if (trace_.representative) ranks = ranks_of(call.group, replica);
  // Ranks of one server stand together in a ring.
  std::vector<bool> seen(lowering_.routes().topology().servers());
  const Topology& topology = lowering_.routes().topology();
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (topology.server_of(ranks[i]) == topology.server_of(ranks[i - 1])) continue;
    const std::size_t before = topology.server_of(ranks[i - 1]).index();
    seen[before] = true;
    if (!seen[topology.server_of(ranks[i]).index()]) continue;
    std::sort(ranks.begin(), ranks.end());
    break;
  }
  std::vector<OpId> entry;
  entry.reserve(ranks.size());
  for (const Rank rank : ranks) {
    const auto it = entry_of.find(rank);
    entry.push_back(it == entry_of.end() ? OpId() : it->second);
  }
  ReplayedComm comm{index, false, replica, OpId(graph_.size()), OpId()};
  const std::vector<OpId> exits = lower_call(call, ranks, entry);
  comm.last = OpId(graph_.size());
  if (comm.last.index() > comm.first.index()) comms_.push_back(comm);
  std::map<Rank, OpId> exit_of;
  for (std::size_t i = 0; i < ranks.size(); ++i) exit_of[ranks[i]] = exits[i];
  std::size_t j = 0;
  for (int r = replica; r < (across ? plan_.replicas : replica + 1); ++r) {
    for (std::uint32_t m = call.first; m < call.first + call.members; ++m, ++j)
      joining[j].first->end[joining[j].second] =
          exit_of.at(gpu(trace_.programs[matches_.members[m].program].rank, r));
  }
}

std::vector<OpId> TraceReplay::lower_call(const TraceCall& call, const std::vector<Rank>& ranks,
                                          const std::vector<OpId>& entry) {
  if (ranks.size() == 1) return entry;
  const auto together = [&](OpId op) {
    for (const OpId before : entry) graph_.add_edge(before, op);
    return std::vector<OpId>(ranks.size(), op);
  };
  if (plan_.given_time) {
    const auto time = plan_.given_time(trace_.groups[call.group].name, call.op,
                                       Bytes::of(call.bytes), ranks.size());
    if (time) {
      const OpId pause = graph_.add_delay(ranks.front(), *time, OpRole::kCollective,
                                          graph_.label(trace_collective_name(call.op)));
      graph_.set_members(pause, lowering_.group(ranks).ranks);
      return together(pause);
    }
  }
  CollectiveOp op = CollectiveOp::kAllReduce;
  double bytes = call.bytes;
  switch (call.op) {
    case TraceCollective::kGather:
    case TraceCollective::kScatter:
      return lower_rooted(call, ranks, entry);
    case TraceCollective::kBarrier:
      bytes = 4;  // an all_reduce of one number, as PyTorch does over NCCL
      break;
    case TraceCollective::kAllReduce:
      break;
    case TraceCollective::kReduce:
      op = CollectiveOp::kReduce;
      break;
    case TraceCollective::kBroadcast:
      op = CollectiveOp::kBroadcast;
      break;
    case TraceCollective::kAllGather:
      op = CollectiveOp::kAllGather;
      break;
    case TraceCollective::kReduceScatter:
      op = CollectiveOp::kReduceScatter;
      break;
    case TraceCollective::kAllToAll:
      op = CollectiveOp::kAllToAll;
      break;
  }
  if (bytes == 0) return together(graph_.add_join(OpRole::kCollective));
  return lowering_.collective(
      {op, Bytes::of(bytes), &lowering_.group(ranks), OpRole::kCollective, 0}, entry);
}

// The root sends (receives) the part of each other rank.
std::vector<OpId> TraceReplay::lower_rooted(const TraceCall& call, const std::vector<Rank>& ranks,
                                            const std::vector<OpId>& entry) {
  const bool gather = call.op == TraceCollective::kGather;
  const Rank root_rank =
      call.root >= 0 ? gpu(static_cast<std::uint32_t>(call.root), 0) : ranks.front();
  const auto found = std::find(ranks.begin(), ranks.end(), root_rank);
  const std::size_t root =
      found == ranks.end() ? 0 : static_cast<std::size_t>(found - ranks.begin());
  const Bytes part = Bytes::of(call.bytes / static_cast<double>(ranks.size()));
  std::vector<OpId> exits = entry;
  const OpId all = graph_.add_join(OpRole::kCollective);
  graph_.add_edge(entry[root], all);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == root) continue;
    const OpId flow = gather ? lowering_.send(ranks[i], ranks[root], part, OpRole::kCollective,
                                              trace_collective_name(call.op))
                             : lowering_.send(ranks[root], ranks[i], part, OpRole::kCollective,
                                              trace_collective_name(call.op));
    graph_.add_edge(entry[i], flow);
    graph_.add_edge(entry[root], flow);
    graph_.add_edge(flow, all);
    exits[i] = flow;
  }
  exits[root] = all;
  return exits;
}

void TraceReplay::add_messages(int replica) {
  for (std::uint32_t m = 0; m < matches_.messages.size(); ++m) {
    const TraceMessage& message = matches_.messages[m];
    Instance& from = at(replica, message.send.program);
    Instance& to = at(replica, message.receive.program);
    const TraceOp& send = trace_.programs[message.send.program].ops[message.send.op];
    const OpId posted = to.start[message.receive.op];
    const OpId sent = from.end[message.send.op];
    const Bytes bytes = Bytes::of(send.bytes);
    comms_.push_back({m, true, replica, sent, OpId(sent.index() + 1)});
    if (plan_.loggops) {
      const LogGops& model = *plan_.loggops;
      const Seconds flight = model.latency + std::max(0.0, send.bytes - 1) * model.per_byte;
      const OpId arrived =
          graph_.add_delay(gpu(trace_.programs[message.send.program].rank, replica), flight,
                           OpRole::kPipelineComm, labels_[send.name]);
      graph_.add_edge(sent, arrived);
      if (model.rendezvous > Bytes() && bytes > model.rendezvous) graph_.add_edge(posted, arrived);
      receive_loggops(message, replica, arrived);
      continue;
    }
    if (plan_.rendezvous > Bytes() && bytes > plan_.rendezvous) graph_.add_edge(posted, sent);
    const OpId received = graph_.add_join(OpRole::kPipelineComm);
    graph_.add_edge(posted, received);
    graph_.add_edge(sent, received);
    to.end[message.receive.op] = received;
  }
}

void TraceReplay::receive_loggops(const TraceMessage& message, int replica, OpId arrived) {
  const LogGops& model = *plan_.loggops;
  Instance& to = at(replica, message.receive.program);
  const TraceProgram& program = trace_.programs[message.receive.program];
  const TraceOp& op = program.ops[message.receive.op];
  const Rank rank = gpu(program.rank, replica);
  const OpId receive = graph_.add_delay(rank, model.overhead, OpRole::kHost, labels_[op.name]);
  graph_.set_queues(receive, to.host_queue, to.nic_in);
  const Seconds held = std::max(
      Seconds(), model.gap + std::max(0.0, op.bytes - 1) * model.per_byte - model.overhead);
  const OpId nic = graph_.add_delay(rank, held, OpRole::kPipelineComm, labels_[op.name]);
  graph_.set_queues(nic, to.nic_in);
  graph_.add_edge(receive, nic);
  graph_.add_edge(to.start[message.receive.op], receive);
  graph_.add_edge(arrived, receive);
  to.end[message.receive.op] = receive;
}

void TraceReplay::connect(int replica, std::size_t program) {
  const TraceProgram& of = trace_.programs[program];
  Instance& instance = at(replica, program);
  for (std::size_t i = 0; i < of.ops.size(); ++i) {
    const TraceOp& op = of.ops[i];
    for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n) {
      const TraceNeed& need = of.needs[n];
      if (need.kind != TraceNeed::Kind::kStart) {
        graph_.add_edge(instance.end[need.op], instance.start[i]);
        continue;
      }
      // To start when another starts is to wait for what that one waits for.
      const TraceOp& other = of.ops[need.op];
      for (std::uint32_t m = other.first_need; m < other.first_need + other.needs; ++m)
        graph_.add_edge(instance.end[of.needs[m].op], instance.start[i]);
    }
    if (instance.before.valid() && op.needs == 0)
      graph_.add_edge(instance.before, instance.start[i]);
    chain(instance, op, i);
  }
  instance.chains.clear();
}

void TraceReplay::chain(Instance& instance, const TraceOp& op, std::size_t index) {
  const std::optional<std::int64_t> turn = turn_of(op);
  if (!turn) return;
  OpId& last = instance.chains[*turn];
  graph_.add_edge(last, instance.start[index]);
  last = instance.end[index];
}

void TraceReplay::finish(int replica, std::size_t program) {
  Instance& instance = at(replica, program);
  const OpId all = graph_.add_join();
  for (const OpId end : instance.end) graph_.add_edge(end, all);
  graph_.add_edge(instance.before, all);
  instance.before = all;
}

}  // namespace trainyard
