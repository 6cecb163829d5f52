// Replays a trace: what each rank computed and with whom it communicated, on the simulated cluster.
//
// Leaves out: memory, the power of single kernels, what kernels of overlapping streams take from
// each other beyond what was recorded (docs/traces.md).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/workloads/busbw_table.hpp"
#include "models/workloads/trace_account.hpp"
#include "models/workloads/trace_replay.hpp"
#include "sim/spelling.hpp"
#include "sim/trace_format.hpp"
#include "sim/workload.hpp"

namespace trainyard {
namespace {

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names = Registry<TraceFormat>::of().names();
  names.insert(names.begin(), "auto");
  return names;
}

// Of groups that name what they are for ("tp of stage 0"); others are simulated.
auto busbw_times(const BusbwTable& table) {
  return [&table](const std::string& group, TraceCollective op, Bytes bytes,
                  std::size_t ranks) -> std::optional<Seconds> {
    const auto kind = busbw_group(group);
    return kind ? busbw_time(table, *kind, op, ranks, bytes) : std::nullopt;
  };
}

class TraceWorkload : public Workload {
 public:
  void fields(Archive& ar) override {
    ar.required("trace", path_, "file, folder or prefix of files, relative to this file");
    ar.choice("format", format_, format_names(), "of the trace; auto finds it out");
    ar("lenient", reading_.lenient, "mend what is wrong with the trace, and say what was mended");
    ar("ranks", trace_ranks_, "of the traced job, where the trace does not say (0: it says)",
       non_negative());
    ar("representative", reading_.representative,
       "ranks without a trace do at each moment what the traced ones do");
    ar.choice("compute", compute_, {"recorded", "recomputed"},
              "time of kernels: as recorded, or from FLOPs and bytes where the trace has them");
    ar("compute_scale", plan_.compute_scale, "factor on the time of kernels and host operations",
       positive());
    ar("gpus", gpus_,
       "GPU of the job on which each rank of the trace runs, by rank (empty: in order)");
    ar("replicas", plan_.replicas, "data-parallel copies of the whole trace", at_least(1));
    ar("across", across_, "groups that span the replicas; \"all\": every group");
    ar("repeat", plan_.repeat, "times the trace is run after itself", between(1, 1e6));
    ar("rendezvous_above", plan_.rendezvous,
       "a larger message leaves when its receive is posted (0: none does)", non_negative());
    ar("busbw", busbw_,
       "file of measured bus bandwidths (busbw.yaml), instead of simulated collectives");
    ar("loggops", plan_.loggops, "this model of messages instead of the simulated network");
    ar.check(plan_.replicas == 1 || !across_.empty(), "across",
             "is missing, and replicas that share nothing are no data parallelism",
             "name the groups that span the replicas, or \"all\"");
    plan_.recompute = compute_ == "recomputed";
  }

  void set_folder(const std::string& folder) override {
    const std::filesystem::path base(folder);
    file_ = (base / path_).lexically_normal().string();
    if (!busbw_.empty()) busbw_file_ = (base / busbw_).lexically_normal().string();
  }

  void check(const Cluster& cluster, std::size_t gpus) const override {
    read();
    const Trace& trace = read_->trace;
    const std::size_t needed = trace.ranks * static_cast<std::size_t>(plan_.replicas);
    if (needed > gpus)
      throw DesignError(
          "/trace",
          fmt::format(
              "has {} ranks{}, but the job has {} GPUs", trace.ranks,
              plan_.replicas > 1 ? fmt::format(" in each of {} replicas", plan_.replicas) : "",
              gpus),
          "give the job more servers, or its servers more GPUs");
    check_gpus(needed, gpus);
    check_across(trace);
    check_times(trace, cluster);
  }

