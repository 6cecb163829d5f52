// The bars of a recording: which operations are shown, on whose lanes, and which are kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "sim/recording_parts.hpp"
#include "sim/recording_text.hpp"

namespace trainyard {

std::uint8_t recorded_stream(const OpGraph& graph, OpId op) {
  if (graph.kind(op) == OpKind::kCompute) return 0;
  switch (graph.purpose(op)) {
    case OpRole::kTensorComm:
      return 1;
    case OpRole::kPipelineComm:
      return 2;
    case OpRole::kDataComm:
      return 3;
    case OpRole::kCollective:
    case OpRole::kNvLink:
      return 4;
    case OpRole::kStorage:
      return 5;
    default:
      return 6;
  }
}

std::uint8_t recorded_role(OpRole role) {
  if (is_network(role)) return 1;
  switch (role) {
    case OpRole::kCompute:
      return 0;
    case OpRole::kNvLink:
      return 2;
    case OpRole::kStorage:
      return 3;
    case OpRole::kHost:
      return 4;
    default:
      return 5;
  }
}

namespace {

/// A record on one of the GPUs that take part in it.
struct Bar {
  std::uint32_t rank, op, iteration;
  std::uint32_t lane;  ///< of its rank and stream, then of all
  std::uint8_t stream;
  double start, finish;
};

class TimelineRecorder {
 public:
  TimelineRecorder(const Recorded& run, const RecordingOptions& options)
      : run_(run), options_(options), wanted_(run.ranks.size()), count_(run.ranks.size()) {
    for (std::size_t r = 0; r < wanted_.size(); ++r) wanted_[r] = options.wants(r) ? 1 : 0;
  }

  RecordedTimeline record(std::vector<std::string>& notes) {
    count();
    choose(notes);
    collect();
    assign_lanes();
    return written();
  }

 private:
  /// Calls body(op, iteration) for what may be a bar: all but joins and what takes no time.
  template <class Body>
  void each_record(Body&& body) const {
    for (std::size_t i = 0; i < run_.graph.size(); ++i) {
      const OpId op(i);
      if (run_.graph.kind(op) == OpKind::kJoin) continue;
      for (std::uint32_t k = 0; k < run_.timeline.iterations(op); ++k) {
        const std::size_t record = run_.timeline.record(op, k);
        if (run_.timeline.finish(record) > run_.timeline.start(record)) body(op, k, record);
      }
    }
  }
  /// Calls body(rank) for every GPU that takes part and is simulated; at least for the one that the
  /// operation is listed under.
  template <class Body>
  void each_rank(OpId op, Body&& body) const {
    const Rank listed = run_.graph.rank(op);
    for (const Rank rank : run_.graph.members(op)) {
      if (rank == listed || run_.ranks[rank.index()].stands_for > 0) body(rank.index());
    }
  }
  bool in_window(std::size_t record) const {
    return run_.timeline.start(record) < options_.to &&
           run_.timeline.finish(record) > options_.from;
  }

  void count() {
    each_record([&](OpId op, std::uint32_t, std::size_t record) {
      const bool wanted = in_window(record);
      each_rank(op, [&](std::size_t rank) {
        ++all_;
        if (wanted && wanted_[rank] != 0) ++count_[rank];
      });
    });
  }

