// Where flows and resources of FlowSolver meet.
//
// No flow is above the level at which it would fill one of its resources alone: that is a limit, as
// its bound is. A resource that only one flow uses, its *own*, does nothing else, so only those are
// levelled that several use, the *contended* ones. A flow alone on its path costs no levelling, and
// one over thousands of resources of which few are contended as much as those few.
//
// A flow's entries are in order: contended, own, absent. A flow that rests is absent from what was
// contended and keeps what was its own until somebody else comes.
#include <algorithm>
#include <utility>

#include "sim/flow_solver.hpp"

namespace trainyard {
/// Enters the flow wherever it is absent.
void FlowSolver::attach_all(Index flow) {
  while (flows_[flow].attached < flows_[flow].share_count) attach(flow);
}

/// Takes the flow away from what is contended, or from everything.
void FlowSolver::detach_contended(Index flow) {
  while (flows_[flow].contended > 0) detach(flow, flows_[flow].contended - 1);
}

void FlowSolver::detach_all(Index flow) {
  detach_contended(flow);
  while (flows_[flow].attached > 0) detach(flow, flows_[flow].attached - 1);
}

/// Enters the flow's first absent entry.
void FlowSolver::attach(Index flow) {
  Flow& f = flows_[flow];
  const Index entry = f.attached++;
  Entry& e = entries_[f.first_entry + entry];
  Resource& r = resources_[e.resource];
  if (r.size == 1) {
    const Use other = uses_[r.first];
    if (flows_[other.flow].members == 0) {
      detach(other.flow, other.entry);
    } else if (!contended(r)) {
      become_contended(other.flow, other.entry);
    }
  }
  if (r.size == 0) {
    r.power = 0;
    r.first = uses_.take(0);
  } else if (r.size == Index{1} << r.power) {
    move_uses(r, r.power + 1);
  }
  e.place = r.size++;
  uses_[r.first + e.place] = {demand(flow, e), flow, entry};
  r.departed -= f.shares[e.share].weight * total_[flow];  // it left since the last solve()
  if (!contended(r)) return;
  if (r.size == own_size_ + 1) ++contended_count_;
  mark_dirty(e.resource);
  swap_entries(f, entry, f.contended++);
}

void FlowSolver::detach(Index flow, Index entry) {
  Flow& f = flows_[flow];
  const Entry e = entries_[f.first_entry + entry];
  Resource& r = resources_[e.resource];
  mark_dirty(e.resource);
  r.departed += f.shares[e.share].weight * total_[flow];
  if (contended(r)) {
    if (r.size == own_size_ + 1) --contended_count_;
    swap_entries(f, entry, --f.contended);
    entry = f.contended;
  }
  swap_entries(f, entry, --f.attached);
  const Use moved = uses_[r.first + --r.size];
  uses_[r.first + e.place] = moved;
  entries_[flows_[moved.flow].first_entry + moved.entry].place = e.place;
  if (r.size == 0) {
    uses_.give(r.first, r.power);
    return;
  }
  if (!contended(r)) become_own(uses_[r.first].flow, uses_[r.first].entry);
  if (r.size == (Index{1} << r.power) / 4) move_uses(r, r.power - 1);
}

/// To a run of 2^power places, at least as many as there are uses.
void FlowSolver::move_uses(Resource& r, std::uint8_t power) {
  const Index to = uses_.take(power);
  for (Index i = 0; i < r.size; ++i) uses_[to + i] = uses_[r.first + i];
  uses_.give(r.first, r.power);
  r.first = to;
  r.power = power;
}

/// Somebody is about to join the flow on a resource of its own.
void FlowSolver::become_contended(Index flow, Index entry) {
  Flow& f = flows_[flow];
  swap_entries(f, entry, f.contended++);
  queue_relimit(flow);
}

/// The flow is left alone on a resource.
void FlowSolver::become_own(Index flow, Index entry) {
  Flow& f = flows_[flow];
  swap_entries(f, entry, --f.contended);
  queue_relimit(flow);
}

/// Both attached.
void FlowSolver::swap_entries(const Flow& f, Index a, Index b) {
  if (a == b) return;
  Entry& x = entries_[f.first_entry + a];
  Entry& y = entries_[f.first_entry + b];
  std::swap(x, y);
  uses_[resources_[x.resource].first + x.place].entry = a;
  uses_[resources_[y.resource].first + y.place].entry = b;
}

double FlowSolver::demand(Index flow, const Entry& e) const {
  return flows_[flow].shares[e.share].weight * fairness_[flow] * flows_[flow].placed;
}

/// Enters the demands of all members, and what they allow the flow when it is alone.
void FlowSolver::place(Index flow) {
  Flow& f = flows_[flow];
  f.placed = f.members;
  f.limit = f.ceiling;
  for (Index i = 0; i < f.share_count; ++i) {
    const Entry& e = entries_[f.first_entry + i];
    const Resource& r = resources_[e.resource];
    Use& use = uses_[r.first + e.place];
    use.demand = demand(flow, e);
    f.limit = std::min(f.limit, r.capacity / use.demand);
    if (i < f.contended) mark_dirty(e.resource);
  }
}

void FlowSolver::queue_relimit(Index flow) {
  if (std::exchange(relimited_[flow], 1) == 0) relimits_.push_back(flow);
}

/// Brings a flow up to date with what add() and the like changed, so that solve() has only
/// contended resources to level.
void FlowSolver::relimit(Index flow) {
  Flow& f = flows_[flow];
  relimited_[flow] = 0;
  if (f.members == 0) return;
  if (f.placed != f.members) place(flow);
  const double old = f.level;
  assign_level(f);
  if (f.level == old) return;
  note(flow);
  for (const Entry& e : contended(f)) mark_dirty(e.resource);
}

}  // namespace trainyard
