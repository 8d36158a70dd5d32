// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/files/hdf5.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <array>
#include <complex>
#include <utility>

#include "darray/interop/files/raw_file.hpp"

namespace impishim::darray::file::hdf5 {
namespace {

// Suppresses HDF5's own error output, which is on by default. The destructor restores the program's
// setting.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

[[noreturn]] void fail_with(const Place& place, const char* what) {
  std::string reason = "no reason given";
  const auto first = [](unsigned place_in_stack, const H5E_error2_t* error, void* text) -> herr_t {
    if (place_in_stack == 0 && error->desc != nullptr)
      *static_cast<std::string*>(text) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &reason);
  fail(ErrorKind::kArgument, "{}: dataset '{}': {}: {}", place.file, place.dataset, what, reason);
}

template <class Result>
Result checked(Result result, const Place& place, const char* what) {
  if (result < 0) fail_with(place, what);
  return result;
}

// An HDF5 identifier with the function that closes it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close, const Place& place, const char* what)
      : id_(checked(id, place, what)), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  operator hid_t() const { return id_; }
  // Closes the identifier. A failed write may only be reported here.
  void finish(const Place& place) {
    checked(close_(std::exchange(id_, H5I_INVALID_HID)), place, "cannot be closed");
  }

 private:
  hid_t id_;
  Close close_;
};

Handle open_file(const Place& place, unsigned flags) {
  return {H5Fopen(place.file.c_str(), flags, H5P_DEFAULT), H5Fclose, place,
          "the file cannot be opened"};
}
Handle open_dataset(hid_t file, const Place& place) {
  return {H5Dopen2(file, place.dataset.c_str(), H5P_DEFAULT), H5Dclose, place, "cannot be opened"};
}
Handle space_of(hid_t dataset, const Place& place) {
  return {H5Dget_space(dataset), H5Sclose, place, "has no shape"};
}

hid_t native_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::kInt8:
      return H5T_NATIVE_INT8;
    case Scalar::kInt16:
      return H5T_NATIVE_INT16;
    case Scalar::kInt32:
      return H5T_NATIVE_INT32;
    case Scalar::kInt64:
      return H5T_NATIVE_INT64;
    case Scalar::kUint8:
      return H5T_NATIVE_UINT8;
    case Scalar::kUint16:
      return H5T_NATIVE_UINT16;
    case Scalar::kUint32:
      return H5T_NATIVE_UINT32;
    case Scalar::kUint64:
      return H5T_NATIVE_UINT64;
    case Scalar::kFloat:
    case Scalar::kComplexFloat:
      return H5T_NATIVE_FLOAT;
    case Scalar::kDouble:
    case Scalar::kComplexDouble:
      return H5T_NATIVE_DOUBLE;
    case Scalar::kLongDouble:
      return H5T_NATIVE_LDOUBLE;
    default:
      return H5T_NATIVE_INT8;
  }
}

// Returns the type of an element in memory, which is also its type in files that are made here.
Handle type_of(Scalar scalar, const Place& place) {
  const char* what = "has a type that cannot be made";
  const hid_t number = native_type(scalar);
  if (scalar == Scalar::kBool) {
    Handle type(H5Tenum_create(number), H5Tclose, place, what);
    for (const auto& [name, value] :
         {std::pair<const char*, std::int8_t>{"FALSE", 0}, {"TRUE", 1}}) {
      checked(H5Tenum_insert(type, name, &value), place, what);
    }
    return type;
  }
  if (scalar == Scalar::kComplexFloat || scalar == Scalar::kComplexDouble) {
    const std::size_t part = size_of(scalar) / 2;
    Handle type(H5Tcreate(H5T_COMPOUND, size_of(scalar)), H5Tclose, place, what);
    checked(H5Tinsert(type, "r", 0, number), place, what);
    checked(H5Tinsert(type, "i", part, number), place, what);
    return type;
  }
  return {H5Tcopy(number), H5Tclose, place, what};
}

Scalar integer_in(hid_t type) {
  const bool has_sign = H5Tget_sign(type) == H5T_SGN_2;
  switch (H5Tget_size(type)) {
    case 1:
      return has_sign ? Scalar::kInt8 : Scalar::kUint8;
    case 2:
      return has_sign ? Scalar::kInt16 : Scalar::kUint16;
    case 4:
      return has_sign ? Scalar::kInt32 : Scalar::kUint32;
    case 8:
      return has_sign ? Scalar::kInt64 : Scalar::kUint64;
    default:
      return Scalar::kOpaque;
  }
}

Scalar floating_in(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  if (size == 4) return Scalar::kFloat;
  if (size == 8) return Scalar::kDouble;
  return size == 16 && H5Tget_precision(type) == H5Tget_precision(H5T_NATIVE_LDOUBLE)
             ? Scalar::kLongDouble
             : Scalar::kOpaque;
}

// Returns true if the type has exactly two members with these names, in this order.
bool has_members(hid_t type, std::string_view first, std::string_view second) {
  if (H5Tget_nmembers(type) != 2) return false;
  const auto is_named = [&](unsigned member, std::string_view wanted) {
    char* name = H5Tget_member_name(type, member);
    const bool same = name != nullptr && wanted == name;
    H5free_memory(name);
    return same;
  };
  return is_named(0, first) && is_named(1, second);
}

