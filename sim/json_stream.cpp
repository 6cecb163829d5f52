#include "sim/json_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostLevels = 100;
// Up to so many members an object is searched for a key; beyond, twins are found at its end.
constexpr std::size_t kSearched = 24;

/// The bytes of the source one by one.
class Feed {
 public:
  explicit Feed(ByteSource& source) : source_(source) {}
  bool more() { return next_ != end_ || refill(); }
  char get() const { return *next_; }
  void advance() { ++next_; }
  std::uint64_t position() const { return before_ - static_cast<std::uint64_t>(end_ - next_); }
  /// What is measured against kLongestElement begins here.
  void mark() { mark_ = position(); }

 private:
  bool refill() {
    if (before_ - mark_ > kLongestElement)
      throw ScenarioError(
          Diagnostic{source_.name(), fmt::format("byte {}", mark_),
                     fmt::format("is an element longer than {} MiB", kLongestElement >> 20),
                     "is it the right file?"});
    const std::string_view piece = source_.next();
    next_ = piece.data();
    end_ = next_ + piece.size();
    before_ += piece.size();
    return !piece.empty();
  }
  ByteSource& source_;
  const char *next_ = nullptr, *end_ = nullptr;
  std::uint64_t before_ = 0;  ///< bytes up to end_
  std::uint64_t mark_ = 0;
};

/// What the parser wants of an input iterator.
class FeedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  explicit FeedIterator(Feed* feed = nullptr) : feed_(feed) {}
  char operator*() const { return feed_->get(); }
  FeedIterator& operator++() {
    feed_->advance();
    return *this;
  }
  /// Compared with the end only.
  bool operator==(const FeedIterator&) const { return !feed_->more(); }
  bool operator!=(const FeedIterator&) const { return feed_->more(); }

 private:
  Feed* feed_;
};

// Of members with one key the last stays.
void drop_twins(Json::Object& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return members[a].first < members[b].first;
  });
  std::vector<bool> dropped(members.size());
  bool any = false;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i - 1]].first != members[order[i]].first) continue;
    dropped[order[i - 1]] = true;
    any = true;
  }
  if (!any) return;
  Json::Object kept;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(members[i]));
  }
  members = std::move(kept);
}

/// Builds one element or member at a time and gives it away.
class Streamer : public nlohmann::json_sax<nlohmann::json> {
 public:
  Streamer(Feed& feed, std::string_view list, const JsonElement& element, const JsonMember& member)
      : feed_(feed), list_(list), element_(element), member_(member) {}
  StreamedJson seen;
  std::string fault, hint;
  std::uint64_t where = 0;

