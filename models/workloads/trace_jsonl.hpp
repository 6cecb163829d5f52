// Our own format of traces: JSON Lines, one operation a line. docs/traces.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "sim/trace.hpp"

namespace trainyard {

/// What a member holds. Numbers are 0 or more unless `least` says otherwise.
enum class JsonlType {
  kInteger,
  kId,      ///< up to 2^64 - 1
  kIds,     ///< a list of them
  kNumber,  ///< finite
  kFlag,
  kText,
  kChoice,  ///< one of jsonl_choices()
  kObject,  ///< any JSON object
  kGroups   ///< an object of lists of ranks
};

/// A member of the header or of an operation: the reader and the schema know no other.
struct JsonlField {
  std::string_view name;
  JsonlType type;
  std::string_view unit;  ///< empty where there is none
  std::string_view doc;
  double least = 0, most = 0;  ///< of integers
  unsigned int required = 0;   ///< of header lines: 1; of operations: a bit of each TraceKind
};

// Positions in the tables below.
enum class JsonlHeader {
  kVersion,
  kRanks,
  kRepresentative,
  kDurations,
  kGroups,
  kAttributes,
  kFormat
};
enum class JsonlOp {
  kRank,
  kId,
  kKind,
  kName,
  kOp,
  kGroup,
  kBytes,
  kType,
  kStream,
  kPeer,
  kTag,
  kFlops,
  kStart,
  kDuration,
  kAfter,
  kAfterControl,
  kAfterStart,
  kExtra
};

std::span<const JsonlField> jsonl_header_fields();
std::span<const JsonlField> jsonl_op_fields();
const JsonlField& jsonl_field(JsonlHeader field);
const JsonlField& jsonl_field(JsonlOp field);
/// The words that a member of type kChoice may be, in the order of their enum.
std::span<const std::string_view> jsonl_choices(const JsonlField& field);

/// JSON Schema (draft 7) of the lines of a trace.
std::string trace_schema();

/// Gives the text of a trace, in pieces of some 64 KiB.
void write_jsonl(const Trace& trace, const std::function<void(const std::string&)>& add);

}  // namespace trainyard
