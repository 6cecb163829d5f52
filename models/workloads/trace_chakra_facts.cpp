// What a node of a Chakra trace says, as a Trace holds it, and the reverse.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "models/workloads/trace_chakra.hpp"

namespace trainyard::chakra {
namespace {

constexpr double kMicro = 1e6;
constexpr double kMostCount = 9.2e18;  // what 64 bits with a sign hold

// Attributes that say something to a Trace.
enum class Held : std::uint8_t {
  kCommDst,
  kCommRoot,
  kCommSize,
  kCommSrc,
  kCommTag,
  kCommType,
  kDataType,
  kDuration,
  kInvolvedDim,
  kIsCpuOp,
  kNumOps,
  kGroup,
  kStart,
  kStream,
  kTensorSize,
  kCount
};
constexpr auto kHeld = static_cast<std::size_t>(Held::kCount);
constexpr std::array<std::string_view, kHeld> kHeldNames{
    "comm_dst",  "comm_root", "comm_size",        "comm_src",     "comm_tag",
    "comm_type", "dtype",     "duration_seconds", "involved_dim", "is_cpu_op",
    "num_ops",   "pg_name",   "start_seconds",    "stream",       "tensor_size"};
static_assert(std::is_sorted(kHeldNames.begin(), kHeldNames.end()));

// Attributes of traces that are about, which change nothing here: of MLCommons' converters for
// PyTorch and MPI, of its feeder, of PyTorch's record_param_comms, of ASTRA-sim.
constexpr std::array<std::string_view, 45> kHarmless{"cat",
                                                     "collective_name",
                                                     "comm_group",
                                                     "comm_id",
                                                     "comm_priority",
                                                     "correlation",
                                                     "cuda_stream",
                                                     "device",
                                                     "ev_idx",
                                                     "exclusive_dur",
                                                     "external_id",
                                                     "fw_parent",
                                                     "fw_tid",
                                                     "global_rank_start",
                                                     "global_rank_stride",
                                                     "group_desc",
                                                     "group_ranks",
                                                     "group_size",
                                                     "groups_only",
                                                     "in_msg_nelems",
                                                     "in_split_size",
                                                     "inclusive_dur",
                                                     "input_file",
                                                     "inputs",
                                                     "is_async",
                                                     "is_p2p",
                                                     "kernel_backend",
                                                     "kernel_file",
                                                     "op_schema",
                                                     "op_type",
                                                     "out_msg_nelems",
                                                     "out_split_size",
                                                     "outputs",
                                                     "ph",
                                                     "pg_desc",
                                                     "pid",
                                                     "rf_id",
                                                     "runtime",
                                                     "scope",
                                                     "seq_id",
                                                     "tensor_loc",
                                                     "tid",
                                                     "tile_id",
                                                     "ts",
                                                     "version"};

const std::string kLeftOut = ": left out, what waits for them waits for what they waited for";

bool is_harmless(std::string_view name) {
  return std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end();
}

// Its Held, or kHeld.
std::size_t held_index(std::string_view name) {
  const auto it = std::lower_bound(kHeldNames.begin(), kHeldNames.end(), name);
  return it != kHeldNames.end() && *it == name ? static_cast<std::size_t>(it - kHeldNames.begin())
                                               : kHeld;
}

// Any encoding of a number.
std::optional<double> number_in(const AttributeProto& a) {
  switch (a.value_case()) {
    case AttributeProto::kDoubleVal:
      return a.double_val();
    case AttributeProto::kFloatVal:
      return a.float_val();
    case AttributeProto::kInt32Val:
      return a.int32_val();
    case AttributeProto::kInt64Val:
      return static_cast<double>(a.int64_val());
    case AttributeProto::kUint32Val:
      return a.uint32_val();
    case AttributeProto::kUint64Val:
      return static_cast<double>(a.uint64_val());
    case AttributeProto::kSint32Val:
      return a.sint32_val();
    case AttributeProto::kSint64Val:
      return static_cast<double>(a.sint64_val());
    case AttributeProto::kFixed32Val:
      return a.fixed32_val();
    case AttributeProto::kFixed64Val:
      return static_cast<double>(a.fixed64_val());
    case AttributeProto::kSfixed32Val:
      return a.sfixed32_val();
    case AttributeProto::kSfixed64Val:
      return static_cast<double>(a.sfixed64_val());
    case AttributeProto::kBoolVal:
      return a.bool_val() ? 1 : 0;
    default:
      return {};
  }
}

// One node's attributes, looked at.
class Attributes {
 public:
  Attributes(const Node& node, std::vector<Problem>& problems) : problems_(problems) {
    for (const AttributeProto& attribute : node.attr()) {
      const std::size_t held = held_index(attribute.name());
      if (held < kHeld) {
        const AttributeProto*& place = found_[held];
        if (place == nullptr) place = &attribute;
      } else if (node.type() != METADATA_NODE && !is_harmless(attribute.name())) {
        mend(fmt::format("has an attribute \"{}\", which nothing here knows", attribute.name()),
             "unknown attributes: ignored");
      }
    }
  }

