#include "sim/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/spelling.hpp"

namespace trainyard {
namespace {

// Keys that may stand in any object without being a field of its struct.
bool is_meta_key(std::string_view key) { return key == "base" || key == "source"; }

constexpr std::string_view kTagKinds[] = {"source", "derived", "assumed"};
constexpr std::string_view kTagNames[] = {"sourced", "derived", "assumed"};

std::string shown(const Json& value) {
  std::string text = dump_json(value, -1);
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

}  // namespace

Reader::Reader(const Json& root, std::string file, const Catalog& catalog, const Origins* origins)
    : file_(std::move(file)), origins_(origins), catalog_(catalog), root_(root) {}

void Reader::throw_faults() const {
  if (!faults_.empty()) throw ScenarioError(faults_);
}

void Reader::read_root(const std::function<void()>& body) {
  if (!root_.is_object()) {
    return fault("/", fmt::format("is {}, not an object", root_.type_name()), "a scenario is {…}");
  }
  in_frame(root_, "", body);
}

void Reader::check(bool holds, std::string_view field, const std::string& message,
                   const std::string& hint) {
  if (holds || misread_ > frames_.back().misread) return;
  add_fault(field.empty() ? frames_.back().pointer : pointer_to(field), message, hint);
}

void Reader::fault(const std::string& pointer, std::string message, std::string hint) {
  ++misread_;
  add_fault(pointer, std::move(message), std::move(hint));
}

void Reader::add_fault(const std::string& pointer, std::string message, std::string hint) {
  const std::string origin = origins_ != nullptr ? origins_->file_of(pointer) : std::string();
  faults_.push_back({origin.empty() ? file_ : origin, pointer.empty() ? "/" : pointer,
                     std::move(message), std::move(hint)});
}

std::string Reader::pointer_to(std::string_view name) const {
  return frames_.back().pointer + "/" + std::string(name);
}

const Json* Reader::take(const Slot& slot) {
  Frame& frame = frames_.back();
  const Json* child = nullptr;
  if (frame.node->is_array()) {
    child = &frame.node->items()[std::stoul(std::string(slot.name))];
  } else {
    frame.known.push_back(slot.name);
    child = frame.node->find(slot.name);
  }
  tag_ = nullptr;
  if (child == nullptr || child->is_null()) {  // null removes
    if (slot.required) fault(pointer_to(slot.name), "is missing", std::string(slot.doc));
    return nullptr;
  }
  const Json* value = child->find("value");
  if (value == nullptr) return child;
  tag_ = child;
  return value;
}

void Reader::record(const Slot& slot, const Json& value, std::optional<double> si,
                    const Dimension* dimension) {
  if (tag_ == nullptr) return;
  const Json& tag = *tag_;
  Parameter p{.pointer = pointer_to(slot.name),
              .value = value,
              .kind = {},
              .text = {},
              .low = {},
              .high = {},
              .si = si,
              .low_si = {},
              .high_si = {}};
  for (const auto& [key, member] : tag.members()) {
    const auto* const kind = std::find(std::begin(kTagKinds), std::end(kTagKinds), key);
    if (kind != std::end(kTagKinds)) {
      p.kind = kTagNames[kind - std::begin(kTagKinds)];
      if (member.is_string()) p.text = member.as_string();
    } else if (key == "why" && member.is_string()) {
      p.text += (p.text.empty() ? "" : "; ") + member.as_string();
    } else if (key == "range" && member.is_array() && member.items().size() == 2) {
      const auto bound = [&](const Json& end, std::string& text, std::optional<double>& number) {
        text = end.is_string() ? end.as_string() : dump_json(end, -1);
        if (end.is_number()) number = end.as_number();
        if (!end.is_string() || dimension == nullptr) return;
        const ParsedQuantity parsed = parse_quantity(text, *dimension);
        if (!parsed.error.empty()) fault(p.pointer + "/range", parsed.error);
        number = parsed.si;
      };
      bound(member.items()[0], p.low, p.low_si);
      bound(member.items()[1], p.high, p.high_si);
    } else if (key != "value") {
      fault(p.pointer + "/" + key, "is not part of a tagged value",
            "use value, source | derived | assumed, range [low, high], why");
    }
  }
  if (p.kind.empty()) {
    fault(p.pointer, "a tagged value without its tag", "add source, derived or assumed");
  } else if (p.kind == "assumed" && p.text.empty()) {
    fault(p.pointer, "an assumed value without a reason", "add \"why\"");
  }
  parameters_.push_back(std::move(p));
}

double Reader::in_limits(const Slot& slot, double value, double present,
                         const Dimension* dimension) {
  const auto write = [&](double v) {
    return dimension != nullptr ? write_quantity(v, *dimension) : fmt::format("{}", v);
  };
  const Limits& l = slot.limits;
  if (value < l.min || (l.min_excluded && value == l.min)) {
    fault(pointer_to(slot.name), fmt::format("{} is too small", write(value)),
          fmt::format("must be {} {}", l.min_excluded ? "above" : "at least", write(l.min)));
    return present;
  }
  if (value > l.max) {
    fault(pointer_to(slot.name), fmt::format("{} is too large", write(value)),
          fmt::format("must be at most {}", write(l.max)));
    return present;
  }
  return value;
}

void Reader::leaf(const Slot& slot, bool& v) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  if (!node->is_bool())
    return fault(pointer_to(slot.name), fmt::format("{} is not true or false", shown(*node)));
  v = node->as_bool();
  record(slot, *node, {}, nullptr);
}

void Reader::leaf(const Slot& slot, std::int64_t& v) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  const bool whole = node->is_number() && std::floor(node->as_number()) == node->as_number() &&
                     std::abs(node->as_number()) < 9.0e15;
  if (!whole) {
    return fault(pointer_to(slot.name), fmt::format("{} is not a whole number", shown(*node)),
                 std::string(slot.doc));
  }
  const double number = node->as_number();
  const double good = in_limits(slot, number, static_cast<double>(v), nullptr);
  v = static_cast<std::int64_t>(good);
  record(slot, *node, number, nullptr);
}

