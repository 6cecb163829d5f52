#include "sim/topology_blocks.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"

namespace trainyard {

ResourceId ResourceBlocks::add(std::size_t repetitions, std::vector<ResourceTraits> pattern,
                               EndsRule ends) {
  require(repetitions > 0 && !pattern.empty(), "a block without resources");
  for (const ResourceTraits& traits : pattern)
    require(!ends || traits.of_server || traits.capacity > 0, "an edge without capacity");
  const std::size_t first = size_, count = repetitions * pattern.size();
  if (count > ResourceId::kNone - first) {
    throw DesignError("",
                      fmt::format("has {} links and other shared resources, more than the {} that "
                                  "can be numbered",
                                  first + count, ResourceId::kNone),
                      "fewer servers, GPUs or NICs");
  }
  size_ += count;
  blocks_.push_back({first, repetitions, std::move(pattern), std::move(ends)});
  return ResourceId(first);
}

Resource ResourceBlocks::resource(ResourceId id) const {
  const Place at = find(id);
  const Block& block = blocks_[at.block];
  const ResourceTraits& traits = block.pattern[at.place];
  const bool edge = block.ends && !traits.of_server;
  const Ends ends = edge ? block.ends(at.repetition, at.place) : Ends();
  return {traits.kind,     ends.from,
          ends.to,         traits.of_server ? ServerId(at.repetition) : ServerId(),
          traits.capacity, traits.latency};
}

}  // namespace trainyard
