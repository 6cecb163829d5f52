// One collective after another, over a list of sizes: what nccl-tests does.
#include <algorithm>

#include "sim/workload.hpp"

namespace trainyard {
namespace {

class CollectiveWorkload : public Workload {
 public:
  void fields(Archive& ar) override {
    ar.choice("operation", operation_, collective_names(), "the collective");
    ar.required("sizes", sizes_, "buffer sizes, as nccl-tests counts them", positive());
    ar("ranks", ranks_, "how many of the job's GPUs take part, from the first (0: all)",
       non_negative());
    ar.check(!sizes_.empty(), "sizes", "is an empty list", R"(like ["1 MiB", "1 GiB"])");
  }

  void check(const Cluster&, std::size_t gpus) const override {
    if (static_cast<std::size_t>(ranks_) > gpus) {
      throw DesignError(
          "/ranks",
          std::to_string(ranks_) + " ranks, but the job has " + std::to_string(gpus) + " GPUs",
          "at most that many");
    }
  }

  void lower(Lowering& lowering, std::span<const Rank> ranks) override {
    if (ranks_ > 0) ranks = ranks.first(static_cast<std::size_t>(ranks_));
    runs_.clear();
    OpGraph& graph = lowering.graph();
    const Group& group = lowering.group({ranks.begin(), ranks.end()});
    OpId before = graph.add_join();
    for (const Bytes size : sizes_) {
      CollectiveCall call{*collective_op(operation_), size, &group, OpRole::kCollective, 0};
      const std::vector<OpId> entry(ranks.size(), before);
      const std::vector<OpId> exits = lowering.collective(call, entry);
      const OpId after = graph.add_join(OpRole::kCollective);
      for (const OpId exit : exits) graph.add_edge(exit, after);
      runs_.push_back({call, before, after});
      before = after;
    }
  }

  Json measure(const Lowering& lowering, const Timeline& timeline) const override {
    Json rows = Json::array();
    const auto choices = lowering.choices();
    for (const Run& run : runs_) {
      const double seconds = timeline.finish(run.after) - timeline.finish(run.before);
      const std::size_t n = run.call.group->size();
      const double bandwidth = seconds > 0 ? run.call.bytes.si() / seconds : 0;
      Json row = Json::object();
      row["size_bytes"] = Json(run.call.bytes.si());
      row["time_s"] = Json(seconds);
      row["algbw_bytes_per_s"] = Json(bandwidth);
      row["busbw_bytes_per_s"] = Json(bandwidth * bus_factor(run.call.op, n));
      row["ranks"] = Json(n);
      const auto it = std::find_if(choices.begin(), choices.end(), [&](const CollectiveChoice& c) {
        return c.op == run.call.op && c.bytes == run.call.bytes && c.ranks == n;
      });
      row["algorithm"] = Json(it == choices.end() ? std::string("none") : it->algorithm);
      row["protocol"] = Json(it == choices.end() ? std::string("none") : it->protocol);
      rows.push_back(std::move(row));
    }
    Json out = Json::object();
    out["collective"] = Json(operation_);
    out["rows"] = std::move(rows);
    return out;
  }

 private:
  struct Run {
    CollectiveCall call;
    OpId before, after;
  };
  std::string operation_ = "all_reduce";
  std::vector<Bytes> sizes_;
  int ranks_ = 0;
  std::vector<Run> runs_;
};

const Registration<Workload, CollectiveWorkload> registered{"collective",
                                                            "one collective over a list of sizes"};

}  // namespace
}  // namespace trainyard
