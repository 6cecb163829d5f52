#include "tools/sweep/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "sim/error.hpp"
#include "sim/whole_file.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "sweep.json";

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw UsageError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

// The position after the last line that is whole.
off_t end_of_lines(int file) {
  constexpr off_t kBlock = 1 << 16;
  std::vector<char> block(kBlock);
  off_t end = lseek(file, 0, SEEK_END);
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - kBlock);
    const ssize_t n = pread(file, block.data(), static_cast<std::size_t>(end - begin), begin);
    if (n < 0) return -1;
    for (ssize_t i = n; i > 0; --i) {
      if (block[static_cast<std::size_t>(i) - 1] == '\n') return begin + i;
    }
    end = begin;
  }
  return 0;
}

std::vector<std::string> shard_files(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(directory, code)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("shard-") && name.ends_with(".jsonl"))
      names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string shard_name(const Shard& shard) {
  return fmt::format("{:04}-of-{:04}{}{}", shard.index, shard.count,
                     shard.attempt.empty() ? "" : ".", shard.attempt);
}

std::string lock_path(const SweepStore& store, const std::string& shard) {
  return store.path(".shard-" + shard + ".lock");
}

bool is_row(const Json& row) {
  for (const char* key : {"id", "status", "reason"}) {
    const Json* value = row.find(key);
    if (value == nullptr || !value->is_string()) return false;
  }
  const Json* metrics = row.find("metrics");
  if (metrics == nullptr || !metrics->is_object()) return false;
  const auto number = [](const Json::Member& metric) { return metric.second.is_number(); };
  return std::all_of(metrics->members().begin(), metrics->members().end(), number) &&
         std::any_of(std::begin(kRowStatuses), std::end(kRowStatuses),
                     [&](const char* status) { return row.at("status") == Json(status); });
}

}  // namespace

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool Shard::has(const std::string& id) const {
  constexpr std::size_t kDigits = 15;  // of the id, as a number
  std::uint64_t number = 0;
  std::from_chars(id.data(), id.data() + std::min(id.size(), kDigits), number, 16);
  return number % static_cast<std::uint64_t>(count) == static_cast<std::uint64_t>(index);
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const auto read = [&](std::string_view part, int& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size();
  };
  if (slash == std::string::npos || !read(std::string_view(text).substr(0, slash), shard.index) ||
      !read(std::string_view(text).substr(slash + 1), shard.count) || shard.index < 0 ||
      shard.count < 1 || shard.index >= shard.count) {
    throw UsageError(
        fmt::format("--shard \"{}\" is not i/n with i from 0 to n-1 (write --shard 0/4)", text));
  }
  return shard;
}

std::string parse_attempt(const std::string& text) {
  constexpr std::size_t kMost = 100;
  if (text.size() <= kMost && std::all_of(text.begin(), text.end(), is_plain)) return text;
  throw UsageError(fmt::format(
      "--attempt \"{}\" is not a name of at most {} letters, digits and . _ -", text, kMost));
}

FileLock::FileLock(std::string path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) cannot_write(path_, errno);
}

FileLock::~FileLock() { close(file_); }

bool FileLock::try_shared() { return lock(F_RDLCK); }
bool FileLock::try_exclusive() { return lock(F_WRLCK); }
void FileLock::release() { lock(F_UNLCK); }

bool FileLock::lock(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  if (fcntl(file_, F_SETLK, &lock) == 0) return true;
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) {
    throw UsageError(
        fmt::format("{}: this file system has no locks: {} (take an --out on one that has, or have "
                    "it mounted with them: Lustre with -o flock)",
                    path_, std::strerror(errno)));
  }
  if (errno != EACCES && errno != EAGAIN) cannot_write(path_, errno);
  return false;
}

bool FileLock::held_elsewhere(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  return held;
}

SweepStore::SweepStore(std::string directory) : directory_(std::move(directory)) {}

Json SweepStore::manifest() const {
  const std::string file = path(kManifest);
  std::error_code code;
  if (!fs::exists(file, code)) return {};
  try {
    return parse_json(read_text_file(file), file);
  } catch (const ScenarioError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    faults.front().hint = "take another --out, or begin anew in this one with --restart";
    throw ScenarioError(std::move(faults));
  }
}

