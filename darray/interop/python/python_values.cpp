// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/python/python_values.hpp"

#include <string>

namespace impishim::darray::dap::python {

namespace py = pybind11;

namespace {

/// Returns NumPy's name of a struct-module format (PEP 3118): its kind letter with the item's size.
std::string typestr_of_format(std::string_view format, Index item_size) {
  char order = '=';
  if (!format.empty() && std::string_view("@=<>!").find(format.front()) != std::string_view::npos) {
    order = format.front() == '!' ? '>' : format.front();
    format.remove_prefix(1);
  }
  constexpr std::string_view kSigned = "bhilqn";
  constexpr std::string_view kUnsigned = "BHILQN";
  constexpr std::string_view kReal = "efdg";
  char kind = 'V';
  if (format == "?") kind = 'b';
  if (format.size() == 1 && kSigned.find(format) != std::string_view::npos) kind = 'i';
  if (format.size() == 1 && kUnsigned.find(format) != std::string_view::npos) kind = 'u';
  if (format.size() == 1 && kReal.find(format) != std::string_view::npos) kind = 'f';
  if (format.size() == 2 && format.front() == 'Z') kind = 'c';
  std::string typestr = detail::typestr(kind, static_cast<std::size_t>(item_size));
  if ((order == '<' || order == '>') && typestr.front() != '|') typestr.front() = order;
  return typestr;
}

template <class T>
void append(std::vector<Index>& values, const std::byte* data, Index count, Index stride) {
  for (Index k = 0; k < count; ++k) {
    T value;
    std::memcpy(&value, data + k * stride, sizeof value);
    values.push_back(static_cast<Index>(value));
  }
}

/// Returns a one-dimensional buffer of integers as labels. Returns a description for any other
/// buffer.
Value labels_of(const py::object& object) {
  const HeldBuffer held = hold_buffer(object);
  const Buffer& buffer = held.buffer;
  const std::string other = "a buffer of '" + buffer.typestr + "' with " +
                            std::to_string(buffer.shape.size()) + " dimensions";
  if (buffer.shape.size() != 1) return {Other{other}};
  const bool is_signed = buffer.typestr[1] == 'i';
  if ((!is_signed && buffer.typestr[1] != 'u') ||
      (buffer.item_size > 1 &&
       buffer.typestr !=
           detail::typestr(buffer.typestr[1], static_cast<std::size_t>(buffer.item_size))))
    return {Other{other}};
  IntegerBuffer labels;
  const auto take = [&]<class T>(T) {
    append<T>(labels.values, buffer.data, buffer.shape[0], buffer.strides[0]);
  };
  switch (buffer.item_size) {
    case 1:
      is_signed ? take(std::int8_t{}) : take(std::uint8_t{});
      break;
    case 2:
      is_signed ? take(std::int16_t{}) : take(std::uint16_t{});
      break;
    case 4:
      is_signed ? take(std::int32_t{}) : take(std::uint32_t{});
      break;
    default:
      is_signed ? take(std::int64_t{}) : take(std::uint64_t{});
      if (!is_signed)
        for (const Index label : labels.values)
          if (label < 0) return {Other{"a buffer with a label beyond 63 bits"}};
  }
  return {std::move(labels)};
}

bool is_boolean(py::handle object) {
  const std::string name = Py_TYPE(object.ptr())->tp_name;
  return PyBool_Check(object.ptr()) || name == "numpy.bool_" || name == "numpy.bool";
}

}  // namespace

Value value_of(py::handle object, int depth) {
  if (depth > kDeepest) fail(ErrorKind::kProtocol, "a value nested more than {} deep", kDeepest);
  PyObject* raw = object.ptr();
  if (object.is_none()) return {};
  if (is_boolean(object)) return {object.cast<bool>()};
  if (PyUnicode_Check(raw)) return {object.cast<std::string>()};
  if (PyFloat_Check(raw)) return {object.cast<double>()};
  if (PyTuple_Check(raw) || PyList_Check(raw)) {
    Value::Sequence items;
    for (const py::handle item : object) items.push_back(value_of(item, depth + 1));
    return {std::move(items)};
  }
  if (PyDict_Check(raw)) return {dictionary_of(py::reinterpret_borrow<py::dict>(object), depth)};
  // Arrays of one element also offer __index__.
  const bool is_array = py::hasattr(object, "ndim") && py::hasattr(object, "shape") &&
                        object.attr("ndim").cast<int>() > 0;
  if (PyIndex_Check(raw) && !is_array) {
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(raw));
    if (!number) throw py::error_already_set();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) return {Other{"an integer beyond 64 bits"}};
    return {Index{value}};
  }
  if (PyObject_CheckBuffer(raw)) return labels_of(py::reinterpret_borrow<py::object>(object));
  return {Other{std::string("a ") + Py_TYPE(raw)->tp_name}};
}

