// The first line of a workload of AICB and SimAI: its policy, and how the ranks are grouped.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "models/workloads/trace_aicb.hpp"

namespace trainyard {
namespace {

using Tensor = AicbPolicy::Tensor;
using Backward = AicbPolicy::Backward;
using Order = AicbPolicy::Order;

constexpr auto kTp = AicbGroup::kTp, kDp = AicbGroup::kDp, kAll = AicbGroup::kAll;
constexpr auto kNone = std::nullopt;

// The order of rows is that of the reader in astra-sim, from which SimAI has it.
constexpr std::array<AicbPolicy, 11> kPolicies{{
    {.name = "HYBRID_TRANSFORMER", .pipeline = true, .forward = kTp, .weight = kDp},
    {.name = "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
     .pipeline = true,
     .recompute = true,
     .forward = kTp,
     .weight = kDp},
    {.name = "HYBRID_DATA_MODEL", .forward = kTp, .weight = kDp, .backward = Backward::kOverlapped},
    {.name = "HYBRID_MODEL_DATA",
     .data_first = true,
     .forward = kTp,
     .weight = kDp,
     .backward = Backward::kOverlapped},
    {.name = "HYBRID_CUSTOMIZED",
     .row_policy = true,
     .forward = kTp,
     .weight = kDp,
     .backward = Backward::kOverlapped},
    {.name = "MODEL",
     .tensor = Tensor::kAll,
     .forward = kAll,
     .weight = kNone,
     .backward = Backward::kOverlapped},
    {.name = "DATA",
     .tensor = Tensor::kOne,
     .forward = kNone,
     .weight = kAll,
     .backward = Backward::kWeightFirst},
    {.name = "HYBRID_DLRM",
     .tensor = Tensor::kOne,
     .forward = kAll,
     .weight = kAll,
     .backward = Backward::kWeightFirst,
     .order = Order::kBottomRows},
    // Differs only from one iteration to the next.
    {.name = "HYBRID_DLRM_ENHANCED",
     .tensor = Tensor::kOne,
     .forward = kAll,
     .weight = kAll,
     .backward = Backward::kWeightFirst,
     .order = Order::kBottomRows},
    {.name = "MICRO",
     .tensor = Tensor::kOne,
     .forward = kNone,
     .weight = kAll,
     .backward = Backward::kNone,
     .order = Order::kOneByOne},
    {.name = "DISTRIBUTED_INFERENCE",
     .tensor = Tensor::kAll,
     .forward = kAll,
     .weight = kNone,
     .backward = Backward::kNone},
}};

/// The line as keys and values.
class Header {
 public:
  Header(const std::vector<std::string_view>& words, const AicbWorkload& workload,
         TraceBuilder& builder)
      : words_(words), workload_(workload), builder_(builder) {
    for (at_ = 1; at_ < words_.size();) take_key();
  }

  bool has(std::string_view key) const { return values_.contains(key); }
  /// The value of the key, or `otherwise` where it has none. Of counts.
  std::size_t count(std::string_view key, std::size_t otherwise) const {
    const auto it = values_.find(key);
    if (it == values_.end()) return otherwise;
    if (it->second < 1 || it->second > TraceBuilder::kMostRanks)
      fail(fmt::format("{} is {}", key, it->second),
           fmt::format("a whole number from 1 to {}", TraceBuilder::kMostRanks));
    return static_cast<std::size_t>(it->second);
  }
  double number(std::string_view key) const { return has(key) ? values_.find(key)->second : 0; }
  std::vector<std::size_t> rows(std::string_view key) const {
    const auto it = rows_.find(key);
    return it == rows_.end() ? std::vector<std::size_t>{} : it->second;
  }
  void fault(const std::string& message, const std::string& kind) const {
    builder_.fault(workload_.file, "line 1", message, kind);
  }
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
    builder_.fail(workload_.file, "line 1", message, hint);
  }

 private:
  static bool is_list(std::string_view key) {
    return key == "checkpoints" || key == "checkpoint_initiates";
  }

  bool is_known(std::string_view key) const {
    constexpr std::array<std::string_view, 5> kPipeline{"ep", "pp", "vpp", "ga", "pp_comm"};
    const AicbPolicy& policy = *workload_.policy;
    if (key == "all_gpus") return true;
    if (key == "model_parallel_NPU_group") return policy.tensor == Tensor::kHeader;
    if (key == "DLRM_LAST_BOTTOM_LAYER") return policy.order == Order::kBottomRows;
    if (is_list(key)) return policy.recompute;
    return policy.pipeline && std::find(kPipeline.begin(), kPipeline.end(), key) != kPipeline.end();
  }

  double take_number(std::string_view key) {
    const auto value = at_ < words_.size() ? aicb_number(words_[at_]) : std::nullopt;
    if (!value)
      fail(at_ < words_.size() ? fmt::format("{} is \"{}\"", key, words_[at_])
                               : fmt::format("{} has no value", key),
           "a whole number from 0 to 2^64 - 1");
    ++at_;
    return *value;
  }

