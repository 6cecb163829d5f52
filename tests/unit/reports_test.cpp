// Reports of documents written by hand: what a reader of the files must be able to rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/csv.hpp"
#include "reports/docs.hpp"
#include "reports/folder.hpp"
#include "reports/html_parts.hpp"
#include "reports/tables.hpp"
#include "reports/text.hpp"
#include "sim/compare.hpp"
#include "sim/error.hpp"
#include "sim/metrics.hpp"
#include "sim/report.hpp"
#include "tests/golden/command.hpp"

namespace trainyard {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";

/// Puts the text wherever the document says "@", keys included.
void fill(Json& node, const std::string& text) {
  if (node == Json("@")) node = Json(text);
  if (node.is_array()) {
    for (Json& item : node.items()) fill(item, text);
  }
  if (!node.is_object()) return;
  for (auto& [key, member] : node.members()) {
    if (key == "@") key = text;
    fill(member, text);
  }
}

/// A result with `text` in every field that a scenario can put text into.
Json result_with(const std::string& text) {
  Json document = parse_json(R"({
    "schema_version": 1, "name": "@",
    "provenance": {"program": "trainyard", "version": "@", "git": "@",
                   "simgrid": {"version": "@", "options": {"@": "@"}}, "seed": 1,
                   "scenario_sha256": "@"},
    "metrics": {"step_time_s": 2.5, "tokens_per_s": 280814.2, "mfu": 0.4,
                "allreduce_time_s": 0.0082, "gpu_wait_fractions": {"network": 0.2, "@": 0.06},
                "equipment": [{"equipment": "@", "count": 256, "average_power_w": 12000,
                               "energy_mwh": 288.51, "capital_usd": 5120}]},
    "inactive": ["@"],
    "jobs": [{"name": "@", "metrics": {}},
             {"name": "@", "metrics": {"collective": "@", "step_time_s": 7, "rows": [
               {"size_bytes": 1024, "ranks": 16, "time_s": 0.0082, "algbw_bytes_per_s": 3,
                "busbw_bytes_per_s": 4, "algorithm": "@", "protocol": "@"}]}}],
    "collectives": [{"operation": "@", "bytes": 1024, "ranks": 16, "servers": 2, "algorithm": "@",
                     "protocol": "@", "estimate_s": 0.001, "calls": 3, "refused": "@"}],
    "probes": {"@": {"size_bytes": 1024, "ranks": 16, "time_s": 0.0082, "algbw_bytes_per_s": 1,
                     "busbw_bytes_per_s": 1, "algorithm": "@", "protocol": "@", "collectives": [
                       {"operation": "@", "bytes": 1024, "ranks": 16, "servers": 2,
                        "algorithm": "@", "protocol": "@", "estimate_s": 0.001, "calls": 1,
                        "refused": "@"}]}},
    "parameters": [{"pointer": "@", "value": "@", "kind": "@", "text": "@", "range": ["@", "@"],
                    "outside": true},
                   {"pointer": "/inside", "value": 3, "kind": "sourced", "text": "a page"}],
    "scenario": {"description": "@", "@": ["@"]}
  })",
                             "by hand");
  fill(document, text);
  return document;
}

/// A comparison with `text` wherever scenario or claim can put it.
Json comparison_with(const std::string& text) {
  Json claim =
      parse_json(R"({"source": "@", "rows": {"step_time_s": {"@": 2}, "@": {"@": 1}}})", "a claim");
  fill(claim, text);
  Json comparison = compare_results({result_with(text), result_with("second")}, claim);
  comparison["audit"] = parse_json(R"({
    "tried": 2, "runs": ["@", "second"],
    "rows": [{"metric": "@", "title": "@", "holds": true, "hangs_on": [
      {"pointer": "@", "runs": ["@"], "value": "@", "tried": "@", "range": ["@", "@"],
       "outside": true, "change": [0.25, -0.5], "breaks": true}]}]
  })",
                                   "by hand");
  comparison["contradictions"] = Json(Json::Array{Json("@")});
  fill(comparison["audit"], text);
  fill(comparison["contradictions"], text);
  return comparison;
}

