/// Keys of distributed arrays: what a user writes, and what it means.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <variant>
#include <vector>

#include "darray/array/core/dist_array.hpp"
#include "darray/array/keys/key_part.hpp"

namespace impishim::darray {

/// One part of a key: an index, a Slice, kEllipsis, an IndexList, a MaskList; or a distributed
/// array of indices (of one axis) or of truth values, which is used during the call and not kept.
class KeyPart {
 public:
  template <class Integer>
  requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>)
      KeyPart(Integer index)  // NOLINT: an index is a part of a key, as all that follows
      : part_(std::in_place_type<AxisKey>, static_cast<Index>(index)) {}
  KeyPart(Slice slice) : part_(AxisKey(slice)) {}                // NOLINT
  KeyPart(Ellipsis ellipsis) : part_(AxisKey(ellipsis)) {}       // NOLINT
  KeyPart(IndexList list) : part_(AxisKey(std::move(list))) {}   // NOLINT
  KeyPart(MaskList mask) : part_(AxisKey(std::move(mask))) {}    // NOLINT
  KeyPart(const DistArray<Index>& indices) : part_(&indices) {}  // NOLINT
  KeyPart(const DistArray<bool>& mask) : part_(&mask) {}         // NOLINT
  // The value of an expression would be gone when the key is used: give it a name.
  KeyPart(DistArray<Index>&&) = delete;
  KeyPart(DistArray<bool>&&) = delete;
  /// Truth values that this process has as a whole array.
  KeyPart(const LocalArray<bool>& mask)  // NOLINT
      : part_(AxisKey(MaskList{mask.shape(), std::vector<bool>(mask.begin(), mask.end())})) {}
  /// Indices that this process has as an array. @throws Error kKey unless they have one axis
  /// (D2O-35).
  KeyPart(const LocalArray<Index>& indices);  // NOLINT

  /// Null for the others.
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

/// Which elements of an array are meant (D2O-34): {} is all of them, {Slice{0, 3, 2}, Slice{1, 3}}
/// is NumPy's [0:3:2, 1:3], and so on. Rules: ResolvedKey.
class Key {
 public:
  Key() = default;
  Key(std::initializer_list<KeyPart> parts) : parts_(parts) {}
  explicit Key(std::vector<KeyPart> parts) : parts_(std::move(parts)) {}
  template <class Part>
  requires std::is_constructible_v<KeyPart, const Part&> Key(
      const Part& part)  // NOLINT: one part is a key
      : parts_{KeyPart(part)} {}
  /// One list for each axis, as where() gives them.
  Key(const std::vector<DistArray<Index>>& lists) : parts_(lists.begin(), lists.end()) {}  // NOLINT

  [[nodiscard]] const std::vector<KeyPart>& parts() const { return parts_; }

 private:
  std::vector<KeyPart> parts_;
};

struct KeyOptions {
  /// Each process has a key of its own, and values of its own (D2O-39, D2O-40). A distributed array
  /// in such a key stands for all its elements; each process may name another one.
  bool local_keys = false;
  /// With checks, keys that should be the same on all processes are compared, and errors are the
  /// same on all.
  Checks checks = Checks::kOn;
};

/// A key of an array, as far as this process has to do with it.
struct SelectedKey {
  ResolvedKey key;
  /// All processes have the same key. Otherwise this one has its own, or a piece of a distributed
  /// one.
  bool common = true;
  /// Of all that a distributed key selects, slices of dimension 0 in the order of processes; null
  /// for other keys.
  LayoutPtr layout = nullptr;
};

/// What a key means. Collective (local without checks, if the key has no distributed parts and is
/// the same everywhere): lists and masks that are distributed alike are not put together; each
/// process takes its own piece. With checks, the processes compare `operation`, what the key is
/// for, with the array and the key.
/// @throws Error as ResolvedKey; kArgument if common keys differ; kKey for distributed indices of
/// more than one axis.
[[nodiscard]] SelectedKey select(const Layout& array, const Key& key,
                                 const KeyOptions& options = {}, const char* operation = "key");

}  // namespace impishim::darray
