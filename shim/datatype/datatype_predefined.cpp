// SPDX-License-Identifier: Apache-2.0
#include "shim/datatype/datatype_predefined.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "shim/handle/handle_bits.hpp"
#include "shim/vendor.hpp"
#include "wire/base/never_destroyed.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {
namespace {

using wire::BasicType;
using wire::Block;
using wire::Format;
using wire::TypeLayout;

/// Returns the integer class of this size. A size without a class is treated as bytes, which are
/// never converted.
BasicType integer_of(std::size_t size) {
  switch (size) {
    case 2:
      return BasicType::kInt16;
    case 4:
      return BasicType::kInt32;
    case 8:
      return BasicType::kInt64;
    default:
      return BasicType::kByte;
  }
}

BasicType real_of(std::size_t size) {
  switch (size) {
    case 4:
      return BasicType::kFloat;
    case 8:
      return BasicType::kDouble;
    case 16:
      return BasicType::kLongDouble;
    default:
      return BasicType::kByte;
  }
}

class PredefinedTable {
 public:
  /// Not inline, since the lookup for every message contains the call.
  [[gnu::noinline, gnu::cold]] PredefinedTable() : slots_(kSlots) {
    add_c_types();
    add_fortran_types();
    add_pairs();
  }

  [[nodiscard]] const TypeLayout* find(MPI_Datatype datatype) const {
    for (std::size_t i = hash(datatype);; i = (i + 1) % kSlots) {
      if (slots_[i].layout == nullptr) return nullptr;
      if (slots_[i].datatype == datatype) return slots_[i].layout;
    }
  }

 private:
  static constexpr std::size_t kSlots = 1024;
  struct Slot {
    MPI_Datatype datatype{};
    const TypeLayout* layout = nullptr;
  };

  static std::size_t hash(MPI_Datatype datatype) { return hash_of(datatype) % kSlots; }

  void insert(MPI_Datatype datatype, const TypeLayout& layout) {
    if (datatype == MPI_DATATYPE_NULL) return;
    std::size_t i = hash(datatype);
    while (slots_[i].layout != nullptr && slots_[i].datatype != datatype) i = (i + 1) % kSlots;
    if (slots_[i].layout == nullptr) slots_[i] = {datatype, &layout};
  }

  void add(MPI_Datatype datatype, BasicType type) {
    if (datatype == MPI_DATATYPE_NULL) return;
    int size = 0;
    vendor::Type_size(datatype, &size);
    if (static_cast<std::size_t>(size) == wire::element_size(type, Format::kNative))
      return insert(datatype, TypeLayout::basic(type));
    // The type has several elements (complex types), or is made of bytes of an unusual size.
    const auto elements =
        static_cast<std::uint64_t>(size) / wire::element_size(type, Format::kNative);
    insert(datatype, keep({{0, type, elements, 1, 0}}, size));
  }

  const TypeLayout& keep(const std::vector<Block>& blocks, std::ptrdiff_t extent) {
    return kept_.emplace_back(blocks, extent);
  }

  void add_bytes(MPI_Datatype datatype) { add(datatype, BasicType::kByte); }

  void add_integer(MPI_Datatype datatype) {
    if (datatype == MPI_DATATYPE_NULL) return;
    int size = 0;
    vendor::Type_size(datatype, &size);
    add(datatype, integer_of(static_cast<std::size_t>(size)));
  }

  void add_real(MPI_Datatype datatype, std::size_t parts) {
    if (datatype == MPI_DATATYPE_NULL) return;
    int size = 0;
    vendor::Type_size(datatype, &size);
    add(datatype, real_of(static_cast<std::size_t>(size) / parts));
  }

  template <class First, class Second>
  void add_pair(MPI_Datatype datatype, BasicType first, BasicType second) {
    struct Pair {
      First value;
      Second index;
    };
    insert(datatype,
           keep({{0, first, 1, 1, 0}, {offsetof(Pair, index), second, 1, 1, 0}}, sizeof(Pair)));
  }

  void add_c_types() {
    for (MPI_Datatype type : {MPI_BYTE, MPI_PACKED, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR,
                              MPI_INT8_T, MPI_UINT8_T, MPI_C_BOOL}) {
      add_bytes(type);
    }
#ifdef MPI_CXX_BOOL
    add_bytes(MPI_CXX_BOOL);
#endif
    for (MPI_Datatype type :
         {MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED, MPI_LONG_LONG,
          MPI_UNSIGNED_LONG_LONG, MPI_INT16_T, MPI_UINT16_T, MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T,
          MPI_UINT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET}) {
      add_integer(type);
    }
    add(MPI_LONG, BasicType::kSignedLong);
    add(MPI_UNSIGNED_LONG, BasicType::kUnsignedLong);
    add(MPI_WCHAR, BasicType::kWideChar);
    for (MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE}) add_real(type, 1);
    for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX})
      add_real(type, 2);
#ifdef MPI_CXX_FLOAT_COMPLEX
    for (MPI_Datatype type :
         {MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})
      add_real(type, 2);
#endif
  }

  void add_fortran_types() {
    add_bytes(MPI_CHARACTER);
    for (MPI_Datatype type : {MPI_INTEGER, MPI_LOGICAL}) add_integer(type);
    for (MPI_Datatype type : {MPI_REAL, MPI_DOUBLE_PRECISION}) add_real(type, 1);
    for (MPI_Datatype type : {MPI_COMPLEX, MPI_DOUBLE_COMPLEX}) add_real(type, 2);
#ifdef MPI_INTEGER1
    for (MPI_Datatype type : {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
      add_integer(type);
#endif
#ifdef MPI_REAL4
    for (MPI_Datatype type : {MPI_REAL4, MPI_REAL8}) add_real(type, 1);
#endif
#ifdef MPI_COMPLEX8
    for (MPI_Datatype type : {MPI_COMPLEX8, MPI_COMPLEX16}) add_real(type, 2);
#endif
#ifdef MPI_REAL16
    // The 16 bytes of gfortran's REAL(16) are IEEE binary128 and not a long double.
    add(MPI_REAL16, BasicType::kQuad);
    add(MPI_COMPLEX32, BasicType::kQuad);
#endif
  }

  void add_pairs() {
    add_pair<float, int>(MPI_FLOAT_INT, BasicType::kFloat, BasicType::kInt32);
    add_pair<double, int>(MPI_DOUBLE_INT, BasicType::kDouble, BasicType::kInt32);
    add_pair<long, int>(MPI_LONG_INT, BasicType::kSignedLong, BasicType::kInt32);
    add_pair<short, int>(MPI_SHORT_INT, BasicType::kInt16, BasicType::kInt32);
    add_pair<int, int>(MPI_2INT, BasicType::kInt32, BasicType::kInt32);
    add_pair<long double, int>(MPI_LONG_DOUBLE_INT, BasicType::kLongDouble, BasicType::kInt32);
    add_pair<int, int>(MPI_2INTEGER, BasicType::kInt32, BasicType::kInt32);
    add_pair<float, float>(MPI_2REAL, BasicType::kFloat, BasicType::kFloat);
    add_pair<double, double>(MPI_2DOUBLE_PRECISION, BasicType::kDouble, BasicType::kDouble);
  }

  std::vector<Slot> slots_;
  std::list<TypeLayout> kept_;
};

}  // namespace

const TypeLayout* predefined_layout(MPI_Datatype datatype) {
  static const auto& table = never_destroyed<const PredefinedTable>();
  return table.find(datatype);
}

}  // namespace impishim::shim
