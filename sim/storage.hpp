// Shared storage: NVMe drives behind NVMe-oF targets, a file system over them, and the way there.
#pragma once

#include <optional>
#include <string>

#include "sim/archive.hpp"
#include "sim/devices.hpp"

namespace trainyard {

/// An NVMe drive.
struct Drive {
  static constexpr std::string_view kCatalog = "drive";
  BytesPerSecond read, write;  ///< sequential
  Bytes capacity;
  std::optional<PowerDraw> power;
  std::optional<double> price_usd;
  void fields(Archive& ar);
};

/// A server of drives on the network (an NVMe-oF target).
struct StorageTarget {
  static constexpr std::string_view kCatalog = "storage_target";
  int drives = 1;
  Drive drive;
  BytesPerSecond network;           ///< all its ports together, per direction
  std::optional<PowerDraw> power;   ///< without its drives
  std::optional<double> price_usd;  ///< without its drives
  void fields(Archive& ar);
};

struct Storage {
  static constexpr std::string_view kCatalog = "storage";
  int targets = 1;
  StorageTarget target;
  double efficiency = 1;            ///< share of the drives' rate after redundancy and protocol
  double usable = 1;                ///< share of the drives' capacity after redundancy
  BytesPerSecond read_limit;        ///< of the file system as a whole; 0: none
  BytesPerSecond write_limit;       ///< of the file system as a whole; 0: none
  BytesPerSecond node_read_limit;   ///< of one server's client; 0: none
  BytesPerSecond node_write_limit;  ///< of one server's client; 0: none
  /// "own": servers reach it through storage ports of their own (storage_nics, DPUs); "fabric":
  /// through the NICs and the network of the GPUs.
  std::string network = "own";
  void fields(Archive& ar);

  BytesPerSecond drives_rate(bool write) const {
    return targets * target.drives * (write ? target.drive.write : target.drive.read) * efficiency;
  }
  BytesPerSecond targets_rate() const { return targets * target.network; }
  Bytes capacity() const { return targets * target.drives * target.drive.capacity * usable; }
};

}  // namespace trainyard
