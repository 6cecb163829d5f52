// Reductions in NVSwitch (NVLS): what a rank's links carry.
#pragma once

#include "models/collectives/streams.hpp"

namespace trainyard {

/// Why the servers of the group cannot reduce in NVSwitch, or an empty string.
std::string nvls_refuses(const Group& group, const CollectiveContext& context);

/// An all_reduce inside every server of the group: NVSwitch fetches the n parts of each rank's
/// share and sends it the sum, then copies the result to all, (n+1)/n of the buffer over each link
/// and direction. `reached`: share of NVLink's bandwidth in reductions.
std::vector<Stream> nvls_streams(const Group& group, const CollectiveContext& context,
                                 double reached);

}  // namespace trainyard
