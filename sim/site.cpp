#include "sim/site.hpp"

namespace trainyard {

void Appliance::fields(Archive& ar) {
  ar.choice("load", load, {"servers", "network", "checkpoint", "data"},
            "what sizes it: servers, or the traffic of all of them");
  ar("share", share, "share of that load that passes through it", between(0, 1));
  ar("servers", servers, "servers that one appliance serves", positive());
  ar("rate", rate, "traffic that one appliance carries", non_negative());
  ar("power", power, "electric power of one", non_negative());
  ar("price_usd", price_usd, "price of one", non_negative());
  ar.check(load == "servers" || rate > BytesPerSecond(), "rate",
           "is missing, and the appliance is sized by traffic",
           "what one carries, like \"100 Gb/s\"");
}

void Site::fields(Archive& ar) {
  ar("pue", pue, "power at the meter / power of the equipment", at_least(1));
  ar.required("usd_per_kwh", usd_per_kwh, "price of electricity, like 0.1", non_negative());
  ar("years", years, "years over which capital is written off", positive());
  ar("utilization", utilization, "share of those years in which jobs run", efficiency());
  ar("operations_per_year", operations_per_year,
     "staff, space and maintenance a year, as a share of capital", non_negative());
}

void Reliability::fields(Archive& ar) {
  ar("failures_per_gpu_day", failures_per_gpu_day, "failures that stop a job, per GPU and day",
     non_negative());
  ar("detection", detection, "time until a failure is noticed", non_negative());
  ar("repair", repair, "time until other servers run the job again, without loading",
     non_negative());
  ar("stalls_per_day", stalls_per_day, "times a day that storage brings nothing", non_negative());
  ar("stall", stall, "how long each time", non_negative());
  ar.check((stalls_per_day > 0) == (stall > Seconds()), "stall",
           "and stalls_per_day do nothing without each other", "give both or neither");
}

}  // namespace trainyard