  // Values of unknown keys are passed over as keys are that have no value.
  void take_key() {
    std::string_view key = words_[at_++];
    const bool colon = key.ends_with(':');
    if (colon) key.remove_suffix(1);
    if ((!colon && key != "pp_comm") || !is_known(key)) {
      if (colon && at_ < words_.size() && !words_[at_].ends_with(':')) ++at_;
      fault(fmt::format("\"{}\" is no key of a {} workload", key, workload_.policy->name),
            "unknown keys of the header: ignored");
      return;
    }
    const double value = take_number(key);
    const bool first = values_.emplace(key, value).second;
    if (!first)
      fault(fmt::format("{} is given twice", key),
            "keys of the header given twice: the first one holds");
    if (is_list(key)) take_rows(key, value, first);
  }

  void take_rows(std::string_view key, double count, bool keep) {
    if (count > static_cast<double>(words_.size() - at_))
      fail(fmt::format("{} says {} rows, and {} words follow", key, count, words_.size() - at_),
           "the number of rows, then their numbers");
    for (double i = 0; i < count; ++i) {
      const double row = take_number(key);
      if (!keep) continue;
      // More than a file can have is found when the rows are known.
      rows_[std::string(key)].push_back(
          static_cast<std::size_t>(std::min<double>(row, TraceBuilder::kMostOps)));
    }
  }

  const std::vector<std::string_view>& words_;
  const AicbWorkload& workload_;
  TraceBuilder& builder_;
  std::size_t at_ = 1;
  std::map<std::string, double, std::less<>> values_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> rows_;
};

void read_ranks(const Header& header, AicbWorkload& workload, const TraceReading& how) {
  workload.ranks = header.count("all_gpus", how.ranks);
  if (workload.ranks == 0)
    header.fail("all_gpus is missing, and how many ranks the job has does not follow from the rest",
                "say it with --ranks, or as \"ranks\" of the workload");
  if (workload.ranks > TraceBuilder::kMostRanks)
    header.fail(fmt::format("a job of {} ranks", workload.ranks),
                fmt::format("at most {}", TraceBuilder::kMostRanks));
}

std::size_t tensor_ranks(const Header& header, const AicbWorkload& workload) {
  switch (workload.policy->tensor) {
    case Tensor::kOne:
      return 1;
    case Tensor::kAll:
      return workload.ranks;
    case Tensor::kHeader:
      break;
  }
  if (!header.has("model_parallel_NPU_group"))
    header.fail("model_parallel_NPU_group is missing",
                "add the ranks of a tensor-parallel group to the first line");
  return header.count("model_parallel_NPU_group", 1);
}

void divide(const Header& header, AicbWorkload& workload) {
  const std::size_t model = workload.tp * workload.pp;
  if (workload.ranks % model != 0)
    header.fail(fmt::format("all_gpus {} is no multiple of model_parallel_NPU_group {} times pp {}",
                            workload.ranks, workload.tp, workload.pp),
                "the ranks are tensor x data x pipeline");
  workload.dp = workload.ranks / model;
  if (workload.dp % workload.ep != 0)
    header.fail(fmt::format("ep {} does not divide the {} replicas, all_gpus {} / "
                            "(model_parallel_NPU_group {} x pp {})",
                            workload.ep, workload.dp, workload.ranks, workload.tp, workload.pp),
                "experts are spread over ranks of the data-parallel group");
}

void read_pipeline(const Header& header, AicbWorkload& workload) {
  // Each stage is a program, whatever the size of the file.
  constexpr std::size_t kMostStages = 1024;
  workload.ep = header.count("ep", 1);
  workload.pp = header.count("pp", 1);
  workload.vpp = header.count("vpp", 1);
  workload.micro_batches = header.count("ga", 1);
  workload.pp_comm = header.number("pp_comm");
  if (workload.pp > kMostStages)
    header.fail(fmt::format("pp is {}", workload.pp), fmt::format("at most {}", kMostStages));
  if (workload.pp > 1 && workload.pp_comm == 0)
    header.fault("pp_comm is missing or 0, and the pipeline has more than one stage",
                 "pipelines without pp_comm: their messages have 0 bytes");
}

}  // namespace

const AicbPolicy* aicb_policy(std::string_view name) {
  for (const AicbPolicy& policy : kPolicies) {
    if (policy.name == name) return &policy;
  }
  return nullptr;
}

void read_aicb_header(const std::vector<std::string_view>& words, AicbWorkload& workload,
                      TraceBuilder& builder) {
  workload.policy = words.empty() ? nullptr : aicb_policy(words.front());
  if (workload.policy == nullptr) {
    std::string known;
    for (const AicbPolicy& policy : kPolicies)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", policy.name);
    builder.fail(workload.file, "line 1",
                 words.empty() ? "is empty" : fmt::format("begins with \"{}\"", words.front()),
                 "begin with one of " + known);
  }
  const Header header(words, workload, builder);
  read_ranks(header, workload, builder.how());
  workload.tp = tensor_ranks(header, workload);
  if (workload.policy->pipeline) read_pipeline(header, workload);
  divide(header, workload);
  workload.checkpoints = header.rows("checkpoints");
  workload.initiates = header.rows("checkpoint_initiates");
  workload.last_bottom = static_cast<std::size_t>(
      std::min<double>(header.number("DLRM_LAST_BOTTOM_LAYER"), TraceBuilder::kMostOps));
}

}  // namespace trainyard