/// The cells of each line, as RFC 4180 has them.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      lines.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      lines.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  EXPECT_EQ(lines.back(), std::vector<std::string>{""}) << "no line end at the end";
  lines.pop_back();
  return lines;
}

Json timed_row(double bytes, int ranks, double seconds, double bus_factor) {
  Json row = Json::object();
  row["size_bytes"] = Json(bytes);
  row["ranks"] = Json(ranks);
  row["time_s"] = Json(seconds);
  row["algbw_bytes_per_s"] = Json(bytes / seconds);
  row["busbw_bytes_per_s"] = Json(bytes / seconds * bus_factor);
  row["algorithm"] = Json("ring");
  row["protocol"] = Json("simple");
  return row;
}

Json timed(const std::string& operation, Json::Array rows) {
  Json measured = Json::object();
  measured["collective"] = Json(operation);
  measured["rows"] = Json(std::move(rows));
  return measured;
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_line({Json("a"), Json("b,c"), Json("say \"x\""), Json("two\nlines"), Json()}),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\n");
  EXPECT_EQ(csv_line({Json(0.1), Json(-3), Json(true), Json(1e-9)}), "0.1,-3,true,1e-09\n");
  EXPECT_EQ(csv_line({Json(Json::Array{Json("a")}), Json(Json::Array{Json(1), Json(2)})}),
            "\"[\"\"a\"\"]\",\"[1,2]\"\n");
}

TEST(Csv, DisarmsFormulas) {
  for (const char first : {'=', '+', '-', '@', '\t'}) {
    const std::string text = std::string(1, first) + "cmd";
    EXPECT_EQ(csv_line({Json(text)}), "'" + text + "\n");
  }
  EXPECT_EQ(csv_line({Json("\rcmd")}), "\"'\rcmd\"\n");
  EXPECT_EQ(csv_line({Json("=A1,\"B\"")}), "\"'=A1,\"\"B\"\"\"\n");
  EXPECT_EQ(csv_line({Json("a=b")}), "a=b\n");
}

TEST(Csv, EveryFileIsRectangularAndDisarmed) {
  for (const std::string text : {"=1+1", "=HYPERLINK(\"x\",\"y\")", "+a,b", "-x\nline", "@\"q\""}) {
    for (const Json& document : {result_with(text), comparison_with(text)}) {
      for (const auto& render :
           {metrics_csv, collectives_csv, collective_times_csv, parameters_csv}) {
        const auto lines = parse_csv(render(document));
        ASSERT_GT(lines.size(), 1U);
        for (const auto& line : lines) {
          EXPECT_EQ(line.size(), lines.front().size());
          for (const std::string& cell : line) {
            EXPECT_TRUE(cell.empty() || std::string("=+@").find(cell[0]) == std::string::npos);
            EXPECT_NE(cell.substr(0, 2), "-x");
          }
        }
      }
    }
  }
}

TEST(Csv, LinesOfARun) {
  const Json result = result_with("x");
  EXPECT_EQ(metrics_csv(result),
            "metric,unit,value\nallreduce_time_s,s,0.0082\nstep_time_s,s,2.5\n"
            "tokens_per_s,1/s,280814.2\nmfu,1,0.4\ngpu_wait_fractions.network,1,0.2\n");
  EXPECT_EQ(collectives_csv(result),
            "run,where,operation,bytes,ranks,servers,algorithm,protocol,calls,estimate_s,refused\n"
            "x,jobs,x,1024,16,2,x,x,3,0.001,x\nx,probe x,x,1024,16,2,x,x,1,0.001,x\n");
  EXPECT_EQ(collective_times_csv(result),
            "run,job,operation,bytes,ranks,time_s,algbw_bytes_per_s,busbw_bytes_per_s,algorithm,"
            "protocol,measured_time_s,error\nx,x,x,1024,16,0.0082,3,4,x,x,,\n");
  EXPECT_EQ(parameters_csv(result),
            "run,pointer,value,kind,low,high,outside,text\nx,x,x,x,x,x,true,x\n"
            "x,/inside,3,sourced,,,false,a page\n");
}

