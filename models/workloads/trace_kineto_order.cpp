// Puts the kernels of a Kineto trace and what the host did in order.
//
// The model, and what it leaves out, is docs/traces.md, "Kineto".
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "models/workloads/trace_kineto.hpp"

namespace trainyard::kineto {
namespace {

/// Something that has happened: which operation, and when (us).
struct Moment {
  std::uint32_t op = kNothing;
  double time = -1;
};
Moment later(const Moment& a, const Moment& b) { return b.time > a.time ? b : a; }

class Program {
 public:
  Program(File& file, TraceBuilder& builder) : file_(file), builder_(builder) {}

  void add() {
    number_streams();
    settle_kernels();
    begin_ = file_.kernels.front().start;
    std::stable_sort(file_.calls.begin(), file_.calls.end(),
                     [](const Call& a, const Call& b) { return a.start < b.start; });
    if (!file_.calls.empty()) begin_ = std::min(begin_, file_.calls.front().start);
    add_kernels();
    link_calls();
    add_host();
    add_waits();
    add_pauses();
    finish();
  }

 private:
  using Index = std::uint32_t;
  double end_of(Index kernel) const { return file_.kernels[kernel].end; }

  // Streams of the first GPU keep their numbers; those of others and of the host get further ones.
  void number_streams() {
    std::set<std::pair<std::int64_t, std::int32_t>> all;
    for (const Kernel& kernel : file_.kernels) {
      all.emplace(kernel.device, kernel.stream);
      if (all.size() > kMostStreams)
        builder_.fail(file_.name, "", fmt::format("has more than {} streams", kMostStreams),
                      "is \"stream\" the number of a stream?");
    }
    const std::int64_t first = all.begin()->first;
    for (const auto& [device, stream] : all) next_stream_ = std::max(next_stream_, stream);
    if (next_stream_ > std::numeric_limits<std::int32_t>::max() - 4 * std::int32_t{kMostStreams})
      builder_.fail(file_.name, "", fmt::format("has a stream {}", next_stream_),
                    "is \"stream\" the number of a stream?");
    std::map<std::pair<std::int64_t, std::int32_t>, std::int32_t> numbers;
    for (const auto& key : all) numbers[key] = key.first == first ? key.second : ++next_stream_;
    for (Kernel& kernel : file_.kernels) kernel.stream = numbers.at({kernel.device, kernel.stream});
  }

  // Sorted by start, and one after another on each stream.
  void settle_kernels() {
    const auto before = [](const Kernel& a, const Kernel& b) { return a.start < b.start; };
    auto& kernels = file_.kernels;
    std::stable_sort(kernels.begin(), kernels.end(), before);
    std::map<std::int32_t, std::size_t> last;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      Kernel& kernel = kernels[i];
      const auto [it, is_first] = last.try_emplace(kernel.stream, i);
      const double free = is_first ? kernel.start : kernels[it->second].end;
      it->second = i;
      if (free <= kernel.start) continue;
      if (free - kernel.start > kTick)
        builder_.fault(file_.name, place_of(kernel.event, builder_.trace().names[kernel.name]),
                       fmt::format("begins {} us before the kernel before it on stream {} ends",
                                   free - kernel.start, kernel.stream),
                       "kernels that overlap on one stream: the later begins when the earlier has "
                       "ended");
      kernel.start = free;
      kernel.end = std::max(kernel.end, free);
    }
    std::stable_sort(kernels.begin(), kernels.end(), before);
  }

  // Drafts 0, 1, … are the kernels.
  void add_kernels() {
    CommReader comms(file_, builder_);
    for (const Kernel& kernel : file_.kernels) {
      TraceOp op;
      op.kind = TraceKind::kCompute;
      op.name = kernel.name;
      op.start = kernel.start;
      op.duration = kernel.end - kernel.start;
      op.bytes = kernel.bytes;
      op.stream = kernel.stream;
      if (kernel.nccl) comms.read(kernel, op);
      drafts_.push_back(op);
    }
  }

  Index host(std::uint32_t thread, std::uint32_t name, double start, double end) {
    const auto [it, is_new] = host_streams_.try_emplace(thread, next_stream_ + 1);
    if (is_new) ++next_stream_;
    return draft(it->second, name, start, end);
  }
  Index draft(std::int32_t stream, std::uint32_t name, double start, double end) {
    TraceOp op;
    op.kind = TraceKind::kHost;
    op.name = name;
    op.start = start;
    op.duration = std::max(0.0, end - start);
    op.stream = stream;
    drafts_.push_back(op);
    return static_cast<Index>(drafts_.size() - 1);
  }
  void need(Index op, Index before) {
    if (before != kNothing && op != before) needs_.emplace_back(op, before);
  }

