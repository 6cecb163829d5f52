// Prints the HTML report of a document in a JSON file: the browser tests' way to any page.
//
//   report_page FILE.json > page.html
#include <cstdio>
#include <exception>

#include "sim/report.hpp"

int main(int count, char** arguments) {
  using namespace trainyard;
  try {
    if (count != 2) throw std::runtime_error("usage: report_page FILE.json");
    const Json document = parse_json(read_text_file(arguments[1]), arguments[1]);
    const std::string page = Registry<Report>::of().make("html")->render(document);
    return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "report_page: %s\n", e.what());
    return 1;
  }
}
