// The messages in a file of the format Chakra: bytes behind their length, or JSON objects.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "models/workloads/trace_chakra.hpp"

namespace trainyard::chakra {
namespace {

namespace pb = google::protobuf;

constexpr std::uint64_t kBeyond = std::uint64_t{1} << 30;  // no record is as long

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

// A message of a length that is '{' would go on with one of its own fields.
bool is_json(std::string_view head) {
  head = without_spaces(head);
  if (!head.starts_with('{')) return false;
  head = without_spaces(head.substr(1));
  return head.starts_with('"') || head.starts_with('}');
}

// Finds the end of a JSON object, a character at a time.
class ObjectEnd {
 public:
  /// Takes a character. Whether it is the last of the object.
  bool take(char c) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      return false;
    }
    if (c == '"') in_string_ = true;
    if (c == '{') ++depth_;
    return c == '}' && --depth_ == 0;
  }

 private:
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

std::size_t object_end(std::string_view text) {
  ObjectEnd end;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (end.take(text[i])) return i + 1;
  }
  return std::string_view::npos;
}

// The first key of an object that may go on beyond the text.
std::string_view first_key(std::string_view text) {
  text = without_spaces(text.substr(1));
  if (!text.starts_with('"')) return {};
  text.remove_prefix(1);
  return text.substr(0, text.find('"'));
}

bool begins_like_json(std::string_view head) {
  head = without_spaces(head);
  const std::string_view key = first_key(head);
  if (!key.empty() && key != "version" && key != "attr") return false;
  const std::size_t end = object_end(head);
  if (end == std::string_view::npos) return !key.empty();
  GlobalMetadata metadata;
  bool unknown = false;
  if (!parse_json_text(head.substr(0, end), metadata, unknown).empty() || unknown) return false;
  head = without_spaces(head.substr(end));
  return head.empty() || is_json(head);
}

bool has_unknown_fields(const pb::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

bool has_unknown_fields(const pb::RepeatedPtrField<AttributeProto>& attributes) {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const AttributeProto& a) { return has_unknown_fields(a); });
}

bool has_unknown(const GlobalMetadata& metadata) {
  return has_unknown_fields(metadata) || has_unknown_fields(metadata.attr());
}

bool has_unknown(const Node& node) {
  return has_unknown_fields(node) || has_unknown_fields(node.inputs()) ||
         has_unknown_fields(node.outputs()) || has_unknown_fields(node.attr());
}

// Whether the beginning of a message has only fields of its type, each encoded as it should be.
bool begins_like(std::string_view record, const pb::Descriptor& type) {
  pb::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(record.data()),
                              static_cast<int>(record.size()));
  constexpr std::uint32_t kVarint = 0, kBytes = 2;
  while (const std::uint32_t tag = in.ReadTag()) {
    const pb::FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3U));
    if (field == nullptr) return false;
    const std::uint32_t wire = tag & 7U;
    const bool number = field->type() == pb::FieldDescriptor::TYPE_UINT64 ||
                        field->type() == pb::FieldDescriptor::TYPE_ENUM;
    if (wire != (number ? kVarint : kBytes) && !(wire == kBytes && field->is_repeated()))
      return false;
    std::uint64_t value = 0;
    if (!in.ReadVarint64(&value)) return true;
    if (wire == kBytes && !in.Skip(static_cast<int>(std::min<std::uint64_t>(value, kBeyond))))
      return true;
  }
  return in.CurrentPosition() == static_cast<int>(record.size());
}

// Whether a message of that type is there, as far as the text goes.
template <class M>
bool takes(std::string_view& head, M& message) {
  pb::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(head.data()),
                              static_cast<int>(head.size()));
  std::uint64_t length = 0;
  if (!in.ReadVarint64(&length) || length > Records::kLargest) return false;
  head.remove_prefix(static_cast<std::size_t>(in.CurrentPosition()));
  const std::string_view record = head.substr(0, length);
  head.remove_prefix(record.size());
  if (record.size() < length) return begins_like(record, *M::descriptor());
  return message.ParseFromArray(record.data(), static_cast<int>(length)) && !has_unknown(message);
}

}  // namespace

std::string json_text(const pb::Message& message) {
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = pb::util::MessageToJsonString(message, &text, options);
  require(status.ok(), "a message that cannot be printed");
  return text;
}