  bool null() override { return put(Json()); }
  bool boolean(bool v) override { return put(Json(v)); }
  bool number_integer(number_integer_t v) override { return put(Json(std::int64_t{v})); }
  bool number_unsigned(number_unsigned_t v) override {
    constexpr auto kMax = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return put(v <= kMax ? Json(static_cast<std::int64_t>(v)) : Json(static_cast<double>(v)));
  }
  bool number_float(number_float_t v, const string_t& /*text*/) override { return put(Json(v)); }
  bool string(string_t& v) override { return put(Json(std::move(v))); }
  bool binary(binary_t& /*v*/) override { return false; }
  bool start_object(std::size_t /*n*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*n*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (stack_.empty() && skipped_ == 0) {
      feed_.mark();
      of_list_ = name == list_;
      if (of_list_ && std::exchange(seen.has_list, true))
        return refuse(fmt::format("the key \"{}\" appears twice", list_), "keep one of the two");
      member_key_ = std::move(name);
    } else {
      key_ = std::move(name);
    }
    return true;
  }
  bool parse_error(std::size_t offset, const std::string& token,
                   const nlohmann::json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    where = offset;
    if (error.id == kNumberOverflow) {
      fault = fmt::format("the number {} is too large for a double", token);
      hint = "the largest is about 1.8e308";
      return false;
    }
    fault = "not valid JSON";
    const std::string what = error.what();
    if (const auto at = what.find("- "); at != std::string::npos)
      fault += ": " + what.substr(at + 2);
    return false;
  }

 private:
  bool refuse(std::string why, std::string remedy) {
    where = feed_.position();
    fault = std::move(why);
    hint = std::move(remedy);
    return false;
  }
  bool refuse_root() {
    return refuse("is no JSON object or list", "a trace is an object with a list of events");
  }
  // Whether what comes next is an element, not a member.
  bool in_list() const { return root_is_list_ || levels_ == 2; }

  bool put(Json v) {
    if (skipped_ > 0) {
      feed_.mark();
      return true;
    }
    if (!stack_.empty()) {
      place(std::move(v));
      return true;
    }
    if (levels_ == 0) return refuse_root();
    if (!in_list() && of_list_) return refuse_list();
    begin_ = feed_.position();
    give(std::move(v));
    return true;
  }
  bool refuse_list() {
    return refuse(fmt::format("\"{}\" is no list", list_), "is it the right file?");
  }

  bool open(Json v) {
    if (levels_ + stack_.size() + skipped_ >= kMostLevels)
      return refuse(fmt::format("nested deeper than {} levels", kMostLevels),
                    "no trace needs that; is it the right file?");
    if (skipped_ > 0) {
      ++skipped_;
    } else if (!stack_.empty()) {
      Json* const opened = place(std::move(v));
      if (opened == nullptr) {
        ++skipped_;
      } else {
        stack_.push_back(opened);
      }
    } else if (levels_ == 0) {
      levels_ = 1;
      root_is_list_ = seen.has_list = v.is_array();
    } else if (!in_list() && of_list_) {
      if (!v.is_array()) return refuse_list();
      levels_ = 2;
    } else {
      feed_.mark();
      begin_ = feed_.position() - 1;
      value_ = std::move(v);
      stack_.push_back(&value_);
    }
    return true;
  }

  bool close() {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    if (stack_.empty()) {
      --levels_;
      return true;
    }
    Json* const closed = stack_.back();
    if (closed->is_object() && closed->members().size() > kSearched) drop_twins(closed->members());
    stack_.pop_back();
    if (stack_.empty()) give(std::move(value_));
    return true;
  }

  // Where it is now; nowhere when the member has become too long to keep.
  Json* place(Json v) {
    Json& parent = *stack_.back();
    if (!in_list() && feed_.position() - begin_ > kLongestMember) {
      skipped_ = stack_.size();
      stack_.clear();
      value_ = Json();
      return nullptr;
    }
    if (parent.is_array()) {
      parent.items().push_back(std::move(v));
      return &parent.items().back();
    }
    Json::Object& members = parent.members();
    if (Json* twin = members.size() <= kSearched ? parent.find(key_) : nullptr; twin != nullptr) {
      *twin = std::move(v);
      return twin;
    }
    members.emplace_back(std::move(key_), std::move(v));
    return &members.back().second;
  }

  void give(Json v) {
    if (in_list()) {
      ++seen.elements;
      element_(std::move(v), begin_);
    } else if (member_) {
      member_(member_key_, std::move(v));
    }
    feed_.mark();
  }

  Feed& feed_;
  std::string list_;
  const JsonElement& element_;
  const JsonMember& member_;
  std::size_t levels_ = 0;  ///< open around elements and members
  bool root_is_list_ = false;
  bool of_list_ = false;      ///< the last key of the document is that of the list
  std::size_t skipped_ = 0;   ///< open containers of a member that is passed over
  std::uint64_t begin_ = 0;   ///< of the container that is being built
  Json value_;                ///< that container
  std::vector<Json*> stack_;  ///< what of it is open; only the last one grows
  std::string member_key_, key_;
};

}  // namespace

StreamedJson stream_json(ByteSource& source, std::string_view list, const JsonElement& element,
                         const JsonMember& member) {
  Feed feed(source);
  Streamer streamer(feed, list, element, member);
  if (!nlohmann::json::sax_parse(FeedIterator(&feed), FeedIterator(), &streamer))
    throw ScenarioError(Diagnostic{source.name(), fmt::format("byte {}", streamer.where),
                                   streamer.fault, streamer.hint});
  streamer.seen.bytes = feed.position();
  return streamer.seen;
}

}  // namespace trainyard
