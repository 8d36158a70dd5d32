// SPDX-License-Identifier: Apache-2.0
#include "wire/window/element_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/base/never_destroyed.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/element_operation.hpp"

namespace impishim::wire {
namespace {

struct Parts {
  BasicType first;
  std::uint64_t first_count = 1;
  BasicType second = BasicType::kNumberOfTypes;  ///< kNumberOfTypes: there is no second part
};

Parts parts_in(ElementKind kind) {
  using enum ElementKind;
  switch (kind) {
    case kInt16:
    case kUint16:
    case kLogical16:
      return {BasicType::kInt16};
    case kInt32:
    case kUint32:
    case kLogical32:
      return {BasicType::kInt32};
    case kInt64:
    case kUint64:
    case kLogical64:
      return {BasicType::kInt64};
    case kLong:
      return {BasicType::kSignedLong};
    case kUnsignedLong:
      return {BasicType::kUnsignedLong};
    case kFloat:
      return {BasicType::kFloat};
    case kDouble:
      return {BasicType::kDouble};
    case kLongDouble:
      return {BasicType::kLongDouble};
    case kFloatComplex:
      return {BasicType::kFloat, 2};
    case kDoubleComplex:
      return {BasicType::kDouble, 2};
    case kLongDoubleComplex:
      return {BasicType::kLongDouble, 2};
    case kFloatInt:
      return {BasicType::kFloat, 1, BasicType::kInt32};
    case kDoubleInt:
      return {BasicType::kDouble, 1, BasicType::kInt32};
    case kLongInt:
      return {BasicType::kSignedLong, 1, BasicType::kInt32};
    case kTwoInt:
      return {BasicType::kInt32, 2};
    case kShortInt:
      return {BasicType::kInt16, 1, BasicType::kInt32};
    case kLongDoubleInt:
      return {BasicType::kLongDouble, 1, BasicType::kInt32};
    case kTwoFloat:
      return {BasicType::kFloat, 2};
    case kTwoDouble:
      return {BasicType::kDouble, 2};
    case kWideCharacter:
      return {BasicType::kWideChar};
    default:
      return {BasicType::kByte};
  }
}

/// Returns the offset of the second part: the first multiple of its size behind the first part,
/// since the second part of all pair types is an int.
std::ptrdiff_t second_offset(const Parts& parts) {
  const auto size = static_cast<std::ptrdiff_t>(element_size(parts.second, Format::kNative));
  const auto first = static_cast<std::ptrdiff_t>(element_size(parts.first, Format::kNative));
  return (first + size - 1) / size * size;
}

TypeLayout make_layout(ElementKind kind) {
  const Parts parts = parts_in(kind);
  std::vector<Block> blocks = {{0, parts.first, parts.first_count}};
  if (parts.second != BasicType::kNumberOfTypes)
    blocks.push_back({second_offset(parts), parts.second, 1});
  return {blocks, static_cast<std::ptrdiff_t>(element_bytes(kind))};
}

constexpr auto kKinds = static_cast<std::size_t>(ElementKind::kNumberOfKinds);

std::vector<TypeLayout> make_layouts() {
  std::vector<TypeLayout> layouts;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    layouts.push_back(make_layout(static_cast<ElementKind>(kind)));
  return layouts;
}

}  // namespace

const TypeLayout& element_layout(ElementKind kind) {
  static const auto& layouts = never_destroyed<const std::vector<TypeLayout>>(make_layouts());
  return layouts[static_cast<std::size_t>(kind)];
}

std::uint64_t parts_of(ElementKind kind) { return element_layout(kind).basic_count(); }

bool consists_of(const TypeLayout& layout, ElementKind kind) {
  const Parts parts = parts_in(kind);
  const std::vector<Block>& blocks = layout.blocks();
  if (parts.second == BasicType::kNumberOfTypes) {
    // Operations take whole elements, so no run may end in the middle of one.
    return std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
      return block.type == parts.first && block.count % parts.first_count == 0;
    });
  }
  // The parts of a pair have different types, so its runs have one basic element each.
  if (blocks.size() % 2 != 0) return false;
  const auto is_part = [](const Block& block, BasicType type) {
    return block.type == type && block.count == 1 && block.repeat == 1;
  };
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    if (!is_part(blocks[i], parts.first) || !is_part(blocks[i + 1], parts.second) ||
        blocks[i + 1].offset - blocks[i].offset != second_offset(parts))
      return false;
  }
  return true;
}

}  // namespace impishim::wire
