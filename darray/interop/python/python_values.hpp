// SPDX-License-Identifier: Apache-2.0
/// Python objects to and from the protocol's values.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap::python {

/// What a Python object is to the protocol. NumPy's integers and booleans count as such, and
/// buffers of integers as labels. `depth`: how many objects it is nested in. Error kProtocol beyond
/// kDeepest, as of an object that holds itself.
Value value_of(pybind11::handle object, int depth = 0);
Dictionary dictionary_of(const pybind11::dict& object, int depth = 0);

/// The other way: sequences are tuples, labels a memoryview of 64-bit integers; what has no value
/// is its description.
pybind11::object object_of(const Value& value);
pybind11::dict dict_of(const Dictionary& dictionary);

/// A buffer and what keeps Python's hold on it.
struct HeldBuffer {
  Buffer buffer;
  std::shared_ptr<const void> owner;
};
/// Memory of an object with the buffer protocol: nothing is copied. Throws
/// pybind11::error_already_set for any other object.
HeldBuffer hold_buffer(const pybind11::object& object);

/// The dictionary of __array_interface__.
pybind11::dict array_interface_dict(const Buffer& buffer);

pybind11::tuple tuple_of(const std::vector<Index>& numbers);
pybind11::list list_of(const Violations& violations);

}  // namespace impishim::darray::dap::python
