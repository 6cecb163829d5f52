#include "tools/sweep/table.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "reports/csv.hpp"
#include "sim/error.hpp"
#include "sim/metrics.hpp"
#include "sim/spelling.hpp"
#include "sim/whole_file.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostInDocument = 20'000;

/// A database that is written once and then takes the place of an older one.
class Database {
 public:
  /// Of no file: gone with the object.
  Database() : Database("a table in memory", ":memory:") {}
  explicit Database(const std::string& path) : Database(path, path + ".part") {}
  Database(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
    if (sqlite3_open(temporary_.c_str(), &handle_) != SQLITE_OK) fail();
    // Nobody sees it before it is whole: no journal, and one transaction.
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    sqlite3_close(handle_);
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }
  void run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  void keep() {
    run("COMMIT; DROP TABLE row; VACUUM");
    if (sqlite3_close(handle_) != SQLITE_OK) fail();
    handle_ = nullptr;
    std::error_code code;
    fs::rename(temporary_, path_, code);
    if (code) throw UsageError(fmt::format("cannot write {}: {}", path_, code.message()));
  }
  sqlite3* handle() { return handle_; }
  [[noreturn]] void fail() {
    throw UsageError(fmt::format("cannot write {}: {}", path_, sqlite3_errmsg(handle_)));
  }

 private:
  std::string path_, temporary_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(Database& database, const std::string& sql) : database_(database) {
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK)
      database_.fail();
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }
  void bind(int place, const Json& value) {
    int code = SQLITE_OK;
    if (value.is_null()) {
      code = sqlite3_bind_null(handle_, place);
    } else if (value.is_integer()) {
      code = sqlite3_bind_int64(handle_, place, value.as_integer());
    } else if (value.is_number()) {
      code = sqlite3_bind_double(handle_, place, value.as_number());
    } else {
      const std::string text = value.is_string() ? value.as_string() : dump_json(value, -1);
      code = sqlite3_bind_text(handle_, place, text.data(), static_cast<int>(text.size()),
                               SQLITE_TRANSIENT);
    }
    if (code != SQLITE_OK) database_.fail();
  }
  /// Whether there is a row.
  bool step() {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail();
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const void* bytes = sqlite3_column_text(handle_, column);
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
  }
  void reset() { sqlite3_reset(handle_); }

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

std::string sql_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// The metrics of these keys: those of every run in their order, then those of probes.
std::vector<MetricName> in_order(std::set<std::string, std::less<>> keys) {
  std::vector<MetricName> found;
  for (const Metric& metric : metrics()) {
    if (keys.erase(std::string(metric.key)) > 0)
      found.push_back(
          {std::string(metric.key), std::string(metric.title), std::string(metric.unit)});
  }
  for (const std::string& key : keys) {
    MetricName name{key, key, "1"};
    for (const MetricName& one : probe_metrics("")) {
      if (!key.ends_with(one.key)) continue;
      const std::string probe = key.substr(0, key.size() - one.key.size());
      name = {key, probe + one.title, one.unit};
    }
    found.push_back(std::move(name));
  }
  return found;
}

// Fills the table "row" from all shards; returns which metrics some row has, in their order.
std::vector<MetricName> collect_rows(const SweepStore& store, Database& database) {
  database.run("CREATE TABLE row (id TEXT PRIMARY KEY, status TEXT, text TEXT) WITHOUT ROWID");
  Statement insert(database,
                   "INSERT INTO row VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = "
                   "excluded.status, text = excluded.text WHERE excluded.status != 'failed' OR "
                   "row.status = 'failed'");
  std::set<std::string, std::less<>> keys;
  store.each_row([&](const Json& row) {
    for (const auto& [key, value] : row.at("metrics").members()) keys.insert(key);
    insert.bind(1, row.at("id"));
    insert.bind(2, row.at("status"));
    insert.bind(3, Json(dump_json(row, -1)));
    insert.step();
    insert.reset();
  });
  return in_order(std::move(keys));
}

