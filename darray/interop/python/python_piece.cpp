// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/python/python_piece.hpp"

#include "darray/interop/dap/dlpack.hpp"
#include "darray/interop/dap/json.hpp"

namespace impishim::darray::dap::python {

namespace py = pybind11;

namespace {

template <class Tensor>
py::capsule capsule_of(std::unique_ptr<Tensor, dlpack::CallDeleter> tensor, const char* name) {
  // A consumer of the tensor renames the capsule and calls the deleter itself.
  const auto destroy = [](PyObject* capsule) {
    for (const char* own : {"dltensor", "dltensor_versioned"})
      if (PyCapsule_IsValid(capsule, own) != 0) {
        auto* held = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, own));
        held->deleter(held);
      }
  };
  auto capsule = py::reinterpret_steal<py::object>(PyCapsule_New(tensor.get(), name, destroy));
  if (!capsule) throw py::error_already_set();
  [[maybe_unused]] const Tensor* owned_by_capsule = tensor.release();
  return py::reinterpret_borrow<py::capsule>(capsule);
}

[[noreturn]] void refuse_buffer(const char* why) { throw py::buffer_error(why); }

void read_dim_data(const py::object& object, Offer& offer) {
  offer.foreign.has_dim_data = true;
  if (!py::isinstance<py::tuple>(object) && !py::isinstance<py::list>(object)) return;
  offer.foreign.dim_data_is_tuple = py::isinstance<py::tuple>(object);
  std::vector<Dictionary> dictionaries;
  for (const py::handle item : object) {
    if (!py::isinstance<py::dict>(item)) return;
    offer.dictionaries.push_back(py::reinterpret_borrow<py::dict>(item));
    dictionaries.push_back(dictionary_of(offer.dictionaries.back()));
  }
  offer.foreign.dim_data = std::move(dictionaries);
}

}  // namespace

Offer offer_of(const py::object& source) {
  const py::object returned =
      py::hasattr(source, "__distarray__") ? source.attr("__distarray__")() : source;
  if (!py::isinstance<py::dict>(returned))
    fail(ErrorKind::kProtocol,
         "DAP-01: neither an object with __distarray__ nor the dictionary that it returns");
  Offer offer;
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(returned)) {
    const std::string name = py::str(key);
    if (name == "__version__") {
      offer.foreign.version = value_of(value);
    } else if (name == "buffer") {
      offer.foreign.has_buffer = true;
      offer.source = py::reinterpret_borrow<py::object>(value);
      if (PyObject_CheckBuffer(value.ptr()) == 0) continue;
      HeldBuffer held = hold_buffer(offer.source);
      offer.foreign.buffer = std::move(held.buffer);
      offer.owner = std::move(held.owner);
    } else if (name == "dim_data") {
      read_dim_data(py::reinterpret_borrow<py::object>(value), offer);
    } else {
      offer.foreign.other_keys.push_back(name);
    }
  }
  return offer;
}

PythonPiece PythonPiece::accept(const py::object& source, Level level) {
  Offer offer = offer_of(source);
  PythonPiece piece;
  piece.exported_ = dap::accept(offer.foreign, level);
  piece.owner_ = std::move(offer.owner);
  piece.source_ = std::move(offer.source);
  piece.offered_ = std::move(offer.dictionaries);
  piece.keeps_unknown_keys_ = level == Level::kLenient;
  for (std::size_t axis = 0; axis < piece.exported_.dim_data.size(); ++axis)
    piece.resolved_.push_back(
        resolved(piece.exported_.dim_data[axis], piece.exported_.buffer.shape[axis]));
  return piece;
}

PythonPiece::PythonPiece(const Distribution& distribution, int rank, const py::object& array)
    : source_(array) {
  HeldBuffer held = hold_buffer(array);
  exported_ = export_piece(distribution, rank, std::move(held.buffer));
  owner_ = std::move(held.owner);
  resolved_ = exported_.dim_data;
}

py::tuple PythonPiece::dim_data() const {
  py::tuple all(exported_.dim_data.size());
  for (std::size_t axis = 0; axis < all.size(); ++axis) {
    const DimData& dimension = exported_.dim_data[axis];
    py::dict dict = dict_of(to_dictionary(dimension));
    if (axis < offered_.size())
      for (const auto& [key, value] : offered_[axis]) {
        // A Dictionary has only keys that are text.
        const bool unknown = PyUnicode_Check(key.ptr())
                                 ? dimension.extra.count(key.cast<std::string>()) > 0
                                 : keeps_unknown_keys_;
        if (unknown || (dict.contains(key) && key.equal(py::str("indices")))) dict[key] = value;
      }
    all[axis] = dict;
  }
  return all;
}

py::dict PythonPiece::distarray() const {
  py::dict dict;
  dict["__version__"] = exported_.version;
  dict["buffer"] = source_;
  dict["dim_data"] = dim_data();
  return dict;
}

py::tuple PythonPiece::global_shape() const { return tuple_of(dap::global_shape(resolved_)); }

py::tuple PythonPiece::owned() const {
  py::tuple slices(resolved_.size());
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    const Triplet part = owned_part(resolved_[axis]);
    slices[axis] = py::slice(part.start, part.start + part.count, 1);
  }
  return slices;
}

const DimData& PythonPiece::axis(int number) const {
  if (number < 0 || static_cast<std::size_t>(number) >= resolved_.size())
    fail(ErrorKind::kArgument, "axis {} of an array of {}", number, resolved_.size());
  return resolved_[static_cast<std::size_t>(number)];
}

Index PythonPiece::to_global(int number, Index local) const {
  return dap::to_global(axis(number), local);
}

py::object PythonPiece::to_local(int number, Index global) const {
  const auto local = dap::to_local(axis(number), global);
  return local ? py::object(py::int_(*local)) : py::object(py::none());
}

py::capsule PythonPiece::dlpack(const py::object& max_version, const py::object& device,
                                const py::object& copy) const {
  if (!device.is_none() && !device.equal(py::make_tuple(dlpack::kCpu, 0)))
    refuse_buffer("the elements are in this process's memory alone, device (1, 0)");
  if (!copy.is_none() && copy.cast<bool>())
    refuse_buffer("the elements are lent where they are: copy them from there");
  const bool versioned = !max_version.is_none() && max_version[py::int_(0)].cast<int>() >= 1;
  if (versioned)
    return capsule_of(dlpack::to_dlpack_versioned(exported_.buffer, owner_), "dltensor_versioned");
  return capsule_of(dlpack::to_dlpack(exported_.buffer, owner_), "dltensor");
}

std::string PythonPiece::json() const { return to_json(exported_); }

}  // namespace impishim::darray::dap::python
