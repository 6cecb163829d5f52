#include "sim/measure.hpp"

#include <algorithm>
#include <unordered_map>

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

RankAccount operator*(double weight, const RankAccount& a) {
  return {weight * a.compute, weight * a.network, weight * a.nvlink,
          weight * a.host,    weight * a.storage, weight * a.bubble};
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
      : graph_(graph), time_(timeline) {
    for (std::size_t i = first; i < last; ++i) {
      const OpId op(i);
      const std::size_t record = time_.record(op, time_.iterations(op) - 1);
      if (final_ == Timeline::kNone || time_.finish(record) > time_.finish(final_))
        final_ = static_cast<std::uint32_t>(record);
    }
  }

  double end() const { return final_ == Timeline::kNone ? 0 : time_.finish(final_); }

  void close_gap(double begin, std::size_t record, RankAccount& account) const {
    charge(begin, time_.cause(record), time_.start(record), account);
  }
  void close_tail(double begin, RankAccount& account) const {
    charge(begin, final_, end(), account);
  }

 private:
  void charge(double begin, std::uint32_t record, double until, RankAccount& account) const {
    while (until > begin && record != Timeline::kNone) {
      const double from = std::max(begin, time_.start(record));
      share_of(account, graph_.role(time_.op_of(record))) += until - from;
      until = from;
      record = time_.cause(record);
    }
    account.bubble += std::max(0.0, until - begin);
  }

  const OpGraph& graph_;
  const Timeline& time_;
  std::uint32_t final_ = Timeline::kNone;
};

}  // namespace

// Rank by rank: the records of a rank's kernels stand together.
std::vector<RankAccount> account(const OpGraph& graph, const Timeline& timeline,
                                 std::span<const Rank> ranks, std::size_t first, std::size_t last) {
  const Accountant accountant(graph, timeline, first, last);
  std::unordered_map<Rank, std::size_t> place;
  for (std::size_t i = 0; i < ranks.size(); ++i) place.emplace(ranks[i], i);
  std::vector<std::vector<OpId>> kernels(ranks.size());
  for (std::size_t i = first; i < last; ++i) {
    if (graph.kind(OpId(i)) == OpKind::kCompute)
      kernels[place.at(graph.rank(OpId(i)))].emplace_back(i);
  }
  std::vector<RankAccount> accounts(ranks.size());
  std::vector<std::pair<double, std::size_t>> stream;  // start and record
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    stream.clear();
    for (const OpId op : kernels[r]) {
      for (std::uint32_t k = 0; k < timeline.iterations(op); ++k)
        stream.emplace_back(timeline.start(timeline.record(op, k)), timeline.record(op, k));
    }
    std::sort(stream.begin(), stream.end());
    double busy_until = 0;
    for (const auto& [start, record] : stream) {
      if (start > busy_until) accountant.close_gap(busy_until, record, accounts[r]);
      // Kernels of other streams may overlap.
      if (timeline.finish(record) <= busy_until) continue;
      accounts[r].compute += timeline.finish(record) - std::max(start, busy_until);
      busy_until = timeline.finish(record);
    }
    accountant.close_tail(busy_until, accounts[r]);
  }
  return accounts;
}

}  // namespace trainyard
