#include "sim/isolate.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "sim/error.hpp"
#include "sim/whole_file.hpp"

namespace trainyard {
namespace {

struct Child {
  pid_t pid = -1;
  int pipe = -1;
};

Json diagnostics_to_json(const ScenarioError& e) {
  Json all = Json::array();
  for (const Diagnostic& d : e.diagnostics()) {
    all.push_back(Json(Json::Array{Json(d.file), Json(d.pointer), Json(d.message), Json(d.hint)}));
  }
  return all;
}

Json outcome(const Task& task) {
  Json out = Json::object();
  try {
    out["result"] = task();
  } catch (const ScenarioError& e) {
    out["scenario"] = diagnostics_to_json(e);
    out["exit"] = Json(static_cast<int>(e.exit_code()));
  } catch (const DesignError& e) {
    out["design"] = Json(Json::Array{Json(e.pointer()), Json(e.what()), Json(e.hint())});
    out["exit"] = Json(static_cast<int>(e.exit_code()));
  } catch (const StuckError& e) {
    out["stuck"] = Json(e.what());
  } catch (const UsageError& e) {
    out["usage"] = Json(e.what());
  } catch (const std::bad_alloc&) {
    out["error"] = Json("out of memory");
  } catch (const std::exception& e) {
    out["error"] = Json(e.what());
  }
  return out;
}

Child start(const Task& task) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);  // or the child would write what is still buffered a second time
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(fmt::format("no child process: {}", std::strerror(errno)));
  if (pid == 0) {
    // A killed parent must not leave simulations behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
    close(ends[0]);
    write_all(ends[1], dump_json(outcome(task), -1));
    close(ends[1]);
    _exit(0);  // SimGrid's global destructors are not worth waiting for
  }
  close(ends[1]);
  return {pid, ends[0]};
}

std::string read_all(int fd) {
  std::string text;
  char block[1 << 14];
  while (true) {
    const ssize_t n = read(fd, block, sizeof block);
    if (n > 0) text.append(block, static_cast<std::size_t>(n));
    if (n == 0) return text;
    if (n < 0 && errno != EINTR) return text;
  }
}

Json rethrow_or_result(const std::string& text) {
  Json out = parse_json(text, "simulation result");
  const auto exit_code = [&] { return static_cast<ExitCode>(out.at("exit").as_integer()); };
  if (const Json* list = out.find("scenario")) {
    std::vector<Diagnostic> all;
    for (const Json& d : list->items()) {
      all.push_back({d.items()[0].as_string(), d.items()[1].as_string(), d.items()[2].as_string(),
                     d.items()[3].as_string()});
    }
    throw ScenarioError(std::move(all), exit_code());
  }
  if (const Json* d = out.find("design")) {
    throw DesignError(d->items()[0].as_string(), d->items()[1].as_string(),
                      d->items()[2].as_string(), exit_code());
  }
  if (const Json* e = out.find("stuck")) throw StuckError(e->as_string());
  if (const Json* e = out.find("usage")) throw UsageError(e->as_string());
  if (const Json* e = out.find("error")) throw std::runtime_error(e->as_string());
  return std::move(out["result"]);
}

TaskOutcome collect(const Child& child) {
  const std::string text = read_all(child.pipe);
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  TaskOutcome outcome;
  try {
    if (WIFSIGNALED(status)) {
      outcome.signal = WTERMSIG(status);
      throw std::runtime_error(fmt::format("the simulation process was killed by signal {} ({})",
                                           outcome.signal, strsignal(outcome.signal)));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text.empty())
      throw std::runtime_error("the simulation process ended without a result");
    outcome.result = rethrow_or_result(text);
  } catch (...) {
    outcome.error = std::current_exception();
  }
  return outcome;
}

struct Running {
  std::size_t task;
  Child child;
};

// Children that are left when the pool ends, by `stop` or by an exception, are killed.
struct Children {
  std::vector<Running> all;
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const Running& one : all) kill(one.child.pid, SIGKILL);
    for (const Running& one : all) collect(one.child);
  }
};

// A child says all it has to say at its end. Waits for the first that does; comes back without one
// now and then, to look at what signals did.
std::size_t first_to_speak(const std::vector<Running>& running) {
  std::vector<pollfd> ends;
  ends.reserve(running.size());
  for (const Running& one : running) ends.push_back({one.child.pipe, POLLIN, 0});
  constexpr int kPatience = 500;  // milliseconds
  if (poll(ends.data(), ends.size(), kPatience) <= 0) return running.size();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].revents != 0) return i;
  }
  return running.size();
}

}  // namespace

void run_pool(const std::function<Task()>& next, int jobs,
              const std::function<void(std::size_t, TaskOutcome)>& ended,
              const std::function<bool()>& stop) {
  const auto width =
      static_cast<std::size_t>(jobs > 0 ? jobs : std::max(1U, std::thread::hardware_concurrency()));
  Children children;
  std::vector<Running>& running = children.all;
  std::size_t started = 0;
  while (true) {
    while (running.size() < width && !stop()) {
      const Task task = next();
      if (!task) break;
      running.push_back({started++, start(task)});
    }
    if (running.empty() || stop()) break;
    const std::size_t first = first_to_speak(running);
    if (first == running.size()) continue;
    Running one = running[first];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(first));
    ended(one.task, collect(one.child));
  }
}

std::vector<Json> run_isolated(const std::vector<Task>& tasks, int jobs,
                               const std::function<void(std::size_t)>& progress) {
  std::vector<Json> results(tasks.size());
  std::vector<std::exception_ptr> errors(tasks.size());
  std::size_t started = 0, done = 0;
  run_pool([&] { return started < tasks.size() ? tasks[started++] : Task(); }, jobs,
           [&](std::size_t task, TaskOutcome outcome) {
             results[task] = std::move(outcome.result);
             errors[task] = outcome.error;
             ++done;
             if (progress) progress(done);
           });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return results;
}

}  // namespace trainyard
