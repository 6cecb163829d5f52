// Which rows of a workload of AICB and SimAI are a micro-batch and a chunk of a stage, and in which
// order a stage runs them.
#include <fmt/format.h>

#include <algorithm>

#include "models/workloads/trace_aicb.hpp"
#include "sim/error.hpp"

namespace trainyard {
namespace {

/// The rows' names as text, which say what a row is.
class Names {
 public:
  Names(const AicbWorkload& workload, const Trace& trace) : rows_(workload.rows), trace_(trace) {}
  bool begins(std::size_t row, std::string_view with) const {
    return trace_.names[rows_[row].name].starts_with(with);
  }
  bool same(std::size_t a, std::size_t b) const { return rows_[a].name == rows_[b].name; }
  bool is_embedding(std::size_t row) const {
    return trace_.names[rows_[row].name] == "embedding_layer";
  }
  std::size_t size() const { return rows_.size(); }

 private:
  const std::vector<AicbRow>& rows_;
  const Trace& trace_;
};

// The loss and the optimizer, of which the file has one each after the last micro-batch.
std::size_t end_of_batches(const Names& names) {
  std::size_t end = names.size();
  while (end > 0 && (names.begins(end - 1, "cross_entropy") || names.begins(end - 1, "optimizer")))
    --end;
  return end;
}

std::vector<std::size_t> embeddings(const Names& names, std::size_t end) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < end; ++row) {
    if (names.is_embedding(row)) rows.push_back(row);
  }
  return rows;
}

/// Micro-batches that begin there, all alike up to the end, or none.
std::vector<AicbRange> equal_blocks(const Names& names, const std::vector<std::size_t>& begins,
                                    std::size_t end) {
  std::vector<AicbRange> blocks;
  for (std::size_t i = 0; i < begins.size(); ++i)
    blocks.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : end});
  for (const AicbRange& block : blocks) {
    if (block.end - block.begin != blocks[0].end - blocks[0].begin) return {};
    for (std::size_t i = 0; i < block.end - block.begin; ++i) {
      if (!names.same(block.begin + i, blocks[0].begin + i)) return {};
    }
  }
  return blocks;
}

// A layer begins where the name of the first row behind the embedding comes again after other
// names; where all have that name, each row is a layer.
std::vector<std::size_t> layers(const Names& names, const AicbRange& block) {
  std::size_t first = block.begin;
  while (first < block.end && names.begins(first, "embedding")) ++first;
  std::vector<std::size_t> begins;
  bool alike = true;
  for (std::size_t row = first; row < block.end; ++row) {
    alike = alike && names.same(row, first);
    if (names.same(row, first) && (row == first || !names.same(row - 1, first)))
      begins.push_back(row);
  }
  if (!alike) return begins;
  begins.clear();
  for (std::size_t row = first; row < block.end; ++row) begins.push_back(row);
  return begins;
}

/// The block in as many parts of equally many layers: the embedding is in the first, what follows
/// the last layer in the last. None where they cannot be shared out.
std::vector<AicbRange> cut(const Names& names, const AicbRange& block, std::size_t parts) {
  const std::vector<std::size_t> begins = layers(names, block);
  if (begins.empty() || begins.size() % parts != 0) return {};
  std::vector<AicbRange> ranges;
  const std::size_t each = begins.size() / parts;
  for (std::size_t part = 0; part < parts; ++part)
    ranges.push_back({part == 0 ? block.begin : begins[part * each],
                      part + 1 == parts ? block.end : begins[(part + 1) * each]});
  return ranges;
}

std::size_t chunks_of(const AicbWorkload& workload, const Names& names,
                      const std::vector<AicbRange>& batches, std::vector<std::string>& notes) {
  if (workload.vpp == 1) return 1;
  std::string why;
  if (batches.size() % workload.pp != 0)
    why = fmt::format("{} micro-batches are no multiple of {} stages", batches.size(), workload.pp);
  else if (cut(names, batches.front(), workload.vpp).empty())
    why =
        fmt::format("the layers of a micro-batch cannot be cut into {} equal chunks", workload.vpp);
  if (why.empty()) return workload.vpp;
  notes.push_back(
      fmt::format("plain 1F1B instead of interleaved over {} chunks: {}", workload.vpp, why));
  return 1;
}

}  // namespace

AicbBlocks aicb_blocks(const AicbWorkload& workload, TraceBuilder& builder) {
  const Names names(workload, builder.trace());
  AicbBlocks blocks;
  const std::size_t end = end_of_batches(names);
  std::vector<std::size_t> begins = embeddings(names, end);
  std::vector<AicbRange> batches = equal_blocks(names, begins, end);
  if (batches.size() != workload.micro_batches || batches.empty()) {
    builder.fault(workload.file, "line 1",
                  fmt::format("ga is {}, and the rows are not {} equal blocks that begin with "
                              "embedding_layer: {} begin with it",
                              workload.micro_batches, workload.micro_batches, begins.size()),
                  "pipelines without equal micro-batches: taken as one micro-batch");
    batches = {{begins.empty() ? 0 : begins.front(), end}};
  }
  blocks.before = {0, batches.front().begin};
  blocks.after = {end, workload.rows.size()};
  const std::size_t chunks = chunks_of(workload, names, batches, blocks.notes);
  for (const AicbRange& batch : batches)
    blocks.chunks.push_back(chunks == 1 ? std::vector<AicbRange>{batch}
                                        : cut(names, batch, chunks));
  return blocks;
}

std::vector<PipelinePass> pipeline_passes(std::size_t stage, std::size_t stages,
                                          std::size_t micro_batches, std::size_t chunks) {
  require(chunks == 1 || micro_batches % stages == 0, "an interleaved schedule that does not fit");
  const std::size_t all = micro_batches * chunks, behind = stages - stage - 1;
  const std::size_t ahead =
      std::min(all, chunks == 1 ? behind : 2 * behind + (chunks - 1) * stages);
  // Interleaved, as many micro-batches as there are stages go through one chunk after another.
  const auto pass = [&](std::size_t k, bool backward) {
    if (chunks == 1) return PipelinePass{k, 0, backward};
    const std::size_t round = stages * chunks, chunk = k % round / stages;
    return PipelinePass{k / round * stages + k % stages, backward ? chunks - 1 - chunk : chunk,
                        backward};
  };
  std::vector<PipelinePass> passes;
  passes.reserve(2 * all);
  for (std::size_t k = 0; k < ahead; ++k) passes.push_back(pass(k, false));
  for (std::size_t k = ahead; k < all; ++k) {
    passes.push_back(pass(k, false));
    passes.push_back(pass(k - ahead, true));
  }
  for (std::size_t k = all - ahead; k < all; ++k) passes.push_back(pass(k, true));
  return passes;
}

}  // namespace trainyard
