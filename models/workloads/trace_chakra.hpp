// What the reader and the writer of Chakra traces share.
//
// Attributes of ours, for what the format has no place for; others' tools pass them over:
//   duration_seconds, start_seconds (double)  what whole microseconds do not hold
//   comm_root (int32)   the root of a collective that has one, a rank of the job
//   dtype (string)      the data type
//   groups_only (bool)  on a METADATA node: it defines groups and is no operation
//   durations_alone (bool)  of the file: Trace::alone
#pragma once

#include <chakra.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/byte_source.hpp"
#include "sim/json.hpp"
#include "sim/trace.hpp"
#include "sim/trace_builder.hpp"

namespace trainyard::chakra {

/// What a Trace holds of a node, as numbers of the Trace but for the bytes.
struct Facts {
  TraceKind kind = TraceKind::kMarker;
  TraceCollective collective = TraceCollective::kAllReduce;
  double start = -1, duration = -1, flops = 0;
  double bytes = 0;  ///< as the format counts them: contributed() says whether of one rank
  std::int32_t stream = TraceOp::kNone, peer = TraceOp::kNone, tag = 0;
  std::string group, type;
  bool operator==(const Facts&) const = default;
};

/// Whether the format gives what each rank brings along, and the Trace what all of it is.
inline bool contributed(TraceKind kind, TraceCollective collective) {
  return kind == TraceKind::kCollective &&
         (collective == TraceCollective::kAllGather || collective == TraceCollective::kGather);
}

/// What is wrong with a node.
struct Problem {
  std::string message;
  std::string kind;  ///< of a fault (TraceBuilder::fault); empty where it cannot be mended
};

/// What a node says, of the given rank; what it says that cannot be is mended, and a problem.
Facts facts_of(const Node& node, std::int64_t rank, std::vector<Problem>& problems);

/// Whether facts tell what an attribute of that name says.
bool is_held(std::string_view attribute);

/// What did not go into nodes as it was.
struct Rounding {
  std::size_t numbers = 0;    ///< bytes or operations that are no whole numbers
  std::size_t durations = 0;  ///< not said, and as good as 0 in the format
};
/// Gives a node type, times and attributes. Such a node has the same facts.
void put_facts(const Facts& facts, std::int64_t rank, Node& node, Rounding& rounding);
/// The attribute of that name, or nullptr.
const AttributeProto* find_attribute(const GlobalMetadata& metadata, std::string_view name);
/// Whether a METADATA node only defines groups.
bool groups_only(const Node& node);

/// A group as a node or the file beside the trace defines it; empty ranks are all.
struct GroupText {
  std::string name;
  std::vector<std::uint32_t> ranks;
};
/// The groups that a METADATA node defines. False when it seems to and cannot be understood.
bool groups_of(const Node& node, std::vector<GroupText>& groups);
/// The reverse, for inputs.values.
std::string groups_text(const std::vector<GroupText>& groups);
/// Whether a JSON value is a list of ranks, and which.
bool ranks_of(const Json& list, std::vector<std::uint32_t>& ranks);

/// A message as JSON with the format's own names, on one line.
std::string json_text(const google::protobuf::Message& message);
/// The reverse. Returns why not, or an empty string. `unknown` is set when there were fields that
/// the format does not have.
std::string parse_json_text(std::string_view text, google::protobuf::Message& message,
                            bool& unknown);

/// The messages of a file, one after another, in either form: lengths and bytes, or JSON objects.
class Records {
 public:
  /// Larger ones are an error.
  static constexpr std::size_t kLargest = std::size_t{64} << 20;
  Records(ByteSource& source, TraceBuilder& builder);
  /// Whether there was another message. What cannot be decoded is an error.
  bool next(GlobalMetadata& metadata);
  bool next(Node& node);
  /// "the metadata", "node number 3".
  std::string place() const;

 private:
  template <class M>
  bool read(M& message);
  bool more();                         ///< whether rest_ has something, after reading on
  bool length(std::uint64_t& length);  ///< false at the end of the file
  bool binary(std::string_view& record);
  bool json(std::string_view& record);
  void keep(std::size_t count);
  [[noreturn]] void fail(const std::string& message, const std::string& hint);

  ByteSource& source_;
  TraceBuilder& builder_;
  std::string_view rest_;  ///< of the piece that was read last
  std::string whole_;      ///< of a message that spans pieces
  std::uint64_t count_ = 0;
  bool json_ = false;
};

/// Whether these first bytes of a file are those of a trace.
bool begins_like_trace(std::string_view head);

}  // namespace trainyard::chakra