  const AttributeProto* find(Held held) const { return found_[static_cast<std::size_t>(held)]; }

  /// A number from 0 to `most`, or nothing where there is none.
  std::optional<double> number(Held held, double most) {
    const AttributeProto* attribute = find(held);
    if (attribute == nullptr) return {};
    const std::optional<double> value = number_in(*attribute);
    if (value && *value >= 0 && *value <= most) return value;
    refuse(held, value ? fmt::format("is {}", *value) : std::string("is no number"),
           fmt::format("a number from 0 to {:g}", most));
    return {};
  }

  /// The same, whole.
  std::optional<std::int32_t> integer(Held held) {
    constexpr double kMost = 2147483647;
    const std::optional<double> value = number(held, kMost);
    if (!value) return {};
    if (*value != std::floor(*value)) {
      refuse(held, fmt::format("is {}", *value), "a whole number");
      return {};
    }
    return static_cast<std::int32_t>(*value);
  }

  /// Below 0 there is none.
  std::int32_t stream() {
    const AttributeProto* attribute = find(Held::kStream);
    if (attribute != nullptr && number_in(*attribute).value_or(0) < 0) return TraceOp::kNone;
    return integer(Held::kStream).value_or(TraceOp::kNone);
  }

  bool yes(Held held) {
    const AttributeProto* attribute = find(held);
    if (attribute == nullptr) return false;
    if (attribute->value_case() == AttributeProto::kStringVal) {
      const std::string& text = attribute->string_val();
      if (text == "true" || text == "True" || text == "1") return true;
      if (text == "false" || text == "False" || text == "0") return false;
    }
    return number(held, 1).value_or(0) != 0;
  }

  std::string text(Held held) {
    const AttributeProto* attribute = find(held);
    if (attribute == nullptr) return {};
    if (attribute->value_case() == AttributeProto::kStringVal) return attribute->string_val();
    const std::optional<std::int32_t> value = integer(held);
    return value ? fmt::format("{}", *value) : std::string();
  }

  void mend(std::string message, std::string kind) {
    problems_.push_back({std::move(message), std::move(kind)});
  }

 private:
  void refuse(Held held, const std::string& what, const std::string& wanted) {
    problems_.push_back(
        {fmt::format("{} {}, not {}", kHeldNames[static_cast<std::size_t>(held)], what, wanted),
         ""});
  }

