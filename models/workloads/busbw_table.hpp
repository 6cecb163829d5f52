// Measured bandwidths of collectives by what the group is for: busbw.yaml of SimAI.
// docs/models/traces.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/trace.hpp"
#include "sim/units.hpp"

namespace trainyard {

enum class BusbwGroup : std::uint8_t { kTp, kDp, kEp };

/// Bus bandwidths as nccl-tests count them; what is absent was not measured.
struct BusbwTable {
  static constexpr std::size_t kGroups = 3, kCollectives = 4;
  std::array<std::array<std::optional<BytesPerSecond>, kCollectives>, kGroups> rates;
  std::optional<BytesPerSecond> pipeline;  ///< of messages between stages

  /// Nothing for collectives that such a file does not have.
  std::optional<BytesPerSecond> rate(BusbwGroup group, TraceCollective op) const;
};

/// Reads the text of a busbw.yaml. Throws ScenarioError with the line.
BusbwTable parse_busbw(std::string_view text, const std::string& file);

/// For what the group of a trace is by its name, "tp of stage 3": a replica group of experts is a
/// data-parallel one. Nothing for any other name.
std::optional<BusbwGroup> busbw_group(std::string_view name);

/// How long a collective over so many ranks takes, `bytes` the whole buffer: bytes / rate times
/// 2(n-1)/n for all_reduce and (n-1)/n for the others. Nothing where there is no rate.
std::optional<Seconds> busbw_time(const BusbwTable& table, BusbwGroup group, TraceCollective op,
                                  std::size_t ranks, Bytes bytes);

}  // namespace trainyard
