// Puts a trace together from what a reader finds, and judges it: strictly, or mending what it can.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/error.hpp"
#include "sim/trace.hpp"
#include "sim/trace_match.hpp"

namespace trainyard {

struct TraceReading {
  bool lenient = false;
  bool keep_extras = false;     ///< what only another file of the same format can hold
  std::size_t ranks = 0;        ///< of the job, where the trace does not say
  bool representative = false;  ///< ranks without a program do what the recorded ones do
};

/// What --lenient did, for one kind of fault.
struct TraceRepair {
  std::string what;  ///< "dependencies on nodes that are not in the file: dropped"
  std::size_t count = 0;
  std::string first;  ///< file, place and message of the first
};

/// A list of what, count and first.
Json repairs_json(const std::vector<TraceRepair>& repairs);

/// An operation that waits for another one, which may come later in the file.
struct TraceNeedById {
  std::uint64_t id = 0;
  TraceNeed::Kind kind = TraceNeed::Kind::kData;
};

class TraceBuilder {
 public:
  /// Of all ranks together: some 100 bytes of memory each.
  static constexpr std::size_t kMostOps = 100'000'000;
  static constexpr std::size_t kMostRanks = 1'000'000;

  TraceBuilder(std::string format, TraceReading how);

  const TraceReading& how() const { return how_; }
  Trace& trace() { return trace_; }

  std::uint32_t name(std::string_view name);
  /// Text of a JSON object; TraceOp::kNoExtra unless extras are kept.
  std::uint32_t extra(const std::string& text);
  /// Defines a group; empty ranks are all. Twice the same is one; another of the same name is a
  /// fault, and the first holds.
  std::uint32_t define_group(const std::string& name, std::vector<std::uint32_t> ranks);
  /// The group of that name; "" and "0" are all ranks unless defined. Where there is none, it is
  /// one that a later define_group() may define, and a fault if none does by the end.
  std::uint32_t group(const std::string& name);

  /// Says that add() gets what each rank contributes as the bytes of all_gather and gather;
  /// finish(), which knows all groups, makes the whole buffer of it.
  void count_contributions() { contributions_ = true; }
  /// Operations run in the order of their ids (and what they wait for), not that of the file.
  void keep_order_of_ids() { by_id_ = true; }

  /// Begins the program of a rank, and returns its number among those begun. Each rank has one.
  std::size_t begin(std::size_t rank, const std::string& file);
  /// Goes on with a program that was begun before, for files that mix ranks.
  void resume(std::size_t program);
  /// Adds to the program that was begun or resumed last. op.first_need and op.needs are set here.
  /// Throws ScenarioError beyond kMostOps.
  void add(TraceOp op, std::span<const TraceNeedById> needs);

  /// Something that is not right, and what --lenient makes of it. `kind` names faults of one kind,
  /// in the plural: "collectives without comm_type: left out". Strictly it becomes an error of
  /// finish(), leniently a repair; either way the caller goes on as repaired.
  void fault(const std::string& file, const std::string& place, const std::string& message,
             const std::string& kind);
  /// What cannot be mended: throws ScenarioError with it and all that was found before.
  [[noreturn]] void fail(const std::string& file, const std::string& place,
                         const std::string& message, const std::string& hint);

  /// The trace, with its ids resolved, and everything about it checked that does not depend on the
  /// format and is of one rank. Throws ScenarioError with the faults. Once.
  Trace finish();
  /// What the ranks of the finished trace do together (sim/trace_match.hpp). Throws ScenarioError
  /// with what does not fit.
  TraceMatches match(const Trace& trace);
  const std::vector<TraceRepair>& repairs() const { return repairs_; }

 private:
  struct Pending {
    std::vector<TraceNeedById> needs;
  };
  void resolve(TraceProgram& program, const Pending& pending);
  void free_of_cycles(TraceProgram& program);
  void sum_contributions();
  void check_group(const TraceGroup& group);
  void throw_faults();

  TraceReading how_;
  bool by_id_ = false, contributions_ = false;
  Trace trace_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::map<std::string, std::uint32_t, std::less<>> groups_;
  std::vector<bool> defined_;  ///< by group
  std::vector<Pending> pending_;
  std::size_t current_ = 0;  ///< program that add() adds to
  std::size_t ops_ = 0;
  std::vector<Diagnostic> faults_;
  std::size_t fault_count_ = 0;
  std::vector<TraceRepair> repairs_;
};

}  // namespace trainyard
