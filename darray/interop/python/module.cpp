// SPDX-License-Identifier: Apache-2.0
// The Python module impishim_darray.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "darray/index/make_distribution.hpp"
#include "darray/interop/dap/json.hpp"
#include "darray/interop/dap/partitioned.hpp"
#include "darray/interop/python/python_piece.hpp"

namespace impishim::darray::dap::python {

namespace py = pybind11;

namespace {

Level level_of(const std::string& name) {
  if (name == "strict") return Level::kStrict;
  if (name == "lenient") return Level::kLenient;
  fail(ErrorKind::kArgument, "'{}' is no level: 'lenient' or 'strict'", name);
}

py::list validate_offer(const py::object& source, const std::string& level) {
  return list_of(validate(offer_of(source).foreign, level_of(level)));
}

/// Returns the pieces from pairs (dim_data, shape of the buffer), one for each process in rank
/// order.
std::vector<ProcessPiece> pieces_of(const py::sequence& pairs, Level level) {
  std::vector<ProcessPiece> pieces;
  for (const py::handle pair : pairs) {
    const auto [dim_data, shape] =
        pair.cast<std::pair<std::vector<py::dict>, std::vector<Index>>>();
    std::vector<Dictionary> dictionaries;
    for (const py::dict& dict : dim_data) dictionaries.push_back(dictionary_of(dict));
    require_none(validate(dictionaries, shape, level),
                 fmt::format("the piece of rank {}", pieces.size()));
    pieces.push_back({read(dictionaries, level).dimensions, shape});
  }
  return pieces;
}

py::list check_all(const py::sequence& pairs, const std::string& level, bool replicated) {
  return list_of(check_processes(pieces_of(pairs, level_of(level)), level_of(level), replicated));
}

PythonPiece make_piece(const py::object& array, const std::vector<Index>& shape, int processes,
                       int rank, const std::string& kinds, const std::vector<int>& grid,
                       const std::map<int, Index>& block_sizes) {
  DistributionOptions options;
  options.kinds = kinds;
  options.grid = grid;
  options.block_sizes = block_sizes;
  return {*make_distribution(shape, processes, options), rank, array};
}

/// Returns the draft's dictionary. A partition's data is an object with __array_interface__, or
/// None.
py::dict partitioned_dict(const py::sequence& pairs, int rank, const py::object& array) {
  const auto layout = distribution_of(pieces_of(pairs, Level::kStrict), Level::kStrict);
  const HeldBuffer held = hold_buffer(array);
  const Partitioned all = partitioned(*layout, rank, held.buffer);
  const py::object holder = py::module_::import("types").attr("SimpleNamespace");
  py::dict partitions;
  for (const Partition& partition : all.partitions) {
    py::dict entry;
    entry["start"] = tuple_of(partition.start);
    entry["shape"] = tuple_of(partition.shape);
    entry["location"] = py::make_tuple(partition.rank);
    entry["data"] = py::none();
    if (partition.data)
      entry["data"] = holder(py::arg("__array_interface__") = array_interface_dict(*partition.data),
                             py::arg("owner") = array);
    partitions[tuple_of(partition.position)] = entry;
  }
  py::list locals;
  for (const std::size_t local : all.locals)
    locals.append(tuple_of(all.partitions[local].position));
  py::dict result;
  result["shape"] = tuple_of(all.shape);
  result["partition_tiling"] = tuple_of(all.partition_tiling);
  result["partitions"] = partitions;
  result["locals"] = locals;
  result["get"] = py::cpp_function([](const py::object& data) { return data; });
  return result;
}

}  // namespace

PYBIND11_MODULE(impishim_darray, module) {
  module.doc() =
      "The Distributed Array Protocol (__distarray__), both ways, without copying and without "
      "communication.";
  module.attr("__version__") = IMPISHIM_VERSION;
  module.attr("protocol_version") = py::str(kVersion.data(), kVersion.size());
  py::register_exception<Error>(module, "Error", PyExc_ValueError);

  py::class_<PythonPiece>(module, "Piece", "One process's piece of a distributed array.")
      .def("__distarray__", &PythonPiece::distarray)
      .def_property_readonly("dim_data", &PythonPiece::dim_data)
      .def_property_readonly("buffer", &PythonPiece::buffer,
                             "The object whose memory the piece is.")
      .def_property_readonly("global_shape", &PythonPiece::global_shape)
      .def_property_readonly("owned", &PythonPiece::owned,
                             "A slice for each axis: the buffer without communication padding.")
      .def("to_global", &PythonPiece::to_global, py::arg("axis"), py::arg("local"))
      .def("to_local", &PythonPiece::to_local, py::arg("axis"), py::arg("index"),
           "None if another process owns it.")
      .def("to_json", &PythonPiece::json)
      .def_property_readonly("__array_interface__", &PythonPiece::array_interface)
      .def(
          "__dlpack__",
          [](const PythonPiece& piece, const py::object&, const py::object& max_version,
             const py::object& device,
             const py::object& copy) { return piece.dlpack(max_version, device, copy); },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const PythonPiece&) { return py::make_tuple(1, 0); });

  module.def(
      "from_distarray",
      [](const py::object& source, const std::string& level) {
        return PythonPiece::accept(source, level_of(level));
      },
      py::arg("source"), py::arg("level") = "strict",
      "A Piece of an object with __distarray__, or of what that returns.");
  module.def("to_distarray", &make_piece, py::arg("array"), py::arg("shape"), py::arg("processes"),
             py::arg("rank"), py::arg("kinds") = "", py::arg("grid") = std::vector<int>{},
             py::arg("block_sizes") = std::map<int, Index>{},
             "A Piece in the memory of array: kinds are letters 'b', 'e', 'c', 'n' for each axis.");
  module.def("validate", &validate_offer, py::arg("source"), py::arg("level") = "strict",
             "What is wrong, as a list of texts.");
  module.def("check_processes", &check_all, py::arg("pieces"), py::arg("level") = "strict",
             py::arg("replicated") = false,
             "What is wrong between processes: pieces is [(dim_data, shape of the buffer), ...] in "
             "rank order.");
  module.def("partitioned", &partitioned_dict, py::arg("pieces"), py::arg("rank"), py::arg("array"),
             "The dictionary of __partitioned__.");
}

}  // namespace impishim::darray::dap::python
