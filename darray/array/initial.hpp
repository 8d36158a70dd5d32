/// One way to make an array of whatever is given, with d2o's rules of precedence (D2O-10 to D2O-18).
#pragma once

#include <string>

#include "darray/array/dist_array.hpp"
#include "darray/array/files.hpp"

namespace impishim::darray {

/// What an array is made of. Of what is given, the first counts: file, data, shape with a value, shape. Data are given by all
/// processes or by none. U is the type of the data.
template <class U = double>
struct Initial {
  std::optional<std::string> file = {};
  std::optional<StridedView<const U>> global_data = {};
  const DistArray<U>* global_array = nullptr;
  std::optional<StridedView<const U>> local_data = {};  ///< for freeform
  const DistArray<U>* local_array = nullptr;            ///< its whole content is each process's local data
  std::optional<U> value = {};                          ///< fills the shape
  std::optional<Shape> global_shape = {};
  std::optional<Shape> local_shape = {};  ///< for freeform
  Strategy strategy = {};
  Checks checks = Checks::kOn;
};

namespace detail {

/// Whether something is given: on all processes or on none. Collective with checks. @throws Error kArgument (D2O-17).
bool given_everywhere(const Communicator& communicator, Checks checks, const char* what, bool given);
[[noreturn]] void nothing_to_make(const Strategy& strategy);

}  // namespace detail

/// An array of element type T from what is given (D2O-10: T counts, whatever type the data have); without T, of the data's
/// type, double if there are none (D2O-11). Elements of an array of which only the shape is given are not set.
/// @throws Error kArgument if a global strategy is given no global data or shape, freeform no local ones and no array, or data
/// are given on some processes alone; and what the makers of DistArray throw.
template <class Wanted = void, class U = std::conditional_t<std::is_void_v<Wanted>, double, Wanted>>
auto make_array(MPI_Comm comm, const Initial<U>& from) {
  using T = std::conditional_t<std::is_void_v<Wanted>, U, Wanted>;
  const ContextPtr context = Context::of(comm);
  const auto has = [&](const char* what, bool given) {
    return detail::given_everywhere(context->communicator(), from.checks, what, given);
  };
  if (from.file) return load<T>(comm, *from.file, from.strategy, from.checks);
  if (has("a global array", from.global_array != nullptr)) {
    return DistArray<T>::from_array(*from.global_array, from.strategy, from.checks);
  }
  if (from.strategy.is_global()) {
    if (has("global data", from.global_data.has_value())) {
      return DistArray<T>::from_global(comm, *from.global_data, from.strategy, from.checks);
    }
    if (!has("a global shape", from.global_shape.has_value())) detail::nothing_to_make(from.strategy);
    DistArray<T> result = DistArray<T>::empty(comm, *from.global_shape, from.strategy, from.checks);
    if (from.value) result.fill(element_cast<T>(*from.value));
    return result;
  }
  if (has("a local array", from.local_array != nullptr)) {
    return DistArray<T>::from_array_as_local(*from.local_array, from.checks);
  }
  if (has("local data", from.local_data.has_value())) return DistArray<T>::from_local(comm, *from.local_data, from.checks);
  if (!has("a local shape", from.local_shape.has_value())) detail::nothing_to_make(from.strategy);
  DistArray<T> result(Layout::make_freeform(context, *from.local_shape, from.checks, scalar_of<T>()));
  if (from.value) result.fill(element_cast<T>(*from.value));
  return result;
}

}  // namespace impishim::darray
