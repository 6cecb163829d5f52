#include "sim/trace_cycles.hpp"

#include <algorithm>

namespace trainyard {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffffU;

// Takes what waits for nothing, over and over. When nothing is left to take, goes back along what
// is waited for until it comes to where it has been.
class Breaker {
 public:
  using Report = std::function<void(std::uint32_t, std::span<const std::uint32_t>)>;

  explicit Breaker(TraceProgram& program)
      : program_(program),
        missing_(program.ops.size()),
        look_at_(program.ops.size()),
        place_(program.ops.size(), kNowhere),
        done_(program.ops.size()),
        owner_(program.needs.size()),
        dropped_(program.needs.size()) {
    invert();
    for (std::uint32_t op = 0; op < missing_.size(); ++op) {
      if (missing_[op] == 0) ready_.push_back(op);
    }
  }

  void run(const Report& report) {
    take();
    for (std::uint32_t op = 0; op < done_.size(); ++op) {
      while (!done_[op]) {
        if (path_.empty()) step_to(op);
        free_circle(report);
        take();
        while (!path_.empty() && done_[path_.back()]) step_back();
      }
    }
    remove_dropped();
  }

 private:
  // Who waits for whom, the other way round.
  void invert() {
    first_after_.resize(program_.ops.size() + 1);
    for (std::uint32_t op = 0; op < missing_.size(); ++op) {
      const TraceOp& waits = program_.ops[op];
      missing_[op] = waits.needs;
      look_at_[op] = waits.first_need;
      for (std::uint32_t n = waits.first_need; n < waits.first_need + waits.needs; ++n) {
        owner_[n] = op;
        ++first_after_[program_.needs[n].op + 1];
      }
    }
    for (std::size_t i = 0; i < missing_.size(); ++i) first_after_[i + 1] += first_after_[i];
    after_.resize(first_after_.back());
    std::vector<std::uint32_t> fill(first_after_.begin(), first_after_.end() - 1);
    for (std::uint32_t op = 0; op < missing_.size(); ++op) {
      for (std::uint32_t n = look_at_[op]; n < look_at_[op] + missing_[op]; ++n)
        after_[fill[program_.needs[n].op]++] = n;
    }
  }

  void take() {
    while (!ready_.empty()) {
      const std::uint32_t op = ready_.back();
      ready_.pop_back();
      done_[op] = true;
      for (std::uint32_t i = first_after_[op]; i < first_after_[op + 1]; ++i) {
        if (!dropped_[after_[i]]) release(owner_[after_[i]]);
      }
    }
  }

  void release(std::uint32_t op) {
    if (--missing_[op] == 0) ready_.push_back(op);
  }

  void step_to(std::uint32_t op) {
    place_[op] = static_cast<std::uint32_t>(path_.size());
    path_.push_back(op);
  }

  void step_back() {
    place_[path_.back()] = kNowhere;
    path_.pop_back();
  }

  // The first need of an operation, which has one, that is neither met nor dropped.
  std::uint32_t open_need(std::uint32_t op) {
    std::uint32_t& n = look_at_[op];
    while (dropped_[n] || done_[program_.needs[n].op]) ++n;
    return n;
  }

  void free_circle(const Report& report) {
    std::uint32_t next = program_.needs[open_need(path_.back())].op;
    for (; place_[next] == kNowhere; next = program_.needs[open_need(next)].op) step_to(next);
    const auto circle = std::span<const std::uint32_t>(path_).subspan(place_[next]);
    const std::uint32_t freed =
        *std::min_element(circle.begin(), circle.end(), [&](std::uint32_t a, std::uint32_t b) {
          return std::pair(!by_control(a), a) < std::pair(!by_control(b), b);
        });
    report(freed, circle);
    dropped_[open_need(freed)] = true;
    while (path_.back() != freed) step_back();
    release(freed);
  }

  bool by_control(std::uint32_t op) {
    return program_.needs[open_need(op)].kind == TraceNeed::Kind::kControl;
  }

  void remove_dropped() {
    for (TraceOp& op : program_.ops) {
      std::uint32_t kept = op.first_need;
      for (std::uint32_t n = op.first_need; n < op.first_need + op.needs; ++n) {
        if (!dropped_[n]) program_.needs[kept++] = program_.needs[n];
      }
      op.needs = kept - op.first_need;
    }
  }

  TraceProgram& program_;
  std::vector<std::uint32_t> missing_;  ///< needs that are not met, by operation
  std::vector<std::uint32_t> look_at_;  ///< where open_need() was last, by operation
  std::vector<std::uint32_t> place_;    ///< in path_, by operation
  std::vector<bool> done_;
  std::vector<std::uint32_t> owner_;                ///< who waits, by need
  std::vector<bool> dropped_;                       ///< by need
  std::vector<std::uint32_t> first_after_, after_;  ///< needs by what is waited for
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> path_;  ///< each waits for the next, by its open_need()
};

}  // namespace

void break_cycles(
    TraceProgram& program,
    const std::function<void(std::uint32_t, std::span<const std::uint32_t>)>& report) {
  Breaker(program).run(report);
}

}  // namespace trainyard
