#include "sim/recording_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr const char* kCriticalPath = "critical_path";  ///< a member that there may be
constexpr std::size_t kMostHeader = 64 * 1024 * 1024;   // bytes, as of any JSON file

/// Where in a file a fault is.
struct Place {
  const std::string& file;
  std::string at;  ///< pointer or line
  [[noreturn]] void fail(const std::string& why) const {
    throw ScenarioError(Diagnostic{file, at, why, "run the scenario again, or delete the file"});
  }
  Place below(std::string_view key) const { return {file, fmt::format("{}/{}", at, key)}; }
  Place below(std::size_t index) const { return {file, fmt::format("{}/{}", at, index)}; }
};

const Json& member(const Json& object, std::string_view key, const Place& place) {
  if (!object.is_object()) place.fail("is no object");
  const Json* found = object.find(key);
  if (found == nullptr) place.fail(fmt::format("has no \"{}\"", key));
  return *found;
}

void check_text(const Json& value, const Place& place) {
  if (!value.is_string()) place.fail("is no text");
}
void check_count(const Json& value, const Place& place) {
  if (!value.is_integer() || value.as_integer() < 0) place.fail("is no whole number from 0 on");
}
void check_amount(const Json& value, const Place& place) {
  if (!value.is_number() || !(value.as_number() >= 0)) place.fail("is no number from 0 on");
}

template <class Check>
std::size_t check_list(const Json& list, const Place& place, Check check) {
  if (!list.is_array()) place.fail("is no list");
  for (std::size_t i = 0; i < list.items().size(); ++i) check(list.items()[i], place.below(i));
  return list.items().size();
}

struct Field {
  const char* key;
  void (*check)(const Json&, const Place&);
};

void check_rows(const Json& rows, const std::vector<Field>& fields, const Place& place) {
  check_list(rows, place, [&](const Json& row, const Place& at) {
    for (const Field& field : fields) field.check(member(row, field.key, at), at.below(field.key));
  });
}

void check_series(const Json& series, const Place& place) {
  check_amount(member(series, "bin_s", place), place.below("bin_s"));
  const Json& bins = member(series, "bins", place);
  check_count(bins, place.below("bins"));
  const Json& columns = member(series, "columns", place);
  check_rows(
      columns,
      {{"key", check_text}, {"title", check_text}, {"resource", check_text}, {"unit", check_text}},
      place.below("columns"));
  for (const Json& column : columns.items()) {
    const Place at = place.below("columns").below(column.at("key").as_string());
    const std::size_t count = check_list(member(column, "values", at), at, check_amount);
    if (count != static_cast<std::size_t>(bins.as_integer()))
      at.fail(fmt::format("has {} values for {} bins", count, bins.as_integer()));
  }
}

void check_gain(const Json& value, const Place& place) {
  if (!value.is_null()) check_amount(value, place);
}

void check_critical_path(const Json& path, const Place& place) {
  constexpr std::array kCells{check_count,  check_text,   check_text, check_count,
                              check_amount, check_amount, check_gain};
  check_amount(member(path, "waiting_s", place), place.below("waiting_s"));
  check_list(member(path, "segments", place), place.below("segments"),
             [&](const Json& segment, const Place& at) {
               if (!segment.is_array() || segment.items().size() != kCells.size())
                 at.fail("is no list of rank, name, role, number, start, duration and gain");
               for (std::size_t i = 0; i < kCells.size(); ++i)
                 kCells[i](segment.items()[i], at.below(i));
             });
  check_rows(member(path, "labels", place),
             {{"name", check_text},
              {"role", check_text},
              {"stream", check_text},
              {"time_s", check_amount},
              {"share", check_amount},
              {"gain_s", check_gain},
              {"gain_10_percent_s", check_gain}},
             place.below("labels"));
  check_list(member(path, "notes", place), place.below("notes"), check_text);
}

/// How many of each a bar may name.
struct Limits {
  std::uint64_t lanes, names, roles;
  std::optional<std::uint64_t> calls;  ///< nothing: bars have no call
};

