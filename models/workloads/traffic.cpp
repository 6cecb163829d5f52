// Messages between GPUs, each a flow of its own: the patterns of network research, or a list.
//
// Without a list all messages begin at once. Sizes are equal, or log-uniform: ln(size) is uniform
// between ln(size) and ln(size_max), so that every power of two is as likely as the next.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sim/random.hpp"
#include "sim/workload.hpp"

namespace trainyard {
namespace {

/// Who sends to whom, by position among the job's GPUs.
struct Pair {
  std::size_t from, to;
};

/// What a pattern is drawn from; at least 2 GPUs, and a shift that leads to another one.
struct Shape {
  std::size_t gpus, messages, shift;
};

std::size_t below(std::size_t n, Random& random) {
  return std::min(n - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(n)));
}

// Uniform: any sender, any other receiver.
std::vector<Pair> random_pairs(const Shape& shape, Random& random) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < shape.messages; ++i) {
    const std::size_t from = below(shape.gpus, random), other = below(shape.gpus - 1, random);
    pairs.push_back({from, other < from ? other : other + 1});
  }
  return pairs;
}

// Uniform among the permutations that send nobody to itself: about e shuffles (Fisher, Yates) each.
std::vector<std::size_t> derangement(std::size_t n, Random& random) {
  std::vector<std::size_t> to(n);
  const auto fixed = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      if (to[i] == i) return true;
    }
    return false;
  };
  do {
    std::iota(to.begin(), to.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) std::swap(to[i - 1], to[below(i, random)]);
  } while (fixed());
  return to;
}

// Everyone sends to one other and receives from one; a new permutation for each round of GPUs.
std::vector<Pair> permutation_pairs(const Shape& shape, Random& random) {
  std::vector<Pair> pairs;
  std::vector<std::size_t> to;
  for (std::size_t i = 0; i < shape.messages; ++i) {
    const std::size_t from = i % shape.gpus;
    if (from == 0) to = derangement(shape.gpus, random);
    pairs.push_back({from, to[from]});
  }
  return pairs;
}

std::vector<Pair> shift_pairs(const Shape& shape, Random& /*random*/) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < shape.messages; ++i) {
    const std::size_t from = i % shape.gpus;
    pairs.push_back({from, (from + shape.shift) % shape.gpus});
  }
  return pairs;
}

// The others in turn to the first.
std::vector<Pair> incast_pairs(const Shape& shape, Random& /*random*/) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < shape.messages; ++i) pairs.push_back({1 + i % (shape.gpus - 1), 0});
  return pairs;
}

// All of them are in the list.
std::vector<Pair> no_pairs(const Shape& /*shape*/, Random& /*random*/) { return {}; }

struct Pattern {
  std::string_view name;
  std::vector<Pair> (*pairs)(const Shape&, Random&);
  std::size_t silent;  ///< GPUs that only receive
};
constexpr std::array kPatterns{
    Pattern{"random", random_pairs, 0}, Pattern{"permutation", permutation_pairs, 0},
    Pattern{"shift", shift_pairs, 0},   Pattern{"incast", incast_pairs, 1},
    Pattern{"list", no_pairs, 0},
};

const Pattern& pattern_of(std::string_view name) {
  return *std::find_if(kPatterns.begin(), kPatterns.end(),
                       [&](const Pattern& p) { return p.name == name; });
}

std::vector<std::string_view> pattern_names() {
  std::vector<std::string_view> names;
  names.reserve(kPatterns.size());
  for (const Pattern& pattern : kPatterns) names.push_back(pattern.name);
  return names;
}

/// A message of the scenario's own.
struct ListedMessage {
  int from = 0, to = 0;  ///< GPUs of the job, from 0
  Bytes size;
  Seconds at;  ///< when it begins
  void fields(Archive& ar) {
    ar.required("from", from, "GPU of the job that sends, from 0", non_negative());
    ar.required("to", to, "GPU of the job that receives", non_negative());
    ar.required("size", size, "bytes", positive());
    ar("at", at, "when it begins", non_negative());
    ar.check(from != to, "to", "is the sender itself", "name another GPU");
  }
};

class Traffic : public Workload {
 public:
  void fields(Archive& ar) override {
    // An operation and, mostly, a path of its own each: some 10 GB of memory at the most.
    constexpr int kMostMessages = 10'000'000;
    ar.choice("pattern", pattern_, pattern_names(), "who sends to whom");
    ar("messages", messages_, "how many (0: one from each GPU that sends)",
       between(0, kMostMessages));
    ar("size", size_, "bytes of a message, or of the smallest", non_negative());
    ar("size_max", size_max_, "bytes of the largest, log-uniform (0: all equal)", non_negative());
    ar("shift", shift_, "shift: GPU i sends to i + shift", at_least(1));
    ar("seed", seed_, "seed of pairs and sizes (0: the engine's)", non_negative());
    ar("list", list_, "list: the messages");
    const bool listed = pattern_ == "list";
    ar.check(listed || size_ > Bytes(), "size", "is missing (bytes of a message)",
             R"(like "1 MiB")");
    ar.check(size_max_ == Bytes() || size_max_ >= size_, "size_max", "is less than size",
             "0, or at least size");
    ar.check(!listed || !list_.empty(), "list", "is an empty list",
             R"(like [{"from": 0, "to": 8, "size": "1 MiB"}])");
    ar.check(listed || list_.empty(), "list", "is only for the pattern \"list\"",
             "leave one of the two out");
  }

