// Collectives and messages of a Kineto trace: operation, size, group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "models/workloads/trace_kineto.hpp"

namespace trainyard::kineto {
namespace {

struct Operation {
  std::string_view part;  ///< of the name, in small letters and without "_"
  TraceKind kind;
  TraceCollective collective;
  std::string_view torch;  ///< as ProcessGroupNCCL spells it
};
// The first that fits holds: "reduce" is part of others.
constexpr std::array<Operation, 11> kOperations{{
    {"allreduce", TraceKind::kCollective, TraceCollective::kAllReduce, "allreduce"},
    {"reducescatter", TraceKind::kCollective, TraceCollective::kReduceScatter,
     "_reduce_scatter_base"},
    {"allgather", TraceKind::kCollective, TraceCollective::kAllGather, "_allgather_base"},
    {"alltoall", TraceKind::kCollective, TraceCollective::kAllToAll, "all_to_all"},
    {"broadcast", TraceKind::kCollective, TraceCollective::kBroadcast, "broadcast"},
    {"barrier", TraceKind::kCollective, TraceCollective::kBarrier, "barrier"},
    {"reduce", TraceKind::kCollective, TraceCollective::kReduce, "reduce"},
    {"gather", TraceKind::kCollective, TraceCollective::kGather, "gather"},
    {"scatter", TraceKind::kCollective, TraceCollective::kScatter, "scatter"},
    {"send", TraceKind::kSend, TraceCollective::kAllReduce, "send"},
    {"recv", TraceKind::kReceive, TraceCollective::kAllReduce, "recv"},
}};

const Operation* operation_of(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const auto* it = std::find_if(kOperations.begin(), kOperations.end(), [&](const Operation& one) {
    return plain.find(one.part) != std::string::npos;
  });
  return it == kOperations.end() ? nullptr : it;
}

struct NamedElement {
  std::string_view name, other;
  double bytes;
};
// c10::toString of torch's scalar types, and what others call them.
constexpr std::array<NamedElement, 25> kElements{{{"Float", "float32", 4},
                                                  {"BFloat16", "bf16", 2},
                                                  {"Half", "float16", 2},
                                                  {"Double", "float64", 8},
                                                  {"Byte", "uint8", 1},
                                                  {"Char", "int8", 1},
                                                  {"Short", "int16", 2},
                                                  {"Int", "int32", 4},
                                                  {"Long", "int64", 8},
                                                  {"Bool", "boolean", 1},
                                                  {"UInt16", "u16", 2},
                                                  {"UInt32", "u32", 4},
                                                  {"UInt64", "u64", 8},
                                                  {"ComplexHalf", "complex32", 4},
                                                  {"ComplexFloat", "complex64", 8},
                                                  {"ComplexDouble", "complex128", 16},
                                                  {"QInt8", "", 1},
                                                  {"QUInt8", "", 1},
                                                  {"QInt32", "", 4},
                                                  {"Float8_e5m2", "fp8", 1},
                                                  {"Float8_e4m3fn", "", 1},
                                                  {"Float8_e5m2fnuz", "", 1},
                                                  {"Float8_e4m3fnuz", "", 1},
                                                  {"Float8_e8m0fnu", "", 1},
                                                  {"Float16", "fp16", 2}}};

bool same_letters(std::string_view a, std::string_view b) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return small(x) == small(y); });
}

// Elements of the whole buffer, as nccl-tests counts it.
std::optional<double> whole_buffer(const Operation& operation, const Comm& comm) {
  const auto times = [&](std::optional<std::int64_t> count, double by) -> std::optional<double> {
    if (!count) return {};
    return static_cast<double>(*count) * by;
  };
  const auto ranks = static_cast<double>(comm.size.value_or(1));
  if (operation.kind == TraceKind::kReceive) return times(comm.out ? comm.out : comm.in, 1);
  if (operation.kind == TraceKind::kSend) return times(comm.in, 1);
  switch (operation.collective) {
    case TraceCollective::kAllGather:
      return comm.out ? times(comm.out, 1) : times(comm.in, ranks);
    case TraceCollective::kGather:
      return times(comm.in, ranks);
    case TraceCollective::kScatter:
      return times(comm.out, ranks);
    case TraceCollective::kBarrier:
      return 0;
    default:
      return times(comm.in, 1);
  }
}

