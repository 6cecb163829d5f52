// Puts the rows of all shards together: CSV, SQLite, and the document that reports are made of.
#pragma once

#include "tools/sweep/store.hpp"
#include "tools/sweep/sweep.hpp"

namespace trainyard {

/// Writes sweep.csv and sweep.sqlite (docs/sweeps.md) into the folder, each whole or not at all,
/// and returns the document of the sweep, with its first 20,000 variants. Variants are in the order
/// of the sweep, whatever the order of the rows; one without a row is "missing". Of several rows of
/// a variant the last without the status "failed" counts. Throws UsageError when the folder cannot
/// be written.
Json merge_sweep(const Sweep& sweep, const SweepStore& store);

/// How many variants have each status, as merge_sweep() would count them; writes nothing.
Json count_variants(const Sweep& sweep, const SweepStore& store);

}  // namespace trainyard