void SweepStore::hold(const Json& manifest, bool restart) {
  std::error_code code;
  fs::create_directories(directory_, code);
  if (code) throw UsageError(fmt::format("cannot make {}: {}", directory_, code.message()));
  for (const char* other : {"result.json", "compare.json"}) {
    if (fs::exists(path(other), code) && !fs::exists(path(kManifest), code)) {
      throw UsageError(
          fmt::format("{}: holds the {} of a run, whose report would be lost (take another --out)",
                      directory_, other));
    }
  }
  lock_ = std::make_unique<FileLock>(path(".lock"));
  const auto busy = [&] {
    throw UsageError(
        fmt::format("{}: another process is running a sweep in this folder (wait for it, or take "
                    "another --out)",
                    directory_));
  };
  // Of several that begin the same sweep at once, one writes the manifest. The others find it.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (lock_->try_exclusive()) {
      if (restart) {
        for (const std::string& file : shard_files(directory_)) fs::remove(file, code);
      }
      if (restart || this->manifest() != manifest)
        write_table(path(kManifest), dump_json(manifest));
      if (lock_->try_shared()) return;
    } else if (!restart && lock_->try_shared() && this->manifest() == manifest) {
      return;
    }
    lock_->release();
    usleep(20'000);
  }
  busy();
}

void SweepStore::each_row(const std::function<void(Json)>& body) const {
  for (const std::string& file : shard_files(directory_)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw ScenarioError(Diagnostic{file, "", "cannot be read", "look at its permissions"});
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
      if (in.eof()) break;  // a line without an end is not written yet
      const auto refuse = [&](const std::string& why) {
        throw ScenarioError(
            Diagnostic{file, fmt::format("line {}", number), why,
                       "take the line out, and the same command simulates the variant again"});
      };
      Json row;
      try {
        row = parse_json(line, file);
      } catch (const ScenarioError& e) {
        refuse(fmt::format("is no row of a sweep: {}", e.diagnostics().front().message));
      }
      if (!is_row(row)) refuse("is no row of a sweep");
      body(std::move(row));
    }
  }
}

std::vector<SweepStore::ShardState> SweepStore::shards() const {
  std::vector<ShardState> all;
  for (const std::string& file : shard_files(directory_)) {
    ShardState state;
    state.name = fs::path(file).stem().string().substr(std::string_view("shard-").size());
    std::ifstream in(file, std::ios::binary);
    state.rows = std::count(std::istreambuf_iterator<char>(in), {}, '\n');
    state.running = FileLock::held_elsewhere(lock_path(*this, state.name));
    all.push_back(std::move(state));
  }
  return all;
}

ShardWriter::ShardWriter(const SweepStore& store, const Shard& shard)
    : path_(store.path("shard-" + shard_name(shard) + ".jsonl")),
      lock_(lock_path(store, shard_name(shard))) {
  if (!lock_.try_exclusive()) {
    throw UsageError(
        fmt::format("{}: another process is writing this shard (wait for it, or take another --out "
                    "or --shard)",
                    path_));
  }
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) cannot_write(path_, errno);
  const off_t end = end_of_lines(file_);
  if (end < 0 || ftruncate(file_, end) != 0 || lseek(file_, end, SEEK_SET) < 0) {
    const int error = errno;
    close(file_);
    cannot_write(path_, error);
  }
}

ShardWriter::~ShardWriter() {
  fdatasync(file_);
  close(file_);
}

void ShardWriter::append(const Json& row) {
  const off_t before = lseek(file_, 0, SEEK_CUR);
  if (const int error = write_all(file_, dump_json(row, -1) + "\n"); error != 0) {
    if (ftruncate(file_, before) != 0) cannot_write(path_, errno);
    fail(error);
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec != synced_ && fdatasync(file_) != 0) fail(errno);
  synced_ = now.tv_sec;
}

void ShardWriter::fail(int error) {
  throw UsageError(
      fmt::format("cannot write {}: {} (what was done stays; when there is room, the same command "
                  "goes on)",
                  path_, std::strerror(error)));
}

void write_table(const std::string& path, const std::string& text) {
  if (const std::string why = write_whole_file(path, text); !why.empty())
    throw UsageError(fmt::format("cannot write {}: {}", path, why));
}

}  // namespace trainyard