  // One GPU of each stage of each job's first replica, the others of those groups, other replicas.
  std::vector<std::size_t> most_telling_first() const {
    std::vector<std::size_t> order;
    for (std::size_t r = 0; r < count_.size(); ++r) {
      if (count_[r] > 0) order.push_back(r);
    }
    const auto key = [&](std::size_t r) {
      const RankPlace& at = run_.ranks[r].place;
      return std::tuple(at.replica, at.tensor, at.stage, r);
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
  }

  void choose(std::vector<std::string>& notes) {
    kept_.assign(count_.size(), 0);
    std::size_t bars = 0, ranks = 0;
    const std::vector<std::size_t> order = most_telling_first();
    for (const std::size_t rank : order) {
      if (bars + count_[rank] > options_.bars && ranks > 0) break;
      bars += count_[rank];
      kept_[rank] = 1;
      ++ranks;
    }
    kept_bars_ = std::min(bars, options_.bars);
    if (const std::size_t alike = wanted_elsewhere(); alike > 0)
      notes.push_back(fmt::format(
          "{} of the GPUs asked for were not simulated: each does exactly what another does.",
          alike));
    if (kept_bars_ < all_)
      notes.push_back(
          fmt::format("The timeline keeps {} of {} bars, of {} of the {} GPUs that were simulated.",
                      kept_bars_, all_, ranks, simulated()));
  }

  /// GPUs that were asked for by number, for which others stand.
  std::size_t wanted_elsewhere() const {
    std::size_t count = 0;
    for (std::size_t r = 0; r < wanted_.size() && !options_.ranks.empty(); ++r) {
      const RecordedRank& rank = run_.ranks[r];
      if (wanted_[r] != 0 && rank.job != RecordedRank::kNoJob && rank.stands_for == 0) ++count;
    }
    return count;
  }

  std::size_t simulated() const {
    return static_cast<std::size_t>(
        std::count_if(run_.ranks.begin(), run_.ranks.end(),
                      [](const RecordedRank& rank) { return rank.stands_for > 0; }));
  }

  void collect() {
    each_record([&](OpId op, std::uint32_t iteration, std::size_t record) {
      if (!in_window(record)) return;
      each_rank(op, [&](std::size_t rank) {
        if (kept_[rank] == 0) return;
        bars_.push_back({static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(op.index()),
                         iteration, 0, recorded_stream(run_.graph, op), run_.timeline.start(record),
                         run_.timeline.finish(record)});
      });
    });
    // Only where the first GPU alone has more than there may be: its earliest.
    if (bars_.size() > kept_bars_) {
      std::sort(bars_.begin(), bars_.end(), [](const Bar& a, const Bar& b) {
        return std::tie(a.start, a.finish, a.op, a.iteration) <
               std::tie(b.start, b.finish, b.op, b.iteration);
      });
      bars_.resize(kept_bars_);
    }
    std::sort(bars_.begin(), bars_.end(), [](const Bar& a, const Bar& b) {
      return std::tie(a.rank, a.stream, a.start, a.finish, a.op, a.iteration) <
             std::tie(b.rank, b.stream, b.start, b.finish, b.op, b.iteration);
    });
  }

  // Each bar gets the first lane of its rank and stream that is free.
  void assign_lanes() {
    for (std::size_t begin = 0; begin < bars_.size();) {
      std::size_t end = begin;
      while (end < bars_.size() && bars_[end].rank == bars_[begin].rank &&
             bars_[end].stream == bars_[begin].stream)
        ++end;
      const std::size_t lanes = color(begin, end), first = lanes_.size();
      for (std::size_t i = begin; i < end; ++i) bars_[i].lane += static_cast<std::uint32_t>(first);
      for (std::size_t n = 0; n < lanes; ++n)
        lanes_.push_back({bars_[begin].rank, bars_[begin].stream, n});
      begin = end;
    }
    std::sort(bars_.begin(), bars_.end(), [](const Bar& a, const Bar& b) {
      return std::tie(a.lane, a.start) < std::tie(b.lane, b.start);
    });
  }

  // Numbers the lanes of bars begin … end-1, sorted by start, from 0; how many there are.
  std::size_t color(std::size_t begin, std::size_t end) {
    using Busy = std::pair<double, std::uint32_t>;  // until when, lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
    std::uint32_t lanes = 0;
    for (std::size_t i = begin; i < end; ++i) {
      for (; !busy.empty() && busy.top().first <= bars_[i].start; busy.pop())
        free.push(busy.top().second);
      if (free.empty()) free.push(lanes++);
      bars_[i].lane = free.top();
      free.pop();
      busy.emplace(bars_[i].finish, bars_[i].lane);
    }
    return lanes;
  }

  RecordedTimeline written() {
    RecordedTimeline out{lanes_json(),
                         Json::array(),
                         Json::array(),
                         Json::array(),
                         bars_.size(),
                         all_ - bars_.size(),
                         {}};
    for (const char* role : kRecordedRoles) out.roles.push_back(Json(role));
    std::map<std::string_view, std::size_t> names;
    std::map<const LoweredCall*, std::size_t> calls;
    for (const Bar& bar : bars_) {
      const OpId op(bar.op);
      const auto [name, is_new] = names.try_emplace(run_.graph.label_of(op), names.size());
      if (is_new) out.names.push_back(Json(name->first));
      RecordedBar line = line_of(bar, name->second);
      if (const LoweredCall* call = run_.lowering.call_of(op); call != nullptr) {
        const auto [number, is_new_call] = calls.try_emplace(call, calls.size());
        if (is_new_call) out.calls.push_back(call_json(*call));
        line.call = number->second;
      }
      append_bar(line, true, out.lines);
    }
    return out;
  }

  static Json call_json(const LoweredCall& call) {
    Json one = Json::object();
    one["operation"] = Json(collective_name(call.op));
    one["bytes"] = Json(call.bytes.si());
    one["ranks"] = Json(call.ranks);
    one["algorithm"] = Json(call.algorithm);
    one["protocol"] = Json(call.protocol);
    return one;
  }

  RecordedBar line_of(const Bar& bar, std::size_t name) const {
    const OpId op(bar.op);
    RecordedBar line{bar.lane,
                     name,
                     recorded_role(run_.graph.role(op)),
                     std::uint64_t{run_.graph.number(op)} + bar.iteration,
                     bar.start,
                     duration_between(bar.start, bar.finish),
                     std::nullopt,
                     std::nullopt};
    if (run_.graph.kind(op) == OpKind::kFlow) line.bytes = run_.graph.work(op);
    return line;
  }

  Json lanes_json() const {
    Json lanes = Json::array();
    for (const Lane& lane : lanes_) {
      const RecordedRank& rank = run_.ranks[lane.rank];
      Json one = Json::object();
      one["rank"] = Json(std::size_t{lane.rank});
      one["stream"] = Json(
          lane.number == 0 ? std::string(kRecordedStreams[lane.stream])
                           : fmt::format("{} {}", kRecordedStreams[lane.stream], lane.number + 1));
      one["stage"] = Json(rank.place.stage);
      one["stands_for"] = Json(std::lround(std::max(1.0, rank.stands_for)));
      lanes.push_back(std::move(one));
    }
    return lanes;
  }

  struct Lane {
    std::uint32_t rank;
    std::uint8_t stream;
    std::size_t number;  ///< among those of the rank and stream
  };
  const Recorded& run_;
  const RecordingOptions& options_;
  std::vector<std::uint8_t> wanted_;  ///< by rank
  std::vector<std::size_t> count_;    ///< by rank: bars that may be kept
  std::vector<std::uint8_t> kept_;    ///< by rank
  std::size_t all_ = 0, kept_bars_ = 0;
  std::vector<Bar> bars_;
  std::vector<Lane> lanes_;
};

}  // namespace

RecordedTimeline record_timeline(const Recorded& run, const RecordingOptions& options,
                                 std::vector<std::string>& notes) {
  return TimelineRecorder(run, options).record(notes);
}

}  // namespace trainyard
