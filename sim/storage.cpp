#include "sim/storage.hpp"

namespace trainyard {

void Drive::fields(Archive& ar) {
  ar.required("read", read, "sequential read rate", positive());
  ar.required("write", write, "sequential write rate", positive());
  ar.required("capacity", capacity, "capacity", positive());
  ar("power", power, "electric power");
  ar("price_usd", price_usd, "price", non_negative());
}

void StorageTarget::fields(Archive& ar) {
  ar.required("drives", drives, "drives per target", at_least(1));
  ar.required("drive", drive, "the drive");
  ar.required("network", network, "rate of all its ports together, per direction", positive());
  ar("power", power, "electric power without its drives");
  ar("price_usd", price_usd, "price without its drives", non_negative());
}

void Storage::fields(Archive& ar) {
  ar.required("targets", targets, "targets (servers of drives)", at_least(1));
  ar.required("target", target, "the target");
  ar("efficiency", efficiency, "share of the drives' rate that files see", trainyard::efficiency());
  ar("usable", usable, "share of the drives' capacity after redundancy", trainyard::efficiency());
  ar("read_limit", read_limit, "most that the file system reads (0: no limit)", non_negative());
  ar("write_limit", write_limit, "most that the file system writes (0: no limit)", non_negative());
  ar("node_read_limit", node_read_limit, "most that one server reads (0: no limit)",
     non_negative());
  ar("node_write_limit", node_write_limit, "most that one server writes (0: no limit)",
     non_negative());
  ar.choice("network", network, {"own", "fabric"},
            "storage ports of their own, or the NICs and network of the GPUs");
}

}  // namespace trainyard
