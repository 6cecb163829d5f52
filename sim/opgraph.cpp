#include "sim/opgraph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/error.hpp"
#include "sim/mix.hpp"

namespace trainyard {

std::string_view role_name(OpRole role) {
  switch (role) {
    case OpRole::kOther:
      return "other";
    case OpRole::kCompute:
      return "compute";
    case OpRole::kHost:
      return "host";
    case OpRole::kStorage:
      return "storage";
    case OpRole::kNvLink:
      return "nvlink";
    case OpRole::kTensorComm:
      return "tensor-parallel";
    case OpRole::kPipelineComm:
      return "pipeline";
    case OpRole::kDataComm:
      return "data-parallel";
    case OpRole::kCollective:
      return "collective";
  }
  return "";
}

OpId OpGraph::add(OpKind kind, Rank rank, PathId path, double work, OpRole role,
                  std::uint32_t label, std::uint32_t number) {
  require(first_.empty(), "an operation added to a frozen graph");
  require(work >= 0, "an operation with negative work");
  const OpId id(kind_.size());
  kind_.push_back(kind);
  role_.push_back(role);
  purpose_.push_back(role);
  rank_.push_back(rank);
  path_.push_back(path);
  work_.push_back(work);
  label_.push_back(label);
  number_.push_back(number);
  occupancy_.push_back(kNoOccupancy);
  count_.push_back(adding_);
  instances_ += adding_;
  return id;
}

void OpGraph::set_iterations(std::uint32_t count) {
  require(count >= 1, "an operation without iterations");
  adding_ = count;
}

OpId OpGraph::add_join(OpRole role) {
  return add(OpKind::kJoin, Rank(), PathId(), 0, role, label("join"), 0);
}

OpId OpGraph::add_compute(Rank rank, Seconds time, OpRole role, std::uint32_t label,
                          std::uint32_t number) {
  return add(OpKind::kCompute, rank, PathId(), time.si(), role, label, number);
}

OpId OpGraph::add_delay(Rank rank, Seconds time, OpRole role, std::uint32_t label,
                        std::uint32_t number) {
  return add(OpKind::kDelay, rank, PathId(), time.si(), role, label, number);
}

OpId OpGraph::add_delays(Rank rank, const std::vector<double>& seconds, OpRole role,
                         std::uint32_t label, std::uint32_t number) {
  require(seconds.size() == adding_, "one delay per iteration");
  require(std::all_of(seconds.begin(), seconds.end(), [](double s) { return s >= 0; }),
          "a negative delay");
  const PathId first(delays_.size());
  delays_.insert(delays_.end(), seconds.begin(), seconds.end());
  return add(OpKind::kDelay, rank, first, 0, role, label, number);
}

OpId OpGraph::add_flow(Rank rank, PathId path, Bytes bytes, OpRole role, std::uint32_t label,
                       std::uint32_t number) {
  return add(OpKind::kFlow, rank, path, bytes.si(), role, label, number);
}

void OpGraph::add_edge(OpId before, OpId after, std::int32_t shift) {
  if (before.valid()) pending_.push_back({before, after, shift});
}

void OpGraph::set_steady(OpId op) {
  if (steady_.size() <= op.index()) steady_.resize(op.index() + 1);
  steady_[op.index()] = true;
}

void OpGraph::set_queues(OpId op, std::uint32_t queue, std::uint32_t other) {
  require(count_[op.index()] == 1, "an operation of several iterations in a queue");
  if (queues_of_.size() <= op.index()) queues_of_.resize(op.index() + 1, {kNoQueue, kNoQueue});
  queues_of_[op.index()] = {queue, other};
}

std::span<const Rank> OpGraph::members(OpId op) const {
  const auto it = std::lower_bound(members_.begin(), members_.end(), op,
                                   [](const auto& one, OpId id) { return one.first < id; });
  if (it != members_.end() && it->first == op) return it->second;
  return {&rank_[op.index()], 1};
}

std::uint32_t OpGraph::add_occupancy(Occupancy occupancy) {
  occupancies_.push_back(std::move(occupancy));
  return static_cast<std::uint32_t>(occupancies_.size() - 1);
}

namespace {

std::uint64_t hash_of(const FlowPath& path) {
  std::uint64_t h = 0;
  const auto add = [&h](std::uint64_t x) { h = mix_step(h ^ x); };
  for (const double x : {path.latency.si(), path.fairness, path.bound.si()})
    add(std::bit_cast<std::uint64_t>(x));
  for (const Share& share : path.shares) {
    add(share.resource.index());
    add(std::bit_cast<std::uint64_t>(share.weight));
  }
  return h;
}

bool same(const FlowPath& a, const FlowPath& b) {
  return a.latency == b.latency && a.fairness == b.fairness && a.bound == b.bound &&
         a.shares == b.shares;
}

}  // namespace

PathId OpGraph::add_path(FlowPath path) {
  const std::uint64_t hash = hash_of(path);
  for (auto [it, end] = path_ids_.equal_range(hash); it != end; ++it) {
    if (same(paths_[it->second.index()], path)) return it->second;
  }
  const PathId id(paths_.size());
  path.shares.shrink_to_fit();
  paths_.push_back(std::move(path));
  path_ids_.emplace(hash, id);
  return id;
}

std::uint32_t OpGraph::label(std::string_view name) {
  const auto it = label_ids_.find(name);
  if (it != label_ids_.end()) return it->second;
  const auto id = static_cast<std::uint32_t>(labels_.size());
  labels_.emplace_back(name);
  label_ids_.emplace(std::string(name), id);
  return id;
}

std::vector<OpId> OpGraph::sources(std::size_t first, std::size_t last) const {
  std::vector<bool> waits(last - first);
  for (const Edge& edge : pending_) {
    // A later iteration's condition is none of the first.
    const bool later =
        edge.shift > 0 || (edge.shift == OpEdge::kLastAfterLast && count_[edge.after.index()] > 1);
    if (edge.after.index() >= first && edge.after.index() < last && !later)
      waits[edge.after.index() - first] = true;
  }
  std::vector<OpId> found;
  for (std::size_t i = first; i < last; ++i) {
    if ((kind_[i] == OpKind::kCompute || kind_[i] == OpKind::kDelay) && !waits[i - first])
      found.emplace_back(i);
  }
  return found;
}

// Whether the edge is a condition of an operation with one iteration, or of any with several.
bool OpGraph::applies(const Edge& e) const {
  if (count_[e.after.index()] > 1 || e.shift <= OpEdge::kLastAfterLast) return true;
  return e.shift <= 0 && static_cast<std::uint32_t>(-e.shift) < count_[e.before.index()];
}

void OpGraph::freeze() {
  const std::size_t n = size();
  std::erase_if(pending_, [this](const Edge& e) { return !applies(e); });
  first_.assign(n + 1, 0);
  first_predecessor_.assign(n + 1, 0);
  waits_.assign(n, 0);
  for (const Edge& e : pending_) {
    ++first_[e.before.index() + 1];
    if (count_[e.after.index()] > 1) ++first_predecessor_[e.after.index() + 1];
    ++waits_[e.after.index()];
  }
  for (std::size_t i = 0; i < n; ++i) {
    first_[i + 1] += first_[i];
    first_predecessor_[i + 1] += first_predecessor_[i];
  }
  // Each row is filled from its beginning, which its own entry of `first` counts up; that leaves
  // every entry at the beginning of the next row, so they move by one at the end.
  successors_.resize(pending_.size());
  predecessors_.resize(first_predecessor_.back());
  for (const Edge& e : pending_) {
    successors_[first_[e.before.index()]++] = {e.after, e.shift};
    if (count_[e.after.index()] > 1)
      predecessors_[first_predecessor_[e.after.index()]++] = {e.before, e.shift};
  }
  for (auto* first : {&first_, &first_predecessor_}) {
    first->insert(first->begin(), 0);
    first->pop_back();
  }
  pending_ = {};
  path_ids_ = {};
}

std::vector<Share> OpGraph::bytes_by_resource() const {
  std::vector<double> by_path(paths_.size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (kind_[i] == OpKind::kFlow) by_path[path_[i].index()] += work_[i] * count_[i];
  }
  PathBuilder all;
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    if (by_path[p] > 0) all.add(paths_[p], by_path[p]);
  }
  return std::move(all).build().shares;
}

std::string OpGraph::describe(OpId op, std::uint32_t iteration) const {
  std::string text = label_of(op);
  if (number(op) + iteration != 0) text += fmt::format(" {}", number(op) + iteration);
  if (rank(op).valid()) text += fmt::format(" of rank {}", rank(op).index());
  return text + fmt::format(" (op {})", op.index());
}

}  // namespace trainyard