// Names of the columns of a variant. SQLite takes "a" and "A" for one: a number is added there.
std::vector<std::string> column_names(const Sweep& sweep, const std::vector<MetricName>& measured) {
  std::vector<std::string> names{"variant", "id"};
  names.insert(names.end(), sweep.columns().begin(), sweep.columns().end());
  names.insert(names.end(), {"status", "reason"});
  for (const MetricName& metric : measured) names.push_back(metric.key);
  return names;
}

std::string create_table(const std::vector<std::string>& names) {
  std::set<std::string> taken;
  std::string columns;
  for (std::string name : names) {
    while (!taken.insert(lower_case(name)).second) name += "_2";
    columns += (columns.empty() ? "" : ", ") + sql_name(name);
  }
  return "CREATE TABLE variant (" + columns + ")";
}

constexpr const char* kFindRow = "SELECT text FROM row WHERE id = ?";

Json row_of(const Sweep& sweep, const Variant& variant, const std::string& id, Statement& find) {
  Json row = Json::object();
  row["status"] = "missing";
  row["reason"] = "";
  row["metrics"] = Json::object();
  if (!variant.excluded_by.empty()) {
    row["status"] = "excluded";
    row["reason"] = Json(variant.excluded_by + " does not hold");
    return row;
  }
  find.reset();
  find.bind(1, Json(id));
  if (!find.step()) return row;
  row = parse_json(find.text(0), "sweep.sqlite");
  if (row.at("status") != Json("ok")) return row;
  if (std::string broken = sweep.broken_constraint(variant.values, row); !broken.empty()) {
    row["status"] = "excluded";
    row["reason"] = Json(std::move(broken));
  }
  return row;
}

// Those that the sweep names, or the time of what was simulated and its cost.
std::vector<std::string> objectives_of(const Sweep& sweep,
                                       const std::vector<MetricName>& measured) {
  if (!sweep.objectives().empty()) return sweep.objectives();
  std::vector<std::string> found;
  const auto first_of = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (std::none_of(measured.begin(), measured.end(),
                       [&](const MetricName& metric) { return metric.key == key; }))
        continue;
      found.emplace_back(key);
      return;
    }
  };
  first_of({"training_days", "step_time_s", "traffic_time_s", "allreduce_time_s"});
  first_of({"cost_usd"});
  return found;
}

// Adds one to the count of a status.
void count(Json& counts, const Json& row) {
  Json& sum = counts[row.at("status").as_string()];
  sum = Json(sum.as_integer() + 1);
}

Json no_counts() {
  Json counts = Json::object();
  for (const char* status : kRowStatuses) counts[status] = 0;
  counts["missing"] = 0;
  return counts;
}

Json empty_document(const Sweep& sweep, const std::vector<MetricName>& measured) {
  const Json& manifest = sweep.manifest();
  Json document = Json::object();
  document["schema_version"] = 1;
  document["name"] = Json(sweep.name());
  Json& provenance = document["provenance"] = Json::object();
  for (const char* key : {"program", "version", "git"}) provenance[key] = manifest.at(key);
  for (const char* key : {"scenario", "description", "constraints"}) {
    if (const Json* value = manifest.at("sweep").find(key)) document[key] = *value;
  }
  document["sets"] = manifest.at("sets");
  document["axes"] = Json::array();
  for (const Axis& axis : sweep.axes()) {
    for (std::size_t i = 0; i < axis.columns.size(); ++i) {
      Json one = Json::object();
      one["name"] = Json(axis.columns[i]);
      one["values"] = Json::array();
      for (const Choice& choice : axis.choices) {
        const Json& value = choice.shown[i];
        const Json shown = value.is_null() ? Json() : Json(shown_text(value));
        const auto& before = one["values"].items();
        if (std::find(before.begin(), before.end(), shown) == before.end())
          one["values"].push_back(shown);
      }
      document["axes"].push_back(std::move(one));
    }
  }
  document["metrics"] = Json::array();
  for (const MetricName& metric : measured) {
    Json one = Json::object();
    one["key"] = Json(metric.key);
    one["title"] = Json(metric.title);
    one["unit"] = Json(metric.unit);
    document["metrics"].push_back(std::move(one));
  }
  document["objectives"] = Json::array();
  for (const std::string& key : objectives_of(sweep, measured))
    document["objectives"].push_back(Json(key));
  document["counts"] = no_counts();
  document["variants"] = Json::array();
  return document;
}

