// Other programs: where they are, and what they say when they are run.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// The file that a program of this name is on PATH; empty when there is none.
std::string find_program(const std::string& name);

/// What became of a program.
struct ProgramResult {
  bool in_time = false;  ///< it ended by itself
  int exit_code = -1;    ///< -1: a signal, ours among them, ended it
  std::string out, err;  ///< the first MiB of each
};
/// Runs a program without a shell, in a folder if one is given, with nothing to read. Kills it
/// after so many seconds. Throws std::runtime_error when there can be no process.
ProgramResult run_program(std::vector<std::string> words, int seconds,
                          const std::string& directory = {});

}  // namespace trainyard
