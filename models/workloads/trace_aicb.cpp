// The text workloads of AICB and SimAI: a header, the number of rows, and a row per layer.
#include "models/workloads/trace_aicb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kColumns = 12;
constexpr std::string_view kBlanks = " \t\v\f\r";

/// Far longer than any row, and long enough for the checkpoints of 100,000 rows.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// The next line, in words.
bool next_words(LineReader& lines, const std::string& file, TraceBuilder& builder,
                std::vector<std::string_view>& words) {
  std::string_view line;
  words.clear();
  if (!lines.next(line)) return false;
  if (line.size() > kLongestLine)
    builder.fail(file, fmt::format("line {}", lines.number()), "is longer than 1 MiB",
                 "is it the right file?");
  words = aicb_words(line);
  return true;
}

// What faults of a row need to say where they are.
struct Place {
  TraceBuilder& builder;
  const std::string& file;
  std::size_t line;
  std::string_view name;
  std::string text() const { return fmt::format("line {} ({})", line, name); }
};

/// A computation and its collective: three of them make a row.
struct Column {
  std::string_view name;
  std::size_t first;  ///< of its three columns, from 0
};
constexpr std::array<Column, 3> kParts{Column{"forward", 2}, Column{"input gradient", 5},
                                       Column{"weight gradient", 8}};

double number(const Place& at, const std::vector<std::string_view>& words, std::size_t column,
              std::string_view field) {
  const auto value = aicb_number(words[column]);
  if (!value)
    at.builder.fail(at.file, at.text(),
                    fmt::format("column {} ({}) is \"{}\"", column + 1, field, words[column]),
                    "a whole number from 0 to 2^64 - 1");
  return *value;
}

std::optional<TraceCollective> collective_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, TraceCollective>, 5> kTypes{{
      {"ALLREDUCE", TraceCollective::kAllReduce},
      {"ALLGATHER", TraceCollective::kAllGather},
      {"REDUCESCATTER", TraceCollective::kReduceScatter},
      {"ALLTOALL", TraceCollective::kAllToAll},
      {"BROADCAST", TraceCollective::kBroadcast},
  }};
  for (const auto& [name, op] : kTypes) {
    if (name == type) return op;
  }
  return {};
}

/// Takes the suffix that names a group off the type.
std::optional<AicbGroup> take_group(std::string_view& type) {
  constexpr std::array<std::pair<std::string_view, AicbGroup>, 2> kSuffixes{
      {{"_DP_EP", AicbGroup::kDpEp}, {"_EP", AicbGroup::kEp}}};
  for (const auto& [suffix, group] : kSuffixes) {
    if (!type.ends_with(suffix)) continue;
    type.remove_suffix(suffix.size());
    return group;
  }
  return {};
}

AicbCollective read_collective(const Place& at, const std::vector<std::string_view>& words,
                               const Column& part, std::optional<AicbGroup> plain) {
  AicbCollective found;
  std::string_view type = words[part.first + 1];
  const double bytes = number(at, words, part.first + 2, fmt::format("bytes of the {}", part.name));
  if (type == "NONE") {
    if (bytes > 0)
      at.builder.fault(at.file, at.text(),
                       fmt::format("the {} has {} bytes and no collective", part.name, bytes),
                       "bytes of no collective: ignored");
    return found;
  }
  const std::optional<AicbGroup> own = take_group(type);
  const std::optional<TraceCollective> op = collective_of(type);
  if (!op) {
    at.builder.fault(
        at.file, at.text(),
        fmt::format("the {} has a \"{}\", which is none of NONE, ALLREDUCE, ALLGATHER, "
                    "REDUCESCATTER, ALLTOALL and BROADCAST, alone or with _EP or _DP_EP",
                    part.name, words[part.first + 1]),
        type == "SENDRECV" ? "SENDRECV, which does not say to whom: left out"
                           : "collectives of an unknown type: left out");
    return found;
  }
  if (bytes == 0) return found;
  if (!plain) {
    at.builder.fault(at.file, at.text(),
                     fmt::format("the {} has a {}, and its policy has none there", part.name,
                                 words[part.first + 1]),
                     "collectives where the policy has none: left out");
    return found;
  }
  found.bytes = bytes;
  found.op = *op;
  found.group = own.value_or(*plain);
  return found;
}

const AicbPolicy& policy_of_row(const Place& at, const AicbPolicy& policy,
                                const std::vector<std::string_view>& words) {
  if (!policy.row_policy) return policy;
  const AicbPolicy* own = aicb_policy(words[kColumns]);
  if (own == nullptr || own->row_policy)
    at.builder.fail(at.file, at.text(),
                    fmt::format("column 13 (policy) is \"{}\"", words[kColumns]),
                    "the policy of the row: DATA, MODEL, HYBRID_DATA_MODEL …");
  return *own;
}

void check_width(const Place& at, const AicbPolicy& policy, std::size_t words) {
  const std::size_t wanted = kColumns + (policy.row_policy ? 1 : 0);
  if (words < wanted)
    at.builder.fail(at.file, at.text(), fmt::format("has {} columns of {}", words, wanted),
                    "is the file cut off?");
  if (words > wanted)
    at.builder.fault(at.file, at.text(),
                     fmt::format("has {} words, and a row has {} columns", words, wanted),
                     "words beyond the columns: ignored");
}

// In HYBRID_DLRM only the embedding's all-to-all, of the first row, goes back.
void check_bottom_row(const Place& at, AicbRow& row, bool first) {
  const bool forward =
      row.forward_comm.bytes > 0 && row.forward_comm.op != TraceCollective::kAllToAll;
  const bool back = row.input_grad_comm.bytes > 0 && !first;
  if (!forward && !back) return;
  at.builder.fault(at.file, at.text(),
                   forward ? "the forward has another collective than ALLTOALL, which the policy "
                             "does not run"
                           : "the input gradient has a collective, which the policy runs only in "
                             "the first row",
                   "collectives where the policy has none: left out");
  if (forward) row.forward_comm = {};
  if (back) row.input_grad_comm = {};
}

