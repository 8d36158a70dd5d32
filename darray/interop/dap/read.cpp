// SPDX-License-Identifier: Apache-2.0
// The conversion of dimension dictionaries to values, which decides the kinds of value that a key
// may hold.
#include <fmt/format.h>

#include <utility>

#include "darray/interop/dap/validate.hpp"

namespace impishim::darray::dap {

namespace {

constexpr std::string_view kDistTypeRule = "DAP-20 dist_type is one of 'b', 'c', 'u'";
constexpr std::string_view kIntegerRule = "DAP-27 an integer of at most 64 bits, not a boolean";
constexpr std::string_view kPaddingRule = "DAP-35 padding is a pair of integers";
constexpr std::string_view kPeriodicRule = "DAP-40 periodic is a boolean";
constexpr std::string_view kIndicesRule = "DAP-60 indices is a one-dimensional buffer of integers";
constexpr std::string_view kOneToOneRule = "DAP-62 one_to_one is a boolean";

/// Reads the keys of one dictionary. Keys that are read are removed from the extra ones.
class Reader {
 public:
  Reader(const Dictionary& dictionary, int number, Level level, Violations& violations)
      : rest_(dictionary), number_(number), level_(level), violations_(violations) {}

  DimData read() {
    if (rest_.empty()) return {};
    DimData dimension;
    dimension.dist_type = take_dist_type();
    dimension.size = take_integer("size");
    dimension.proc_grid_size = take_integer("proc_grid_size");
    dimension.proc_grid_rank = take_integer("proc_grid_rank");
    if (dimension.dist_type) read_keys_of(*dimension.dist_type, dimension);
    if (level_ == Level::kLenient) dimension.extra = std::move(rest_);
    return dimension;
  }

 private:
  void read_keys_of(DistType type, DimData& dimension) {
    if (type != DistType::kUnstructured) dimension.start = take_integer("start");
    if (type == DistType::kBlock) {
      dimension.stop = take_integer("stop");
      dimension.padding = take_padding();
      dimension.periodic = take_boolean("periodic", kPeriodicRule);
    }
    if (type == DistType::kCyclic) dimension.block_size = take_integer("block_size");
    if (type == DistType::kUnstructured) {
      dimension.indices = take_indices();
      dimension.one_to_one = take_boolean("one_to_one", kOneToOneRule);
    }
  }

  std::optional<Value> take(std::string_view key) {
    const auto found = rest_.find(key);
    if (found == rest_.end()) return std::nullopt;
    Value value = std::move(found->second);
    rest_.erase(found);
    return value;
  }

  void reject(std::string_view key, std::string_view rule, const Value& found) {
    violations_.push_back({std::nullopt, number_, std::string(key), rule, describe(found)});
  }

  [[nodiscard]] std::optional<Index> integer(const Value& value) const {
    if (const Index* number = value.as<Index>()) return *number;
    if (const bool* truth = value.as<bool>(); truth != nullptr && level_ == Level::kLenient)
      return *truth ? 1 : 0;
    return std::nullopt;
  }

  std::optional<DistType> take_dist_type() {
    const auto value = take("dist_type");
    if (!value) {
      violations_.push_back(
          {std::nullopt, number_, "dist_type", kDistTypeRule, "the key is missing"});
      return std::nullopt;
    }
    const auto* text = value->as<std::string>();
    if (text != nullptr) {
      if (*text == "b") return DistType::kBlock;
      if (*text == "c") return DistType::kCyclic;
      if (*text == "u") return DistType::kUnstructured;
    }
    reject("dist_type", kDistTypeRule, *value);
    return std::nullopt;
  }

  std::optional<Index> take_integer(std::string_view key) {
    const auto value = take(key);
    if (!value) return std::nullopt;
    const auto number = integer(*value);
    if (!number) reject(key, kIntegerRule, *value);
    return number;
  }

  std::optional<bool> take_boolean(std::string_view key, std::string_view rule) {
    const auto value = take(key);
    if (!value) return std::nullopt;
    if (const bool* truth = value->as<bool>()) return *truth;
    reject(key, rule, *value);
    return std::nullopt;
  }

  std::optional<Padding> take_padding() {
    const auto value = take("padding");
    if (!value) return std::nullopt;
    const auto* items = value->as<Value::Sequence>();
    if (items != nullptr && items->size() == 2) {
      const auto lower = integer(items->front());
      const auto upper = integer(items->back());
      if (lower && upper) return Padding{*lower, *upper};
    }
    reject("padding", kPaddingRule, *value);
    return std::nullopt;
  }

  std::optional<std::vector<Index>> take_indices() {
    auto value = take("indices");
    if (!value) return std::nullopt;
    if (auto* buffer = std::get_if<IntegerBuffer>(&value->held)) return std::move(buffer->values);
    reject("indices", kIndicesRule, *value);
    return std::nullopt;
  }

  Dictionary rest_;
  int number_;
  Level level_;
  Violations& violations_;
};

struct Describer {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(bool truth) const {
    return truth ? "the boolean true" : "the boolean false";
  }
  std::string operator()(Index number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("the real number {}", number); }
  std::string operator()(const std::string& text) const {
    return fmt::format("the text '{}'", text);
  }
  std::string operator()(const Value::Sequence& items) const {
    return fmt::format("a sequence of {}", items.size());
  }
  std::string operator()(const IntegerBuffer& buffer) const {
    return fmt::format("a buffer of {} integers", buffer.values.size());
  }
  std::string operator()(const Dictionary&) const { return "a dictionary"; }
  std::string operator()(const Other& other) const { return other.what; }
};

}  // namespace

std::string describe(const Value& value) { return std::visit(Describer{}, value.held); }

Reading read(std::span<const Dictionary> dictionaries, Level level) {
  Reading reading;
  reading.dimensions.reserve(dictionaries.size());
  int number = 0;
  for (const Dictionary& dictionary : dictionaries)
    reading.dimensions.push_back(Reader(dictionary, number++, level, reading.violations).read());
  return reading;
}

}  // namespace impishim::darray::dap