  void check(const Cluster&, std::size_t gpus) const override {
    if (gpus < 2) {
      throw DesignError("", "sends messages between GPUs, but the job has only 1",
                        "give the job more servers, or its servers more GPUs");
    }
    if (pattern_ == "shift" && static_cast<std::size_t>(shift_) % gpus == 0) {
      throw DesignError("/shift",
                        fmt::format("by {} among {} GPUs is from each to itself", shift_, gpus),
                        "no multiple of the GPUs");
    }
    for (std::size_t i = 0; i < list_.size(); ++i) {
      for (const auto& [name, gpu] : {std::pair{"from", list_[i].from}, {"to", list_[i].to}}) {
        if (static_cast<std::size_t>(gpu) < gpus) continue;
        throw DesignError(fmt::format("/list/{}/{}", i, name),
                          fmt::format("GPU {}, but the job has {} GPUs", gpu, gpus),
                          fmt::format("0 to {}", gpus - 1));
      }
    }
  }

  void lower(Lowering& lowering, std::span<const Rank> ranks) override {
    sends_.clear();
    Random random(seed_ > 0 ? static_cast<std::uint64_t>(seed_) : lowering.seed());
    const Pattern& pattern = pattern_of(pattern_);
    const std::size_t count =
        messages_ > 0 ? static_cast<std::size_t>(messages_) : ranks.size() - pattern.silent;
    const std::vector<Pair> pairs =
        pattern.pairs({ranks.size(), count, static_cast<std::size_t>(shift_)}, random);
    for (const Pair& pair : pairs)
      send(lowering, ranks[pair.from], ranks[pair.to], draw_size(random), Seconds());
    for (const ListedMessage& m : list_)
      send(lowering, ranks[static_cast<std::size_t>(m.from)], ranks[static_cast<std::size_t>(m.to)],
           m.size, m.at);
  }

  Json measure(const Lowering& lowering, const Timeline& timeline) const override {
    const OpGraph& graph = lowering.graph();
    const Capacities capacities = lowering.routes().capacities();
    std::vector<double> times;
    double end = 0, bytes = 0, sum = 0, slowdowns = 0;
    for (const OpId op : sends_) {
      const double time = timeline.finish(op) - timeline.start(op);
      const FlowPath& path = graph.path(op);
      const double alone = path.latency.si() + graph.work(op) / idle_rate(path, capacities);
      times.push_back(time);
      sum += time;
      slowdowns += time / alone;
      bytes += graph.work(op);
      end = std::max(end, timeline.finish(op));
    }
    std::sort(times.begin(), times.end());
    const auto count = static_cast<double>(times.size());
    Json out = Json::object();
    out["traffic_messages"] = Json(times.size());
    out["traffic_bytes"] = Json(bytes);
    out["traffic_time_s"] = Json(end);
    out["traffic_goodput_bytes_per_s"] = Json(bytes / end);
    out["fct_mean_s"] = Json(sum / count);
    out["fct_p50_s"] = Json(percentile(times, 50));
    out["fct_p99_s"] = Json(percentile(times, 99));
    out["fct_max_s"] = Json(times.back());
    out["fct_slowdown_mean"] = Json(slowdowns / count);
    return out;
  }

 private:
  Bytes draw_size(Random& random) const {
    return size_max_ > size_ ? size_ * std::pow(size_max_ / size_, random.uniform()) : size_;
  }

  void send(Lowering& lowering, Rank from, Rank to, Bytes bytes, Seconds at) {
    OpGraph& graph = lowering.graph();
    const auto number = static_cast<std::uint32_t>(sends_.size());
    OpId wait;
    if (at > Seconds())
      wait = graph.add_delay(from, at, OpRole::kOther, graph.label("wait to send"), number);
    sends_.push_back(lowering.send(from, to, bytes, OpRole::kCollective, "message", number));
    graph.add_edge(wait, sends_.back());
  }

  // Nearest rank: the least time that so many percent of the (sorted) times do not exceed.
  static double percentile(const std::vector<double>& times, std::size_t percent) {
    return times[(times.size() * percent + 99) / 100 - 1];
  }

  std::string pattern_ = "random";
  int messages_ = 0, shift_ = 1;
  std::int64_t seed_ = 0;
  Bytes size_, size_max_;
  std::vector<ListedMessage> list_;
  std::vector<OpId> sends_;
};

const Registration<Workload, Traffic> registered{
    "traffic", "messages between GPUs: random, permutation, shift, incast, or a list"};

}  // namespace
}  // namespace trainyard