Limits check_header(const Json& header, const Place& place) {
  const auto get = [&](const char* key) -> const Json& { return member(header, key, place); };
  if (get("schema_version") != Json(kRecordingVersion))
    place.below("schema_version").fail("is of another version of trainyard");
  check_amount(get("end_s"), place.below("end_s"));
  check_list(get("notes"), place.below("notes"), check_text);
  check_rows(get("lanes"),
             {{"rank", check_count},
              {"stream", check_text},
              {"stage", check_count},
              {"stands_for", check_count}},
             place.below("lanes"));
  for (const char* key : {"bars", "left_out", "links_left_out"})
    check_count(get(key), place.below(key));
  check_series(get("series"), place.below("series"));
  check_rows(get("links"),
             {{"from", check_text},
              {"to", check_text},
              {"tier", check_count},
              {"direction", check_text},
              {"capacity_bytes_per_s", check_amount},
              {"carried_bytes", check_amount},
              {"load", check_amount}},
             place.below("links"));
  check_rows(get("nodes"), {{"name", check_text}, {"kind", check_text}, {"tier", check_count}},
             place.below("nodes"));
  check_rows(get("accounts"),
             {{"rank", check_count},
              {"stage", check_count},
              {"stands_for", check_count},
              {"compute_s", check_amount},
              {"network_s", check_amount},
              {"nvlink_s", check_amount},
              {"host_s", check_amount},
              {"storage_s", check_amount},
              {"bubble_s", check_amount}},
             place.below("accounts"));
  if (const Json* path = header.find(kCriticalPath))
    check_critical_path(*path, place.below(kCriticalPath));
  Limits limits{get("lanes").items().size(),
                check_list(get("names"), place.below("names"), check_text),
                check_list(get("roles"), place.below("roles"), check_text),
                {}};
  if (const Json* calls = header.find("calls"); calls != nullptr) {
    check_rows(*calls,
               {{"operation", check_text},
                {"bytes", check_amount},
                {"ranks", check_count},
                {"algorithm", check_text},
                {"protocol", check_text}},
               place.below("calls"));
    limits.calls = calls->items().size();
  }
  return limits;
}

template <class Number>
void append_number(Number value, std::string& text) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  text.append(digits, end);
}

/// Reads "[1,2,…]" piece by piece; what does not fit makes it not ok.
class BarReader {
 public:
  explicit BarReader(std::string_view line) : next_(line.data()), end_(line.data() + line.size()) {}
  void take(char c) {
    ok_ = ok_ && next_ != end_ && *next_ == c;
    next_ += ok_ ? 1 : 0;
  }
  template <class Number>
  Number number(char after) {
    Number value{};
    const auto [stop, error] = std::from_chars(next_, end_, value);
    ok_ = ok_ && error == std::errc() && value >= 0 && std::isfinite(static_cast<double>(value));
    next_ = ok_ ? stop : next_;
    take(after);
    return value;
  }
  template <class Number>
  std::optional<Number> number_or_null(char after) {
    constexpr std::string_view kNull = "null";
    if (!std::string_view(next_, static_cast<std::size_t>(end_ - next_)).starts_with(kNull))
      return number<Number>(after);
    next_ += kNull.size();
    take(after);
    return std::nullopt;
  }
  bool whole() const { return ok_ && next_ == end_; }

 private:
  const char *next_, *end_;
  bool ok_ = true;
};

std::optional<RecordedBar> parse_bar(std::string_view line, const Limits& limits) {
  BarReader reader(line);
  RecordedBar bar;
  reader.take('[');
  for (std::uint64_t* index : {&bar.lane, &bar.name, &bar.role, &bar.number})
    *index = reader.number<std::uint64_t>(',');
  bar.start = reader.number<double>(',');
  bar.duration = reader.number<double>(',');
  bar.bytes = reader.number_or_null<double>(limits.calls ? ',' : ']');
  if (limits.calls) bar.call = reader.number_or_null<std::uint64_t>(']');
  const bool known =
      bar.lane < limits.lanes && bar.name < limits.names && bar.role < limits.roles &&
      (!bar.call || *bar.call < *limits.calls) &&
      bar.number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!reader.whole() || !known) return std::nullopt;
  return bar;
}

/// The columns of a timeline.
class Columns {
 public:
  explicit Columns(bool with_call) : with_call_(with_call) {}
  void add(const RecordedBar& bar) {
    const std::array<Json, kKeys.size()> cells{Json(std::size_t{bar.lane}),
                                               Json(std::size_t{bar.name}),
                                               Json(std::size_t{bar.role}),
                                               Json(std::size_t{bar.number}),
                                               Json(bar.start),
                                               Json(bar.duration),
                                               bar.bytes ? Json(*bar.bytes) : Json(),
                                               bar.call ? Json(std::size_t{*bar.call}) : Json()};
    for (std::size_t c = 0; c < count(); ++c) columns_[c].push_back(cells[c]);
  }
  void move_into(Json& timeline) {
    for (std::size_t c = 0; c < count(); ++c) timeline[kKeys[c]] = Json(std::move(columns_[c]));
  }
  static RecordedBar at(const Json& timeline, std::size_t i) {
    const auto cell = [&](const char* key) -> const Json& {
      return timeline.at(key).items().at(i);
    };
    const auto index = [&](const char* key) {
      return static_cast<std::uint64_t>(cell(key).as_integer());
    };
    const Json& bytes = cell("bytes");
    const bool has_call = timeline.find("call") != nullptr && !cell("call").is_null();
    return {index("lane"),
            index("name"),
            index("role"),
            index("number"),
            cell("start_s").as_number(),
            cell("duration_s").as_number(),
            bytes.is_null() ? std::nullopt : std::optional(bytes.as_number()),
            has_call ? std::optional(index("call")) : std::nullopt};
  }

