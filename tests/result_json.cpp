// Prints result.json of a scenario, for builds without the command line: tools/check.sh compares
// what a sanitized build finds with what the release build does.
//
//   result_json SCENARIO [PATH=VALUE…]
#include <cstdio>

#include "sim/run.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  trainyard::LoadOptions options;
  options.sets.assign(argv + 2, argv + argc);
  trainyard::LoadedScenario loaded = trainyard::load_scenario(argv[1], options);
  std::fputs(trainyard::dump_json(trainyard::run_scenario(loaded)).c_str(), stdout);
  return 0;
}
