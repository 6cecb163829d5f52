// Typed indices: an Id<Tag> is a 32-bit index that cannot be swapped with another kind of index.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace trainyard {

template <class Tag>
class Id {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  /// The position in the array that this id indexes. Meaningless when !valid().
  constexpr std::size_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t index_ = kNone;
};

/// Where element (outer, inner) of a table with rows of `width` stands in a flat array.
constexpr std::size_t flat_index(int outer, int width, int inner) {
  return static_cast<std::size_t>(outer) * static_cast<std::size_t>(width) +
         static_cast<std::size_t>(inner);
}

using Rank = Id<struct RankTag>;            ///< a GPU of the cluster, numbered server by server
using NodeId = Id<struct NodeTag>;          ///< a vertex of the topology graph
using ServerId = Id<struct ServerTag>;      ///< a server, 0 … servers-1
using ResourceId = Id<struct ResourceTag>;  ///< something with a capacity that flows share
using OpId = Id<struct OpTag>;              ///< an operation of the op graph, in creation order
using PathId = Id<struct PathTag>;          ///< an interned FlowPath of a plan
using FlowId = Id<struct FlowTag>;          ///< a running flow of the solver (slots are reused)

}  // namespace trainyard

template <class Tag>
struct std::hash<trainyard::Id<Tag>> {
  std::size_t operator()(trainyard::Id<Tag> id) const noexcept { return id.index(); }
};
