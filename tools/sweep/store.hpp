// Where the rows of a sweep are kept: append-only JSON Lines, a file per shard, in one folder.
//
// A row counts once its line is whole: what a killed writer left unfinished is cut off by the next
// one and overlooked by readers. Nobody rewrites a line, so that a folder can be read at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// A letter, a digit, or one of . _ -: what needs no quotes anywhere.
bool is_plain(char c);

/// What a row can say of its variant.
constexpr const char* kRowStatuses[] = {"ok", "excluded", "infeasible", "invalid", "failed"};

/// Which part of the variants a process runs: those whose id falls to it.
struct Shard {
  int index = 0;
  int count = 1;
  /// Where several processes may be at one shard, a name for each. Their rows are in files of their
  /// own, so that one which was given up for dead and lives on harms nobody. Empty: only one is.
  std::string attempt;
  /// Whether the variant with this id is its.
  bool has(const std::string& id) const;
};
/// Reads "3/16" (the fourth of sixteen). Throws UsageError.
Shard parse_shard(const std::string& text);
/// Returns the name of an attempt as it is. Throws UsageError for one that a file cannot have.
std::string parse_attempt(const std::string& text);

/// A lock on a file that only the process holds, not its children; gone when the process is, even
/// on a network file system that does locks.
class FileLock {
 public:
  /// Makes the file. Throws UsageError when it cannot be written.
  explicit FileLock(std::string path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();
  /// Several may hold it shared, one exclusively. Keeps what it holds, and returns false, when
  /// another process is in the way.
  bool try_shared();
  bool try_exclusive();
  void release();
  /// Whether another process holds the lock at a path in any way. Needs to read the file only.
  static bool held_elsewhere(const std::string& path);

 private:
  bool lock(short type);
  std::string path_;
  int file_ = -1;
};

/// The folder of a sweep.
class SweepStore {
 public:
  explicit SweepStore(std::string directory);
  const std::string& directory() const { return directory_; }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  /// What sweep.json holds; null where there is none. Throws ScenarioError when it is unreadable.
  Json manifest() const;
  /// Holds the folder for a sweep of this manifest, with others of the same one, for as long as the
  /// store lives. Writes the manifest where there is none or another; with `restart`, removes all
  /// rows first. Throws UsageError when a process is running another sweep there, or the folder
  /// cannot be written.
  void hold(const Json& manifest, bool restart);

  /// Every row of every shard, shards by name, lines in order. Throws ScenarioError for a line that
  /// is whole and no row.
  void each_row(const std::function<void(Json row)>& body) const;
  /// A shard that has been begun.
  struct ShardState {
    std::string name;  ///< "0000-of-0004", and ".ATTEMPT" if it has a name
    std::int64_t rows = 0;
    bool running = false;  ///< a process is writing it, as far as locks tell from here
  };
  std::vector<ShardState> shards() const;

 private:
  std::string directory_;
  std::unique_ptr<FileLock> lock_;
};

/// Appends the rows of one shard. Only one process at a time may: the constructor throws UsageError
/// when another does.
class ShardWriter {
 public:
  ShardWriter(const SweepStore& store, const Shard& shard);
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ~ShardWriter();
  /// Throws UsageError naming the file and the reason when it cannot be written to; what was
  /// written before stays.
  void append(const Json& row);

 private:
  [[noreturn]] void fail(int error);
  std::string path_;
  FileLock lock_;
  int file_ = -1;
  long synced_ = 0;  ///< when the rows were last forced onto the disk, in seconds
};

/// Writes a file of the folder whole or not at all. Throws UsageError.
void write_table(const std::string& path, const std::string& text);

}  // namespace trainyard