 private:
  static constexpr std::array<const char*, 8> kKeys{"lane",    "name",       "role",  "number",
                                                    "start_s", "duration_s", "bytes", "call"};
  std::size_t count() const { return kKeys.size() - (with_call_ ? 0 : 1); }
  bool with_call_;
  std::array<Json::Array, kKeys.size()> columns_;
};

Json parse_timeline(std::string_view lines, Json& header, const Limits& limits,
                    const std::string& file) {
  Columns columns(limits.calls.has_value());
  std::size_t bars = 0;
  RecordedBar before;
  for (; !lines.empty(); ++bars) {
    const Place place{file, fmt::format("line {}", bars + 2)};
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) place.fail("is cut off");
    const std::optional<RecordedBar> bar = parse_bar(lines.substr(0, end), limits);
    if (!bar) place.fail("is no bar of the lanes, names and roles in the first line");
    if (bars > 0 && std::pair(bar->lane, bar->start) < std::pair(before.lane, before.start))
      place.fail("is out of order");
    before = *bar;
    columns.add(*bar);
    lines.remove_prefix(end + 1);
  }
  if (Json(bars) != header.at("bars"))
    Place{file, ""}.fail(
        fmt::format("holds {} bars and should hold {}", bars, header.at("bars").as_integer()));
  Json timeline = Json::object();
  for (const char* key : {"lanes", "names", "roles"}) timeline[key] = std::move(header[key]);
  if (limits.calls) timeline["calls"] = std::move(header["calls"]);
  columns.move_into(timeline);
  for (const char* key : {"bars", "left_out"}) timeline[key] = std::move(header[key]);
  return timeline;
}

// Members of a recording that the header has as they are.
constexpr std::array<const char*, 5> kAsTheyAre{"series", "links", "nodes", "links_left_out",
                                                "accounts"};

}  // namespace

double duration_between(double start, double finish) {
  double duration = finish - start;
  while (start + duration > finish) duration = std::nextafter(duration, 0);
  return duration;
}

void append_bar(const RecordedBar& bar, bool with_call, std::string& text) {
  char before = '[';
  const auto append = [&](auto value) {
    text += before;
    append_number(value, text);
    before = ',';
  };
  for (const std::uint64_t index : {bar.lane, bar.name, bar.role, bar.number}) append(index);
  append(bar.start);
  append(bar.duration);
  const auto append_or_null = [&](const auto& value) {
    if (value) {
      append(*value);
    } else {
      text += ",null";
    }
  };
  append_or_null(bar.bytes);
  if (with_call) append_or_null(bar.call);
  text += "]\n";
}

std::string recording_text(const Json& recording) {
  const Json& timeline = recording.at("timeline");
  Json header = Json::object();
  header["schema_version"] = Json(kRecordingVersion);
  for (const char* key : {"end_s", "notes"}) header[key] = recording.at(key);
  for (const char* key : {"lanes", "names", "roles"}) header[key] = timeline.at(key);
  const Json* calls = timeline.find("calls");
  if (calls != nullptr) header["calls"] = *calls;
  for (const char* key : {"bars", "left_out"}) header[key] = timeline.at(key);
  for (const char* key : kAsTheyAre) header[key] = recording.at(key);
  if (const Json* path = recording.find(kCriticalPath)) header[kCriticalPath] = *path;
  std::string text = dump_json(header, -1) + "\n";
  const std::size_t bars = timeline.at("lane").items().size();
  for (std::size_t i = 0; i < bars; ++i)
    append_bar(Columns::at(timeline, i), calls != nullptr, text);
  return text;
}

Json parse_recording(std::string_view text, const std::string& file) {
  const std::size_t end = text.substr(0, kMostHeader).find('\n');
  const Place place{file, ""};
  if (end == std::string_view::npos) place.fail("has no first line that describes it");
  Json header;
  try {
    header = parse_json(text.substr(0, end), file);
  } catch (const ScenarioError& e) {
    Place{file, "line 1"}.fail("is " + e.diagnostics().front().message);
  }
  const Limits limits = check_header(header, place);
  Json timeline = parse_timeline(text.substr(end + 1), header, limits, file);
  Json recording = Json::object();
  for (const char* key : {"end_s", "notes"}) recording[key] = std::move(header[key]);
  recording["timeline"] = std::move(timeline);
  for (const char* key : kAsTheyAre) recording[key] = std::move(header[key]);
  if (Json* path = header.find(kCriticalPath)) recording[kCriticalPath] = std::move(*path);
  return recording;
}

}  // namespace trainyard
