// The text of a recording: what timeline.jsonl.gz holds unpacked. The first line is an object, all
// of the recording but the bars of its timeline; each other line is a bar,
// [lane, name, role, number, start_s, duration_s, bytes, call]; those of recordings without "calls"
// in the first line end with the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/json.hpp"

namespace trainyard {

inline constexpr int kRecordingVersion = 1;

struct RecordedBar {
  std::uint64_t lane = 0, name = 0, role = 0, number = 0;
  double start = 0, duration = 0;     ///< seconds
  std::optional<double> bytes;        ///< of flows
  std::optional<std::uint64_t> call;  ///< of what is part of a collective
};
/// The duration of a bar, rounded so that start + duration is not beyond the finish, where the next
/// bar of the lane may begin.
double duration_between(double start, double finish);
/// Appends a bar's line, with its call or without.
void append_bar(const RecordedBar& bar, bool with_call, std::string& text);

/// The text of a "recording" member (docs/results.md).
std::string recording_text(const Json& recording);

/// The "recording" member from its text. Throws ScenarioError naming `file` and the line when it is
/// not such a text.
Json parse_recording(std::string_view text, const std::string& file);

}  // namespace trainyard
