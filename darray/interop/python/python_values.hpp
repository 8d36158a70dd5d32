// SPDX-License-Identifier: Apache-2.0
/// Conversions between Python objects and the protocol's values.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap::python {

/// Returns a Python object as a value of the protocol. NumPy's integers and booleans count as
/// integers and booleans, and buffers of integers as labels. `depth` is the number of objects
/// around this one. Throws Error(kProtocol) beyond kDeepest, which also happens for an object that
/// contains itself.
Value value_of(pybind11::handle object, int depth = 0);
Dictionary dictionary_of(const pybind11::dict& object, int depth = 0);

/// Returns a value as a Python object. Sequences become tuples, and labels become a memoryview of
/// 64-bit integers. An Other becomes its description.
pybind11::object object_of(const Value& value);
pybind11::dict dict_of(const Dictionary& dictionary);

/// A buffer, and the owner that keeps Python's memory alive.
struct HeldBuffer {
  Buffer buffer;
  std::shared_ptr<const void> owner;
};
/// Returns the memory of an object with the buffer protocol; nothing is copied. Throws
/// pybind11::error_already_set for any other object.
HeldBuffer hold_buffer(const pybind11::object& object);

/// Returns the dictionary of __array_interface__.
pybind11::dict array_interface_dict(const Buffer& buffer);

pybind11::tuple tuple_of(const std::vector<Index>& numbers);
pybind11::list list_of(const Violations& violations);

}  // namespace impishim::darray::dap::python
