// Writes Chrome trace JSON in the shape that Kineto, the PyTorch profiler, gives it: what Perfetto,
// chrome://tracing and tools for PyTorch traces open.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/json.hpp"

namespace trainyard {

/// Takes the next piece of a text, some MiB at most.
using TextSink = std::function<void(const std::string& piece)>;

/// Something that took time on a track.
struct TraceBar {
  std::string_view category, name;
  std::uint64_t process = 0, track = 0;
  double start = 0, duration = 0;  ///< seconds
};

/// Appends a time in microseconds: the digits of the shortest decimal that is the double in
/// seconds, with the point moved. So nothing is lost, and what is round in seconds stays round.
void append_microseconds(double seconds, std::string& text);
/// Appends a JSON string; bytes that are no UTF-8 become U+FFFD.
void append_json_text(std::string_view value, std::string& text);

/// Writes a document event by event.
class TraceEventWriter {
 public:
  /// `members` is an object: what the document has beside its events.
  TraceEventWriter(TextSink sink, const Json& members);
  void process(std::uint64_t process, std::string_view name);
  void track(std::uint64_t process, std::uint64_t track, std::string_view name);
  /// `args` is what an object has between its braces, or empty.
  void bar(const TraceBar& bar, std::string_view args);
  /// Once, at the end.
  void finish();

 private:
  void metadata(std::string_view kind, std::uint64_t process, std::uint64_t track,
                std::string_view key, std::string_view value);
  void next_event();
  TextSink sink_;
  std::string text_;
  bool any_ = false;
};

}  // namespace trainyard