void Reader::leaf(const Slot& slot, double& v) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  if (!node->is_number()) {
    return fault(pointer_to(slot.name), fmt::format("{} is not a number", shown(*node)),
                 std::string(slot.doc));
  }
  v = in_limits(slot, node->as_number(), v, nullptr);
  record(slot, *node, node->as_number(), nullptr);
}

void Reader::leaf(const Slot& slot, std::string& v) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  if (!node->is_string()) {
    return fault(pointer_to(slot.name), fmt::format("{} is not a string", shown(*node)),
                 std::string(slot.doc));
  }
  v = node->as_string();
  record(slot, *node, {}, nullptr);
}

void Reader::quantity(const Slot& slot, double& si, Dimension dimension) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  if (!node->is_string()) {
    const std::string what = node->is_number() ? fmt::format("{} has no unit", shown(*node))
                                               : fmt::format("{} is not a quantity", shown(*node));
    return fault(pointer_to(slot.name), what,
                 fmt::format("write {} as a string with its unit, like \"{}\"",
                             quantity_name(dimension), quantity_example(dimension)));
  }
  const ParsedQuantity parsed = parse_quantity(node->as_string(), dimension);
  if (!parsed.error.empty()) return fault(pointer_to(slot.name), parsed.error);
  si = in_limits(slot, parsed.si, si, &dimension);
  record(slot, *node, parsed.si, &dimension);
}

void Reader::choose(const Slot& slot, std::string& v, std::span<const std::string_view> names) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  const bool known =
      node->is_string() && std::find(names.begin(), names.end(), node->as_string()) != names.end();
  if (!known) {
    const std::string word = node->is_string() ? node->as_string() : "";
    return fault(pointer_to(slot.name), fmt::format("{} is not a choice here", shown(*node)),
                 suggest(word, names));
  }
  v = node->as_string();
  record(slot, *node, {}, nullptr);
}

void Reader::object(const Slot& slot, std::string_view catalog, const std::function<void()>& body) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  const std::string pointer = pointer_to(slot.name);
  const Json* full = expand(*node, catalog, pointer);
  if (full != nullptr) in_frame(*full, pointer, body);
}

