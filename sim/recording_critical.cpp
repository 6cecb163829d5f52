// The critical path of a recording: its segments, what gains how much, and what to know of both.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/critical_path.hpp"
#include "sim/recording_parts.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

/// Beyond so many segments neighbours are merged; beyond so many merged ones the shortest go.
constexpr std::size_t kMostSegments = 2'000;
constexpr std::size_t kMostMerged = 10'000;

/// Steps of the path that follow each other, of one rank and label; mostly one.
struct Segment {
  OpId op;                   ///< of the first
  std::uint64_t number = 0;  ///< of the first
  double start = 0, duration = 0;
  std::optional<double> gain;  ///< the largest of theirs: all of them together gain at least that
};

class CriticalRecorder {
 public:
  CriticalRecorder(const Recorded& run, const CriticalPath& path) : run_(run), path_(path) {}

  Json record() {
    note_gains();
    Json out = Json::object();
    out["waiting_s"] = Json(path_.waiting);
    out["segments"] = segments();
    out["labels"] = labels();
    out["notes"] = std::move(notes_);
    return out;
  }

 private:
  const OpGraph& graph() const { return run_.graph; }
  void note(std::string sentence) { notes_.push_back(Json(std::move(sentence))); }
  static Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

  void note_gains() {
    if (path_.steps.empty()) return;
    if (!path_.steps.front().gain)
      return note("Gains were left out: the run has too many operations.");
    note(
        "A gain is how much earlier the run would end if that took no time (or a tenth less) and "
        "everything else as long as it did: flows that share links would in truth change too.");
    const Folded& folded = run_.lowering.folded();
    if (folded.tensor_ranks > 1 || folded.replica_classes < folded.replicas)
      note("Where one GPU stands for several, a gain is of all that it stands for.");
  }

  Json segments() {
    std::vector<Segment> all;
    for (const CriticalStep& step : path_.steps)
      all.push_back({step.op, std::uint64_t{graph().number(step.op)} + step.iteration, step.start,
                     step.duration, step.gain});
    if (all.size() > kMostSegments) merge(all);
    if (all.size() > kMostMerged) keep_longest(all);
    Json rows = Json::array();
    for (const Segment& one : all)
      rows.push_back(
          Json(Json::Array{Json(graph().rank(one.op).index()), Json(graph().label_of(one.op)),
                           Json(kRecordedRoles[recorded_role(graph().role(one.op))]),
                           Json(static_cast<std::int64_t>(one.number)), Json(one.start),
                           Json(one.duration), number(one.gain)}));
    return rows;
  }

  bool alike(OpId a, OpId b) const {
    return graph().rank(a) == graph().rank(b) && graph().role(a) == graph().role(b) &&
           graph().label_of(a) == graph().label_of(b);
  }

  void merge(std::vector<Segment>& all) {
    const std::size_t before = all.size();
    std::size_t last = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (!alike(all[last].op, all[i].op)) {
        all[++last] = all[i];
        continue;
      }
      all[last].duration += all[i].duration;
      all[last].gain = std::max(all[last].gain, all[i].gain);
    }
    all.resize(last + 1);
    note(
        fmt::format("{} operations on the path are shown as {} segments: neighbours of one rank "
                    "and label are one, with the number of the first and the largest gain of one "
                    "of them.",
                    before, all.size()));
  }

  void keep_longest(std::vector<Segment>& all) {
    const std::size_t before = all.size();
    const auto longer = [](const Segment& a, const Segment& b) { return a.duration > b.duration; };
    std::stable_sort(all.begin(), all.end(), longer);
    double left_out = 0;
    for (std::size_t i = kMostMerged; i < all.size(); ++i) left_out += all[i].duration;
    all.resize(kMostMerged);
    std::sort(all.begin(), all.end(),
              [](const Segment& a, const Segment& b) { return a.start < b.start; });
    note(fmt::format("Of {} segments the {} longest are kept; the others take {} together.", before,
                     kMostMerged, show(Seconds::of(left_out))));
  }

  // What gains most first; where gains were left out, what takes most.
  Json labels() {
    std::vector<CriticalLabel> all = path_.labels;
    std::stable_sort(all.begin(), all.end(), [](const CriticalLabel& a, const CriticalLabel& b) {
      return a.gain.value_or(0) > b.gain.value_or(0);
    });
    Json rows = Json::array();
    std::size_t without = 0;
    for (const CriticalLabel& label : all) {
      const OpId op = label.example;
      Json row = Json::object();
      row["name"] = Json(graph().label_of(op));
      row["role"] = Json(kRecordedRoles[recorded_role(graph().role(op))]);
      row["stream"] = Json(kRecordedStreams[recorded_stream(graph(), op)]);
      row["time_s"] = Json(label.time);
      row["share"] = Json(label.time / run_.timeline.end());
      row["gain_s"] = number(label.gain);
      row["gain_10_percent_s"] = number(label.gain_tenth);
      rows.push_back(std::move(row));
      without += label.gain ? 0 : 1;
    }
    if (without > 0 && path_.steps.front().gain)
      note(fmt::format("Gains of {} operations with little time on the path were left out.",
                       without));
    return rows;
  }

  const Recorded& run_;
  const CriticalPath& path_;
  Json notes_ = Json::array();
};

}  // namespace

Json record_critical_path(const Recorded& run) {
  if (const std::optional<CriticalPath> path = find_critical_path(run.graph, run.timeline))
    return CriticalRecorder(run, *path).record();
  Json out = Json::object();
  out["waiting_s"] = Json(0.0);
  out["segments"] = Json::array();
  out["labels"] = Json::array();
  out["notes"] = Json(Json::Array{
      Json("There is no critical path: periods that recur were simulated once and stretched.")});
  return out;
}

}  // namespace trainyard
