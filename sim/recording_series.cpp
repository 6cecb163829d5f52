// Utilization over time in a recording.
//
// Each flow's bytes are spread evenly from its start to its end. The network moved them in other
// proportions where the flow's rate changed, so a bin can come out above its capacity: what is too
// much there goes to the nearest bins with room, and what was carried in all stays as it is.
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/recording_parts.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kBins = 240;

struct ColumnName {
  const char *key, *title, *resource;
};
enum Column : std::size_t {
  kGpu,
  kNvLink,
  kNicOut,
  kNicIn,
  kFabric,
  kHostCpu,
  kHostMemory,
  kDpuCpu,
  kStorageRead,
  kStorageWrite,
  kColumns
};
constexpr std::array<ColumnName, kColumns> kNames{{
    {"gpu", "GPU kernels", "GPU"},
    {"nvlink", "NVLink", "NVLink"},
    {"nic_out", "NICs, sending", "NIC"},
    {"nic_in", "NICs, receiving", "NIC"},
    {"fabric", "links of the fabric", "link"},
    {"host_cpu_network", "host cores, for bytes", "host core"},
    {"host_memory", "host memory", "host memory"},
    {"dpu_cpu", "DPU cores, for bytes", "DPU core"},
    {"storage_read", "storage, reading", "storage"},
    {"storage_write", "storage, writing", "storage"},
}};

using PerColumn = std::array<double, kColumns>;

/// Adds an amount over a stretch of time to equal bins.
class Bins {
 public:
  explicit Bins(double end) : width_(end / static_cast<double>(kBins)) {}
  double width() const { return width_; }

  /// Calls body(bin, share of the stretch in it).
  template <class Body>
  void spread(double start, double finish, Body&& body) const {
    const std::size_t first = bin_of(start), last = bin_of(finish);
    if (first == last || finish <= start) return body(first, 1.0);
    for (std::size_t b = first; b <= last; ++b) {
      const double from = std::max(start, width_ * static_cast<double>(b));
      const double to = b == last ? finish : width_ * static_cast<double>(b + 1);
      if (to > from) body(b, (to - from) / (finish - start));
    }
  }

 private:
  std::size_t bin_of(double date) const {
    return width_ > 0 ? std::min(kBins - 1, static_cast<std::size_t>(date / width_)) : 0;
  }
  double width_;
};

class SeriesRecorder {
 public:
  explicit SeriesRecorder(const Recorded& run) : run_(run), bins_(run.timeline.end()) {
    for (auto& column : sums_) column.assign(kBins, 0);
    add_servers();
    add_fabric();
    add_storage();
  }

