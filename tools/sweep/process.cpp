#include "tools/sweep/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace trainyard {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
    read_end = ends[0];
    write_end = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(read_end);
    if (write_end >= 0) close(write_end);
  }
  void close_write_end() {
    close(write_end);
    write_end = -1;
  }
};

[[noreturn]] void become(std::vector<char*>& words, const char* directory, const Pipe& out,
                         const Pipe& err) {
  constexpr int kCannot = 127;
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) std::signal(number, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY);
  if ((*directory != '\0' && chdir(directory) != 0) || dup2(nothing, STDIN_FILENO) < 0 ||
      dup2(out.write_end, STDOUT_FILENO) < 0 || dup2(err.write_end, STDERR_FILENO) < 0)
    _exit(kCannot);
  execv(words.front(), words.data());
  _exit(kCannot);
}

// False at the end of the stream.
bool read_some(int file, std::string& text) {
  constexpr std::size_t kMost = 1 << 20;
  char block[1 << 12];
  const ssize_t n = read(file, block, sizeof block);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  text.append(block, std::min(static_cast<std::size_t>(n), kMost - text.size()));
  return n > 0;
}

// Reads both to their ends; false when the time is over before.
bool read_both(const Pipe& out, const Pipe& err, Clock::time_point end, ProgramResult& result) {
  pollfd ends[] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
  std::string* texts[] = {&result.out, &result.err};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    poll(ends, 2, static_cast<int>(left));
    for (int i = 0; i < 2; ++i) {
      if (ends[i].revents != 0 && !read_some(ends[i].fd, *texts[i])) ends[i].fd = -1;
      ends[i].revents = 0;
    }
  }
  return true;
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string file = rest.substr(0, colon) + "/" + name;
    rest.erase(0, colon + 1);
    std::error_code code;
    if (file.front() == '/' && std::filesystem::is_regular_file(file, code) &&
        access(file.c_str(), X_OK) == 0)
      return file;
  }
  return {};
}

ProgramResult run_program(std::vector<std::string> words, int seconds,
                          const std::string& directory) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Pipe out, err;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error(fmt::format("no child process: {}", std::strerror(errno)));
  if (child == 0) become(pointers, directory.c_str(), out, err);
  out.close_write_end();
  err.close_write_end();
  ProgramResult result;
  result.in_time = read_both(out, err, Clock::now() + std::chrono::seconds(seconds), result);
  if (!result.in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace trainyard