  // Which kernels a call launched, and of each stream which were launched when.
  void link_calls() {
    std::vector<std::pair<std::uint64_t, Index>> launched;
    for (Index i = 0; i < file_.kernels.size(); ++i) {
      if (file_.kernels[i].correlation != kNoCorrelation)
        launched.emplace_back(file_.kernels[i].correlation, i);
    }
    std::sort(launched.begin(), launched.end());
    launch_of_.assign(file_.kernels.size(), kNothing);
    first_of_.assign(file_.calls.size(), kNothing);
    for (Index c = 0; c < file_.calls.size(); ++c) {
      const Call& call = file_.calls[c];
      if (call.correlation == kNoCorrelation) continue;
      call_of_.emplace(call.correlation, c);
      auto it =
          std::lower_bound(launched.begin(), launched.end(), std::pair(call.correlation, Index{0}));
      for (; it != launched.end() && it->first == call.correlation; ++it) {
        if (launch_of_[it->second] != kNothing) continue;
        launch_of_[it->second] = c;
        if (first_of_[c] == kNothing) first_of_[c] = it->second;
      }
    }
    for (Index i = 0; i < file_.kernels.size(); ++i) {
      const Kernel& kernel = file_.kernels[i];
      if (launch_of_[i] != kNothing) {
        on_stream_[kernel.stream].emplace_back(launch_of_[i], i);
      } else if (!file_.calls.empty()) {
        builder_.fault(file_.name, place_of(kernel.event, builder_.trace().names[kernel.name]),
                       "was launched by no call in the file",
                       "kernels without their launch: wait for what ended last before them");
      }
    }
    for (auto& [stream, kernels] : on_stream_) std::sort(kernels.begin(), kernels.end());
  }

  /// The last kernel of a stream that was launched before a call and had ended by then.
  Index last_before(std::int32_t stream, Index call, double by) const {
    const auto found = on_stream_.find(stream);
    if (found == on_stream_.end()) return kNothing;
    const auto& kernels = found->second;
    auto it = std::lower_bound(kernels.begin(), kernels.end(), std::pair(call, Index{0}));
    constexpr int kLookedAt = 64;  // a stream ends in order, so the first looked at fits mostly
    for (int looks = 0; it != kernels.begin() && looks < kLookedAt; ++looks) {
      --it;
      if (end_of(it->second) <= by + kTick) return it->second;
    }
    return kNothing;
  }

  // A call's work of the host: from what its thread, or another that handed over to it, did last.
  Index chain(const Call& call, double until) {
    const Moment own = last_of_[call.thread];
    const Moment from = later(own, latest_);
    const Index op = host(call.thread, call.name, from.op == kNothing ? begin_ : from.time, until);
    need(op, own.op);
    need(op, from.op);
    return op;
  }
  void happened(const Call& call, const Moment& moment) {
    last_of_[call.thread] = moment;
    latest_ = later(latest_, moment);
  }

  // The calls in the order in which they take effect: launches when the kernel could start, calls
  // that wait when they begin and again when they return.
  void add_host() {
    struct Step {
      double time;
      Index call;
      bool returns;
    };
    std::vector<Step> steps;
    for (Index c = 0; c < file_.calls.size(); ++c) {
      const Call& call = file_.calls[c];
      if (waits(call)) {
        steps.push_back({call.start, c, false});
        steps.push_back({call.end, c, true});
      } else if (first_of_[c] != kNothing) {
        const double start = file_.kernels[first_of_[c]].start;
        steps.push_back({std::max(call.start, std::min(call.end, start)), c, false});
      }
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.time < b.time; });
    std::vector<Index> op_of(file_.calls.size(), kNothing);
    for (const Step& step : steps) {
      const Call& call = file_.calls[step.call];
      const Index op =
          step.returns ? returned(step.call, op_of[step.call]) : chain(call, step.time);
      op_of[step.call] = op;
      happened(call, {op, step.time});
      if (!step.returns && first_of_[step.call] != kNothing) launches_.emplace_back(step.call, op);
    }
    std::sort(launches_.begin(), launches_.end());
    for (Index i = 0; i < launch_of_.size(); ++i) {
      const auto it =
          std::lower_bound(launches_.begin(), launches_.end(), std::pair(launch_of_[i], Index{0}));
      if (it != launches_.end() && it->first == launch_of_[i]) need(i, it->second);
    }
  }

