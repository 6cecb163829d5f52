#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "sim/spelling.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

// A starting point that runs as it is and shows where to go on.
constexpr std::string_view kTemplate = R"({{
  "name": "my-cluster",
  "description": "written by trainyard init; every field is explained by trainyard schema",
  "cluster": {{
    "servers": {servers},
    "server": "{server}",
    "network": {{
      "kind": "fat-tree",
      "switch": "{device}",
      "tiers": {tiers},
      "rails": 8,
      "link_latency": "50 ns"
    }},
    "transport": "rdma",
    "gpudirect": true,
    "collectives": "nccl-a100",
    "services": {{
      "launch": "launch-threads",
      "proxies": "proxy-threads",
      "network-daemons": "network-daemons",
      "initiator": "nvme-tcp-initiator",
      "telemetry": "telemetry"
    }},
    "storage": {{"base": "nvmeof-flash", "targets": {targets}}},
    "appliances": {{"management-servers": "management-server"}},
    "reliability": "llama3",
    "site": "colocation"
  }},
  "jobs": [
    {{
      "name": "training",
      "workload": {{
        "kind": "gpt",
        "model": "{model}",
        "tensor": 8,
        "pipeline": {pipeline},
        "global_batch": {batch},
        "micro_batch": 1,
        "sequence_parallel": true,
        "recompute": "selective"
      }},
      "training": {{
        "tokens": 3e11,
        "data": {{"sample": "8 KiB"}},
        "checkpoint": {{"bytes_per_parameter": 14}}
      }}
    }}
  ],
  "probes": {{"allreduce": {{"operation": "all_reduce", "bytes": "1 GiB"}}}}
}}
)";

struct Preset {
  int servers, tiers, pipeline, batch;
  std::string_view server, device, model;
};

const std::map<std::string_view, Preset>& presets() {
  static const std::map<std::string_view, Preset> all{
      {"gpt3-175b@dgx-a100", {128, 3, 8, 1536, "dgx-a100", "qm8700", "gpt3-175b"}},
      {"gpt3-175b@dgx-h100", {64, 2, 8, 1024, "dgx-h100", "qm9700", "gpt3-175b"}},
      {"megatron-22b@dgx-a100", {4, 2, 2, 256, "dgx-a100", "qm8700", "megatron-22b"}},
  };
  return all;
}

}  // namespace

ExitCode init_command(const std::string& file, const std::string& preset) {
  const auto it = presets().find(preset);
  if (it == presets().end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : presets()) names.push_back(name);
    throw UsageError(
        fmt::format("init: there is no preset \"{}\" ({})", preset, suggest(preset, names)));
  }
  const Preset& p = it->second;
  const std::string text =
      fmt::format(kTemplate, fmt::arg("servers", p.servers), fmt::arg("server", p.server),
                  fmt::arg("device", p.device), fmt::arg("tiers", p.tiers),
                  fmt::arg("model", p.model), fmt::arg("pipeline", p.pipeline),
                  fmt::arg("batch", p.batch), fmt::arg("targets", std::max(2, p.servers / 16)));
  if (file == "-") {
    print(text);
    return ExitCode::kOk;
  }
  // O_EXCL: an existing scenario is never overwritten.
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    throw UsageError(errno == EEXIST
                         ? fmt::format("init: {} exists already (name another file)", file)
                         : fmt::format("init: cannot write {}: {}", file, std::strerror(errno)));
  }
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(fd) != 0 || !whole)
    throw UsageError(fmt::format("init: cannot write {}: {}", file, std::strerror(errno)));
  print(fmt::format("wrote {}; next: trainyard run {}\n", file, file));
  return ExitCode::kOk;
}

}  // namespace trainyard
