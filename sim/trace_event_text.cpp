#include "sim/trace_event_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

void append_microseconds(double seconds, std::string& text) {
  if (seconds == 0 || !std::isfinite(seconds)) {
    text += '0';
    return;
  }
  char buffer[40];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), std::fabs(seconds),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view all(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = all.find('e');
  std::string digits(1, all[0]);
  if (e > 2) digits += all.substr(2, e - 2);
  int exponent = 0;
  const char* from = all.data() + e + 1;
  std::from_chars(*from == '+' ? from + 1 : from, end, exponent);
  const int point = exponent + 6 + 1;  // digits before the decimal point
  if (seconds < 0) text += '-';
  const auto count = static_cast<int>(digits.size());
  if (point <= 0) {
    text += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (point >= count) {
    text += digits + std::string(static_cast<std::size_t>(point - count), '0');
  } else {
    const auto whole = static_cast<std::size_t>(point);
    text += digits.substr(0, whole) + "." + digits.substr(whole);
  }
}

void append_json_text(std::string_view value, std::string& text) {
  text += dump_json(Json(value), -1);
}

TraceEventWriter::TraceEventWriter(TextSink sink, const Json& members) : sink_(std::move(sink)) {
  text_ = "{\n";
  for (const auto& [key, value] : members.members()) {
    append_json_text(key, text_);
    text_ += ": " + dump_json(value, -1) + ",\n";
  }
  text_ += "\"traceEvents\": [";
}

void TraceEventWriter::next_event() {
  if (text_.size() >= kPiece) {
    sink_(text_);
    text_.clear();
  }
  text_ += std::exchange(any_, true) ? ",\n" : "\n";
}

void TraceEventWriter::metadata(std::string_view kind, std::uint64_t process, std::uint64_t track,
                                std::string_view key, std::string_view value) {
  next_event();
  text_ += fmt::format(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0, )", kind,
                       process, track);
  text_ += fmt::format(R"("args": {{"{}": {}}}}})", key, value);
}

void TraceEventWriter::process(std::uint64_t process, std::string_view name) {
  std::string shown;
  append_json_text(name, shown);
  metadata("process_name", process, 0, "name", shown);
  metadata("process_sort_index", process, 0, "sort_index", std::to_string(process));
}

void TraceEventWriter::track(std::uint64_t process, std::uint64_t track, std::string_view name) {
  std::string shown;
  append_json_text(name, shown);
  metadata("thread_name", process, track, "name", shown);
  metadata("thread_sort_index", process, track, "sort_index", std::to_string(track));
}

void TraceEventWriter::bar(const TraceBar& bar, std::string_view args) {
  next_event();
  text_ += R"({"ph": "X", "cat": )";
  append_json_text(bar.category, text_);
  text_ += R"(, "name": )";
  append_json_text(bar.name, text_);
  text_ += fmt::format(R"(, "pid": {}, "tid": {}, "ts": )", bar.process, bar.track);
  append_microseconds(bar.start, text_);
  text_ += R"(, "dur": )";
  append_microseconds(bar.duration, text_);
  if (!args.empty()) {
    text_ += R"(, "args": {)";
    text_ += args;
    text_ += '}';
  }
  text_ += '}';
}

void TraceEventWriter::finish() {
  text_ += "\n]}\n";
  sink_(text_);
  text_.clear();
}

}  // namespace trainyard