// Of all groups of a file: what a line of text unfolds to must not fill the memory.
constexpr std::size_t kMostListed = 64'000'000;

/// "[0, 8, ..., 56]": the numbers, and how many of them come before the dots.
struct RankList {
  std::vector<std::int64_t> numbers;
  std::optional<std::size_t> before_dots;
  bool right = true;
};
RankList parse_ranks(std::string_view text) {
  RankList list;
  if (!text.starts_with('[') || !text.ends_with(']')) return {{}, {}, text.empty()};
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (item == "...") {
      list.before_dots = list.numbers.size();
    } else if (code == std::errc() && end == item.data() + item.size() && !item.empty()) {
      list.numbers.push_back(number);
    } else {
      list.right = false;
    }
  }
  return list;
}

// What the dots stand for, where the ranks before them are evenly spaced and what follows agrees.
std::vector<std::int64_t> continued(const RankList& list, std::int64_t size) {
  const std::size_t before = *list.before_dots;
  const auto& numbers = list.numbers;
  if (before < 2 || size < 0 || size > std::int64_t{TraceBuilder::kMostRanks}) return {};
  const std::int64_t step = numbers[1] - numbers[0];
  for (std::size_t i = 2; i < before; ++i) {
    if (numbers[i] - numbers[i - 1] != step) return {};
  }
  constexpr std::int64_t kMost = 1'000'000'000;  // so that nothing overflows
  if (std::max(std::abs(numbers[0]), std::abs(step)) > kMost) return {};
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < size; ++i) all.push_back(numbers[0] + i * step);
  const std::size_t after = numbers.size() - before;
  if (after > all.size() ||
      !std::equal(numbers.begin() + static_cast<std::ptrdiff_t>(before), numbers.end(),
                  all.end() - static_cast<std::ptrdiff_t>(after)))
    return {};
  return all;
}

}  // namespace

std::optional<Element> element_of(std::string_view name) {
  for (const NamedElement& one : kElements) {
    if (!same_letters(name, one.name) && (one.other.empty() || !same_letters(name, one.other)))
      continue;
    return Element{one.name == "Float16" ? "Half" : one.name, one.bytes};
  }
  return {};
}

std::string_view torch_name(const TraceOp& op) {
  for (const Operation& one : kOperations) {
    if (one.kind == op.kind &&
        (op.kind != TraceKind::kCollective || one.collective == op.collective))
      return one.torch;
  }
  return "";
}

// Empty: all ranks.
std::vector<std::uint32_t> CommReader::ranks_of(const Comm& comm, const std::string& place) {
  const RankList list = parse_ranks(comm.ranks);
  const std::int64_t size =
      comm.size.value_or(static_cast<std::int64_t>(list.before_dots ? 0 : list.numbers.size()));
  const auto configured = file_.groups.find(comm.group);
  std::vector<std::int64_t> ranks = list.numbers;
  if (!list.right)
    builder_.fail(file_.name, place,
                  "\"Process Group Ranks\" is no list of ranks such as \"[0, 1]\"",
                  "is the file damaged?");
  const bool everyone = (file_.world > 0 && size == static_cast<std::int64_t>(file_.world)) ||
                        (!list.before_dots && size <= 0);
  if (list.before_dots || ranks.empty()) {
    if (configured != file_.groups.end()) {
      ranks.assign(configured->second.begin(), configured->second.end());
    } else if (everyone) {
      return {};
    } else if (list.before_dots) {
      ranks = continued(list, size);
    }
    if (ranks.empty()) {
      builder_.fault(file_.name, place, "does not list the ranks of its group",
                     "groups without a list of their ranks: all ranks");
      return {};
    }
  }
  if (comm.size && *comm.size != static_cast<std::int64_t>(ranks.size()))
    builder_.fault(file_.name, place,
                   fmt::format("has \"Group size\" {} and {} ranks", *comm.size, ranks.size()),
                   "groups whose size is not the number of their ranks: the ranks hold");
  const auto most =
      static_cast<std::int64_t>(file_.world > 0 ? file_.world : TraceBuilder::kMostRanks);
  listed_ += ranks.size();
  if (listed_ > kMostListed)
    builder_.fail(file_.name, place, fmt::format("and others list {} ranks", listed_),
                  "are its groups really that many?");
  std::vector<std::uint32_t> all;
  bool is_all = file_.world > 0 && ranks.size() == file_.world;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= most)
      builder_.fail(file_.name, place, fmt::format("names rank {} of {}", ranks[i], most),
                    "\"distributedInfo\" says how many ranks there are");
    is_all = is_all && ranks[i] == static_cast<std::int64_t>(i);
    all.push_back(static_cast<std::uint32_t>(ranks[i]));
  }
  if (is_all) all.clear();
  return all;
}