  std::array<const AttributeProto*, kHeld> found_{};
  std::vector<Problem>& problems_;
};

constexpr std::array<TraceCollective, 10> kCollectives{
    TraceCollective::kAllReduce,     TraceCollective::kReduce,        TraceCollective::kAllGather,
    TraceCollective::kGather,        TraceCollective::kScatter,       TraceCollective::kBroadcast,
    TraceCollective::kAllToAll,      TraceCollective::kReduceScatter,
    TraceCollective::kReduceScatter,  // REDUCE_SCATTER_BLOCK: all parts of one size
    TraceCollective::kBarrier};

TraceKind kind_of(const Node& node, Attributes& attributes) {
  switch (node.type()) {
    case METADATA_NODE:
      return TraceKind::kMarker;
    case MEM_LOAD_NODE:
      return TraceKind::kLoad;
    case MEM_STORE_NODE:
      return TraceKind::kStore;
    case COMP_NODE:
      return attributes.yes(Held::kIsCpuOp) ? TraceKind::kHost : TraceKind::kCompute;
    case COMM_SEND_NODE:
      return TraceKind::kSend;
    case COMM_RECV_NODE:
      return TraceKind::kReceive;
    case COMM_COLL_NODE:
      return TraceKind::kCollective;
    default:
      break;
  }
  attributes.mend(node.type() == INVALID_NODE
                      ? std::string("is of the type INVALID_NODE, or of none")
                      : fmt::format("is of a type {}", static_cast<int>(node.type())),
                  "nodes of no known type" + kLeftOut);
  return TraceKind::kMarker;
}

// Bytes, which an operation of that kind must have.
void size(Facts& facts, Held held, Attributes& attributes, const std::string& kind) {
  if (attributes.find(held) == nullptr) {
    attributes.mend(
        fmt::format("has no {}", kHeldNames[static_cast<std::size_t>(held)]),
        fmt::format("{} without {}{}", kind, kHeldNames[static_cast<std::size_t>(held)], kLeftOut));
    facts.kind = TraceKind::kMarker;
    return;
  }
  facts.bytes = attributes.number(held, kMostCount).value_or(0);
}

// ASTRA-sim's way to name the ranks of a collective by dimensions of the network.
void check_dimensions(const Facts& facts, Attributes& attributes) {
  const AttributeProto* dimensions = attributes.find(Held::kInvolvedDim);
  if (dimensions == nullptr || !facts.group.empty()) return;
  const auto& values = dimensions->bool_list().values();
  if (std::find(values.begin(), values.end(), false) == values.end()) return;
  attributes.mend("is over some dimensions of a network (involved_dim), and names no group",
                  "collectives over some dimensions of a network: taken as over all ranks");
}

void collective(Facts& facts, Attributes& attributes) {
  const AttributeProto* type = attributes.find(Held::kCommType);
  if (type == nullptr) {
    attributes.mend("is a collective without comm_type",
                    "collectives without comm_type" + kLeftOut);
    facts.kind = TraceKind::kMarker;
    return;
  }
  const std::int32_t number = attributes.integer(Held::kCommType).value_or(0);
  if (static_cast<std::size_t>(number) >= kCollectives.size()) {
    attributes.mend(fmt::format("is a collective with comm_type {}", number),
                    "collectives of no known comm_type" + kLeftOut);
    facts.kind = TraceKind::kMarker;
    return;
  }
  facts.collective = kCollectives[static_cast<std::size_t>(number)];
  facts.group = attributes.text(Held::kGroup);
  facts.peer = attributes.integer(Held::kCommRoot).value_or(TraceOp::kNone);
  check_dimensions(facts, attributes);
  if (facts.collective != TraceCollective::kBarrier || attributes.find(Held::kCommSize) != nullptr)
    size(facts, Held::kCommSize, attributes, "collectives");
}

void message(Facts& facts, std::int64_t rank, Attributes& attributes) {
  const bool sends = facts.kind == TraceKind::kSend;
  const Held other = sends ? Held::kCommDst : Held::kCommSrc;
  const Held own = sends ? Held::kCommSrc : Held::kCommDst;
  const auto name = [](Held held) { return kHeldNames[static_cast<std::size_t>(held)]; };
  if (attributes.find(other) == nullptr) {
    attributes.mend(fmt::format("is a message without {}", name(other)),
                    fmt::format("messages without {}{}", name(other), kLeftOut));
    facts.kind = TraceKind::kMarker;
    return;
  }
  const std::optional<std::int32_t> self = attributes.integer(own);
  if (self && *self != rank)
    attributes.mend(
        fmt::format("has {} {} in the file of rank {}", name(own), *self, rank),
        fmt::format("messages whose {} is another rank: taken as of the file's rank", name(own)));
  facts.peer = attributes.integer(other).value_or(0);
  facts.tag = attributes.integer(Held::kCommTag).value_or(0);
  size(facts, Held::kCommSize, attributes, "messages");
}

// 0 microseconds of a kernel that says how much it computes, or of communication: not recorded.
double unsaid_duration(const Facts& facts) {
  const bool works = facts.kind == TraceKind::kCompute || facts.kind == TraceKind::kHost;
  return works && facts.flops == 0 ? 0 : -1;
}

double seconds(std::uint64_t micros, std::string_view field, std::optional<double> exact,
               double unsaid, std::vector<Problem>& problems) {
  if (micros > static_cast<std::uint64_t>(kMostCount))
    problems.push_back({fmt::format("{} is {}: of a negative number?", field, micros), ""});
  if (exact) return *exact;
  return micros > 0 ? static_cast<double>(micros) / kMicro : unsaid;
}

AttributeProto& add(Node& node, Held held) {
  AttributeProto& attribute = *node.add_attr();
  attribute.set_name(std::string(kHeldNames[static_cast<std::size_t>(held)]));
  return attribute;
}

std::int64_t whole(double value, Rounding& rounding) {
  const double near = std::round(std::clamp(value, 0.0, kMostCount));  // NaN: stays
  if (near != value) ++rounding.numbers;
  return near == near ? static_cast<std::int64_t>(near) : 0;
}

NodeType type_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kMarker:
      return METADATA_NODE;
    case TraceKind::kCompute:
    case TraceKind::kHost:
      return COMP_NODE;
    case TraceKind::kLoad:
      return MEM_LOAD_NODE;
    case TraceKind::kStore:
      return MEM_STORE_NODE;
    case TraceKind::kCollective:
      return COMM_COLL_NODE;
    case TraceKind::kSend:
      return COMM_SEND_NODE;
    case TraceKind::kReceive:
      return COMM_RECV_NODE;
  }
  return INVALID_NODE;
}

