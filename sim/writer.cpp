#include "sim/writer.hpp"

namespace trainyard {

void Writer::put(const Slot& slot, Json value) {
  Json& top = stack_.back();
  if (top.is_array()) {
    top.push_back(std::move(value));
  } else {
    top[slot.name] = std::move(value);
  }
}

void Writer::nested(const Slot& slot, Json empty, const std::function<void()>& body) {
  stack_.push_back(std::move(empty));
  body();
  Json made = std::move(stack_.back());
  stack_.pop_back();
  put(slot, std::move(made));
}

void Writer::object(const Slot& slot, std::string_view /*catalog*/,
                    const std::function<void()>& body) {
  nested(slot, Json::object(), body);
}

void Writer::list(const Slot& slot, const ListAccess& access) {
  nested(slot, Json::array(), [&] {
    for (std::size_t i = 0; i < access.size; ++i) access.element(i, slot);
  });
}

void Writer::map(const Slot& slot, const MapAccess& access) {
  nested(slot, Json::object(), [&] {
    for (const std::string& key : access.keys)
      access.element(key, Slot{key, slot.doc, true, slot.limits});
  });
}

void Writer::visit_plugin(const Slot& slot, const PluginSet& set) {
  if (set.kind.empty()) return;
  nested(slot, Json::object(), [&] {
    stack_.back()["kind"] = Json(set.kind);
    set.body();
  });
}

}  // namespace trainyard