AicbRow read_row(const std::vector<std::string_view>& words, std::size_t number_of_line,
                 const AicbWorkload& workload, TraceBuilder& builder) {
  const AicbPolicy& policy = *workload.policy;
  const Place at{builder, workload.file, number_of_line, words.front()};
  check_width(at, policy, words.size());
  const AicbPolicy& own = policy_of_row(at, policy, words);
  AicbRow row;
  row.name = builder.name(words[0]);
  const std::array<double*, 3> times{&row.forward, &row.input_grad, &row.weight_grad};
  const std::array<AicbCollective*, 3> comms{&row.forward_comm, &row.input_grad_comm,
                                             &row.weight_grad_comm};
  const std::array<std::optional<AicbGroup>, 3> plain{own.forward, own.forward, own.weight};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    constexpr double kNanoseconds = 1e9;
    *times[i] = number(at, words, kParts[i].first, fmt::format("ns of the {}", kParts[i].name)) /
                kNanoseconds;
    *comms[i] = read_collective(at, words, kParts[i], plain[i]);
  }
  number(at, words, kColumns - 1, "update time");
  if (policy.order == AicbPolicy::Order::kBottomRows)
    check_bottom_row(at, row, workload.rows.empty());
  return row;
}

std::size_t read_row_count(LineReader& lines, const AicbWorkload& workload, TraceBuilder& builder) {
  std::vector<std::string_view> words;
  next_words(lines, workload.file, builder, words);
  const auto count = words.empty() ? std::nullopt : aicb_number(words[0]);
  if (!count || *count < 1 || *count > TraceBuilder::kMostOps)
    builder.fail(workload.file, "line 2",
                 fmt::format("is {}, not the number of rows",
                             words.empty() ? "empty" : fmt::format("\"{}\"", words[0])),
                 fmt::format("a whole number from 1 to {}", TraceBuilder::kMostOps));
  if (words.size() > 1)
    builder.fault(workload.file, "line 2", "has more than the number of rows",
                  "words beyond the columns: ignored");
  return static_cast<std::size_t>(*count);
}

void read_rows(LineReader& lines, AicbWorkload& workload, TraceBuilder& builder) {
  const std::size_t count = read_row_count(lines, workload, builder);
  std::vector<std::string_view> words;
  while (next_words(lines, workload.file, builder, words)) {
    if (words.empty()) continue;
    if (workload.rows.size() == count) {
      builder.fault(workload.file, fmt::format("line {}", lines.number()),
                    fmt::format("is beyond the {} rows that line 2 says", count),
                    "lines beyond the number of rows: ignored");
      continue;
    }
    workload.rows.push_back(read_row(words, lines.number(), workload, builder));
  }
  if (workload.rows.size() < count)
    builder.fail(workload.file, "line 2",
                 fmt::format("says {} rows, and there are {}", count, workload.rows.size()),
                 "is the file cut off?");
}

// The header comes before the rows, so only now is it known whether they are there.
void check_row_numbers(AicbWorkload& workload, TraceBuilder& builder) {
  for (std::vector<std::size_t>* numbers : {&workload.checkpoints, &workload.initiates}) {
    std::sort(numbers->begin(), numbers->end());
    while (!numbers->empty() && numbers->back() >= workload.rows.size()) {
      builder.fault(
          workload.file, "line 1",
          fmt::format("names row {}, counted from 0, of {}", numbers->back(), workload.rows.size()),
          "checkpoints in rows that there are not: ignored");
      numbers->pop_back();
    }
  }
}

class TraceAicb : public TraceFormat {
 public:
  bool recognizes(std::string_view, std::string_view head) const override {
    const std::size_t begin = head.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return false;
    head.remove_prefix(begin);
    return aicb_policy(head.substr(0, head.find_first_of(" \t\r\n"))) != nullptr;
  }

  void read(ByteSource& source, std::size_t, TraceBuilder& builder) const override {
    schedule_aicb(read_aicb(source, builder), builder);
  }
};

const Registration<TraceFormat, TraceAicb> registered{
    "aicb", "text workloads of AICB and SimAI, a row per layer"};

}  // namespace

std::vector<std::string_view> aicb_words(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// AICB divides some sizes by the tensor ranks in Python, which writes them as "25165824.0".
std::optional<double> aicb_number(std::string_view text) {
  std::uint64_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, whole);
  if (code != std::errc()) return {};
  if (rest != end && (*rest != '.' || !std::all_of(rest + 1, end, [](char c) { return c == '0'; })))
    return {};
  return static_cast<double>(whole);
}

AicbWorkload read_aicb(ByteSource& source, TraceBuilder& builder) {
  AicbWorkload workload;
  workload.file = source.name();
  LineReader lines(source);
  std::vector<std::string_view> words;
  next_words(lines, workload.file, builder, words);
  read_aicb_header(words, workload, builder);
  read_rows(lines, workload, builder);
  check_row_numbers(workload, builder);
  if (workload.policy->order == AicbPolicy::Order::kBottomRows &&
      workload.last_bottom + 1 >= workload.rows.size())
    builder.fail(workload.file, "line 1",
                 fmt::format("DLRM_LAST_BOTTOM_LAYER is {}, and no row of {} is above it",
                             workload.last_bottom, workload.rows.size()),
                 "the number, from 0, of the last row of the bottom");
  return workload;
}

}  // namespace trainyard