TEST(Csv, AComparisonHasColumnsForEachRun) {
  const auto lines = parse_csv(metrics_csv(comparison_with("x")));
  EXPECT_EQ(lines[0], (std::vector<std::string>{"metric", "unit", "x", "x claim", "x deviation",
                                                "second", "second claim", "second deviation"}));
  EXPECT_THAT(lines, Contains(std::vector<std::string>{"step_time_s", "s", "2.5", "2.0", "0.25",
                                                       "2.5", "", ""}));
  const auto parameters = parse_csv(parameters_csv(comparison_with("x")));
  EXPECT_EQ(parameters.size(), 5U);
  EXPECT_EQ(parameters.back().front(), "second");
}

// The page before its own scripts and the notices of what they use, which are the same in each.
std::string written_part(const std::string& page) { return page.substr(0, page.find("<footer>")); }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Html, EscapesEveryField) {
  EXPECT_EQ(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  const auto html = Registry<Report>::of().make("html");
  for (const Json& shown : {result_with(kHostile), comparison_with(kHostile)}) {
    const std::string page = written_part(html->render(shown));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_EQ(count_of(page, "<script"), count_of(page, "<script type=\"application/json\">"));
    EXPECT_EQ(count_of(page, "</script"), count_of(page, "<script"));
    EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
  }
  std::string in_attribute = written_part(html->render(comparison_with("\" onclick='x' a=\"")));
  // Data is no markup: quotes may stand in it.
  for (std::size_t at; (at = in_attribute.find("<script")) != std::string::npos;)
    in_attribute.erase(at, in_attribute.find("</script>", at) - at + 9);
  EXPECT_THAT(in_attribute, Not(HasSubstr("onclick='")));
  EXPECT_THAT(in_attribute, Not(HasSubstr("\" onclick")));
}

TEST(Html, PartsEscapeTheirText) {
  EXPECT_EQ(render(Table{"<c>", {"<h>", "n"}, "lr", {{"<a>", "<b>"}}, {{"", 1}, {"<g>", 1}}, {}}),
            "<div class=\"scroll\"><table>\n<caption>&lt;c&gt;</caption>\n"
            "<colgroup span=\"1\"></colgroup><colgroup span=\"1\"></colgroup>\n"
            "<thead><tr><td colspan=\"1\"></td><th scope=\"colgroup\" colspan=\"1\">&lt;g&gt;</th>"
            "</tr>\n<tr><th scope=\"col\">&lt;h&gt;</th><th scope=\"col\" class=\"r\">n</th></tr>"
            "</thead>\n<tbody>\n<tr><th scope=\"row\">&lt;a&gt;</th><td class=\"r\">&lt;b&gt;</td>"
            "</tr>\n</tbody></table></div>\n");
  EXPECT_EQ(render(Table{"c", {"h"}, "l", {}, {}, {}}), "");
  EXPECT_EQ(cards({{"<t>", "<v>"}}),
            "<dl class=\"cards\">\n<div><dt>&lt;t&gt;</dt><dd>&lt;v&gt;</dd></div>\n</dl>\n");
  EXPECT_EQ(details("<s>", "<p>"), "<details><summary>&lt;s&gt;</summary>\n<p></details>\n");
}

TEST(Html, AsksForNothingFromOutside) {
  const auto html = Registry<Report>::of().make("html");
  const std::string page = written_part(html->render(comparison_with("plain")));
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; base-uri 'none'; "));
  for (const char* outside : {"<link", "<img", "<iframe", "src=", "url(", "@import", "//"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(Html, ShowsTheSectionsOfARun) {
  const std::string page = Registry<Report>::of().make("html")->render(result_with("x"));
  for (const char* part :
       {"<h1>x</h1>", "<caption>Metrics, first of 2 jobs: x</caption>",
        "<dt>step time</dt><dd>2.5 s</dd>", "<td class=\"r\">280,814/s</td>",
        "<caption>Where the GPU time goes", "<caption>Collectives that a job timed</caption>",
        "<caption>Probes", "<caption>Collectives: what the library chose</caption>",
        "<caption>Provenance</caption>", "<li>inactive: x</li>",
        "<li>x = x is outside its range, x to x: x</li>", "1 sourced, 1 x; 1 outside their range",
        "<caption>Metrics of x</caption>",
        "<details><summary>Resolved scenario</summary>\n<pre>{\n  &quot;description&quot;",
        "<td>x, outside its range</td>", "prefers-color-scheme: dark", "@media print"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, HasSubstr("<tr class=\"mark\"><th scope=\"row\">x</th>"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=\"row\">/inside</th>"));
}

TEST(Html, AComparisonShowsClaimAndAudit) {
  const std::string page = Registry<Report>::of().make("html")->render(comparison_with("x"));
  for (const char* part :
       {"<h1>x / second</h1>", "<a href=\"#run-2\">second</a>", "<section id=\"run-2\">",
        "<th scope=\"colgroup\" colspan=\"3\">x</th><th scope=\"colgroup\" colspan=\"1\">second",
        "<th scope=\"row\">step time</th><td class=\"r\">2.5 s</td><td class=\"r\">2 s</td>"
        "<td class=\"r\">+25.0%</td><td class=\"r\">2.5 s</td><td class=\"r\">1.000</td>",
        "<li>claimed, but not a number of every run: x</li>", "<li>claim: x</li>",
        "<li>second: parameters: 1 second, 1 sourced; 1 outside their range</li>"})
    EXPECT_THAT(page, HasSubstr(part));
}

// An all-reduce of n ranks moves 2·(n-1)/n of the buffer over each rank's link:
// 2^30 B / 8.2 ms = 130.94 GB/s, times 14/8 = 229.15 GB/s.
TEST(NcclTests, ColumnsOfAHandCalculatedRow) {
  const Json measured = timed("all_reduce", {timed_row(0x1p30, 8, 8.2e-3, 14.0 / 8)});
  EXPECT_EQ(collective_text(measured),
            "# all_reduce, time by the simulated clock\n#\n"
            "#       size         count      type   redop    root     time   algbw   busbw"
            "  algorithm     protocol\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
            "  1073741824     268435456     float     sum      -1   8200.0  130.94  229.15"
            "  ring          simple\n"
            "# Avg bus bandwidth    : 229.152\n#\n");
  const Json cells = collective_rows(measured).items().front();
  EXPECT_EQ(cells.at("size"), Json(std::int64_t{1} << 30));
  EXPECT_EQ(cells.at("count"), Json(std::int64_t{1} << 28));
  EXPECT_NEAR(cells.at("time_us").as_number(), 8200, 1e-9);
  EXPECT_NEAR(cells.at("algbw_gb_per_s").as_number(), 130.94, 0.005);
  EXPECT_NEAR(cells.at("busbw_gb_per_s").as_number(), 229.15, 0.005);
  EXPECT_THAT(collective_csv(measured),
              StartsWith("size,count,type,redop,root,time_us,algbw_gb_per_s,busbw_gb_per_s,"
                         "algorithm,protocol\n1073741824,268435456,float,sum,-1,8200.0,"));
}

// Where a rank gives or gets a part of the buffer, nccl-tests counts the part: 2^27 B of floats
// over 16 ranks are 2^21 elements each.
TEST(NcclTests, CountIsARanksPartOfTheBuffer) {
  for (const char* operation : {"all_gather", "reduce_scatter", "all_to_all"}) {
    const Json row =
        collective_rows(timed(operation, {timed_row(0x1p27, 16, 1, 1)})).items().front();
    EXPECT_EQ(row.at("count"), Json(std::int64_t{1} << 21));
    EXPECT_EQ(row.at("redop"), Json(operation == std::string("reduce_scatter") ? "sum" : "none"));
  }
}

TEST(NcclTests, TimeHasThreeFormsAndBandwidthAMean) {
  const std::string text = collective_text(timed(
      "all_reduce",
      {timed_row(1e6, 2, 76.26e-6, 1), timed_row(1e6, 2, 1e-4, 1), timed_row(1e6, 2, 1e-2, 1)}));
  EXPECT_THAT(text, HasSubstr("      -1    76.26   13.11   13.11  ring"));
  EXPECT_THAT(text, HasSubstr("      -1    100.0   10.00   10.00  ring"));
  EXPECT_THAT(text, HasSubstr("      -1    10000    0.10    0.10  ring"));
  EXPECT_THAT(text, HasSubstr("# Avg bus bandwidth    : 7.73768\n"));  // (13.11303 + 10.1) / 3
}

TEST(Tables, NumbersForPeople) {
  EXPECT_EQ(show_value("parameters", 174615822336.0), "174,615,822,336");
  EXPECT_EQ(show_value("parameters", 9999), "9999");
  EXPECT_EQ(show_value("parameters", 1e15), "1e+15");
  EXPECT_EQ(show_value("tokens_per_s", 280814.0007), "280,814/s");
  EXPECT_EQ(show_value("model_tflops_per_gpu", 147.5977), "147.6 TFLOPS");
  EXPECT_EQ(show_value("step_time_s", 0.01842), "18.42 ms");
  EXPECT_EQ(show_value("of a later version", -1234567), "-1,234,567");
}

TEST(Tables, OneSentenceForEachRefusal) {
  Json result = result_with("x");
  result["collectives"].push_back(result.at("collectives").items().front());
  EXPECT_EQ(refusals(result),
            std::vector<std::string>{"x of 1.024 kB on 16 ranks could not use x"});
}

TEST(RunText, ShowsWhatMatters) {
  const std::string text = run_text(result_with("x"));
  for (const char* part : {"x\n  all-reduce              8.2 ms\n  step time                2.5 s\n"
                           "  tokens per second    280,814/s\n  MFU                     40.00%\n",
                           "  where the GPU time goes   share    time\n"
                           "  computing                74.00%  1.85 s\n"
                           "  waiting for network      20.00%  500 ms\n"
                           "  waiting: x                6.00%  150 ms\n",
                           "  equipment  count  mean power     energy   capital\n"
                           "  x            256    12,000 W  288.5 MWh  5120 USD\n",
                           "\n  x\n    step time  7 s\n", "  inactive: x\n",
                           "  x of 1.024 kB on 16 ranks could not use x\n",
                           "  parameters: 1 sourced, 1 x; 1 outside their range\n",
                           "  x = x is outside its range, x to x: x\n"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n  probe +size +ranks +time +algbw"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n  job +size +ranks +time +algbw"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n  jobs +x +1.024 kB +16 +2 +x +x +3 +1 ms\n"));
}

// A name must not clear the screen, ring the bell or forge a line.
TEST(RunText, ControlCharactersStayInert) {
  EXPECT_EQ(printable("a\x1b[2J\nb\x7f\xc2\x9b ü\t"), "a?[2J?b?? ü?");
  const std::string hostile = "\x1b[2J\r\nfine\a";
  for (const std::string& text :
       {run_text(result_with(hostile)), compare_text(comparison_with(hostile)),
        collective_text(result_with(hostile).at("jobs").items()[1].at("metrics"))}) {
    EXPECT_THAT(text, HasSubstr("?[2J??fine?"));
    EXPECT_TRUE(std::none_of(text.begin(), text.end(),
                             [](char c) { return c != '\n' && c >= 0 && c < ' '; }));
    EXPECT_THAT(text, Not(HasSubstr("\nfine")));
  }
}

TEST(RunText, AlignsByCharacterNotByByte) {
  EXPECT_EQ(aligned({{"a", "b"}, {"größer", "1"}, {"x", ""}}, " "), " a       b\n größer  1\n x\n");
}

TEST(Folder, RoundTripGivesTheSameBytes) {
  const testing::TemporaryFolder folder;
  const std::string first = (folder.path() / "a/first").string(),
                    second = (folder.path() / "second").string();
  for (const Json& written : {result_with("plain, \"text\""), comparison_with("plain, \"text\"")}) {
    write_folder(first, written);
    write_folder(second, read_folder(first));
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(first)) {
      const std::string name = entry.path().filename().string();
      EXPECT_EQ(folder.read("a/first/" + name), folder.read("second/" + name)) << name;
      EXPECT_NE(entry.path().extension(), ".part");
      ++files;
    }
    // A single run is not audited, and no trace is replayed.
    constexpr std::size_t kOfReplays = 2;
    EXPECT_EQ(files + kOfReplays,
              Registry<Report>::of().entries().size() + (is_comparison(written) ? 1 : 0));
    std::filesystem::remove_all(first);
    std::filesystem::remove_all(second);
  }
}

// A folder never answers for a document that was overwritten.
TEST(Folder, ForgetsAnEarlierDocument) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path().string();
  Json without = result_with("x");
  without.erase("jobs");
  write_folder(path, result_with("x"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "collective_times.csv"));
  write_folder(path, without);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "collective_times.csv"));
  write_folder(path, compare_results({without, without}, Json()));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "result.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "collective_times.csv"));
  EXPECT_TRUE(is_comparison(read_folder(path)));
  write_folder(path, without);
  EXPECT_FALSE(is_comparison(read_folder(path)));
}

// What is not a whole result is refused as such, and what stood there still stands.
TEST(Folder, APartialDocumentChangesNothing) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path().string();
  write_folder(path, result_with("x"));
  const std::string before = folder.read("result.json"), page = folder.read("report.html");
  Json partial = result_with("y");
  partial.erase("provenance");
  EXPECT_THROW(write_folder(path, partial), std::out_of_range);
  Json comparison = comparison_with("y");
  for (const char* list : {"values", "claim", "deviation"}) {
    Json shortened = comparison;
    for (Json& row : shortened["rows"].items()) {
      if (!row[list].is_null()) row[list] = Json::array();
    }
    EXPECT_THROW(write_folder(path, shortened), std::out_of_range) << list;
  }
  comparison["results"] = Json::array();
  for (Json& row : comparison["rows"].items()) row["values"] = Json::array();
  EXPECT_THROW(write_folder(path, comparison), std::out_of_range);
  EXPECT_THROW(compare_text(comparison), std::out_of_range);
  EXPECT_EQ(folder.read("result.json"), before);
  EXPECT_EQ(folder.read("report.html"), page);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "compare.json"));
}

