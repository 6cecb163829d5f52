// How a topology numbers its resources without storing them: in blocks of consecutive ids.
//
// A block is a pattern of a few resources that repeats: what one server has, once per server; a
// link and its way back, once per cable. A resource is then found by one division, and 131,072 GPUs
// take as much memory as 8.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace trainyard {

enum class ResourceKind : std::uint8_t {
  kLink,          ///< fabric link, NIC port included; bytes/s
  kNvLink,        ///< GPU to NVSwitch or back; bytes/s
  kPcie,          ///< GPU to NIC or back; bytes/s
  kHostMemory,    ///< bytes/s, all passes together
  kNetworkCores,  ///< core-seconds per second
  kDpuCores,      ///< core-seconds per second
  kDpuMemory,     ///< bytes/s
  kDrive,         ///< bytes/s
  kEngine,        ///< fixed function of a service on one server; bytes/s
  kStoragePort,   ///< a server's ports into a storage network of its own; bytes/s
  kStorage,       ///< all storage targets together: drives, or their ports; bytes/s
};

/// What all repetitions of one resource of a pattern have in common.
struct ResourceTraits {
  ResourceKind kind = ResourceKind::kLink;
  double capacity = 0;     ///< in SI units of its kind, per second
  Seconds latency;         ///< of one traversal
  bool of_server = false;  ///< repetition i belongs to server i as a whole
};

/// The nodes between which an edge leads.
struct Ends {
  NodeId from, to;
};

/// One resource as a value, put together when asked for.
struct Resource {
  ResourceKind kind = ResourceKind::kLink;
  NodeId from, to;      ///< the edge; only valid for edges
  ServerId server;      ///< owner; only valid for server resources
  double capacity = 0;  ///< in SI units of its kind, per second
  Seconds latency;      ///< of one traversal
};

/// One resource of every server: ids at equal distances.
class PerServer {
 public:
  PerServer() = default;
  /// `stride`: from one server's to the next one's.
  PerServer(ResourceId first, std::size_t stride) : first_(first), stride_(stride) {}
  /// Whether servers have it at all.
  bool valid() const { return first_.valid(); }
  /// Invalid where servers have none.
  ResourceId operator[](ServerId server) const {
    return valid() ? ResourceId(first_.index() + server.index() * stride_) : ResourceId();
  }

 private:
  ResourceId first_;
  std::size_t stride_ = 0;
};

/// Links in pairs, there and back: pair i has the ids 2i and 2i + 1 after the first.
class LinkPairs {
 public:
  LinkPairs() = default;
  explicit LinkPairs(ResourceId first) : first_(first) {}
  bool valid() const { return first_.valid(); }
  /// From the lower node of the pair to the upper one, and back.
  ResourceId up(std::size_t pair) const { return ResourceId(first_.index() + 2 * pair); }
  ResourceId down(std::size_t pair) const { return ResourceId(first_.index() + 2 * pair + 1); }

 private:
  ResourceId first_;
};

class ResourceBlocks {
 public:
  /// The ends of the resource at a place of the pattern, in a repetition; called when asked for.
  using EndsRule = std::function<Ends(std::size_t repetition, std::size_t place)>;

  /// Appends a block and returns the id of its first resource; the pattern's others follow, then
  /// the next repetition. `ends` is empty for resources that are no edges, and may give invalid
  /// ones. Throws DesignError when ids run out.
  ResourceId add(std::size_t repetitions, std::vector<ResourceTraits> pattern, EndsRule ends = {});

  std::size_t size() const { return size_; }
  const ResourceTraits& traits(ResourceId id) const {
    const Place at = find(id);
    return blocks_[at.block].pattern[at.place];
  }
  /// For furnishing: of all repetitions at once.
  void set_capacity(ResourceId id, double capacity) {
    const Place at = find(id);
    blocks_[at.block].pattern[at.place].capacity = capacity;
  }
  /// The server that owns it as a whole; invalid for edges and for what servers share.
  ServerId server_of(ResourceId id) const {
    const Place at = find(id);
    return blocks_[at.block].pattern[at.place].of_server ? ServerId(at.repetition) : ServerId();
  }
  Resource resource(ResourceId id) const;
  /// The sum over all resources of a kind.
  double capacity_of_all(ResourceKind kind) const {
    double sum = 0;
    for (const Block& block : blocks_) {
      for (const ResourceTraits& traits : block.pattern) {
        if (traits.kind == kind) sum += static_cast<double>(block.repetitions) * traits.capacity;
      }
    }
    return sum;
  }

  /// Calls body(ResourceId, const ResourceTraits&) for every resource, in the order of ids.
  template <class Body>
  void each(Body&& body) const {
    for (const Block& block : blocks_) {
      std::size_t id = block.first;
      for (std::size_t i = 0; i < block.repetitions; ++i) {
        for (const ResourceTraits& traits : block.pattern) body(ResourceId(id++), traits);
      }
    }
  }

 private:
  struct Block {
    std::size_t first = 0, repetitions = 0;
    std::vector<ResourceTraits> pattern;
    EndsRule ends;
  };
  struct Place {
    std::size_t block;
    std::uint32_t repetition, place;
  };

  Place find(ResourceId id) const {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), id.index(),
                         [](std::size_t index, const Block& block) { return index < block.first; });
    const Block& block = *(after - 1);
    // Ids have 32 bits, and dividing those is cheaper than dividing 64.
    const auto offset = static_cast<std::uint32_t>(id.index() - block.first);
    const auto period = static_cast<std::uint32_t>(block.pattern.size());
    return {static_cast<std::size_t>(after - 1 - blocks_.begin()), offset / period,
            offset % period};
  }

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace trainyard
