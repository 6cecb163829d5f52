// What the tests of sweeps vary.
#pragma once

namespace trainyard::testing {

/// Two servers, one small all-reduce, and a feature that makes it slow: a few milliseconds a run.
constexpr const char* kTwoServers = R"({
  "name": "two servers",
  "cluster": {"servers": 2, "server": "dgx-a100", "transport": "rdma", "gpudirect": true,
              "network": {"kind": "fat-tree", "switch": "qm8700", "tiers": 2},
              "collectives": "nccl"},
  "features": {"slow": {"cluster": {"transport": "tcp", "gpudirect": false}}},
  "probes": {"allreduce": {"bytes": "1 MiB"}}
})";

}  // namespace trainyard::testing