Dictionary dictionary_of(const py::dict& object, int depth) {
  Dictionary dictionary;
  for (const auto& [key, value] : object) {
    // The protocol has only keys that are text.
    if (PyUnicode_Check(key.ptr()))
      dictionary.emplace(key.cast<std::string>(), value_of(value, depth + 1));
  }
  return dictionary;
}

namespace {

/// Converts each kind of value to the corresponding Python object.
struct ToPython {
  py::object operator()(std::monostate) const { return py::none(); }
  py::object operator()(const Value::Sequence& items) const {
    py::tuple tuple(items.size());
    for (std::size_t k = 0; k < items.size(); ++k) tuple[k] = object_of(items[k]);
    return tuple;
  }
  py::object operator()(const IntegerBuffer& labels) const {
    const py::bytes bytes(reinterpret_cast<const char*>(labels.values.data()),
                          labels.values.size() * sizeof(Index));
    return py::reinterpret_steal<py::object>(PyMemoryView_FromObject(bytes.ptr()))
        .attr("cast")("q");
  }
  py::object operator()(const Dictionary& dictionary) const { return dict_of(dictionary); }
  py::object operator()(const Other& other) const { return py::str(other.what); }
  py::object operator()(const auto& plain) const { return py::cast(plain); }
};

}  // namespace

py::object object_of(const Value& value) { return std::visit(ToPython{}, value.held); }

py::dict dict_of(const Dictionary& dictionary) {
  py::dict dict;
  for (const auto& [key, value] : dictionary) dict[py::str(key)] = object_of(value);
  return dict;
}

HeldBuffer hold_buffer(const py::object& object) {
  // The last reference may be released in a thread that does not hold the GIL.
  std::shared_ptr<Py_buffer> held(std::make_unique<Py_buffer>().release(), [](Py_buffer* view) {
    const py::gil_scoped_acquire python;
    PyBuffer_Release(view);
    std::unique_ptr<Py_buffer>(view).reset();
  });
  held->obj = nullptr;
  if (PyObject_GetBuffer(object.ptr(), held.get(), PyBUF_FULL_RO) != 0)
    throw py::error_already_set();
  if (held->suboffsets != nullptr)
    for (int axis = 0; axis < held->ndim; ++axis)
      if (held->suboffsets[axis] >= 0)
        fail(ErrorKind::kUnsupported, "a buffer of pointers to pointers (suboffsets)");
  HeldBuffer result;
  Buffer& buffer = result.buffer;
  buffer.data = static_cast<std::byte*>(held->buf);
  buffer.item_size = held->itemsize;
  buffer.typestr = typestr_of_format(held->format != nullptr ? held->format : "B", held->itemsize);
  buffer.read_only = held->readonly != 0;
  for (int axis = 0; axis < held->ndim; ++axis) {
    buffer.shape.push_back(held->shape[axis]);
    buffer.strides.push_back(held->strides[axis]);
  }
  result.owner = std::move(held);
  return result;
}

py::dict array_interface_dict(const Buffer& buffer) {
  py::dict dict;
  dict["version"] = 3;
  dict["typestr"] = buffer.typestr;
  dict["shape"] = tuple_of(buffer.shape);
  dict["strides"] = tuple_of(buffer.strides);
  dict["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(buffer.data), buffer.read_only);
  return dict;
}

py::tuple tuple_of(const std::vector<Index>& numbers) {
  py::tuple tuple(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) tuple[k] = numbers[k];
  return tuple;
}

py::list list_of(const Violations& violations) {
  py::list list;
  for (const Violation& violation : violations) list.append(violation.message());
  return list;
}

}  // namespace impishim::darray::dap::python
