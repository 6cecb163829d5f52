#include "models/workloads/trace_goal_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <queue>

namespace trainyard {
namespace {

// The number in "l17"; nothing where a label has another form.
std::optional<std::uint64_t> label_number(std::string_view label) {
  std::uint64_t number = 0;
  if (label.size() < 2 || label[0] != 'l' || (label[1] == '0' && label.size() > 2)) return {};
  const char* end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data() + 1, end, number);
  if (stop != end || error != std::errc()) return {};
  return number;
}

}  // namespace

void GoalBlock::clear() {
  ops_.clear();
  requirements_.clear();
  numbers_.clear();
  labels_.clear();
}

std::uint32_t GoalBlock::label(std::string_view text) {
  const auto it = numbers_.find(text);
  if (it != numbers_.end()) return it->second;
  const auto number = static_cast<std::uint32_t>(labels_.size());
  labels_.push_back({&numbers_.emplace(text, number).first->first, kNothing});
  return number;
}

bool GoalBlock::add(const GoalOp& op) {
  ops_.push_back(op);
  if (op.label == kNothing) return true;
  std::uint32_t& owner = labels_[op.label].op;
  if (owner != kNothing) {
    ops_.back().label = kNothing;
    return false;
  }
  owner = static_cast<std::uint32_t>(ops_.size() - 1);
  return true;
}

void GoalBlock::finish(const std::string& file, const std::string& place, TraceBuilder& builder) {
  set_ids();
  drop_undefined(file, place, builder);
  sort_requirements();
  std::vector<TraceNeedById> needs;
  for (const std::uint32_t i : set_streams()) {
    GoalOp& op = ops_[i];
    needs.clear();
    for (std::uint32_t n = op.op.first_need; n < op.op.first_need + op.op.needs; ++n)
      needs.push_back({ops_[before(requirements_[n])].op.id, requirements_[n].kind});
    if (builder.how().keep_extras && (op.cpu != 0 || op.nic != 0))
      op.op.extra = builder.extra(fmt::format("{{\"cpu\":{},\"nic\":{}}}", op.cpu, op.nic));
    builder.add(op.op, needs);
  }
}

// The numbers of the labels where all are l1, l2, …: messages then name what the file names.
void GoalBlock::set_ids() {
  bool numbered = true;
  for (GoalOp& op : ops_) {
    const auto number = op.label == kNothing ? std::nullopt : label_number(*labels_[op.label].text);
    numbered = numbered && number.has_value();
    op.op.id = number.value_or(0);
  }
  for (std::size_t i = 0; !numbered && i < ops_.size(); ++i) ops_[i].op.id = i + 1;
}

void GoalBlock::drop_undefined(const std::string& file, const std::string& place,
                               TraceBuilder& builder) {
  std::erase_if(requirements_, [&](const GoalRequirement& requirement) {
    for (const std::uint32_t label : {requirement.waits, requirement.before}) {
      if (labels_[label].op != kNothing) continue;
      builder.fault(file, place,
                    fmt::format("label {} is required and not defined", *labels_[label].text),
                    "dependencies of labels that are not defined: dropped");
      return true;
    }
    return false;
  });
}

// Puts those of one operation together, in the order in which the file has them.
void GoalBlock::sort_requirements() {
  for (const GoalRequirement& requirement : requirements_) ++ops_[waiting(requirement)].op.needs;
  std::uint32_t next = 0;
  for (GoalOp& op : ops_) {
    op.op.first_need = next;
    next += std::exchange(op.op.needs, 0);
  }
  std::vector<GoalRequirement> sorted(requirements_.size());
  for (const GoalRequirement& requirement : requirements_) {
    TraceOp& op = ops_[waiting(requirement)].op;
    sorted[op.first_need + op.needs++] = requirement;
  }
  requirements_ = std::move(sorted);
}

// A cpu of GOAL runs one calculation at a time, of those that are ready, as kernels of a trace
// without streams do. Only where a rank has several are they told apart by streams. On a stream
// the order of the program holds: it must be one in which nothing waits for what comes later.
// Messages have no stream: they keep a cpu of LogGOPSim for its overhead alone.
std::vector<std::uint32_t> GoalBlock::set_streams() {
  std::vector<std::uint32_t> order(ops_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::optional<std::uint32_t> cpu;
  bool several = false;
  for (const GoalOp& op : ops_) {
    if (op.op.kind != TraceKind::kCompute) continue;
    several = several || cpu.value_or(op.cpu) != op.cpu;
    cpu = op.cpu;
  }
  if (!several) return order;
  for (GoalOp& op : ops_) {
    if (op.op.kind == TraceKind::kCompute) op.op.stream = static_cast<std::int32_t>(op.cpu);
  }
  const bool ordered = std::all_of(requirements_.begin(), requirements_.end(),
                                   [&](const GoalRequirement& requirement) {
                                     return before(requirement) < waiting(requirement);
                                   });
  return ordered ? order : order_of_needs(order);
}

// Of what waits for nothing any more always the first. What waits for itself comes last.
std::vector<std::uint32_t> GoalBlock::order_of_needs(
    const std::vector<std::uint32_t>& order) const {
  std::vector<std::vector<std::uint32_t>> after(ops_.size());
  std::vector<std::uint32_t> missing(ops_.size());
  for (const GoalRequirement& requirement : requirements_) {
    after[before(requirement)].push_back(waiting(requirement));
    ++missing[waiting(requirement)];
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (const std::uint32_t op : order) {
    if (missing[op] == 0) ready.push(op);
  }
  std::vector<std::uint32_t> sorted;
  while (!ready.empty()) {
    const std::uint32_t op = ready.top();
    ready.pop();
    sorted.push_back(op);
    for (const std::uint32_t next : after[op]) {
      if (--missing[next] == 0) ready.push(next);
    }
  }
  for (const std::uint32_t op : order) {
    if (missing[op] > 0) sorted.push_back(op);
  }
  return sorted;
}

}  // namespace trainyard
