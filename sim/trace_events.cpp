#include "sim/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sim/error.hpp"
#include "sim/json_stream.hpp"

namespace trainyard {
namespace {

constexpr double kSame = 1e-3;                     // us: viewers keep nanoseconds
constexpr std::uint64_t kMostBytes = 900'000'000;  // beyond, browsers run out of memory

enum Rule : std::size_t {
  kObject,
  kPlace,
  kTimes,
  kOrder,
  kNesting,
  kOverlap,
  kPairs,
  kFlowPairs,
  kFlowTimes,
  kFlowBars,
  kNames,
  kSize,
  kRules
};
struct RuleText {
  const char* text;
  bool warning;
};
constexpr std::array<RuleText, kRules> kTexts{{
    {"events are objects", false},
    {"every event has ph, pid and tid", false},
    {"events have ts >= 0, and bars dur >= 0", false},
    {"events of a track are in order of time", true},
    {"a bar that begins within another ends within it", false},
    {"kernels of a track do not overlap", false},
    {"each B has its E on its track", false},
    {"each flow has a start and a finish", false},
    {"no flow finishes before it starts", false},
    {"flows begin and end at a bar of their track", false},
    {"each process has a name", true},
    {"the file is not too large for a browser", true},
}};

/// A bar of a track.
struct Bar {
  double start, end;
  std::uint32_t event, name;
  bool kernel;
};
struct Edge {  ///< B or E
  double time;
  std::uint32_t event, name;
  bool begins;
};
struct Track {
  std::vector<Bar> bars;
  std::vector<Edge> edges;
  double last = -1;
};
struct FlowEvent {
  std::uint32_t flow, event, name, track;
  char phase;
  bool enclosing;  ///< bound to the bar around it, not to the next
  double time;
};

// The room that two times need to be told from each other: a double of microseconds since 1970 has
// a quarter of a microsecond.
double room(double time) { return kSame + 4 * (std::nextafter(time, 1e300) - time); }

class Checker {
 public:
  explicit Checker(TraceEventReport& report) : report_(report) {
    intern({});
    for (std::size_t r = 0; r < kRules; ++r) {
      report.problems.push_back({kTexts[r].text, {}, 0, kTexts[r].warning});
    }
  }

  void event(const Json& event) {
    const auto number = static_cast<std::uint32_t>(report_.events++);
    if (!event.is_object()) {
      broken(kObject, number, 0, {}, "is no object");
      return;
    }
    const std::uint32_t name = intern(text_of(event, "name"));
    const std::string phase = text_of(event, "ph");
    const std::string pid = key_of(event, "pid"), tid = key_of(event, "tid");
    const std::optional<double> time = number_of(event, "ts");
    if (phase.empty() || pid.empty() || tid.empty())
      broken(kPlace, number, name, time,
             fmt::format("has no {}", phase.empty() ? "ph"
                                      : pid.empty() ? "pid"
                                                    : "tid"));
    if (phase.size() != 1 || pid.empty()) return;
    if (phase == "M") {
      if (text_of(event, "name") == "process_name") named_.insert(pid);
      return;
    }
    first_of_process_.try_emplace(pid, number, name);
    if (tid.empty()) return;
    if (!time || !(*time >= 0)) {
      broken(kTimes, number, name, time, "has no \"ts\" from 0 on");
      return;
    }
    on_track(event, {number, name, phase[0], pid, tid, *time});
  }

  void finish() {
    report_.tracks = tracks_.size();
    report_.processes = first_of_process_.size();
    for (auto& [key, index] : tracks_) pair_edges(all_[index]);
    for (auto& [key, index] : tracks_) {
      Track& track = all_[index];
      std::sort(track.bars.begin(), track.bars.end(), [](const Bar& a, const Bar& b) {
        return std::tuple(a.start, -a.end, a.event) < std::tuple(b.start, -b.end, b.event);
      });
      report_.bars += track.bars.size();
      check_nesting(track);
      check_kernels(track);
    }
    check_flows();
    for (const auto& [pid, first] : first_of_process_) {
      if (!named_.contains(pid))
        broken(kNames, first.first, first.second, {},
               fmt::format("is of process {}, which has no process_name", pid));
    }
    if (report_.bytes > kMostBytes)
      note(kSize,
           fmt::format("{} MB; write fewer ranks or a shorter window", report_.bytes / 1'000'000));
    std::erase_if(report_.problems, [](const TraceEventProblem& one) { return one.count == 0; });
  }

 private:
  struct At {
    std::uint32_t event, name;
    char phase;
    const std::string &pid, &tid;
    double time;
  };

