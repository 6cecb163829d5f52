// Chakra traces that are damaged, or meant to do harm: an error or a trace, and nothing else.
#include <gmock/gmock.h>

#include "trace_chakra_files.hpp"

namespace trainyard {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string small_file() {
  Make lists(4, "lists", chakra::METADATA_NODE);
  lists.attribute("a").mutable_int32_list()->add_values(-3);
  lists.attribute("b").mutable_string_list()->add_values("text");
  lists.attribute("c").mutable_bytes_list()->add_values("\xff");
  lists.values("['[{\"pg_name\": \"1\", \"ranks\": [0]}]']");
  return file_bytes(
      {Make(1, "gemm", chakra::COMP_NODE).micros(7, 100).int64("num_ops", 1000),
       collective(2, "gather", 2, 100).text("pg_name", "1").after(1),
       Make(3, "send", chakra::COMM_SEND_NODE).int64("comm_size", 8).int32("comm_dst", 0).behind(2),
       lists});
}

TEST(ChakraHostile, TruncatedAnywhereIsAnError) {
  const std::string bytes = small_file();
  const Decoded whole = decoded(bytes);
  std::vector<std::size_t> ends{metadata_bytes().size()};
  for (const Node& node : whole.nodes)
    ends.push_back(ends.back() + with_length(node.SerializeAsString()).size());
  ASSERT_EQ(ends.back(), bytes.size());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string said = refusal({bytes.substr(0, size)}, kLenient);
    if (std::find(ends.begin(), ends.end(), size) != ends.end()) {
      EXPECT_EQ(said, "") << "a whole file of fewer nodes: " << size;
      continue;
    }
    EXPECT_THAT(said, HasSubstr("memory.0.et")) << size;
    const auto node = std::upper_bound(ends.begin(), ends.end(), size) - ends.begin();
    const std::string place = size == 0   ? "is empty"
                              : node == 0 ? "the metadata"
                                          : "node number " + std::to_string(node);
    EXPECT_THAT(said, HasSubstr(place)) << size;
  }
}

TEST(ChakraHostile, AFlippedBitIsAnErrorOrATrace) {
  const std::string bytes = small_file();
  std::size_t errors = 0;
  for (const TraceReading how : {kStrict, kLenient, TraceReading{true, true}}) {
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      if (!refusal({damaged}, how).empty()) ++errors;
      Registry<TraceFormat>::of().make("chakra")->recognizes("x", damaged);
    }
  }
  EXPECT_GT(errors, bytes.size()) << "most bits mean something";
}

TEST(ChakraHostile, AFlippedBitInJsonIsAnErrorOrATrace) {
  const std::string json =
      R"({"version":"1"}{"id":"1","type":"COMM_COLL_NODE","attr":[{"name":"comm_type","int64Val":"2"},)"
      R"({"name":"comm_size","doubleVal":1e3}]})";
  ASSERT_EQ(refusal({json}), "");
  for (std::size_t bit = 0; bit < 8 * json.size(); ++bit) {
    std::string damaged = json;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    refusal({damaged}, kLenient);
    Registry<TraceFormat>::of().make("chakra")->recognizes("x", damaged);
  }
}

// A length is no reason to make room: the bytes must be there.
TEST(ChakraHostile, LengthsBeyondTheFile) {
  const std::string head = metadata_bytes();
  EXPECT_THAT(refusal({head + "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
                              "xx"}),
              AllOf(HasSubstr("node number 1"), HasSubstr("9223372036854775808 bytes long")));
  EXPECT_THAT(refusal({head + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}),
              HasSubstr("bytes long"));
  EXPECT_THAT(refusal({head + "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"}), HasSubstr("no length"));
  EXPECT_THAT(refusal({head + std::string(11, '\xff')}), HasSubstr("no length"));
  EXPECT_THAT(refusal({head + "\x80\x80\x80\x20"
                              "xx"}),
              HasSubstr("ends after 2 of 67108864 bytes"));
  EXPECT_THAT(refusal({head + "\x81\x80\x80\x20"
                              "xx"}),
              HasSubstr("67108865 bytes long"));
  EXPECT_THAT(refusal({head + std::string(1, '\0')}), HasSubstr("node number 1: is empty"));
}

TEST(ChakraHostile, NodesLargerThanPieces) {
  const std::string text(200'000, 'x');
  const std::vector<Node> nodes{Make(1, "large", chakra::COMP_NODE).values(text),
                                Make(2, "small", chakra::COMP_NODE).after(1)};
  const Folder folder;
  const Trace trace = read_trace(folder.write("t.0.et", file_bytes(nodes)), "", kWithExtras).trace;
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_THAT(trace.extras.at(trace.programs[0].ops[0].extra), HasSubstr(text));
}

TEST(ChakraHostile, JsonWithoutEnd) {
  EXPECT_THAT(refusal({R"({"version": "1"})" + std::string(100'000, '{')}),
              HasSubstr("ends before its JSON object does"));
  EXPECT_NE(refusal({R"({"version": "1"}{"attr":)" + std::string(100'000, '[') +
                     std::string(100'000, ']') + "}"}),
            "");
  EXPECT_THAT(refusal({R"({"version": "1"}{"name": ")" + std::string(std::size_t{64} << 20, 'x')}),
              HasSubstr("is larger than 64 MiB"));
}

}  // namespace
}  // namespace trainyard