void put_communication(const Facts& facts, std::int64_t rank, Node& node, Rounding& rounding) {
  if (facts.kind == TraceKind::kCollective) {
    const auto it = std::find(kCollectives.begin(), kCollectives.end(), facts.collective);
    add(node, Held::kCommType).set_int64_val(it - kCollectives.begin());
  }
  add(node, Held::kCommSize).set_int64_val(whole(facts.bytes, rounding));
  if (facts.kind == TraceKind::kCollective) {
    if (!facts.group.empty()) add(node, Held::kGroup).set_string_val(facts.group);
    if (facts.peer >= 0) add(node, Held::kCommRoot).set_int32_val(facts.peer);
    return;
  }
  const bool sends = facts.kind == TraceKind::kSend;
  const auto self = static_cast<std::int32_t>(rank);
  add(node, Held::kCommSrc).set_int32_val(sends ? self : facts.peer);
  add(node, Held::kCommDst).set_int32_val(sends ? facts.peer : self);
  add(node, Held::kCommTag).set_int32_val(facts.tag);
}

// Whole microseconds, and whether they say it all.
bool put_micros(double seconds, double unsaid, std::uint64_t& micros) {
  if (!(seconds > 0)) {
    micros = 0;
    return !(seconds == 0) || unsaid == 0;
  }
  micros = static_cast<std::uint64_t>(std::round(std::min(seconds * kMicro, kMostCount)));
  return micros > 0 && static_cast<double>(micros) / kMicro == seconds;
}

void put_times(const Facts& facts, Node& node, Rounding& rounding) {
  std::uint64_t start = 0, duration = 0;
  const double unsaid = unsaid_duration(facts);
  if (!put_micros(facts.start, -1, start)) add(node, Held::kStart).set_double_val(facts.start);
  if (!put_micros(facts.duration, unsaid, duration))
    add(node, Held::kDuration).set_double_val(facts.duration);
  if (facts.duration < 0 && unsaid == 0) ++rounding.durations;
  node.set_start_time_micros(start);
  node.set_duration_micros(duration);
}

}  // namespace

bool is_held(std::string_view attribute) { return held_index(attribute) < kHeld; }

Facts facts_of(const Node& node, std::int64_t rank, std::vector<Problem>& problems) {
  Attributes attributes(node, problems);
  Facts facts;
  facts.kind = kind_of(node, attributes);
  if (facts.kind == TraceKind::kCollective) {
    collective(facts, attributes);
  } else if (facts.kind == TraceKind::kSend || facts.kind == TraceKind::kReceive) {
    message(facts, rank, attributes);
  } else if (facts.kind == TraceKind::kLoad || facts.kind == TraceKind::kStore) {
    size(facts, Held::kTensorSize, attributes, "memory operations");
  } else if (facts.kind != TraceKind::kMarker) {
    facts.bytes = attributes.number(Held::kTensorSize, kMostCount).value_or(0);
  }
  const double start = seconds(node.start_time_micros(), "start_time_micros",
                               attributes.number(Held::kStart, kMostCount), -1, problems);
  if (facts.kind == TraceKind::kMarker) {
    facts = {};
  } else {
    facts.flops = attributes.number(Held::kNumOps, kMostCount).value_or(0);
    facts.type = attributes.text(Held::kDataType);
    // The host's operations are all marked as of stream 0 by the converter of PyTorch's traces.
    if (!attributes.yes(Held::kIsCpuOp)) facts.stream = attributes.stream();
  }
  facts.start = start;
  facts.duration =
      seconds(node.duration_micros(), "duration_micros",
              attributes.number(Held::kDuration, kMostCount), unsaid_duration(facts), problems);
  return facts;
}

void put_facts(const Facts& facts, std::int64_t rank, Node& node, Rounding& rounding) {
  node.set_type(type_of(facts.kind));
  add(node, Held::kIsCpuOp).set_bool_val(facts.kind == TraceKind::kHost);
  if (facts.flops > 0) add(node, Held::kNumOps).set_int64_val(whole(facts.flops, rounding));
  switch (facts.kind) {
    case TraceKind::kCollective:
    case TraceKind::kSend:
    case TraceKind::kReceive:
      put_communication(facts, rank, node, rounding);
      break;
    case TraceKind::kLoad:
    case TraceKind::kStore:
    case TraceKind::kCompute:
    case TraceKind::kHost:
      if (facts.bytes > 0 || type_of(facts.kind) != COMP_NODE)
        add(node, Held::kTensorSize)
            .set_uint64_val(static_cast<std::uint64_t>(whole(facts.bytes, rounding)));
      break;
    case TraceKind::kMarker:
      break;
  }
  if (facts.stream != TraceOp::kNone) add(node, Held::kStream).set_int64_val(facts.stream);
  if (!facts.type.empty()) add(node, Held::kDataType).set_string_val(facts.type);
  put_times(facts, node, rounding);
}

}  // namespace trainyard::chakra