  static std::string text_of(const Json& event, const char* key) {
    const Json* found = event.find(key);
    return found != nullptr && found->is_string() ? found->as_string() : std::string();
  }
  static std::optional<double> number_of(const Json& event, const char* key) {
    const Json* found = event.find(key);
    if (found == nullptr || !found->is_number()) return {};
    return found->as_number();
  }
  // A number or a text; empty for none.
  static std::string key_of(const Json& event, const char* key) {
    const Json* found = event.find(key);
    if (found == nullptr || (!found->is_number() && !found->is_string())) return {};
    return dump_json(*found, -1);
  }
  std::uint32_t intern(const std::string& name) {
    const auto [it, is_new] = names_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) name_texts_.push_back(&it->first);
    return it->second;
  }

  void note(Rule rule, std::string first) {
    TraceEventProblem& problem = report_.problems[rule];
    if (problem.count++ == 0) problem.first = std::move(first);
  }
  void broken(Rule rule, std::uint32_t event, std::uint32_t name, std::optional<double> time,
              const std::string& why) {
    TraceEventProblem& problem = report_.problems[rule];
    // The first in the file, whatever the order in which they are found.
    if (problem.count++ > 0 && event >= first_[rule]) return;
    first_[rule] = event;
    std::string shown = *name_texts_[name];
    constexpr std::size_t kLongest = 60;
    if (shown.size() > kLongest) shown = shown.substr(0, kLongest) + "...";
    for (char& c : shown) c = static_cast<unsigned char>(c) < ' ' ? '?' : c;
    problem.first = fmt::format("event {} ({}{}): {}", event, shown,
                                time ? fmt::format(", ts {}", *time) : "", why);
  }

  void on_track(const Json& event, const At& at) {
    const auto [it, is_new] =
        tracks_.try_emplace({at.pid, at.tid}, static_cast<std::uint32_t>(tracks_.size()));
    if (is_new) all_.emplace_back();
    Track& track = all_[it->second];
    if (at.time < track.last)
      broken(kOrder, at.event, at.name, at.time,
             fmt::format("comes after one of ts {} on its track", track.last));
    track.last = std::max(track.last, at.time);
    switch (at.phase) {
      case 'X':
        bar(event, at, track);
        break;
      case 'B':
      case 'E':
        track.edges.push_back({at.time, at.event, at.name, at.phase == 'B'});
        break;
      case 's':
      case 't':
      case 'f':
        flow(event, at, it->second);
        break;
      default:
        break;
    }
  }

  void bar(const Json& event, const At& at, Track& track) {
    const std::optional<double> duration = number_of(event, "dur");
    if (!duration || !(*duration >= 0)) {
      broken(kTimes, at.event, at.name, at.time, "has no \"dur\" from 0 on");
      return;
    }
    const std::string category = text_of(event, "cat");
    const bool kernel =
        category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
    track.bars.push_back({at.time, at.time + *duration, at.event, at.name, kernel});
  }

  void flow(const Json& event, const At& at, std::uint32_t track) {
    const std::string id = key_of(event, "id");
    if (id.empty()) {
      broken(kFlowPairs, at.event, at.name, at.time, "has no id");
      return;
    }
    const auto flow = flow_ids_.try_emplace({text_of(event, "cat"), id},
                                            static_cast<std::uint32_t>(flow_ids_.size()));
    const bool enclosing = at.phase != 'f' || text_of(event, "bp") == "e";
    flows_.push_back({flow.first->second, at.event, at.name, track, at.phase, enclosing, at.time});
  }

  // Pairs B with E as a stack, and makes bars of them.
  void pair_edges(Track& track) {
    std::stable_sort(track.edges.begin(), track.edges.end(),
                     [](const Edge& a, const Edge& b) { return a.time < b.time; });
    std::vector<Edge> open;
    for (const Edge& edge : track.edges) {
      if (edge.begins) {
        open.push_back(edge);
      } else if (open.empty()) {
        broken(kPairs, edge.event, edge.name, edge.time, "is an E without a B");
      } else {
        const Edge begin = open.back();
        open.pop_back();
        if (!name_texts_[edge.name]->empty() && edge.name != begin.name)
          broken(kPairs, edge.event, edge.name, edge.time,
                 fmt::format("ends event {} of another name", begin.event));
        track.bars.push_back({begin.time, edge.time, begin.event, begin.name, false});
      }
    }
    for (const Edge& edge : open)
      broken(kPairs, edge.event, edge.name, edge.time, "is a B without an E");
  }

  void check_nesting(const Track& track) {
    std::vector<const Bar*> open;
    for (const Bar& bar : track.bars) {
      while (!open.empty() && open.back()->end <= bar.start + room(bar.start)) open.pop_back();
      if (!open.empty() && bar.end > open.back()->end + room(bar.end))
        broken(kNesting, bar.event, bar.name, bar.start,
               fmt::format("begins within event {} and ends {} us after it", open.back()->event,
                           bar.end - open.back()->end));
      open.push_back(&bar);
    }
  }

