// Writes traces in the shape of Kineto's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "models/workloads/trace_kineto.hpp"
#include "sim/gzip.hpp"
#include "sim/trace_event_text.hpp"
#include "sim/whole_file.hpp"

namespace trainyard::kineto {
namespace {

constexpr std::size_t kMostListed = 30;  // ranks of a group in an event, as torch does

/// How many of what cannot be held, as sentences.
class Losses {
 public:
  void add(const std::string& what) { ++counts_[what]; }
  std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const auto& [what, count] : counts_) all.push_back(fmt::format("{}: {}.", what, count));
    return all;
  }

 private:
  std::map<std::string, std::size_t> counts_;
};

std::string list_of(const std::vector<std::uint32_t>& ranks, std::size_t count) {
  const auto rank = [&](std::size_t i) { return ranks.empty() ? i : ranks[i]; };
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostListed && i == kMostListed - 1) {
      text += "..., ";
      i = count - 1;
    }
    text += std::to_string(rank(i)) + (i + 1 < count ? ", " : "");
  }
  return text + "]";
}

class RankWriter {
 public:
  RankWriter(const Trace& trace, const TraceProgram& program, Losses& losses)
      : trace_(trace), program_(program), losses_(losses) {
    for (const TraceGroup& group : trace.groups) zero_is_taken_ |= group.name == "0";
  }

  void write(const TextSink& sink) {
    choose();
    TraceEventWriter out(sink, members());
    out.process(program_.rank, fmt::format("rank {}", program_.rank));
    for (const auto& [track, name] : tracks_) out.track(program_.rank, track, name);
    for (const Bar& bar : bars_) {
      const TraceOp& op = program_.ops[bar.op];
      const std::string name = name_of(op);
      const bool host = op.kind == TraceKind::kHost;
      const bool copy = op.kind == TraceKind::kLoad || op.kind == TraceKind::kStore;
      out.bar({host   ? "cpu_op"
               : copy ? "gpu_memcpy"
                      : "kernel",
               name, program_.rank, bar.track, op.start, op.duration},
              host ? "" : arguments(op, bar.track));
    }
    out.finish();
  }

 private:
  struct Bar {
    std::uint32_t op;
    std::uint64_t track;
  };

  std::string group_name(std::uint32_t group) const {
    const std::string& name = trace_.groups[group].name;
    if (group > 0 || !name.empty()) return name;
    return zero_is_taken_ ? "world" : "0";
  }

  Json members() const {
    Json info = Json::object();
    info["backend"] = Json("nccl");
    info["rank"] = Json(std::size_t{program_.rank});
    info["world_size"] = Json(trace_.ranks);
    Json groups = Json::array();
    std::set<std::uint32_t> used{0};
    for (const TraceOp& op : program_.ops) {
      if (op.kind == TraceKind::kCollective) used.insert(op.group);
    }
    for (const std::uint32_t g : used) {
      Json one = Json::object();
      one["pg_name"] = Json(group_name(g));
      one["pg_size"] = Json(trace_.group_size(g));
      Json ranks = Json::array();
      for (std::size_t i = 0; i < trace_.group_size(g); ++i) {
        const TraceGroup& group = trace_.groups[g];
        ranks.push_back(Json(group.ranks.empty() ? i : std::size_t{group.ranks[i]}));
      }
      one["ranks"] = std::move(ranks);
      groups.push_back(std::move(one));
    }
    info["pg_config"] = std::move(groups);
    Json all = Json::object();
    all["schemaVersion"] = Json(1);
    all["distributedInfo"] = std::move(info);
    return all;
  }