std::uint32_t CommReader::group(const Comm& comm, const std::string& place) {
  const std::string key = fmt::format("{}\n{}\n{}", comm.group, comm.ranks, comm.size.value_or(-1));
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  std::vector<std::uint32_t> ranks = ranks_of(comm, place);
  // Without a name a group is known by its ranks.
  const std::string name = comm.group.empty() && !ranks.empty() ? comm.ranks : comm.group;
  return groups_[key] = builder_.define_group(name, std::move(ranks));
}

void CommReader::read(const Kernel& kernel, TraceOp& op) {
  const std::string place = place_of(kernel.event, builder_.trace().names[kernel.name]);
  const auto refuse = [&](const std::string& why, const std::string& which) {
    builder_.fault(file_.name, place, why, which + ": kernels of the recorded duration");
  };
  std::uint32_t index = kernel.comm;
  if (index == kNothing) {
    const auto linked = file_.comm_of.find(kernel.external);
    if (linked == file_.comm_of.end())
      return refuse("is of NCCL, and nothing says what it does",
                    "NCCL kernels without \"Collective name\"");
    index = linked->second;
  }
  const Comm& comm = file_.comms[index];
  const Operation* operation = operation_of(comm.operation);
  if (operation == nullptr)
    return refuse(
        fmt::format("\"Collective name\" \"{}\" is unknown", comm.operation.substr(0, 40)),
        "unknown collectives");
  const std::optional<double> elements = whole_buffer(*operation, comm);
  if (!elements) return refuse("has no \"In msg nelems\"", "collectives without their size");
  const std::optional<Element> element = element_of(comm.dtype);
  if (!element && *elements > 0)
    return refuse(fmt::format("\"dtype\" \"{}\" is unknown", comm.dtype.substr(0, 40)),
                  "collectives of unknown data types");
  const bool message = operation->kind != TraceKind::kCollective;
  if (message &&
      (!comm.peer || *comm.peer < 0 || *comm.peer >= std::int64_t{TraceBuilder::kMostRanks}))
    return refuse("does not say with which rank", "messages without \"Src Rank\" or \"Dst Rank\"");
  op.kind = operation->kind;
  op.collective = operation->collective;
  op.bytes = *elements * (element ? element->bytes : 0);
  op.type = element ? builder_.name(element->name) : 0;
  if (message) {
    op.peer = static_cast<std::int32_t>(*comm.peer);
    return;
  }
  op.group = group(comm, place);
  const bool rooted =
      op.collective == TraceCollective::kBroadcast || op.collective == TraceCollective::kReduce ||
      op.collective == TraceCollective::kGather || op.collective == TraceCollective::kScatter;
  const TraceGroup& in = builder_.trace().groups[op.group];
  if (rooted && comm.rank && *comm.rank >= 0 &&
      *comm.rank < std::int64_t{TraceBuilder::kMostRanks}) {
    const auto root = static_cast<std::size_t>(*comm.rank);
    if (in.ranks.empty()) op.peer = static_cast<std::int32_t>(root);
    if (root < in.ranks.size()) op.peer = static_cast<std::int32_t>(in.ranks[root]);
  }
}

}  // namespace trainyard::kineto
