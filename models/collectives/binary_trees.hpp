// Two binary trees over the same members in which every member is a leaf of one and at most the
// inner node of the other, so that both together use every member's port in full.
// Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan"
// (2009), which NCCL's trees follow.
#pragma once

#include <cstddef>
#include <vector>

namespace trainyard {

/// A rooted tree over members 0 … n-1.
struct BinaryTree {
  std::vector<std::size_t> parent;  ///< of the root: itself
  std::size_t depth = 0;            ///< links from the deepest member to the root
};

/// The two trees over n members.
std::vector<BinaryTree> two_trees(std::size_t n);

}  // namespace trainyard