std::string refusal_to_write(const std::string& directory) {
  try {
    write_folder(directory, result_with("x"));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Folder, SaysWhatItCannotWrite) {
  const testing::TemporaryFolder folder;
  folder.write("file", "");
  const std::string below = (folder.path() / "file/out").string();
  EXPECT_EQ(refusal_to_write(below), "--out: cannot write " + below + ": Not a directory");
  folder.write("out/metrics.csv/a", "");
  const std::string taken = (folder.path() / "out").string();
  EXPECT_EQ(refusal_to_write(taken),
            "--out: cannot write " + taken + "/metrics.csv: Is a directory");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/metrics.csv.part"));
  EXPECT_THAT(refusal_to_write("/proc/none"), StartsWith("--out: cannot write /proc/none: "));
}

TEST(Folder, SaysWhatItCannotRead) {
  const testing::TemporaryFolder folder;
  const auto refusal = [&] {
    try {
      read_folder(folder.path().string());
    } catch (const ScenarioError& e) {
      return e.diagnostics().front();
    }
    return Diagnostic{};
  };
  EXPECT_EQ(refusal().message, "holds neither result.json nor compare.json");
  EXPECT_EQ(refusal().hint, "name a folder that --out wrote");
  folder.write("compare.json", R"({"schema_version": 2})");
  EXPECT_EQ(refusal().file, (folder.path() / "compare.json").string());
  EXPECT_EQ(refusal().pointer, "/schema_version");
  folder.write("compare.json", "{");
  EXPECT_THAT(refusal().message, HasSubstr("not valid JSON"));
}

TEST(Docs, MetricsAreATableRowEach) {
  const std::string text = metrics_markdown();
  for (const Metric& metric : metrics()) {
    const std::size_t at = text.find("\n| `" + std::string(metric.key) + "` | ");
    ASSERT_NE(at, std::string::npos) << metric.key;
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 5) << line;
    EXPECT_THAT(line, HasSubstr(metric.formula));
    EXPECT_THAT(line, HasSubstr("| " + std::string(metric.unit) + " |"));
  }
}

}  // namespace
}  // namespace trainyard
