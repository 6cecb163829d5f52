// Operations that wait for themselves: found, and freed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sim/trace.hpp"

namespace trainyard {

/// Drops needs until no operation waits for itself, one of each circle that is found: a control
/// need where the circle has one, since data needs say what is used, and of those the one of the
/// least operation. `report` gets the operation that is freed, and the circle. Time is linear in
/// the needs.
void break_cycles(
    TraceProgram& program,
    const std::function<void(std::uint32_t freed, std::span<const std::uint32_t> circle)>& report);

}  // namespace trainyard
