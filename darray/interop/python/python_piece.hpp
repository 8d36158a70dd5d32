// SPDX-License-Identifier: Apache-2.0
/// One process's piece of a distributed array, as Python sees it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "darray/interop/python/python_values.hpp"

namespace impishim::darray::dap::python {

/// A piece that holds the Python object whose memory it is. It offers __distarray__,
/// __array_interface__ and __dlpack__.
class PythonPiece {
 public:
  /// Makes a piece from an object with __distarray__, or from the dictionary that it returns
  /// (DAP-11). Throws Error(kProtocol), with all violations in its text, if the export is invalid.
  static PythonPiece accept(const pybind11::object& source, Level level);
  /// Makes a piece of a distribution in the memory of `array`, including ghosts.
  PythonPiece(const Distribution& distribution, int rank, const pybind11::object& array);

  [[nodiscard]] pybind11::dict distarray() const;
  [[nodiscard]] pybind11::tuple dim_data() const;
  [[nodiscard]] pybind11::object buffer() const { return source_; }
  [[nodiscard]] pybind11::dict array_interface() const {
    return array_interface_dict(exported_.buffer);
  }
  [[nodiscard]] pybind11::tuple global_shape() const;
  /// Returns the part of the buffer that the process owns, as a slice for each axis.
  [[nodiscard]] pybind11::tuple owned() const;
  [[nodiscard]] Index to_global(int axis, Index local) const;
  [[nodiscard]] pybind11::object to_local(int axis, Index global) const;
  /// Returns a DLPack capsule. A `device` or `copy` that requires memory other than the piece's own
  /// raises BufferError, as Python's array API requires.
  [[nodiscard]] pybind11::capsule dlpack(const pybind11::object& max_version,
                                         const pybind11::object& device,
                                         const pybind11::object& copy) const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] const Export& exported() const { return exported_; }

 private:
  PythonPiece() = default;
  [[nodiscard]] const DimData& axis(int number) const;

  Export exported_;
  std::vector<DimData> resolved_;
  std::shared_ptr<const void> owner_;
  pybind11::object source_;
  std::vector<pybind11::dict> offered_;  // the original dictionaries, so that unknown keys and the
                                         // labels' own buffer are exported again
  bool keeps_unknown_keys_ = false;
};

/// The result of __distarray__, or the dictionary itself, with a hold on its buffer.
struct Offer {
  ForeignExport foreign;
  std::shared_ptr<const void> owner;
  pybind11::object source;
  std::vector<pybind11::dict> dictionaries;
};
Offer offer_of(const pybind11::object& source);

}  // namespace impishim::darray::dap::python
