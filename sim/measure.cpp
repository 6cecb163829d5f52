#include "sim/measure.hpp"

#include <algorithm>
#include <map>

namespace trainyard {

RankAccount& RankAccount::operator+=(const RankAccount& other) {
  compute += other.compute;
  network += other.network;
  nvlink += other.nvlink;
  host += other.host;
  storage += other.storage;
  bubble += other.bubble;
  return *this;
}

void add_account(const RankAccount& account, Json& metrics) {
  const double all = account.sum();
  metrics["gpu_utilization"] = Json(1 - (account.network + account.storage + account.host) / all);
  metrics["gpu_compute_fraction"] = Json(account.compute / all);
  Json waits = Json::object();
  waits["network"] = Json(account.network / all);
  waits["storage"] = Json(account.storage / all);
  waits["host"] = Json(account.host / all);
  waits["nvlink"] = Json(account.nvlink / all);
  waits["bubble"] = Json(account.bubble / all);
  metrics["gpu_wait_fractions"] = std::move(waits);
  metrics["exposed_comm_fraction"] = Json((account.network + account.nvlink) / all);
}

namespace {

double& share_of(RankAccount& account, OpRole role) {
  if (is_network(role)) return account.network;
  switch (role) {
    case OpRole::kNvLink:
      return account.nvlink;
    case OpRole::kHost:
      return account.host;
    case OpRole::kStorage:
      return account.storage;
    default:
      return account.bubble;
  }
}

class Accountant {
 public:
  Accountant(const OpGraph& graph, const Timeline& timeline, std::size_t first, std::size_t last)
      : graph_(graph), time_(timeline), last_dependency_(graph.size()) {
    // Over all operations: a job's first ones may wait for data, which is loaded outside its range.
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (const OpId next : graph.successors(OpId(i))) {
        OpId& known = last_dependency_[next.index()];
        if (!known.valid() || time_.finish[i] > time_.finish[known.index()]) known = OpId(i);
      }
    }
    for (std::size_t i = first; i < last; ++i) {
      if (!final_.valid() || time_.finish[i] > time_.finish[final_.index()]) final_ = OpId(i);
    }
  }

  double end() const { return final_.valid() ? time_.finish[final_.index()] : 0; }

  void close_gap(double begin, OpId op, RankAccount& account) const {
    charge(begin, last_dependency_[op.index()], time_.start[op.index()], account);
  }
  void close_tail(double begin, RankAccount& account) const {
    charge(begin, final_, end(), account);
  }

 private:
  void charge(double begin, OpId op, double until, RankAccount& account) const {
    while (until > begin && op.valid()) {
      const double from = std::max(begin, time_.start[op.index()]);
      share_of(account, graph_.role(op)) += until - from;
      until = from;
      op = last_dependency_[op.index()];
    }
    account.bubble += std::max(0.0, until - begin);
  }

  const OpGraph& graph_;
  const Timeline& time_;
  std::vector<OpId> last_dependency_;
  OpId final_;
};

}  // namespace

std::vector<RankAccount> account(const OpGraph& graph, const Timeline& timeline,
                                 std::span<const Rank> ranks, std::size_t first, std::size_t last) {
  const Accountant accountant(graph, timeline, first, last);
  std::map<Rank, std::size_t> place;
  for (std::size_t i = 0; i < ranks.size(); ++i) place.emplace(ranks[i], i);
  std::vector<std::vector<OpId>> kernels(ranks.size());
  for (std::size_t i = first; i < last; ++i) {
    if (graph.kind(OpId(i)) == OpKind::kCompute)
      kernels[place.at(graph.rank(OpId(i)))].emplace_back(i);
  }
  std::vector<RankAccount> accounts(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    auto& stream = kernels[r];
    std::sort(stream.begin(), stream.end(), [&](OpId a, OpId b) {
      return timeline.start[a.index()] != timeline.start[b.index()]
                 ? timeline.start[a.index()] < timeline.start[b.index()]
                 : a < b;
    });
    double busy_until = 0;
    for (const OpId op : stream) {
      accountant.close_gap(busy_until, op, accounts[r]);
      accounts[r].compute += timeline.finish[op.index()] - timeline.start[op.index()];
      busy_until = timeline.finish[op.index()];
    }
    accountant.close_tail(busy_until, accounts[r]);
  }
  return accounts;
}

}  // namespace trainyard
