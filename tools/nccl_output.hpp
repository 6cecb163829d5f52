// What nccl-tests printed, pasted into a file.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// A line of its table: the out-of-place half.
struct MeasuredRow {
  double bytes = 0;
  double time_s = 0;
  double busbw_bytes_per_s = 0;
};

/// Reads the table from the output of an nccl-tests program (all_reduce_perf …) of any version that
/// names its columns, whatever stands around it. Throws ScenarioError naming file and line for a
/// row that is broken, and for a file without rows.
std::vector<MeasuredRow> read_nccl_output(const std::string& path);

}  // namespace trainyard