  void lower(Lowering& lowering, std::span<const Rank> ranks) override {
    const Trace& trace = read_->trace;
    ReplayPlan plan = plan_;
    plan.across.resize(trace.groups.size());
    for (std::size_t g = 0; g < trace.groups.size(); ++g)
      plan.across[g] = plan.replicas > 1 && spans(trace.groups[g].name);
    if (busbw_table_) plan.given_time = busbw_times(*busbw_table_);
    used_ = plan;
    placed_.clear();
    const std::size_t count = trace.ranks * static_cast<std::size_t>(plan.replicas);
    for (std::size_t i = 0; i < count; ++i)
      placed_.push_back(ranks[gpus_.empty() ? i : static_cast<std::size_t>(gpus_[i])]);
    first_ = lowering.graph().size();
    replay_.emplace(trace, read_->matches, used_, lowering, placed_);
    replay_->lower();
    last_ = lowering.graph().size();
  }

  Json measure(const Lowering& lowering, const Timeline& timeline) const override {
    const Trace& trace = read_->trace;
    const OpGraph& graph = lowering.graph();
    const std::vector<ReplayedRank> ranks =
        replayed_ranks(trace, read_->matches, used_, *replay_, graph, timeline, first_, last_);
    ReplayedRank mean;
    double end = 0;
    for (const ReplayedRank& rank : ranks) {
      end = std::max(end, rank.end);
      mean.compute += rank.compute / static_cast<double>(ranks.size());
      mean.comm += rank.comm / static_cast<double>(ranks.size());
      mean.exposed += rank.exposed / static_cast<double>(ranks.size());
      mean.sent += rank.sent / static_cast<double>(ranks.size());
    }
    Json out = Json::object();
    const double repeat = plan_.repeat;
    out["step_time_s"] = Json(end / repeat);
    out["compute_time_s"] = Json(mean.compute / repeat);
    out["comm_time_s"] = Json(mean.comm / repeat);
    out["exposed_comm_time_s"] = Json(mean.exposed / repeat);
    out["sent_bytes"] = Json(mean.sent / repeat);
    RankAccount sum;
    for (const RankTime& rank : rank_times(lowering, timeline)) sum += rank.account;
    if (sum.sum() > 0) add_account(sum, out);
    out["replay"] = replay_json(ranks, graph, timeline);
    return out;
  }

  std::vector<RankTime> rank_times(const Lowering& lowering,
                                   const Timeline& timeline) const override {
    const Trace& trace = read_->trace;
    std::vector<Rank> ranks;
    for (int r = 0; r < used_.replicas; ++r) {
      for (const TraceProgram& program : trace.programs)
        ranks.push_back(replay_->gpu(program.rank, r));
    }
    const double stands_for = trace.representative ? static_cast<double>(trace.ranks) /
                                                         static_cast<double>(trace.programs.size())
                                                   : 1;
    const auto accounts = account(lowering.graph(), timeline, ranks, first_, last_);
    std::vector<RankTime> times;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      times.push_back({ranks[i], stands_for, accounts[i]});
    return times;
  }

 private:
  void read() const {
    if (read_) return;
    if (!busbw_.empty()) {
      const std::string& file = busbw_file_.empty() ? busbw_ : busbw_file_;
      busbw_table_ = parse_busbw(read_text_file(file), file);
    }
    TraceReading how = reading_;
    how.ranks = static_cast<std::size_t>(trace_ranks_);
    read_ = std::make_unique<ReadTrace>(
        read_trace(file_.empty() ? path_ : file_, format_ == "auto" ? "" : format_, how));
  }

  bool spans(const std::string& group) const {
    return std::any_of(across_.begin(), across_.end(), [&](const std::string& name) {
      return name == "all" || name == group || (name == "0" && group.empty());
    });
  }