  void check_kernels(const Track& track) {
    const Bar* before = nullptr;
    for (const Bar& bar : track.bars) {
      if (!bar.kernel) continue;
      if (before != nullptr && bar.start + room(bar.start) < before->end)
        broken(kOverlap, bar.event, bar.name, bar.start,
               fmt::format("begins {} us before event {} ends", before->end - bar.start,
                           before->event));
      if (before == nullptr || bar.end > before->end) before = &bar;
    }
  }

  // Whether a flow meets a bar: one around it, or for finishes of the older kind one that follows.
  bool meets(const FlowEvent& flow) {
    const Track& track = all_[flow.track];
    auto after = std::upper_bound(track.bars.begin(), track.bars.end(), flow.time + room(flow.time),
                                  [](double time, const Bar& bar) { return time < bar.start; });
    if (!flow.enclosing && after != track.bars.end()) return true;
    if (after == track.bars.begin()) return false;
    const auto last = static_cast<std::size_t>(after - track.bars.begin()) - 1;
    return reach(flow.track)[last] >= flow.time - room(flow.time);
  }
  // By bar of a track: the latest end up to it.
  const std::vector<double>& reach(std::uint32_t index) {
    std::vector<double>& ends = reach_[index];
    if (ends.empty()) {
      double most = 0;
      for (const Bar& bar : all_[index].bars) ends.push_back(most = std::max(most, bar.end));
    }
    return ends;
  }

  void check_flows() {
    const auto place = [](char phase) { return phase == 's' ? 0 : phase == 't' ? 1 : 2; };
    std::sort(flows_.begin(), flows_.end(), [](const FlowEvent& a, const FlowEvent& b) {
      return std::tuple(a.flow, a.event) < std::tuple(b.flow, b.event);
    });
    for (const FlowEvent& one : flows_) {
      if (!meets(one))
        broken(kFlowBars, one.event, one.name, one.time, "meets no bar of its track");
    }
    for (std::size_t begin = 0, end = 0; begin < flows_.size(); begin = end) {
      while (end < flows_.size() && flows_[end].flow == flows_[begin].flow) ++end;
      std::stable_sort(flows_.begin() + static_cast<std::ptrdiff_t>(begin),
                       flows_.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const FlowEvent& a, const FlowEvent& b) {
                         return std::tuple(a.time, place(a.phase)) <
                                std::tuple(b.time, place(b.phase));
                       });
      check_flow(begin, end);
    }
    report_.flows = flow_ids_.size();
  }

  // The events of one id, by time: starts, steps and finishes. One start may have many finishes.
  void check_flow(std::size_t begin, std::size_t end) {
    const auto count = [&](char phase) {
      return std::count_if(flows_.begin() + static_cast<std::ptrdiff_t>(begin),
                           flows_.begin() + static_cast<std::ptrdiff_t>(end),
                           [&](const FlowEvent& one) { return one.phase == phase; });
    };
    const bool paired = count('s') > 0 && count('f') > 0;
    const FlowEvent* open = nullptr;
    bool started = false;
    early_ = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const FlowEvent& one = flows_[i];
      if (one.phase == 's') {
        if (open != nullptr) unfinished(*open, paired);
        open = &one;
        started = true;
      } else if (!started) {
        early_ += paired ? 1 : 0;
        broken(paired ? kFlowTimes : kFlowPairs, one.event, one.name, one.time,
               paired ? "is before the start of its flow" : "is of a flow without a start");
      } else if (one.phase == 'f') {
        open = nullptr;
      }
    }
    if (open != nullptr) unfinished(*open, paired);
  }
  void unfinished(const FlowEvent& start, bool paired) {
    // Where it has a finish that was too early, that is said of the finish.
    if (!paired || early_ == 0)
      broken(kFlowPairs, start.event, start.name, start.time, "starts a flow without a finish");
  }

  TraceEventReport& report_;
  std::array<std::uint32_t, kRules> first_{};
  std::map<std::string, std::uint32_t> names_;
  std::vector<const std::string*> name_texts_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> tracks_, flow_ids_;
  std::vector<Track> all_;
  std::vector<FlowEvent> flows_;
  std::size_t early_ = 0;  ///< events before the start of the flow that is looked at
  std::map<std::uint32_t, std::vector<double>> reach_;
  std::set<std::string> named_;  ///< processes
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> first_of_process_;
};

}  // namespace

bool TraceEventReport::good() const {
  return std::all_of(problems.begin(), problems.end(),
                     [](const TraceEventProblem& problem) { return problem.warning; });
}

TraceEventReport check_trace_events(ByteSource& source) {
  TraceEventReport report;
  Checker checker(report);
  const StreamedJson seen = stream_json(
      source, "traceEvents", [&](const Json& event, std::uint64_t) { checker.event(event); });
  if (!seen.has_list)
    throw ScenarioError(Diagnostic{source.name(), "", "has no \"traceEvents\"",
                                   "a Chrome trace is an object with that list, or a list"});
  report.bytes = seen.bytes;
  checker.finish();
  return report;
}

}  // namespace trainyard
