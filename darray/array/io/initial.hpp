// SPDX-License-Identifier: Apache-2.0
/// One function that makes an array from various inputs, with d2o's rules of precedence (D2O-10 to
/// D2O-18).
#pragma once

#include <array>
#include <string>

#include "darray/array/core/dist_array.hpp"
#include "darray/array/io/files.hpp"

namespace impishim::darray {

/// The inputs of make_array(). If there are several, the first one counts in this order: file,
/// data, shape with a value, shape. All processes pass data, or none does. U is the type of the
/// data.
template <class U = double>
struct Initial {
  std::optional<std::string> file = {};
  std::optional<StridedView<const U>> global_data = {};
  const DistArray<U>* global_array = nullptr;
  std::optional<StridedView<const U>> local_data = {};  ///< for freeform
  const DistArray<U>* local_array = nullptr;  ///< its whole content is each process's local data
  std::optional<U> value = {};                ///< fills the shape
  std::optional<Shape> global_shape = {};
  std::optional<Shape> local_shape = {};  ///< for freeform
  Strategy strategy = {};
  Checks checks = Checks::kOn;
};

namespace detail {

/// The inputs of make_array(), and errors in them.
enum class Given : std::uint8_t {
  kFile,
  kGlobalArray,
  kGlobalData,
  kGlobalShape,
  kLocalArray,
  kLocalData,
  kLocalShape,
  kForeignGlobal,  ///< a global array of another communicator
  kForeignLocal,
};
inline constexpr std::size_t kGivens = 9;

/// The inputs of all processes, exchanged once.
class Givens {
 public:
  /// Exchanges one small message with checks, else local.
  Givens(const Communicator& communicator, Checks checks, const std::array<bool, kGivens>& mine);
  /// Returns true if all processes have the input, and false if none has. Otherwise throws
  /// Error(kArgument) (D2O-17).
  [[nodiscard]] bool has(Given what) const;
  /// Does the same for an array. Also throws Error(kArgument) if the array is of another
  /// communicator.
  [[nodiscard]] bool has_array(Given what, Given foreign) const;

 private:
  std::array<Index, kGivens> counts_{};
  Index processes_ = 1;
};

template <class U>
Givens givens(const ContextPtr& context, const Initial<U>& from) {
  const auto foreign = [&](const DistArray<U>* array) {
    return array != nullptr && array->layout()->context() != context;
  };
  return {context->communicator(),
          from.checks,
          {from.file.has_value(), from.global_array != nullptr, from.global_data.has_value(),
           from.global_shape.has_value(), from.local_array != nullptr, from.local_data.has_value(),
           from.local_shape.has_value(), foreign(from.global_array), foreign(from.local_array)}};
}

[[noreturn]] void nothing_to_make(const Strategy& strategy);

}  // namespace detail

/// Makes an array of element type T from the inputs (D2O-10: T applies, whatever the type of the
/// data). Without T, the element type is that of the data, or double if there are no data (D2O-11).
/// If only the shape is given, the elements are not initialized.
///
/// Throws Error(kArgument) if a global strategy has no global data or shape, or if freeform has no
/// local data, local shape or array. Throws Error(kArgument) if only some processes pass data, or
/// if an array is of another communicator. Also throws the errors of DistArray's creation
/// functions.
template <class Wanted = void, class U = std::conditional_t<std::is_void_v<Wanted>, double, Wanted>>
auto make_array(MPI_Comm comm, const Initial<U>& from) {
  using T = std::conditional_t<std::is_void_v<Wanted>, U, Wanted>;
  using enum detail::Given;
  const ContextPtr context = Context::of(comm);
  const detail::Givens given = detail::givens(context, from);
  if (given.has(kFile)) return load<T>(comm, *from.file, from.strategy, from.checks);
  if (given.has_array(kGlobalArray, kForeignGlobal)) {
    return DistArray<T>::from_array(*from.global_array, from.strategy, from.checks);
  }
  if (from.strategy.is_global()) {
    if (given.has(kGlobalData))
      return DistArray<T>::from_global(comm, *from.global_data, from.strategy, from.checks);
    if (!given.has(kGlobalShape)) detail::nothing_to_make(from.strategy);
    DistArray<T> result = DistArray<T>::empty(comm, *from.global_shape, from.strategy, from.checks);
    if (from.value) result.fill(element_cast<T>(*from.value));
    return result;
  }
  if (given.has_array(kLocalArray, kForeignLocal))
    return DistArray<T>::from_array_as_local(*from.local_array, from.checks);
  if (given.has(kLocalData)) return DistArray<T>::from_local(comm, *from.local_data, from.checks);
  if (!given.has(kLocalShape)) detail::nothing_to_make(from.strategy);
  DistArray<T> result(
      Layout::make_freeform(context, *from.local_shape, from.checks, scalar_of<T>()));
  if (from.value) result.fill(element_cast<T>(*from.value));
  return result;
}

}  // namespace impishim::darray
