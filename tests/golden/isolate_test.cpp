// What a simulation in a child process throws arrives here as what it was, with its exit code.
#include "sim/isolate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "sim/error.hpp"

namespace trainyard {
namespace {

std::vector<Json> run_one(std::function<Json()> task) { return run_isolated({std::move(task)}); }

/// Runs the task and returns the error of type E that it ends with.
template <class E>
E thrown_by(std::function<Json()> task) {
  try {
    run_one(std::move(task));
  } catch (const E& e) {
    return e;
  }
  throw std::logic_error("nothing was thrown");
}

TEST(Isolate, ResultsComeInOrder) {
  std::vector<std::function<Json()>> tasks;
  for (int i = 0; i < 20; ++i) tasks.emplace_back([i] { return Json(i); });
  const std::vector<Json> results = run_isolated(tasks, 3);
  ASSERT_EQ(results.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], Json(i));
}

TEST(Isolate, ScenarioErrorKeepsDiagnosticsAndExitCode) {
  const auto e = thrown_by<ScenarioError>([]() -> Json {
    throw ScenarioError({{"f.json", "/a", "is wrong", "mend it"}, {"g.json", "", "too", ""}},
                        ExitCode::kInfeasible);
  });
  ASSERT_EQ(e.diagnostics().size(), 2U);
  EXPECT_EQ(to_string(e.diagnostics()[0]), "f.json: /a: is wrong (mend it)");
  EXPECT_EQ(to_string(e.diagnostics()[1]), "g.json: too");
  EXPECT_EQ(e.exit_code(), ExitCode::kInfeasible);
}

TEST(Isolate, DesignErrorKeepsPointerHintAndExitCode) {
  const auto e = thrown_by<DesignError>(
      []() -> Json { throw DesignError("/tiers", "too few ports", "more", ExitCode::kScenario); });
  EXPECT_EQ(e.pointer(), "/tiers");
  EXPECT_STREQ(e.what(), "too few ports");
  EXPECT_EQ(e.hint(), "more");
  EXPECT_EQ(e.exit_code(), ExitCode::kScenario);
}

TEST(Isolate, StuckAndUsageErrorsKeepTheirType) {
  const auto stuck =
      thrown_by<StuckError>([]() -> Json { throw StuckError("rank 3 waits for op 7\n\"send\""); });
  EXPECT_STREQ(stuck.what(), "rank 3 waits for op 7\n\"send\"");
  EXPECT_STREQ(thrown_by<UsageError>([]() -> Json { throw UsageError("use it well"); }).what(),
               "use it well");
}

TEST(Isolate, OtherErrorsAreRuntimeErrors) {
  EXPECT_STREQ(
      thrown_by<std::runtime_error>([]() -> Json { throw std::logic_error("a bug"); }).what(),
      "a bug");
}

TEST(Isolate, AChildThatDiesIsNamed) {
  EXPECT_STREQ(thrown_by<std::runtime_error>([]() -> Json {
                 std::raise(SIGKILL);
                 return {};
               }).what(),
               "the simulation process was killed by signal 9 (Killed)");
  EXPECT_STREQ(thrown_by<std::runtime_error>([]() -> Json { _exit(3); }).what(),
               "the simulation process ended without a result");
}

TEST(Isolate, TheFirstErrorByOrderIsThrown) {
  const std::vector<std::function<Json()>> tasks{[] { return Json(1); },
                                                 []() -> Json { throw UsageError("second"); },
                                                 []() -> Json { throw StuckError("third"); }};
  EXPECT_THROW(run_isolated(tasks, 1), UsageError);
  EXPECT_THROW(run_isolated(tasks, 3), UsageError);
}

}  // namespace
}  // namespace trainyard