Json variant_json(const std::vector<Json>& cells, std::size_t axes) {
  const auto at = [&](std::size_t i) { return cells.begin() + static_cast<std::ptrdiff_t>(i); };
  Json one = Json::object();
  one["id"] = cells[1];
  one["axes"] = Json(Json::Array(at(2), at(2 + axes)));
  one["status"] = cells[2 + axes];
  one["reason"] = cells[3 + axes];
  one["values"] = Json(Json::Array(at(4 + axes), cells.end()));
  return one;
}

/// Adds a variant to everything that lists variants.
class Tables {
 public:
  Tables(const Sweep& sweep, const SweepStore& store, Database& database, WholeFile& csv)
      : sweep_(sweep),
        csv_(csv),
        measured_(collect_rows(store, database)),
        names_(column_names(sweep, measured_)),
        document_(empty_document(sweep, measured_)) {
    database.run(create_table(names_));
    std::string places = "?";
    for (std::size_t i = 1; i < names_.size(); ++i) places += ", ?";
    find_.emplace(database, kFindRow);
    insert_.emplace(database, "INSERT INTO variant VALUES (" + places + ")");
    csv_.add(csv_line({names_.begin(), names_.end()}));
  }

  void add(std::uint64_t number, const Variant& variant) {
    const std::string id = sweep_.id(variant);
    const Json row = row_of(sweep_, variant, id, *find_);
    std::vector<Json> cells{Json(static_cast<std::int64_t>(number)), Json(id)};
    cells.insert(cells.end(), variant.values.begin(), variant.values.end());
    cells.insert(cells.end(), {row.at("status"), row.at("reason")});
    for (const MetricName& metric : measured_) {
      const Json* value = row.at("metrics").find(metric.key);
      cells.push_back(value != nullptr ? *value : Json());
    }
    csv_.add(csv_line(cells));
    for (std::size_t i = 0; i < cells.size(); ++i) insert_->bind(static_cast<int>(i) + 1, cells[i]);
    insert_->step();
    insert_->reset();
    count(document_["counts"], row);
    if (number <= kMostInDocument) {
      document_["variants"].push_back(variant_json(cells, sweep_.columns().size()));
    } else {
      ++left_out_;
    }
  }

  Json document() {
    document_["left_out"] = Json(left_out_);
    return std::move(document_);
  }

 private:
  const Sweep& sweep_;
  WholeFile& csv_;
  std::vector<MetricName> measured_;
  std::vector<std::string> names_;
  std::optional<Statement> find_, insert_;
  Json document_;
  std::int64_t left_out_ = 0;
};

Json fill(const Sweep& sweep, const SweepStore& store, Database& database, WholeFile& csv) {
  Tables tables(sweep, store, database, csv);
  sweep.each([&](std::uint64_t number, const std::vector<std::size_t>& digits) {
    tables.add(number, sweep.variant(digits));
    return true;
  });
  return tables.document();
}

}  // namespace

Json merge_sweep(const Sweep& sweep, const SweepStore& store) {
  Database database(store.path("sweep.sqlite"));
  WholeFile csv(store.path("sweep.csv"));
  Json document = fill(sweep, store, database, csv);
  if (const std::string why = csv.keep(); !why.empty())
    throw UsageError(fmt::format("cannot write {}: {}", store.path("sweep.csv"), why));
  database.keep();
  return document;
}

Json count_variants(const Sweep& sweep, const SweepStore& store) {
  Database database;
  collect_rows(store, database);
  Statement find(database, kFindRow);
  Json counts = no_counts();
  sweep.each([&](std::uint64_t, const std::vector<std::size_t>& digits) {
    const Variant variant = sweep.variant(digits);
    count(counts, row_of(sweep, variant, sweep.id(variant), find));
    return true;
  });
  return counts;
}

}  // namespace trainyard
