// SPDX-License-Identifier: Apache-2.0
/// Keys of distributed arrays, as a user writes them and as select() resolves them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <variant>
#include <vector>

#include "darray/array/core/dist_array.hpp"
#include "darray/array/keys/key_part.hpp"

namespace impishim::darray {

/// One part of a key: an index, a Slice, kEllipsis, an IndexList or a MaskList. It can also be a
/// distributed array of indices (of one axis) or of truth values, which is used during the call and
/// not kept.
class KeyPart {
 public:
  template <class Integer>
  requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>)
      KeyPart(Integer index)  // NOLINT: implicit, because an index is a part of a key; so are the
                              // types below
      : part_(std::in_place_type<AxisKey>, static_cast<Index>(index)) {}
  KeyPart(Slice slice) : part_(AxisKey(slice)) {}                // NOLINT
  KeyPart(Ellipsis ellipsis) : part_(AxisKey(ellipsis)) {}       // NOLINT
  KeyPart(IndexList list) : part_(AxisKey(std::move(list))) {}   // NOLINT
  KeyPart(MaskList mask) : part_(AxisKey(std::move(mask))) {}    // NOLINT
  KeyPart(const DistArray<Index>& indices) : part_(&indices) {}  // NOLINT
  KeyPart(const DistArray<bool>& mask) : part_(&mask) {}         // NOLINT
  // Deleted, because a temporary would be destroyed before the key is used. Give it a name instead.
  KeyPart(DistArray<Index>&&) = delete;
  KeyPart(DistArray<bool>&&) = delete;
  /// Truth values of a whole array, which this process has.
  KeyPart(const LocalArray<bool>& mask)  // NOLINT
      : part_(AxisKey(MaskList{mask.shape(), std::vector<bool>(mask.begin(), mask.end())})) {}
  /// Indices in an array that this process has. Throws Error(kKey) unless it has one axis (D2O-35).
  KeyPart(const LocalArray<Index>& indices);  // NOLINT

  /// Return the part as one type; null if it has another type.
  [[nodiscard]] const AxisKey* local() const { return std::get_if<AxisKey>(&part_); }
  [[nodiscard]] const DistArray<Index>* indices() const { return pointer<Index>(); }
  [[nodiscard]] const DistArray<bool>* mask() const { return pointer<bool>(); }

 private:
  template <class T>
  const DistArray<T>* pointer() const {
    const auto* held = std::get_if<const DistArray<T>*>(&part_);
    return held == nullptr ? nullptr : *held;
  }
  std::variant<AxisKey, const DistArray<Index>*, const DistArray<bool>*> part_;
};

/// Selects elements of an array (D2O-34). {} selects all elements, {Slice{0, 3, 2}, Slice{1, 3}} is
/// NumPy's [0:3:2, 1:3], and so on. ResolvedKey states the rules.
class Key {
 public:
  Key() = default;
  Key(std::initializer_list<KeyPart> parts) : parts_(parts) {}
  explicit Key(std::vector<KeyPart> parts) : parts_(std::move(parts)) {}
  template <class Part>
  requires std::is_constructible_v<KeyPart, const Part&> Key(
      const Part& part)  // NOLINT: implicit, because one part is a key
      : parts_{KeyPart(part)} {}
  /// Takes one list for each axis, such as the result of where().
  Key(const std::vector<DistArray<Index>>& lists) : parts_(lists.begin(), lists.end()) {}  // NOLINT

  [[nodiscard]] const std::vector<KeyPart>& parts() const { return parts_; }

 private:
  std::vector<KeyPart> parts_;
};

struct KeyOptions {
  /// Each process has its own key and its own values (D2O-39, D2O-40). A distributed array in such
  /// a key represents all its elements. Each process may name a different array.
  bool local_keys = false;
  /// With checks, keys that should be the same on all processes are compared, and all processes
  /// throw the same error.
  Checks checks = Checks::kOn;
};

/// The part of a resolved key that concerns this process.
struct SelectedKey {
  ResolvedKey key;
  /// True if all processes have the same key. False if this process has its own key, or its piece
  /// of a distributed key.
  bool common = true;
  /// The layout of the whole selection of a distributed key: slices of dimension 0 in the order of
  /// the processes. Null for other keys.
  LayoutPtr layout = nullptr;
};

/// Resolves a key. Collective (local without checks, if the key has no distributed parts and is the
/// same everywhere). Lists and masks with the same distribution are not gathered; each process
/// takes its own piece. With checks, the processes compare `operation` (the purpose of the key),
/// the array and the key. Throws the errors of ResolvedKey. Throws Error(kArgument) if common keys
/// differ, and Error(kKey) for distributed indices of more than one axis.
[[nodiscard]] SelectedKey select(const Layout& array, const Key& key,
                                 const KeyOptions& options = {}, const char* operation = "key");

}  // namespace impishim::darray
