#include "sim/opgraph.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"

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
  rank_.push_back(rank);
  path_.push_back(path);
  work_.push_back(work);
  label_.push_back(label);
  number_.push_back(number);
  occupancy_.push_back(kNoOccupancy);
  return id;
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

OpId OpGraph::add_flow(Rank rank, PathId path, Bytes bytes, OpRole role, std::uint32_t label,
                       std::uint32_t number) {
  return add(OpKind::kFlow, rank, path, bytes.si(), role, label, number);
}

void OpGraph::add_edge(OpId before, OpId after) {
  if (before.valid()) pending_.push_back({before, after});
}

std::uint32_t OpGraph::add_occupancy(Occupancy occupancy) {
  occupancies_.push_back(std::move(occupancy));
  return static_cast<std::uint32_t>(occupancies_.size() - 1);
}

PathId OpGraph::add_path(FlowPath path) {
  std::vector<double> key{path.latency.si(), path.fairness, path.bound.si()};
  for (const Share& share : path.shares) {
    key.push_back(static_cast<double>(share.resource.index()));
    key.push_back(share.weight);
  }
  const auto [it, is_new] = path_ids_.try_emplace(std::move(key), PathId(paths_.size()));
  if (is_new) paths_.push_back(std::move(path));
  return it->second;
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
    if (edge.after.index() >= first && edge.after.index() < last)
      waits[edge.after.index() - first] = true;
  }
  std::vector<OpId> found;
  for (std::size_t i = first; i < last; ++i) {
    if ((kind_[i] == OpKind::kCompute || kind_[i] == OpKind::kDelay) && !waits[i - first])
      found.emplace_back(i);
  }
  return found;
}

void OpGraph::freeze() {
  const std::size_t n = size();
  first_.assign(n + 1, 0);
  waits_.assign(n, 0);
  for (const Edge& e : pending_) {
    ++first_[e.before.index() + 1];
    ++waits_[e.after.index()];
  }
  for (std::size_t i = 0; i < n; ++i) first_[i + 1] += first_[i];
  successors_.resize(pending_.size());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const Edge& e : pending_) successors_[next[e.before.index()]++] = e.after;
  pending_ = {};
  path_ids_.clear();
}

std::string OpGraph::describe(OpId op) const {
  std::string text = label_of(op);
  if (number(op) != 0) text += fmt::format(" {}", number(op));
  if (rank(op).valid()) text += fmt::format(" of rank {}", rank(op).index());
  return text + fmt::format(" (op {})", op.index());
}

}  // namespace trainyard