std::string parse_json_text(std::string_view text, pb::Message& message, bool& unknown) {
  const pb::LogSilencer silence;
  const pb::StringPiece piece(text.data(), text.size());
  pb::util::JsonParseOptions options;
  unknown = false;
  if (pb::util::JsonStringToMessage(piece, &message, options).ok()) return {};
  options.ignore_unknown_fields = unknown = true;
  message.Clear();
  const auto status = pb::util::JsonStringToMessage(piece, &message, options);
  if (status.ok()) return {};
  // Only the first line: what follows shows the text.
  const std::string why = status.message().ToString();
  return why.substr(0, why.find('\n'));
}

bool begins_like_trace(std::string_view head) {
  const pb::LogSilencer silence;
  if (is_json(head)) return begins_like_json(head);
  GlobalMetadata metadata;
  Node node;
  return takes(head, metadata) && (head.empty() || takes(head, node));
}

Records::Records(ByteSource& source, TraceBuilder& builder)
    : source_(source), builder_(builder), json_(is_json(source.peek())) {}

std::string Records::place() const {
  return count_ <= 1 ? "the metadata" : fmt::format("node number {}", count_ - 1);
}

void Records::fail(const std::string& message, const std::string& hint) {
  builder_.fail(source_.name(), place(), message, hint);
}

bool Records::more() {
  if (rest_.empty()) rest_ = source_.next();
  return !rest_.empty();
}

void Records::keep(std::size_t count) {
  if (whole_.size() + count > kLargest) fail("is larger than 64 MiB", "is it the right file?");
  whole_.append(rest_.substr(0, count));
  rest_.remove_prefix(count);
}

bool Records::length(std::uint64_t& length) {
  constexpr std::size_t kMostBytes = 10;  // of 7 bits: of the last one only the lowest counts
  length = 0;
  for (std::size_t i = 0; i < kMostBytes; ++i) {
    if (!more()) {
      if (i == 0) return false;
      fail("ends within its length", "copy the file again");
    }
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (i + 1 == kMostBytes && byte > 1) break;
    length |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) return true;
  }
  fail("begins with what is no length", "is the file damaged, or no Chakra trace?");
}

bool Records::binary(std::string_view& record) {
  std::uint64_t length = 0;
  if (!this->length(length)) return false;
  if (length > kLargest)
    fail(fmt::format("says that it is {} bytes long, at most 64 MiB are read", length),
         "is the file damaged, or no Chakra trace?");
  if (length <= rest_.size()) {
    record = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  whole_.clear();
  while (whole_.size() < length) {
    if (!more())
      fail(fmt::format("ends after {} of {} bytes", whole_.size(), length), "copy the file again");
    keep(std::min<std::uint64_t>(rest_.size(), length - whole_.size()));
  }
  record = whole_;
  return true;
}

bool Records::json(std::string_view& record) {
  whole_.clear();
  do {
    rest_ = without_spaces(rest_);
  } while (rest_.empty() && more());
  if (rest_.empty()) return false;
  if (rest_.front() != '{') fail("is no JSON object", "objects stand one after another");
  ObjectEnd end;
  while (more()) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (!end.take(rest_[i])) continue;
      keep(i + 1);
      record = whole_;
      return true;
    }
    keep(rest_.size());
  }
  fail("ends before its JSON object does", "copy the file again");
}

template <class M>
bool Records::read(M& message) {
  ++count_;
  std::string_view record;
  if (!(json_ ? json(record) : binary(record))) return false;
  bool unknown = false;
  if (json_) {
    message.Clear();
    const std::string why = parse_json_text(record, message, unknown);
    if (!why.empty()) fail(fmt::format("cannot be decoded: {}", why), "is the file damaged?");
  } else {
    const pb::LogSilencer silence;
    if (!message.ParseFromArray(record.data(), static_cast<int>(record.size())))
      fail("cannot be decoded", "is the file damaged, or no Chakra trace?");
    unknown = has_unknown(message);
  }
  if (unknown)
    builder_.fault(source_.name(), place(), "has fields that the format does not have",
                   "fields that the format does not have: ignored");
  return true;
}

bool Records::next(GlobalMetadata& metadata) { return read(metadata); }

bool Records::next(Node& node) { return read(node); }

}  // namespace trainyard::chakra