  static bool waits(const Call& call) {
    return call.kind == CallKind::kCopy || call.kind == CallKind::kSyncAll ||
           call.kind == CallKind::kSyncOne;
  }

  // The end of a call that waits: what it waited for, and what it took to notice.
  Index returned(Index c, Index begun) {
    const Call& call = file_.calls[c];
    const std::vector<Index> kernels = awaited(c);
    double from = call.start;
    for (const Index kernel : kernels) from = std::max(from, std::min(end_of(kernel), call.end));
    const Index op = host(call.thread, call.name, from, call.end);
    need(op, begun);
    for (const Index kernel : kernels) need(op, kernel);
    return op;
  }

  std::vector<Index> awaited(Index c) const {
    const Call& call = file_.calls[c];
    if (call.kind == CallKind::kCopy) {
      return first_of_[c] == kNothing ? std::vector<Index>() : std::vector<Index>{first_of_[c]};
    }
    const auto known = file_.syncs.find(call.correlation);
    if (call.kind == CallKind::kSyncOne && known != file_.syncs.end()) {
      const Index kernel = known->second.record != kNoCorrelation
                               ? recorded(known->second)
                               : last_before(known->second.stream, c, call.end);
      return kernel == kNothing ? std::vector<Index>() : std::vector<Index>{kernel};
    }
    std::vector<Index> all;
    for (const auto& [stream, kernels] : on_stream_) {
      const Index kernel = last_before(stream, c, call.end);
      if (kernel != kNothing) all.push_back(kernel);
    }
    // Which of the streams is not said: the one that ended last kept the host longest.
    if (call.kind == CallKind::kSyncOne && all.size() > 1)
      all = {*std::max_element(all.begin(), all.end(),
                               [&](Index a, Index b) { return end_of(a) < end_of(b); })};
    return all;
  }

  /// The kernel after which an event was recorded.
  Index recorded(const Sync& sync) const {
    const auto call = call_of_.find(sync.record);
    if (call == call_of_.end()) return kNothing;
    const auto stream = file_.records.find(sync.record);
    const std::int32_t on = sync.wait_stream >= 0           ? sync.wait_stream
                            : stream != file_.records.end() ? stream->second
                                                            : -1;
    return last_before(on, call->second, std::numeric_limits<double>::max());
  }

  void add_waits() {
    for (Index c = 0; c < file_.calls.size(); ++c) {
      if (file_.calls[c].kind == CallKind::kWait) add_wait(c);
    }
    if (file_.syncs.empty()) infer_waits();
  }

  // cudaStreamWaitEvent, with what the profiler says of it.
  void add_wait(Index c) {
    const auto sync = file_.syncs.find(file_.calls[c].correlation);
    if (sync == file_.syncs.end()) return;
    const Index before = recorded(sync->second);
    const auto stream = on_stream_.find(sync->second.stream);
    if (before == kNothing || stream == on_stream_.end()) return;
    const auto it =
        std::lower_bound(stream->second.begin(), stream->second.end(), std::pair(c, Index{0}));
    if (it == stream->second.end()) return;
    const Kernel& after = file_.kernels[it->second];
    if (end_of(before) > after.start + kTick) {
      builder_.fault(file_.name, place_of(after.event, builder_.trace().names[after.name]),
                     "begins before what it waits for has ended",
                     "waits that the recorded times contradict: dropped");
      return;
    }
    need(it->second, before);
  }

  // Without what the profiler says: ProcessGroupNCCL lets its stream wait for the one that computes
  // before each collective, and the one that computes for what it needs.
  void infer_waits() {
    std::map<std::uint32_t, Index> computed;  // by thread: the last kernel launched
    std::map<std::uint32_t, Index> waiting;   // by thread: the call, if since the last launch
    for (Index c = 0; c < file_.calls.size(); ++c) {
      const Call& call = file_.calls[c];
      if (call.kind == CallKind::kWait) waiting[call.thread] = c;
      const Index kernel = first_of_[c];
      if (kernel == kNothing) continue;
      const auto waits = waiting.find(call.thread);
      if (file_.kernels[kernel].nccl) {
        const auto it = computed.find(call.thread);
        if (it != computed.end() && end_of(it->second) <= file_.kernels[kernel].start + kTick)
          need(kernel, it->second);
      } else if (waits != waiting.end()) {
        needs_of_others(kernel, waits->second);
      }
      if (!file_.kernels[kernel].nccl) computed[call.thread] = kernel;
      waiting.erase(call.thread);
    }
  }
  void needs_of_others(Index kernel, Index wait) {
    for (const auto& [stream, kernels] : on_stream_) {
      if (stream != file_.kernels[kernel].stream)
        need(kernel, last_before(stream, wait, file_.kernels[kernel].start));
    }
  }

