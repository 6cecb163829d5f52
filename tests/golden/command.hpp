// Runs the trainyard command over files of its own and keeps what it said.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainyard::testing {

/// What a run of the command came to.
struct CommandResult {
  int exit_code = -1;  ///< -1: died by a signal (the alarm, for one)
  std::string out, err;
  double seconds = 0;
  long peak_kib = 0;  ///< largest resident set
};

/// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

/// Runs the command in the folder, so that messages name files as the test wrote them.
inline CommandResult run_command_in(const char* command, const TemporaryFolder& folder,
                                    std::vector<std::string> arguments) {
  constexpr unsigned kPatience = 60;  // seconds; an alarm survives exec
  const TemporaryFolder streams;
  const std::string out = (streams.path() / "out").string(),
                    err = (streams.path() / "err").string();
  arguments.insert(arguments.begin(), command);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    ::alarm(kPatience);
    const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (::chdir(folder.path().c_str()) == 0 && ::dup2(to_out, 1) == 1 && ::dup2(to_err, 2) == 2)
      ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  int status = 0;
  struct rusage usage {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  CommandResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.peak_kib = usage.ru_maxrss;
  result.out = streams.read("out");
  result.err = streams.read("err");
  return result;
}

}  // namespace trainyard::testing