  void check_gpus(std::size_t needed, std::size_t gpus) const {
    if (gpus_.empty()) return;
    if (gpus_.size() != needed)
      throw DesignError("/gpus", fmt::format("names {} GPUs for {} ranks", gpus_.size(), needed),
                        "one for each rank, of all replicas");
    std::vector<bool> taken(gpus);
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const std::string at = fmt::format("/gpus/{}", i);
      if (gpus_[i] < 0 || static_cast<std::size_t>(gpus_[i]) >= gpus)
        throw DesignError(at, fmt::format("GPU {}, but the job has {} GPUs", gpus_[i], gpus),
                          fmt::format("0 to {}", gpus - 1));
      if (taken[static_cast<std::size_t>(gpus_[i])])
        throw DesignError(at, fmt::format("GPU {} is taken already", gpus_[i]),
                          "one rank on each GPU");
      taken[static_cast<std::size_t>(gpus_[i])] = true;
    }
  }

  void check_across(const Trace& trace) const {
    std::vector<std::string_view> names{"all", "0"};
    for (const TraceGroup& group : trace.groups) names.push_back(group.name);
    for (std::size_t i = 0; i < across_.size(); ++i) {
      if (std::find(names.begin(), names.end(), across_[i]) == names.end())
        throw DesignError(fmt::format("/across/{}", i),
                          fmt::format("the trace has no group \"{}\"", across_[i]),
                          suggest(across_[i], names));
    }
    if (plan_.replicas > 1 && trace.representative)
      throw DesignError("/replicas", "the trace stands for all ranks of its job already",
                        "leave it out");
  }

  void check_times(const Trace& trace, const Cluster& cluster) const {
    for (const TraceProgram& program : trace.programs) {
      for (const TraceOp& op : program.ops) {
        const bool works = op.kind == TraceKind::kCompute || op.kind == TraceKind::kHost ||
                           op.kind == TraceKind::kLoad || op.kind == TraceKind::kStore;
        if (!works || replayed_time(op, plan_, cluster)) continue;
        throw DesignError("/trace",
                          fmt::format("{}: {} has neither a duration nor FLOPs nor bytes",
                                      program.file, trace.describe(op)),
                          "trace it again with durations");
      }
    }
  }

  Json replay_json(const std::vector<ReplayedRank>& ranks, const OpGraph& graph,
                   const Timeline& timeline) const {
    const Trace& trace = read_->trace;
    Json out = Json::object();
    out["format"] = Json(trace.format);
    out["ranks"] = Json(trace.ranks);
    out["representative"] = Json(trace.representative);
    out["operations"] = Json(trace.size());
    out["repairs"] = repairs_json(read_->repairs);
    if (const Json* notes = trace.attributes.find("notes")) out["notes"] = *notes;
    out["communication"] =
        replayed_communication(trace, read_->matches, used_, *replay_, graph, timeline);
    Json rows = Json::array();
    constexpr std::size_t kMostRows = 4096;
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostRows); ++i) {
      Json row = Json::object();
      row["rank"] = Json(i / trace.programs.size() * trace.ranks +
                         trace.programs[i % trace.programs.size()].rank);
      row["end_s"] = Json(ranks[i].end);
      row["compute_s"] = Json(ranks[i].compute);
      row["comm_s"] = Json(ranks[i].comm);
      row["exposed_comm_s"] = Json(ranks[i].exposed);
      row["sent_bytes"] = Json(ranks[i].sent);
      rows.push_back(std::move(row));
    }
    out["by_rank"] = std::move(rows);
    return out;
  }

  std::string path_, format_ = "auto", compute_ = "recorded", file_, busbw_, busbw_file_;
  mutable std::optional<BusbwTable> busbw_table_;
  int trace_ranks_ = 0;
  TraceReading reading_;
  std::vector<int> gpus_;
  std::vector<std::string> across_;
  ReplayPlan plan_;
  mutable std::unique_ptr<ReadTrace> read_;
  ReplayPlan used_;
  std::vector<Rank> placed_;
  std::optional<TraceReplay> replay_;
  std::size_t first_ = 0, last_ = 0;
};

const Registration<Workload, TraceWorkload> registered{"trace", "a recorded trace, replayed"};

}  // namespace
}  // namespace trainyard
