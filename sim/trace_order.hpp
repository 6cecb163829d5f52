// In what order the operations of one rank run.
#pragma once

#include "sim/trace.hpp"

namespace trainyard {

/// Puts the operations into the order in which each comes after what it waits for, of those that
/// may come next the one with the least id. None may wait for itself.
void order_by_id(TraceProgram& program);

}  // namespace trainyard
