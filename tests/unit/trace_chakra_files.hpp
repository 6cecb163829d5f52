// Chakra traces made by tests, and read.
#pragma once

#include <chakra.pb.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "sim/json.hpp"
#include "sim/trace_format.hpp"

namespace trainyard::testing {

using chakra::GlobalMetadata;
using chakra::Node;

inline std::string with_length(const std::string& record) {
  std::string bytes;
  std::size_t rest = record.size();
  for (; rest >= 0x80; rest >>= 7) bytes += static_cast<char>(rest | 0x80);
  bytes += static_cast<char>(rest);
  return bytes + record;
}

inline std::string metadata_bytes() {
  return with_length(
      "\x0a\x05"
      "0.0.4");
}

inline std::string file_bytes(const std::vector<Node>& nodes) {
  std::string bytes = metadata_bytes();
  for (const Node& node : nodes) bytes += with_length(node.SerializeAsString());
  return bytes;
}

/// The messages of a file, decoded by hand.
struct Decoded {
  GlobalMetadata metadata;
  std::vector<Node> nodes;
};
inline Decoded decoded(const std::string& bytes) {
  Decoded file;
  std::size_t at = 0;
  for (bool first = true; at < bytes.size(); first = false) {
    std::size_t length = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      length |= std::size_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    const std::string record = bytes.substr(at, length);
    at += length;
    EXPECT_TRUE(first ? file.metadata.ParseFromString(record)
                      : file.nodes.emplace_back().ParseFromString(record));
  }
  return file;
}

/// A node under construction.
class Make {
 public:
  Make(std::uint64_t id, const std::string& name, chakra::NodeType type) {
    node_.set_id(id);
    node_.set_name(name);
    node_.set_type(type);
  }
  Make& micros(std::uint64_t duration, std::uint64_t start = 0) {
    node_.set_duration_micros(duration);
    node_.set_start_time_micros(start);
    return *this;
  }
  Make& after(std::uint64_t id) {
    node_.add_data_deps(id);
    return *this;
  }
  Make& behind(std::uint64_t id) {
    node_.add_ctrl_deps(id);
    return *this;
  }
  Make& values(const std::string& text) {
    node_.mutable_inputs()->set_values(text);
    return *this;
  }
  Make& yes(const std::string& name, bool value = true) {
    attribute(name).set_bool_val(value);
    return *this;
  }
  Make& int32(const std::string& name, std::int32_t value) {
    attribute(name).set_int32_val(value);
    return *this;
  }
  Make& int64(const std::string& name, std::int64_t value) {
    attribute(name).set_int64_val(value);
    return *this;
  }
  Make& text(const std::string& name, const std::string& value) {
    attribute(name).set_string_val(value);
    return *this;
  }
  Make& real(const std::string& name, double value) {
    attribute(name).set_double_val(value);
    return *this;
  }
  chakra::AttributeProto& attribute(const std::string& name) {
    chakra::AttributeProto& attribute = *node_.add_attr();
    attribute.set_name(name);
    return attribute;
  }
  operator const Node&() const { return node_; }  // NOLINT(google-explicit-constructor)

 private:
  Node node_;
};

inline Make collective(std::uint64_t id, const std::string& name, int type, std::int64_t bytes) {
  return Make(id, name, chakra::COMM_COLL_NODE).int64("comm_type", type).int64("comm_size", bytes);
}

constexpr TraceReading kStrict{}, kLenient{.lenient = true}, kWithExtras{.keep_extras = true};

/// Reads files in memory, each of a rank.
inline ReadTrace read_bytes(const std::vector<std::string>& files, TraceReading how = kStrict) {
  TraceBuilder builder("chakra", how);
  const auto format = Registry<TraceFormat>::of().make("chakra");
  for (std::size_t rank = 0; rank < files.size(); ++rank) {
    ByteSource source("memory." + std::to_string(rank) + ".et", files[rank]);
    format->read(source, rank, builder);
  }
  ReadTrace read;
  read.trace = builder.finish();
  read.repairs = builder.repairs();
  return read;
}

inline Trace read_nodes(const std::vector<Node>& nodes, TraceReading how = kStrict) {
  return read_bytes({file_bytes(nodes)}, how).trace;
}

/// What a strict reader says, each fault on a line.
inline std::string refusal(const std::vector<std::string>& files, TraceReading how = kStrict) {
  try {
    read_bytes(files, how);
  } catch (const ScenarioError& error) {
    std::string all;
    for (const Diagnostic& diagnostic : error.diagnostics()) all += to_string(diagnostic) + "\n";
    return all;
  }
  return {};
}

/// An empty folder that goes away.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "chakra_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace trainyard::testing
