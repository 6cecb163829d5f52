// What GOAL says of one rank, put in order for a TraceBuilder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/trace_builder.hpp"

namespace trainyard {

struct GoalOp {
  TraceOp op;
  std::uint32_t label = 0xffffffffU;  ///< number of its label, or GoalBlock::kNothing
  std::uint32_t cpu = 0, nic = 0;
};

/// "l2 requires l1", by the numbers of the labels.
struct GoalRequirement {
  std::uint32_t waits = 0, before = 0;
  TraceNeed::Kind kind = TraceNeed::Kind::kData;
};

class GoalBlock {
 public:
  static constexpr std::uint32_t kNothing = 0xffffffffU;
  void clear();
  /// Numbers labels as they come, defined or not.
  std::uint32_t label(std::string_view text);
  /// False where another operation has the label; then this one has none.
  bool add(const GoalOp& op);
  void require(const GoalRequirement& requirement) { requirements_.push_back(requirement); }
  /// Gives the operations to the builder, in the program that it began last.
  void finish(const std::string& file, const std::string& place, TraceBuilder& builder);

 private:
  struct Label {
    const std::string* text;
    std::uint32_t op;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  void set_ids();
  void drop_undefined(const std::string& file, const std::string& place, TraceBuilder& builder);
  void sort_requirements();
  std::vector<std::uint32_t> set_streams();
  std::vector<std::uint32_t> order_of_needs(const std::vector<std::uint32_t>& order) const;
  std::uint32_t waiting(const GoalRequirement& it) const { return labels_[it.waits].op; }
  std::uint32_t before(const GoalRequirement& it) const { return labels_[it.before].op; }

  std::vector<GoalOp> ops_;
  std::vector<GoalRequirement> requirements_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<Label> labels_;
};

}  // namespace trainyard
