#include "reports/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "reports/charts/embedded.hpp"
#include "reports/html_parts.hpp"
#include "sim/error.hpp"
#include "sim/sha256.hpp"

namespace trainyard {
namespace {

// RFC 4648, of the bytes that the hexadecimal digits spell.
std::string base64_of_hex(const std::string& hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  // Three hexadecimal digits are two of base 64; what is missing at the end counts as zero.
  for (std::size_t at = 0; at < hex.size(); at += 3) {
    std::string three = hex.substr(at, 3);
    three.resize(3, '0');
    const auto bits = static_cast<std::size_t>(std::stoi(three, nullptr, 16));
    text += kDigits[bits >> 6];
    if (at + 1 < hex.size()) text += kDigits[bits & 63];
  }
  text.resize((text.size() + 3) / 4 * 4, '=');
  return text;
}

std::string_view embedded(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) return file.text;
  }
  throw std::logic_error(fmt::format("{} is no part of the program", name));
}

// What every page runs: shared functions first, then the charts, then the start.
std::string own_script() {
  constexpr std::string_view kFirst[] = {"page.js", "format.js", "sweep.js"};
  std::string script = "'use strict';\n";
  for (const std::string_view name : kFirst) script += embedded(embedded_page_parts(), name);
  for (const EmbeddedFile& file : embedded_page_parts()) {
    const bool first =
        std::find(std::begin(kFirst), std::end(kFirst), file.name) != std::end(kFirst);
    if (file.name.ends_with(".js") && !first) script += file.text;
  }
  return script + "trainyard.start();\n";
}

std::string script_element(std::string_view code) {
  return fmt::format("<script>{}</script>\n", code);
}

std::string source_of(std::string_view code) {
  return "'sha256-" + base64_of_hex(sha256_hex(code)) + "'";
}

// What the licences of the chart library ask to go with it.
std::string notices() {
  std::string text;
  for (const EmbeddedFile& file : embedded_chart_library()) {
    if (!file.name.ends_with(".js")) text += std::string(file.text) + "\n\n";
  }
  return details("Licences of the chart library", "<pre>" + escape(text) + "</pre>\n");
}

std::string frame(const std::string& policy, const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} – trainyard</title>\n<style>\n{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      policy, escape(title), embedded(embedded_page_parts(), "page.css"), body);
}

}  // namespace

std::string page(const std::string& title, const std::string& body) {
  const std::string_view library =
      embedded(embedded_chart_library(), "echarts/dist/echarts.min.js");
  const std::string own = own_script();
  const bool drawn = body.find("<figure") != std::string::npos;
  const std::string policy =
      "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'" +
      (drawn ? "; img-src data: blob:; script-src " + source_of(library) + " " + source_of(own)
             : std::string());
  return frame(policy, title,
               "<main>\n" + body +
                   "</main>\n<footer>\n<p>The numbers without rounding are in the CSV and JSON "
                   "files of this folder.</p>\n" +
                   (drawn ? notices() : std::string()) + "</footer>\n" +
                   (drawn ? script_element(library) + script_element(own) : std::string()));
}

}  // namespace trainyard
