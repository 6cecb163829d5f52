#include "sim/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/recording_parts.hpp"
#include "sim/recording_text.hpp"

namespace trainyard {

bool RecordingOptions::wants(std::size_t rank) const {
  return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [rank](const auto& range) {
           return range.first <= rank && rank <= range.second;
         });
}

// Where a workload says whom it simulated, another of its GPUs stands for the rest.
Recorded::Recorded(const std::vector<Job>& all, const Lowering& lowered, const Timeline& time)
    : jobs(all),
      lowering(lowered),
      topology(lowered.routes().topology()),
      graph(lowered.graph()),
      timeline(time),
      ranks(topology.ranks()) {
  const auto per_server = static_cast<std::size_t>(topology.gpus_per_server());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j];
    const std::size_t first = static_cast<std::size_t>(job.first_server) * per_server;
    const std::vector<RankTime> simulated = job.workload->rank_times(lowering, timeline);
    const auto count = static_cast<std::size_t>(job.server_count(lowering.cluster())) * per_server;
    for (std::size_t i = 0; i < count; ++i)
      ranks[first + i] = {j, job.workload->place(i), simulated.empty() ? 1.0 : 0.0};
    for (const RankTime& one : simulated) ranks[one.rank.index()].stands_for = one.stands_for;
    times.insert(times.end(), simulated.begin(), simulated.end());
  }
}

ResourceId Recorded::stand_in(ResourceId resource) const {
  const std::optional<Folding>& folding = lowering.folded().folding;
  return folding ? folding->stand_in(resource) : resource;
}

double Recorded::rails_of(ResourceId resource) const {
  return topology.server_of_resource(resource).valid() ? 1 : lowering.folded().rails;
}

namespace {

constexpr std::size_t kMostAccounts = 65'536;

// What is not as it was, in sentences.
void note_simplifications(const Recorded& run, std::vector<std::string>& notes) {
  const Folded& folded = run.lowering.folded();
  if (folded.tensor_ranks > 1 || folded.replica_classes < folded.replicas)
    notes.push_back(fmt::format(
        "One GPU was simulated for several that do exactly the same ({} tensor ranks of each "
        "group; {} of {} replicas simulated): a lane stands for as many as it says.",
        folded.tensor_ranks, folded.replica_classes, folded.replicas));
  if (!run.timeline.repeats().empty())
    notes.push_back(fmt::format(
        "Periods that recur were simulated once and are stretched to the length of all that they "
        "stand for: {} of {} iterations of operations are shown.",
        run.timeline.iterations(), run.graph.instances()));
  const auto any = [&](auto&& body) {
    for (std::size_t i = 0; i < run.graph.size(); ++i) {
      if (body(OpId(i))) return true;
    }
    return false;
  };
  if (any([&](OpId op) { return run.graph.kind(op) == OpKind::kFlow; }))
    notes.emplace_back(
        "Utilization spreads the bytes of each flow evenly from its start to its end.");
  if (any([&](OpId op) {
        return run.graph.kind(op) == OpKind::kDelay && run.graph.role(op) == OpRole::kNvLink;
      }))
    notes.emplace_back(
        "Collectives inside servers that are pauses of their closed form (tensor_fidelity "
        "\"analytic\") load no NVLink here.");
}

Json accounts_of(const Recorded& run, std::vector<std::string>& notes) {
  const std::size_t kept = std::min(run.times.size(), kMostAccounts);
  if (kept < run.times.size())
    notes.push_back(
        fmt::format("Accounts are of the first {} of {} GPUs.", kept, run.times.size()));
  Json rows = Json::array();
  for (const RankTime& one : std::span(run.times).first(kept)) {
    Json row = Json::object();
    row["rank"] = Json(one.rank.index());
    row["stage"] = Json(run.ranks[one.rank.index()].place.stage);
    row["stands_for"] = Json(std::lround(one.stands_for));
    row["compute_s"] = Json(one.account.compute);
    row["network_s"] = Json(one.account.network);
    row["nvlink_s"] = Json(one.account.nvlink);
    row["host_s"] = Json(one.account.host);
    row["storage_s"] = Json(one.account.storage);
    row["bubble_s"] = Json(one.account.bubble);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string record_run(const std::vector<Job>& jobs, const Lowering& lowering,
                       const Timeline& timeline, const RecordingOptions& options) {
  const Recorded run(jobs, lowering, timeline);
  std::vector<std::string> notes;
  note_simplifications(run, notes);
  RecordedTimeline bars = record_timeline(run, options, notes);
  Json links = Json::object();
  record_links(run, links, notes);
  Json accounts = accounts_of(run, notes);
  Json header = Json::object();
  header["schema_version"] = Json(kRecordingVersion);
  header["end_s"] = Json(timeline.end());
  header["notes"] = Json::array();
  for (std::string& note : notes) header["notes"].push_back(Json(std::move(note)));
  header["lanes"] = std::move(bars.lanes);
  header["names"] = std::move(bars.names);
  header["roles"] = std::move(bars.roles);
  header["calls"] = std::move(bars.calls);
  header["bars"] = Json(bars.bars);
  header["left_out"] = Json(bars.left_out);
  header["series"] = record_series(run);
  for (auto& [key, value] : links.members()) header[key] = std::move(value);
  header["accounts"] = std::move(accounts);
  header["critical_path"] = record_critical_path(run);
  return dump_json(header, -1) + "\n" + bars.lines;
}

}  // namespace trainyard
