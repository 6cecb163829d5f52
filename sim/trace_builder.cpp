#include "sim/trace_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/trace_cycles.hpp"
#include "sim/trace_order.hpp"

namespace trainyard {

Json repairs_json(const std::vector<TraceRepair>& repairs) {
  Json all = Json::array();
  for (const TraceRepair& repair : repairs) {
    Json one = Json::object();
    one["what"] = Json(repair.what);
    one["count"] = Json(repair.count);
    one["first"] = Json(repair.first);
    all.push_back(std::move(one));
  }
  return all;
}

TraceBuilder::TraceBuilder(std::string format, TraceReading how) : how_(how) {
  trace_.format = std::move(format);
  trace_.names.emplace_back();
  names_.emplace("", 0);
  trace_.groups.emplace_back();
  groups_.emplace("", 0);
  groups_.emplace("0", 0);
  defined_.push_back(true);
}

std::uint32_t TraceBuilder::name(std::string_view name) {
  const auto it = names_.find(name);
  if (it != names_.end()) return it->second;
  const auto index = static_cast<std::uint32_t>(trace_.names.size());
  trace_.names.emplace_back(name);
  names_.emplace(name, index);
  return index;
}

std::uint32_t TraceBuilder::extra(const std::string& text) {
  if (!how_.keep_extras) return TraceOp::kNoExtra;
  trace_.extras.push_back(text);
  return static_cast<std::uint32_t>(trace_.extras.size() - 1);
}

std::uint32_t TraceBuilder::define_group(const std::string& name,
                                         std::vector<std::uint32_t> ranks) {
  // "0" means all ranks only until it is defined as something else.
  if (name == "0" && !ranks.empty() && groups_.at("0") == 0) groups_.erase("0");
  const std::uint32_t index = group(name);
  if (defined_[index]) {
    if (trace_.groups[index].ranks != ranks)
      fault(pending_.empty() ? std::string() : trace_.programs.back().file,
            fmt::format("group \"{}\"", name), "is defined twice, with different ranks",
            "groups defined twice: the first definition holds");
    return index;
  }
  std::vector<std::uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail(pending_.empty() ? trace_.format : trace_.programs.back().file,
         fmt::format("group \"{}\"", name), "names a rank twice", "name each rank once");
  defined_[index] = true;
  trace_.groups[index].ranks = std::move(ranks);
  return index;
}

std::uint32_t TraceBuilder::group(const std::string& name) {
  const auto it = groups_.find(name);
  if (it != groups_.end()) return it->second;
  const auto index = static_cast<std::uint32_t>(trace_.groups.size());
  trace_.groups.push_back({name, {}});
  groups_.emplace(name, index);
  defined_.push_back(false);
  return index;
}

std::size_t TraceBuilder::begin(std::size_t rank, const std::string& file) {
  if (rank >= kMostRanks)
    fail(file, "", fmt::format("rank {} is beyond the {} that a trace may have", rank, kMostRanks),
         "number the ranks from 0");
  TraceProgram program;
  program.rank = static_cast<std::uint32_t>(rank);
  program.file = file;
  trace_.programs.push_back(std::move(program));
  pending_.emplace_back();
  current_ = pending_.size() - 1;
  return current_;
}

void TraceBuilder::resume(std::size_t program) {
  require(program < pending_.size(), "a program that was not begun");
  current_ = program;
}

void TraceBuilder::add(TraceOp op, std::span<const TraceNeedById> needs) {
  require(!pending_.empty(), "an operation of no program");
  TraceProgram& program = trace_.programs[current_];
  std::vector<TraceNeedById>& all = pending_[current_].needs;
  if (++ops_ > kMostOps || all.size() + needs.size() > 0xffffffffU)
    fail(program.file, "", fmt::format("the trace has more than {} operations", kMostOps),
         "import fewer ranks, or a shorter stretch");
  op.first_need = static_cast<std::uint32_t>(all.size());
  op.needs = static_cast<std::uint32_t>(needs.size());
  all.insert(all.end(), needs.begin(), needs.end());
  program.ops.push_back(op);
}

void TraceBuilder::fault(const std::string& file, const std::string& place,
                         const std::string& message, const std::string& kind) {
  constexpr std::size_t kShown = 10;
  ++fault_count_;
  if (!how_.lenient) {
    if (faults_.size() < kShown)
      faults_.push_back({file, place, message, fmt::format("--lenient makes this of {}", kind)});
    return;
  }
  const auto it = std::find_if(repairs_.begin(), repairs_.end(),
                               [&](const TraceRepair& repair) { return repair.what == kind; });
  if (it != repairs_.end()) {
    ++it->count;
  } else {
    repairs_.push_back({kind, 1, to_string(Diagnostic{file, place, message, {}})});
  }
}

void TraceBuilder::fail(const std::string& file, const std::string& place,
                        const std::string& message, const std::string& hint) {
  faults_.push_back({file, place, message, hint});
  ++fault_count_;
  if (how_.lenient) fault_count_ = faults_.size();
  throw_faults();
  throw std::logic_error("unreachable");
}

void TraceBuilder::throw_faults() {
  if (faults_.empty()) return;
  if (fault_count_ > faults_.size())
    faults_.push_back({faults_.back().file, "",
                       fmt::format("and {} more faults", fault_count_ - faults_.size()), ""});
  throw ScenarioError(faults_);
}

namespace {

// Indices of operations by id. Sorted, not hashed: no choice of ids makes it slow.
class IdIndex {
 public:
  explicit IdIndex(const std::vector<TraceOp>& ops) {
    ids_.reserve(ops.size());
    for (const TraceOp& op : ops) ids_.emplace_back(op.id, static_cast<std::uint32_t>(ids_.size()));
    if (!std::is_sorted(ids_.begin(), ids_.end())) std::sort(ids_.begin(), ids_.end());
  }
  /// Of those with the id the first, or nothing.
  std::optional<std::uint32_t> find(std::uint64_t id) const {
    // Most ids count up by one.
    const std::uint64_t guess = ids_.empty() ? 0 : id - ids_.front().first;
    if (guess > 0 && guess < ids_.size() && ids_[guess].first == id && ids_[guess - 1].first < id)
      return ids_[guess].second;
    const auto it = std::lower_bound(ids_.begin(), ids_.end(), std::pair(id, std::uint32_t{0}));
    if (it == ids_.end() || it->first != id) return {};
    return it->second;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ids_;
};

}  // namespace

void TraceBuilder::resolve(TraceProgram& program, const Pending& pending) {
  const IdIndex index(program.ops);
  program.needs.reserve(pending.needs.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    TraceOp& op = program.ops[i];
    if (index.find(op.id) != i)
      fault(program.file, trace_.describe(op), "has the id of another one",
            "operations with the id of another: others wait for the first");
    const auto first = static_cast<std::uint32_t>(program.needs.size());
    for (std::uint32_t n = 0; n < op.needs; ++n) {
      const TraceNeedById& need = pending.needs[op.first_need + n];
      if (const std::optional<std::uint32_t> found = index.find(need.id)) {
        program.needs.push_back({*found, need.kind});
      } else {
        fault(program.file, trace_.describe(op),
              fmt::format("waits for node {}, which is not in the file", need.id),
              "dependencies on nodes that are not in the file: dropped");
      }
    }
    op.first_need = first;
    op.needs = static_cast<std::uint32_t>(program.needs.size()) - first;
  }
}

void TraceBuilder::free_of_cycles(TraceProgram& program) {
  // Each is walked through once: that is all that grows faster than the file.
  constexpr std::size_t kShown = 8, kMostWalked = 1'000'000;
  std::size_t walked = 0;
  break_cycles(program, [&](std::uint32_t freed, std::span<const std::uint32_t> circle) {
    walked += circle.size();
    if (walked > kMostWalked && walked > program.ops.size())
      fail(program.file, "", "has too many circles of operations that wait for themselves",
           "is the file damaged?");
    std::string names;
    for (std::size_t i = 0; i < std::min(circle.size(), kShown); ++i)
      names += (i == 0 ? "" : ", ") + trace_.describe(program.ops[circle[i]]);
    if (circle.size() > kShown) names += fmt::format(" and {} more", circle.size() - kShown);
    fault(program.file, trace_.describe(program.ops[freed]), "waits for itself, through " + names,
          "operations that wait for themselves: one dependency of the circle is dropped");
  });
}

void TraceBuilder::sum_contributions() {
  for (TraceProgram& program : trace_.programs) {
    for (TraceOp& op : program.ops) {
      if (op.kind == TraceKind::kCollective && (op.collective == TraceCollective::kAllGather ||
                                                op.collective == TraceCollective::kGather))
        op.bytes *= static_cast<double>(trace_.group_size(op.group));
    }
  }
}

// Ranks that a group names and no file is of are ranks of the job too.
void TraceBuilder::check_group(const TraceGroup& group) {
  for (const std::uint32_t rank : group.ranks) {
    if (rank >= kMostRanks)
      fail(trace_.programs.empty() ? trace_.format : trace_.programs.front().file,
           fmt::format("group \"{}\"", group.name),
           fmt::format("has rank {}, beyond the {} that a trace may have", rank, kMostRanks),
           "number the ranks from 0");
    trace_.ranks = std::max<std::size_t>(trace_.ranks, std::size_t{rank} + 1);
  }
}

Trace TraceBuilder::finish() {
  for (std::size_t g = 0; g < defined_.size(); ++g) {
    if (!defined_[g])
      fault(trace_.programs.empty() ? trace_.format : trace_.programs.front().file,
            fmt::format("group \"{}\"", trace_.groups[g].name), "is used and not defined",
            "groups that are not defined: all ranks");
  }
  for (std::size_t i = 0; i < trace_.programs.size(); ++i) {
    resolve(trace_.programs[i], pending_[i]);
    pending_[i] = {};
    free_of_cycles(trace_.programs[i]);
    if (by_id_) order_by_id(trace_.programs[i]);
  }
  std::sort(trace_.programs.begin(), trace_.programs.end(),
            [](const TraceProgram& a, const TraceProgram& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < trace_.programs.size(); ++i) {
    if (trace_.programs[i].rank == trace_.programs[i - 1].rank)
      fail(trace_.programs[i].file, "", fmt::format("is rank {} again", trace_.programs[i].rank),
           fmt::format("{} is it already", trace_.programs[i - 1].file));
  }
  if (!trace_.programs.empty())
    trace_.ranks =
        std::max<std::size_t>({trace_.ranks, how_.ranks, trace_.programs.back().rank + 1});
  for (std::size_t g = 0; g < trace_.groups.size(); ++g) check_group(trace_.groups[g]);
  trace_.representative = trace_.representative || how_.representative;
  if (contributions_) sum_contributions();
  throw_faults();
  return std::move(trace_);
}

TraceMatches TraceBuilder::match(const Trace& trace) {
  TraceMatches found = match_trace(
      trace, [this](const std::string& file, const std::string& place, const std::string& message,
                    const std::string& kind) { fault(file, place, message, kind); });
  throw_faults();
  return found;
}

}  // namespace trainyard