// Returns the scalar of an HDF5 type, or kOpaque if arrays do not have the type.
Scalar scalar_in(hid_t type, const Place& place) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return integer_in(type);
    case H5T_FLOAT:
      return floating_in(type);
    case H5T_ENUM:
      return H5Tget_size(type) == 1 && has_members(type, "FALSE", "TRUE") ? Scalar::kBool
                                                                          : Scalar::kOpaque;
    case H5T_COMPOUND: {
      if (!has_members(type, "r", "i")) return Scalar::kOpaque;
      std::array<Scalar, 2> parts{};
      for (unsigned member = 0; member < 2; ++member) {
        const Handle part(H5Tget_member_type(type, member), H5Tclose, place,
                          "has a type that cannot be read");
        if (H5Tget_class(part) == H5T_FLOAT) parts[member] = floating_in(part);
      }
      if (parts[0] != parts[1]) return Scalar::kOpaque;
      if (parts[0] == Scalar::kFloat) return Scalar::kComplexFloat;
      return parts[0] == Scalar::kDouble ? Scalar::kComplexDouble : Scalar::kOpaque;
    }
    default:
      return Scalar::kOpaque;
  }
}

Handle space_for(const Header& header, const Place& place) {
  if (header.shape.empty())
    return {H5Screate(H5S_SCALAR), H5Sclose, place, "has a shape that cannot be made"};
  if (header.shape.size() > H5S_MAX_RANK) {
    fail(ErrorKind::kShape, "{}: {} axes are more than the {} of HDF5", place.file,
         header.shape.size(), H5S_MAX_RANK);
  }
  const std::vector<hsize_t> extents(header.shape.begin(), header.shape.end());
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
          place, "has a shape that cannot be made"};
}

// Returns true if the dataset's name exists. Groups on its path may be missing.
bool is_there(hid_t file, const Place& place) {
  for (std::size_t end = place.dataset.find('/', 1); end != std::string::npos;
       end = place.dataset.find('/', end + 1)) {
    if (checked(H5Lexists(file, place.dataset.substr(0, end).c_str(), H5P_DEFAULT), place,
                "cannot be looked up") == 0)
      return false;
  }
  return checked(H5Lexists(file, place.dataset.c_str(), H5P_DEFAULT), place,
                 "cannot be looked up") > 0;
}

Handle open_or_create_file(const Place& place) {
  if (::access(place.file.c_str(), F_OK) == 0) return open_file(place, H5F_ACC_RDWR);
  return {H5Fcreate(place.file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, place,
          "the file cannot be created"};
}

// Makes a contiguous dataset, whose space in the file is allocated at once and not filled. Elements
// that no process writes read as zeros, because they are a hole in the file.
Handle make_dataset(hid_t file, const Place& place, const Header& header) {
  const char* what = "cannot be created";
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, place, what);
  checked(H5Pset_create_intermediate_group(links, 1), place, what);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, place, what);
  checked(H5Pset_layout(properties, H5D_CONTIGUOUS), place, what);
  checked(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY), place, what);
  checked(H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER), place, what);
  const Handle type = type_of(header.scalar, place);
  const Handle space = space_for(header, place);
  return {H5Dcreate2(file, place.dataset.c_str(), type, space, links, properties, H5P_DEFAULT),
          H5Dclose, place, what};
}

}  // namespace

bool is_available() { return true; }

Header read_header(const Place& place) {
  const QuietErrors quiet;
  const Handle file = open_file(place, H5F_ACC_RDONLY);
  const Handle dataset = open_dataset(file, place);
  const Handle type(H5Dget_type(dataset), H5Tclose, place, "has no type");
  Header header;
  header.scalar = scalar_in(type, place);
  if (header.scalar == Scalar::kOpaque) {
    fail(ErrorKind::kUnsupported, "{}: dataset '{}': elements of its type are not read", place.file,
         place.dataset);
  }
  const Handle space = space_of(dataset, place);
  if (H5Sget_simple_extent_type(space) == H5S_NULL) {
    fail(ErrorKind::kUnsupported, "{}: dataset '{}': has no elements, not even a shape", place.file,
         place.dataset);
  }
  const int dimensions = checked(H5Sget_simple_extent_ndims(space), place, "has no shape");
  std::vector<hsize_t> extents(static_cast<std::size_t>(dimensions));
  checked(H5Sget_simple_extent_dims(space, extents.data(), nullptr), place, "has no shape");
  header.shape.assign(extents.begin(), extents.end());
  return header;
}

void create(const Place& place, Header& header, bool overwrite) {
  const QuietErrors quiet;
  Handle file = open_or_create_file(place);
  if (is_there(file, place)) {
    if (!overwrite)
      fail(ErrorKind::kArgument, "{}: dataset '{}' is there already", place.file, place.dataset);
    checked(H5Ldelete(file, place.dataset.c_str(), H5P_DEFAULT), place, "cannot be replaced");
  }
  Handle dataset = make_dataset(file, place, header);
  // An array without elements has no position in the file; nothing will be written.
  const haddr_t offset = H5Dget_offset(dataset);
  header.offset = offset == HADDR_UNDEF ? 0 : static_cast<Index>(offset);
  dataset.finish(place);
  file.finish(place);
}

void read(const Place& place, const Header& header, Rows rows, void* data) {
  const QuietErrors quiet;
  const Handle file = open_file(place, H5F_ACC_RDONLY);
  const Handle dataset = open_dataset(file, place);
  const Handle type = type_of(header.scalar, place);
  const Handle all = space_of(dataset, place);
  Header part = header;
  if (!part.shape.empty()) {
    part.shape[0] = rows.count;
    std::vector<hsize_t> first(part.shape.size(), 0);
    first[0] = static_cast<hsize_t>(rows.first);
    const std::vector<hsize_t> count(part.shape.begin(), part.shape.end());
    checked(H5Sselect_hyperslab(all, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr),
            place, "has no such rows");
  }
  const Handle memory = space_for(part, place);
  checked(H5Dread(dataset, type, memory, all, H5P_DEFAULT, data), place, "cannot be read");
}

}  // namespace impishim::darray::file::hdf5
