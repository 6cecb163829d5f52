// The dates at which something is due, earliest first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard {

/// A 4-ary heap of items by date, half the levels of a binary one; each item may be moved. Dates
/// stand in the heap itself, so that ordering reads nothing else. Equal dates come in an order that
/// is deterministic but means nothing, so that taking out many of one date is cheap.
class Calendar {
 public:
  using Item = std::uint32_t;

  bool empty() const { return heap_.empty(); }
  /// The earliest; not when empty.
  Item first() const { return heap_.front().item; }
  double first_date() const { return heap_.front().date; }

  /// Enters an item, or moves it to another date.
  void set(Item item, double date) {
    if (at_.size() <= item) at_.resize(item + 1, kNowhere);
    if (at_[item] == kNowhere) {
      at_[item] = static_cast<Item>(heap_.size());
      heap_.emplace_back();
      sift_up(at_[item], {date, item});
    } else if (date < heap_[at_[item]].date) {
      sift_up(at_[item], {date, item});
    } else {
      sift_down(at_[item], {date, item});
    }
  }

  /// Puts `other`, which is not there, in the place of `item`.
  void rename(Item item, Item other) {
    if (at_.size() <= other) at_.resize(other + 1, kNowhere);
    at_[other] = at_[item];
    at_[item] = kNowhere;
    heap_[at_[other]].item = other;
  }

  /// Takes the earliest out.
  void pop() {
    at_[heap_.front().item] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
  }

 private:
  static constexpr Item kNowhere = 0xffffffffU;
  struct Entry {
    double date;
    Item item;
  };

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    at_[entry.item] = static_cast<Item>(at);
  }

  void sift_up(std::size_t at, const Entry& entry) {
    for (; at > 0; at = (at - 1) / 4) {
      const Entry& parent = heap_[(at - 1) / 4];
      if (!(entry.date < parent.date)) break;
      put(at, parent);
    }
    put(at, entry);
  }

  void sift_down(std::size_t at, const Entry& entry) {
    while (true) {
      const std::size_t first = at * 4 + 1;
      if (first >= heap_.size()) break;
      std::size_t best = first;
      for (std::size_t c = first + 1; c < std::min(first + 4, heap_.size()); ++c) {
        if (heap_[c].date < heap_[best].date) best = c;
      }
      if (!(heap_[best].date < entry.date)) break;
      put(at, heap_[best]);
      at = best;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<Item> at_;  ///< by item: where it is in heap_
};

}  // namespace trainyard