  // Kernels of which the host says nothing: a pause on their stream from what had ended last.
  void add_pauses() {
    std::vector<Index> by_end(file_.kernels.size());
    for (Index i = 0; i < by_end.size(); ++i) by_end[i] = i;
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](Index a, Index b) { return end_of(a) < end_of(b); });
    std::map<std::int32_t, Index> last;
    Moment newest, other, computed;  // ended last; of another stream than that; of no collective
    std::size_t ended = 0;
    for (Index i = 0; i < file_.kernels.size(); ++i) {
      const Kernel& kernel = file_.kernels[i];
      // What takes no time ends when it starts: it must not wait for itself or what comes after.
      for (; ended < by_end.size() && by_end[ended] < i && end_of(by_end[ended]) <= kernel.start;
           ++ended) {
        const Kernel& one = file_.kernels[by_end[ended]];
        if (newest.op != kNothing && file_.kernels[newest.op].stream != one.stream) other = newest;
        newest = {by_end[ended], one.end};
        if (!one.nccl) computed = newest;
      }
      const auto [it, is_first] = last.try_emplace(kernel.stream, i);
      const Moment before = is_first ? Moment() : Moment{it->second, end_of(it->second)};
      it->second = i;
      const bool launched = launch_of_[i] != kNothing && first_of_[launch_of_[i]] == i;
      if (launched) continue;
      const bool own = newest.op != kNothing && file_.kernels[newest.op].stream == kernel.stream;
      pause(i, before, own ? other : newest, kernel.nccl ? computed : Moment());
    }
  }
  void pause(Index kernel, const Moment& before, const Moment& other, const Moment& computed) {
    Moment from = before;
    if (other.time > before.time) {
      need(kernel, other.op);
      from = other;
    }
    need(kernel, computed.op);
    const double since = from.op == kNothing ? begin_ : from.time;
    const double start = file_.kernels[kernel].start;
    if (start <= since) return;
    const std::int32_t stream = file_.kernels[kernel].stream;
    const auto [it, is_new] = pause_streams_.try_emplace(stream, next_stream_ + 1);
    if (is_new) ++next_stream_;
    const Index op = draft(it->second, builder_.name("pause"), since, start);
    need(op, from.op);
    need(kernel, op);
  }

  // Sorted by start; the ids are the places.
  void finish() {
    std::vector<Index> order(drafts_.size()), place(drafts_.size());
    for (Index i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      const auto key = [&](Index i) {
        return std::tuple(drafts_[i].start, drafts_[i].kind != TraceKind::kHost);
      };
      return key(a) < key(b);
    });
    for (Index i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (auto& [op, before] : needs_) {
      op = place[op];
      before = place[before];
    }
    std::sort(needs_.begin(), needs_.end());
    needs_.erase(std::unique(needs_.begin(), needs_.end()), needs_.end());
    constexpr double kSecond = 1e6;
    auto it = needs_.begin();
    std::vector<TraceNeedById> needs;
    for (Index i = 0; i < order.size(); ++i) {
      TraceOp op = drafts_[order[i]];
      op.id = i;
      op.start /= kSecond;
      op.duration /= kSecond;
      for (needs.clear(); it != needs_.end() && it->first == i; ++it) needs.push_back({it->second});
      builder_.add(op, needs);
    }
  }

  File& file_;
  TraceBuilder& builder_;
  double begin_ = 0;             ///< of the recording, us
  std::vector<TraceOp> drafts_;  ///< times in us
  std::vector<std::pair<Index, Index>> needs_;
  std::int32_t next_stream_ = 0;
  std::map<std::uint32_t, std::int32_t> host_streams_;  ///< by thread
  std::map<std::int32_t, std::int32_t> pause_streams_;  ///< by stream
  std::vector<Index> launch_of_;                        ///< by kernel: its call
  std::vector<Index> first_of_;                         ///< by call: the first kernel it launched
  std::vector<std::pair<Index, Index>> launches_;       ///< call, operation of the host
  std::map<std::uint64_t, Index> call_of_;              ///< by correlation
  std::map<std::int32_t, std::vector<std::pair<Index, Index>>> on_stream_;  ///< call, kernel
  std::map<std::uint32_t, Moment> last_of_;                                 ///< by thread
  Moment latest_;
};

}  // namespace

void add_program(File& file, TraceBuilder& builder) { Program(file, builder).add(); }

}  // namespace trainyard::kineto
