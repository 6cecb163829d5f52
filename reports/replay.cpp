#include "reports/replay.hpp"

#include <fmt/format.h>

#include <functional>

#include "reports/csv.hpp"
#include "sim/report.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

/// Calls body(name of the job, its "replay") for each job that replays a trace.
void each_replay(const Json& result, const std::function<void(const Json&, const Json&)>& body) {
  const Json* jobs = result.find("jobs");
  if (jobs == nullptr) return;
  for (const Json& job : jobs->items()) {
    if (const Json* replay = job.at("metrics").find("replay")) body(job.at("name"), *replay);
  }
}

void each_run(const Json& document, const std::function<void(const Json&)>& body) {
  if (!is_comparison(document)) return body(document);
  for (const Json& result : document.at("results").items()) body(result);
}

/// Lines of the rows of one list of each replay, under these keys.
std::string lines_of(const Json& document, const char* list,
                     const std::vector<std::string_view>& keys) {
  std::vector<Json> cells{Json("run"), Json("job")};
  cells.insert(cells.end(), keys.begin(), keys.end());
  std::string text = csv_line(cells);
  each_run(document, [&](const Json& result) {
    each_replay(result, [&](const Json& job, const Json& replay) {
      for (const Json& row : replay.at(list).items()) {
        cells = {result.at("name"), job};
        for (const std::string_view key : keys) cells.push_back(row.at(key));
        text += csv_line(cells);
      }
    });
  });
  return text;
}

bool has_replay(const Json& document) {
  bool found = false;
  each_run(document, [&](const Json& result) {
    each_replay(result, [&](const Json&, const Json&) { found = true; });
  });
  return found;
}

class CommunicationCsv : public Report {
 public:
  std::string file_name() const override { return "communication.csv"; }
  bool applies(const Json& document) const override { return has_replay(document); }
  std::string render(const Json& document) const override { return communication_csv(document); }
};

class RanksCsv : public Report {
 public:
  std::string file_name() const override { return "ranks.csv"; }
  bool applies(const Json& document) const override { return has_replay(document); }
  std::string render(const Json& document) const override { return ranks_csv(document); }
};

const Registration<Report, CommunicationCsv> communication_registered{
    "communication-csv", "communication.csv: what the groups of a replayed trace exchanged"};
const Registration<Report, RanksCsv> ranks_registered{
    "ranks-csv", "ranks.csv: times of each rank of a replayed trace"};

}  // namespace

Rows communication_rows(const Json& result) {
  Rows rows;
  each_replay(result, [&](const Json& job, const Json& replay) {
    for (const Json& row : replay.at("communication").items()) {
      rows.push_back({job.as_string(), row.at("group").as_string(), row.at("operation").as_string(),
                      std::to_string(row.at("ranks").as_integer()),
                      std::to_string(row.at("calls").as_integer()),
                      show_quantity(row.at("bytes").as_number(), dimension_of(Bytes())),
                      show_quantity(row.at("time_s").as_number(), dimension_of(Seconds()))});
    }
  });
  return rows;
}

std::vector<std::string> replay_notes(const Json& result) {
  std::vector<std::string> all;
  each_replay(result, [&](const Json&, const Json& replay) {
    for (const Json& repair : replay.at("repairs").items())
      all.push_back(fmt::format("mended: {}× {} (the first: {})", repair.at("count").as_integer(),
                                repair.at("what").as_string(), repair.at("first").as_string()));
    if (const Json* notes = replay.find("notes")) {
      for (const Json& note : notes->items()) all.push_back(note.as_string());
    }
  });
  return all;
}

std::string communication_csv(const Json& document) {
  return lines_of(document, "communication",
                  {"group", "operation", "ranks", "calls", "bytes", "sent_bytes", "time_s"});
}

std::string ranks_csv(const Json& document) {
  return lines_of(document, "by_rank",
                  {"rank", "end_s", "compute_s", "comm_s", "exposed_comm_s", "sent_bytes"});
}

}  // namespace trainyard