// Replaces a catalogue name, or {"base": name, …}, by the entry with the changes merged over it.
const Json* Reader::expand(const Json& node, std::string_view catalog, const std::string& pointer) {
  const Json* base = node.is_string() ? &node : node.find("base");
  if (base == nullptr || catalog.empty()) {
    if (node.is_object() && base == nullptr) return &node;
    const std::string what = base != nullptr && !node.is_string()
                                 ? "has a \"base\", but nothing of this kind is in the catalogue"
                                 : fmt::format("is {}, not an object", node.type_name());
    fault(pointer, what);
    return nullptr;
  }
  Json changes = node.is_object() ? node : Json::object();
  std::vector<const Json*> chain;  // from the named entry to its deepest base
  std::vector<std::string> seen;
  while (base != nullptr) {
    if (const Json* value = base->find("value")) base = value;
    if (!base->is_string()) {
      fault(pointer + "/base", fmt::format("is {}, not a catalogue name", base->type_name()));
      return nullptr;
    }
    const std::string name = base->as_string();
    const Json* entry = catalog_.find(catalog, name);
    if (entry == nullptr) {
      fault(pointer, fmt::format("\"{}\" is not in the catalogue of kind {}", name, catalog),
            suggest(name, catalog_.names(catalog)));
      return nullptr;
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      fault(pointer, fmt::format("catalogue entry \"{}\" is based on itself", name));
      return nullptr;
    }
    seen.push_back(name);
    chain.push_back(entry);
    base = entry->find("base");
  }
  auto merged = std::make_unique<Json>(Json::object());
  const auto lay_over = [&](Json layer) {
    layer.erase("base");  // it has done its work, and in a patch it would mean "start afresh"
    layer.erase("source");
    merge_patch(*merged, layer);
  };
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) lay_over(**it);
  lay_over(std::move(changes));
  expanded_.push_back(std::move(merged));
  return expanded_.back().get();
}

void Reader::in_frame(const Json& node, const std::string& pointer,
                      const std::function<void()>& body) {
  frames_.push_back({&node, pointer, {}, misread_});
  body();
  const Frame frame = std::move(frames_.back());
  if (node.is_object()) check_unknown_keys(frame);
  frames_.pop_back();
}

void Reader::check_unknown_keys(const Frame& frame) {
  for (const auto& [key, value] : frame.node->members()) {
    if (is_meta_key(key) && frame.pointer != "") continue;
    if (std::find(frame.known.begin(), frame.known.end(), key) != frame.known.end()) continue;
    add_fault(frame.pointer + "/" + key, kNoField, suggest(key, frame.known));
  }
}

void Reader::list(const Slot& slot, const ListAccess& access) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  if (!node->is_array()) {
    return fault(pointer_to(slot.name), fmt::format("is {}, not a list", node->type_name()),
                 std::string(slot.doc));
  }
  access.resize(node->items().size());
  in_frame(*node, pointer_to(slot.name), [&] {
    for (std::size_t i = 0; i < node->items().size(); ++i) {
      const std::string index = std::to_string(i);
      access.element(i, Slot{index, slot.doc, true, slot.limits});
    }
  });
}

void Reader::map(const Slot& slot, const MapAccess& access) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  if (!node->is_object()) {
    return fault(pointer_to(slot.name),
                 fmt::format("is {}, not an object of names", node->type_name()),
                 std::string(slot.doc));
  }
  in_frame(*node, pointer_to(slot.name), [&] {
    for (const auto& [key, value] : node->members())
      access.element(key, Slot{key, slot.doc, true, slot.limits});
  });
}

void Reader::visit_plugin(const Slot& slot, const PluginSet& set) {
  const Json* node = take(slot);
  if (node == nullptr) return;
  const std::string pointer = pointer_to(slot.name);
  node = expand(*node, set.interface, pointer);
  if (node == nullptr) return;
  const Json* kind = node->find("kind");
  if (kind == nullptr || !kind->is_string()) {
    return fault(pointer + "/kind", "is missing", suggest("", set.kinds));
  }
  if (std::find(set.kinds.begin(), set.kinds.end(), kind->as_string()) == set.kinds.end()) {
    return fault(pointer + "/kind",
                 fmt::format("\"{}\" is not a {}", kind->as_string(), set.interface),
                 suggest(kind->as_string(), set.kinds));
  }
  set.make(kind->as_string());
  in_frame(*node, pointer, [&] {
    frames_.back().known.push_back("kind");
    set.body();
  });
}

void read_fields(Plugin& plugin, const Json& values) {
  const Catalog none;
  Reader reader(values, "internal", none);
  reader.read(plugin);
  reader.throw_faults();
}

bool Reader::wants_optional(const Slot& slot, bool /*now*/) {
  Frame& frame = frames_.back();
  if (frame.node->is_array()) return true;
  const Json* child = frame.node->find(slot.name);
  if (child == nullptr || child->is_null()) {
    frame.known.push_back(slot.name);
    return false;
  }
  return true;
}

}  // namespace trainyard
