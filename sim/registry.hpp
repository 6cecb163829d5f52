// Plug-ins by name. A plug-in is one .cpp whose last line is a Registration; nothing else lists it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

namespace trainyard {

/// All plug-ins of one interface P, which names itself with `static constexpr std::string_view
/// kInterface`. Names are kept in order, so nothing depends on the order of registration.
template <class P>
class Registry {
 public:
  struct Entry {
    std::string description;
    std::function<std::unique_ptr<P>()> make;
  };
  static Registry& of() {
    static Registry registry;
    return registry;
  }
  /// Adds a plug-in. Two of the same name are a bug: std::logic_error.
  void add(std::string name, Entry entry) {
    const bool added = entries_.emplace(std::move(name), std::move(entry)).second;
    require(added, "two plug-ins of one name");
  }
  /// A new plug-in of that name, or nullptr.
  std::unique_ptr<P> make(std::string_view name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : it->second.make();
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const auto& [name, entry] : entries_) all.push_back(name);
    return all;
  }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

/// `const Registration<Interface, Concrete> registered{"name", "one line"};` at the end of a .cpp.
template <class P, class Concrete>
struct Registration {
  Registration(std::string name, std::string description) {
    Registry<P>::of().add(std::move(name),
                          {std::move(description), [] { return std::make_unique<Concrete>(); }});
  }
};

}  // namespace trainyard
