// Workloads of AICB and SimAI: what the rows of a file say, and the programs that come of them.
// docs/models/traces.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/byte_source.hpp"
#include "sim/trace_builder.hpp"

namespace trainyard {

/// Whom a collective is among.
enum class AicbGroup : std::uint8_t {
  kTp,    ///< tensor parallel
  kEp,    ///< expert parallel
  kDp,    ///< data parallel
  kDpEp,  ///< the replicas of the same experts
  kAll    ///< all ranks
};

struct AicbCollective {
  double bytes = 0;  ///< the whole buffer; 0: there is none
  TraceCollective op = TraceCollective::kAllReduce;
  AicbGroup group = AicbGroup::kTp;
};

/// One layer, or a part of one.
struct AicbRow {
  double forward = 0, input_grad = 0, weight_grad = 0;  ///< kernels, seconds
  AicbCollective forward_comm, input_grad_comm, weight_grad_comm;
  std::uint32_t name = 0;  ///< in Trace::names
};

/// In which order the rows run and what their columns mean: the first word of the file.
struct AicbPolicy {
  enum class Tensor : std::uint8_t {
    kHeader,  ///< the tensor-parallel ranks are in the header
    kOne,
    kAll
  };
  enum class Backward : std::uint8_t {
    kNone,        ///< forward only
    kBlocking,    ///< input gradient, its collective, weight gradient
    kOverlapped,  ///< the collective of the input gradient runs beside the weight gradient
    kWeightFirst  ///< weight gradient, input gradient
  };
  enum class Order : std::uint8_t {
    kRows,        ///< forward 1..N, then backward N..1
    kBottomRows,  ///< the same, where the first row's all-to-all runs beside the bottom rows
    kOneByOne     ///< only the collectives of the weight gradients, one after another
  };
  std::string_view name;
  Tensor tensor = Tensor::kHeader;
  bool pipeline = false;   ///< has ep, pp, vpp and ga
  bool recompute = false;  ///< has checkpoints
  bool row_policy = false;
  bool data_first = false;                   ///< replicas are neighbours, not tensor ranks
  std::optional<AicbGroup> forward, weight;  ///< of plain collectives; none: the columns have none
  Backward backward = Backward::kBlocking;
  Order order = Order::kRows;
};
/// Null where there is none of that name.
const AicbPolicy* aicb_policy(std::string_view name);

struct AicbWorkload {
  std::string file;
  const AicbPolicy* policy = nullptr;
  std::size_t ranks = 0;
  std::size_t tp = 1, ep = 1, dp = 1, pp = 1, vpp = 1;
  std::size_t micro_batches = 1;
  double pp_comm = 0;  ///< bytes between stages, per tensor rank, micro-batch, chunk and direction
  /// Rows from which, and before which, the backward pass computes forward again; sorted.
  std::vector<std::size_t> checkpoints, initiates;
  std::size_t last_bottom = 0;
  std::vector<AicbRow> rows;
};

/// Reads the whole file; faults go to the builder.
AicbWorkload read_aicb(ByteSource& source, TraceBuilder& builder);

/// Takes the words of the first line into a workload that has its file. Checks that the counts
/// divide.
void read_aicb_header(const std::vector<std::string_view>& words, AicbWorkload& workload,
                      TraceBuilder& builder);

/// A whole number below 2^64, possibly written as "12.0"; nothing for any other text.
std::optional<double> aicb_number(std::string_view text);
/// Words between blanks.
std::vector<std::string_view> aicb_words(std::string_view line);

/// The parts that a pipeline runs: of rows, each [begin, end).
struct AicbRange {
  std::size_t begin = 0, end = 0;
};
struct AicbBlocks {
  AicbRange before, after;                     ///< once per step
  std::vector<std::vector<AicbRange>> chunks;  ///< by micro-batch
  std::vector<std::string> notes;
};
/// What of the rows is a micro-batch and a chunk of it.
AicbBlocks aicb_blocks(const AicbWorkload& workload, TraceBuilder& builder);

/// A micro-batch through a chunk of a stage.
struct PipelinePass {
  std::size_t micro_batch = 0, chunk = 0;
  bool backward = false;
  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};
/// What a stage does in which order: 1F1B; with more than one chunk interleaved (Narayanan et al.,
/// SC'21), for which the micro-batches must be a multiple of the stages.
std::vector<PipelinePass> pipeline_passes(std::size_t stage, std::size_t stages,
                                          std::size_t micro_batches, std::size_t chunks);

/// Gives the builder the groups and the programs, one per stage.
void schedule_aicb(const AicbWorkload& workload, TraceBuilder& builder);

}  // namespace trainyard
