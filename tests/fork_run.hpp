// Runs a piece of a test in a child process: SimGrid gives a process one engine, with one clock.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainyard::testing {

/// What the child came to.
struct ForkResult {
  std::vector<double> values;  ///< what the function returned, bit for bit
  std::string error;  ///< what() of what it threw, or how the child died; empty when it did not
};

namespace detail {

// The child's whole answer; stops quietly when the parent has gone.
inline void write_all(int file, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

inline std::string read_all(int file) {
  std::string all;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(file, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(n));
  }
}

/// The answer: one letter, 'v' for values or 'e' for an error, then the bytes.
[[noreturn]] inline void answer(int file, const std::function<std::vector<double>()>& function) {
  try {
    const std::vector<double> values = function();
    write_all(file, "v", 1);
    write_all(file, values.data(), values.size() * sizeof(double));
  } catch (const std::exception& error) {
    write_all(file, "e", 1);
    write_all(file, error.what(), std::string(error.what()).size());
  } catch (...) {
    write_all(file, "ean exception of an unknown type", 32);
  }
  ::_exit(0);  // no static destructors, no test listeners: those are the parent's
}

}  // namespace detail

/// Assertions inside `function` are lost: return what is to be checked and check it in the parent.
inline ForkResult fork_run(const std::function<std::vector<double>()>& function) {
  int files[2];
  if (::pipe(files) != 0) throw std::runtime_error("fork_run: no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork_run: no child");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is stopped leaves no simulation behind
    ::close(files[0]);
    detail::answer(files[1], function);
  }
  ::close(files[1]);
  const std::string bytes = detail::read_all(files[0]);
  ::close(files[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ForkResult result;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || bytes.empty()) {
    result.error = "the child died with status " + std::to_string(status);
  } else if (bytes[0] == 'e') {
    result.error = bytes.substr(1);
  } else {
    result.values.resize((bytes.size() - 1) / sizeof(double));
    bytes.copy(reinterpret_cast<char*>(result.values.data()), bytes.size() - 1, 1);
  }
  return result;
}

}  // namespace trainyard::testing