  // What is written, and on which track, in the order of the file.
  void choose() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      const TraceOp& op = program_.ops[i];
      lost(op);
      if (op.kind == TraceKind::kMarker) continue;
      if (op.start < 0 || op.duration < 0) {
        losses_.add("Operations without a recorded time are left out");
        continue;
      }
      last_ = std::max(last_, std::int64_t{op.stream});
      order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return program_.ops[a].start < program_.ops[b].start;
    });
    for (const std::uint32_t i : order) bars_.push_back({i, track_of(program_.ops[i])});
    std::stable_sort(bars_.begin(), bars_.end(), [&](const Bar& a, const Bar& b) {
      return std::tuple(a.track, program_.ops[a.op].start) <
             std::tuple(b.track, program_.ops[b.op].start);
    });
  }

  void lost(const TraceOp& op) {
    if (op.needs > 0)
      losses_.add("Operations that wait for others are written without that, but for their stream");
    if (op.kind == TraceKind::kMarker) losses_.add("Operations without work are left out");
    if (op.kind == TraceKind::kHost)
      losses_.add("Operations of the host are written for the eye: they are not read back");
    if (op.kind == TraceKind::kLoad || op.kind == TraceKind::kStore)
      losses_.add("Loads and stores are written as copies, which are read back as kernels");
    if (op.flops > 0) losses_.add("Floating-point operations of kernels are not written");
    if (op.tag != 0) losses_.add("Tags of messages are not written");
  }

  // The stream, or where there is none or it is taken a track of its own: bars must not overlap.
  std::uint64_t track_of(const TraceOp& op) {
    const int sort = op.kind == TraceKind::kHost                                     ? 2
                     : op.kind == TraceKind::kCompute || op.kind == TraceKind::kLoad ? 0
                                                                                     : 1;
    auto& lanes = lanes_[{op.stream, op.stream == TraceOp::kNone ? sort : 0}];
    const bool own = lanes.empty() && op.stream != TraceOp::kNone;
    constexpr double kSame = 1e-9;  // viewers keep nanoseconds
    if (!lanes.empty() && lanes.begin()->first <= op.start + kSame) {
      const std::uint64_t track = lanes.begin()->second;
      lanes.erase(lanes.begin());
      lanes.emplace(op.start + op.duration, track);
      return track;
    }
    const auto track = static_cast<std::uint64_t>(own ? op.stream : ++last_);
    constexpr const char* kKinds[] = {"compute", "communication", "host"};
    tracks_[track] = own                           ? fmt::format("stream {}", op.stream)
                     : op.stream != TraceOp::kNone ? fmt::format("stream {} (beside)", op.stream)
                                                   : kKinds[sort];
    lanes.emplace(op.start + op.duration, track);
    return track;
  }

  std::string name_of(const TraceOp& op) const {
    if (op.name != 0) return trace_.name(op);
    const std::string_view torch = torch_name(op);
    return torch.empty() ? std::string(trace_kind_name(op.kind)) : fmt::format("nccl:{}", torch);
  }

  std::string arguments(const TraceOp& op, std::uint64_t track) {
    std::string text = fmt::format(R"("stream": {}, "correlation": {})", track, op.id + 1);
    const bool communicates = op.kind == TraceKind::kCollective || op.kind == TraceKind::kSend ||
                              op.kind == TraceKind::kReceive;
    if (communicates) return text + communication(op);
    if (op.bytes > 0) text += fmt::format(R"(, "bytes": {})", op.bytes);
    return text;
  }

  std::string communication(const TraceOp& op) {
    const std::optional<Element> said =
        op.type == 0 ? std::nullopt : element_of(trace_.names[op.type]);
    Element element = said.value_or(Element{"Byte", 1});
    if (std::fmod(op.bytes, element.bytes) != 0) element = {"Byte", 1};
    const double all = std::round(op.bytes / element.bytes);
    if (all * element.bytes != op.bytes) losses_.add("Parts of bytes are rounded");
    const std::size_t size = op.kind == TraceKind::kCollective ? trace_.group_size(op.group) : 2;
    const double part = std::round(all / static_cast<double>(size));
    const bool gathers =
        op.collective == TraceCollective::kAllGather || op.collective == TraceCollective::kGather;
    const bool scatters = op.collective == TraceCollective::kReduceScatter ||
                          op.collective == TraceCollective::kScatter;
    const bool collective = op.kind == TraceKind::kCollective;
    std::string text = fmt::format(
        R"(, "Collective name": "{}", "In msg nelems": {:.0f}, "Out msg nelems": {:.0f}, )"
        R"("dtype": "{}")",
        torch_name(op), collective && gathers ? part : all, collective && scatters ? part : all,
        element.name);
    if (!collective)
      return text + fmt::format(R"(, "{}": {})",
                                op.kind == TraceKind::kSend ? "Dst Rank" : "Src Rank", op.peer);
    text += fmt::format(R"(, "Group size": {}, "Process Group Name": )", size);
    append_json_text(group_name(op.group), text);
    text += R"(, "Process Group Ranks": ")" + list_of(trace_.groups[op.group].ranks, size) + '"';
    if (op.peer != TraceOp::kNone) text += fmt::format(R"(, "Rank": {})", number_in_group(op));
    return text;
  }

  std::size_t number_in_group(const TraceOp& op) const {
    const auto& ranks = trace_.groups[op.group].ranks;
    const auto peer = static_cast<std::uint32_t>(op.peer);
    if (ranks.empty()) return peer;
    return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), peer) - ranks.begin());
  }

  const Trace& trace_;
  const TraceProgram& program_;
  Losses& losses_;
  bool zero_is_taken_ = false;
  std::vector<Bar> bars_;
  std::int64_t last_ = -1;  ///< the highest track
  /// By stream and kind: until when a track is taken, and its number.
  std::map<std::pair<std::int32_t, int>, std::set<std::pair<double, std::uint64_t>>> lanes_;
  std::map<std::uint64_t, std::string> tracks_;
};

}  // namespace

std::vector<std::string> write_files(const Trace& trace, const std::string& path) {
  constexpr std::string_view kPlain = ".json", kPacked = ".json.gz";
  const bool plain = path.ends_with(kPlain);
  const std::string_view ending = plain ? kPlain : kPacked;
  const std::string stem =
      path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
  Losses losses;
  for (const TraceProgram& program : trace.programs) {
    const std::string name = fmt::format("{}.{}{}", stem, program.rank, ending);
    WholeFile file(name);
    // Members of a gzip file that follow each other are one text.
    RankWriter(trace, program, losses).write([&](const std::string& piece) {
      file.add(plain ? piece : gzip(piece));
    });
    if (const std::string why = file.keep(); !why.empty())
      throw UsageError(fmt::format("{}: cannot be written: {}", name, why));
  }
  return losses.sentences();
}

}  // namespace trainyard::kineto
