// Bytes of a file as they come: plain or gzip, a piece at a time, so that memory does not grow with
// the file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace trainyard {

/// Reads a file, or bytes in memory, from front to back. What begins like gzip is unpacked on the
/// way. Throws ScenarioError naming the file when it cannot be read, is damaged, or unpacks to so
/// many times its size that it can only be meant to fill a machine.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path);
  /// `name` is for messages; the bytes must outlive the source.
  ByteSource(std::string name, std::string_view bytes);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  /// The next bytes, at most some 64 KiB, valid until the next call; empty at the end.
  std::string_view next();
  /// The first bytes without taking them, at most some 64 KiB.
  std::string_view peek();
  const std::string& name() const { return name_; }

 private:
  class Input;
  class Unpacker;
  std::string_view raw();
  std::string name_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string_view ahead_;  ///< peeked at and not taken yet
  bool begun_ = false;
};

/// The lines of a source, without their ends ("\n" or "\r\n").
class LineReader {
 public:
  /// Longer lines are an error.
  static constexpr std::size_t kLongest = std::size_t{64} << 20;
  explicit LineReader(ByteSource& source) : source_(source) {}
  /// Whether there was another line; valid until the next call.
  bool next(std::string_view& line);
  /// Of the line that next() gave last, from 1.
  std::size_t number() const { return number_; }

 private:
  ByteSource& source_;
  std::string_view rest_;
  std::string whole_;  ///< of a line that spans pieces
  std::size_t number_ = 0;
  bool ended_ = false;
};

}  // namespace trainyard