  Json record() {
    add_kernels();
    add_flows();
    Json out = Json::object();
    out["bin_s"] = Json(bins_.width());
    out["bins"] = Json(kBins);
    Json columns = Json::array();
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (capacity_[c] > 0) columns.push_back(column_json(c));
    }
    out["columns"] = std::move(columns);
    return out;
  }

 private:
  /// Counts a resource into a column; what it carried may be listed under another.
  void add(Column column, ResourceId id) {
    if (!id.valid()) return;
    capacity_[column] += run_.topology.capacity_of(id);
    if (PerColumn* weights = weights_of(run_.stand_in(id))) (*weights)[column] += run_.rails_of(id);
  }
  /// Of a resource that carried anything; otherwise null.
  PerColumn* weights_of(ResourceId id) {
    const std::vector<Share>& carried = run_.timeline.carried();
    if (weights_.empty()) weights_.resize(carried.size());
    const auto it = std::lower_bound(carried.begin(), carried.end(), id,
                                     [](const Share& s, ResourceId r) { return s.resource < r; });
    if (it == carried.end() || it->resource != id) return nullptr;
    return &weights_[static_cast<std::size_t>(it - carried.begin())];
  }

  void add_servers() {
    const Topology& t = run_.topology;
    const auto gpus = static_cast<std::size_t>(t.gpus_per_server());
    for (std::size_t s = 0; s < static_cast<std::size_t>(t.servers()); ++s) {
      const ServerId server(s);
      if (run_.ranks[s * gpus].job == RecordedRank::kNoJob) continue;
      for (std::size_t g = 0; g < gpus; ++g) {
        all_gpus_ += 1;
        if (gpus == 1) continue;
        add(kNvLink, t.nvlink_out(Rank(s * gpus + g)));
        add(kNvLink, t.nvlink_in(Rank(s * gpus + g)));
      }
      for (int n = 0; n < t.nics_per_server(); ++n) {
        add(kNicOut, t.port_out(server, n));
        add(kNicIn, t.port_in(server, n));
      }
      add(kHostCpu, t.network_cores(server));
      add(kHostMemory, t.host_memory(server));
      add(kDpuCpu, t.dpu_cores(server));
    }
  }

  // Without links between switches the NICs say it all.
  void add_fabric() {
    const Topology& t = run_.topology;
    const auto nics =
        static_cast<std::size_t>(t.servers()) * static_cast<std::size_t>(t.nics_per_server());
    if (t.fabric_links() <= nics) return;
    t.each_resource([&](ResourceId id, const ResourceTraits& traits) {
      if (traits.kind == ResourceKind::kLink) add(kFabric, id);
    });
  }

  // Every byte takes the drives and the targets' ports: the narrower of the two is the capacity.
  void add_storage() {
    const StorageResources* storage = run_.topology.storage();
    if (storage == nullptr) return;
    add(kStorageRead, storage->drives_read);
    add(kStorageWrite, storage->drives_write);
    const auto narrow = [&](Column column, ResourceId ports) {
      capacity_[column] = std::min(capacity_[column], run_.topology.capacity_of(ports));
    };
    narrow(kStorageRead, storage->targets_out);
    narrow(kStorageWrite, storage->targets_in);
  }

  void add_kernels() {
    for (std::size_t i = 0; i < run_.graph.size(); ++i) {
      const OpId op(i);
      if (run_.graph.kind(op) != OpKind::kCompute) continue;
      capacity_[kGpu] = all_gpus_;
      const double gpus = run_.ranks[run_.graph.rank(op).index()].stands_for;
      for (std::uint32_t k = 0; k < run_.timeline.iterations(op); ++k) {
        const std::size_t record = run_.timeline.record(op, k);
        const double start = run_.timeline.start(record), finish = run_.timeline.finish(record);
        bins_.spread(start, finish, [&](std::size_t bin, double share) {
          sums_[kGpu][bin] += gpus * (finish - start) * share;
        });
      }
    }
  }

  void add_flows() {
    std::vector<PerColumn> by_path(run_.graph.paths());
    std::vector<std::uint8_t> known(by_path.size());
    for (std::size_t i = 0; i < run_.graph.size(); ++i) {
      const OpId op(i);
      if (run_.graph.kind(op) != OpKind::kFlow) continue;
      const std::size_t path = run_.graph.path_id(op).index();
      if (known[path] == 0) {
        for (const Share& share : run_.graph.path(op).shares) add_share(share, by_path[path]);
        known[path] = 1;
      }
      add_flow(op, by_path[path]);
    }
  }

  void add_share(const Share& share, PerColumn& sum) {
    const PerColumn* weights = weights_of(share.resource);
    if (weights == nullptr) return;
    for (std::size_t c = 0; c < kColumns; ++c) sum[c] += share.weight * (*weights)[c];
  }

  // Where iterations were left out, those that were simulated carry the bytes of all, in proportion
  // to the time for which they stand.
  void add_flow(OpId op, const PerColumn& weights) {
    const double bytes = run_.graph.work(op);
    const std::uint32_t count = run_.timeline.iterations(op);
    const bool whole = count == run_.graph.iterations(op);
    double seconds = 0;
    for (std::uint32_t k = 0; k < count && !whole; ++k) seconds += length(op, k);
    for (std::uint32_t k = 0; k < count; ++k) {
      const double part = whole ? bytes
                          : seconds > 0
                              ? bytes * run_.graph.iterations(op) * length(op, k) / seconds
                              : bytes * run_.graph.iterations(op) / count;
      const std::size_t record = run_.timeline.record(op, k);
      bins_.spread(run_.timeline.start(record), run_.timeline.finish(record),
                   [&](std::size_t bin, double share) {
                     for (std::size_t c = 0; c < kColumns; ++c)
                       if (weights[c] > 0) sums_[c][bin] += part * share * weights[c];
                   });
    }
  }
  double length(OpId op, std::uint32_t iteration) const {
    const std::size_t record = run_.timeline.record(op, iteration);
    return run_.timeline.finish(record) - run_.timeline.start(record);
  }

  Json column_json(std::size_t c) {
    std::vector<double>& values = sums_[c];
    for (double& v : values) v = bins_.width() > 0 ? v / (capacity_[c] * bins_.width()) : 0;
    level(values);
    Json column = Json::object();
    column["key"] = Json(kNames[c].key);
    column["title"] = Json(kNames[c].title);
    column["resource"] = Json(kNames[c].resource);
    column["unit"] = Json("1");
    column["values"] = Json::array();
    for (const double v : values) column["values"].push_back(Json(v));
    return column;
  }

  static void level(std::vector<double>& values) {
    for (std::size_t b = 0; b < values.size(); ++b) {
      for (std::size_t distance = 1; values[b] > 1 && distance < values.size(); ++distance) {
        for (const std::size_t other : {b - distance, b + distance}) {
          if (values[b] <= 1 || other >= values.size() || values[other] >= 1) continue;
          const double moved = std::min(values[b] - 1, 1 - values[other]);
          values[b] -= moved;
          values[other] += moved;
        }
      }
    }
  }

  const Recorded& run_;
  Bins bins_;
  double all_gpus_ = 0;
  PerColumn capacity_{};
  std::vector<PerColumn> weights_;  ///< by place in what resources carried
  std::array<std::vector<double>, kColumns> sums_;
};

}  // namespace

Json record_series(const Recorded& run) { return SeriesRecorder(run).record(); }

}  // namespace trainyard
