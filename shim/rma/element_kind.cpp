// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/element_kind.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <unordered_map>

#include "shim/datatype/datatype_contents.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/vendor.hpp"
#include "wire/base/never_destroyed.hpp"
#include "wire/window/element_operation.hpp"

namespace impishim::shim {
namespace {

using wire::ElementKind;

/// Returns the kind of a number of a type's size, of those for 1, 2, 4 and 8 bytes.
std::optional<ElementKind> by_size(MPI_Datatype datatype, ElementKind one, ElementKind two,
                                   ElementKind four, ElementKind eight) {
  int size = 0;
  vendor::Type_size(datatype, &size);
  switch (size) {
    case 1:
      return one;
    case 2:
      return two;
    case 4:
      return four;
    case 8:
      return eight;
    default:
      return std::nullopt;
  }
}

/// The predefined datatypes that have operations.
class KindTable {
 public:
  [[gnu::noinline, gnu::cold]] KindTable() {
    add_c_types();
    add_fortran_types();
    add_pairs();
  }
  [[nodiscard]] std::optional<ElementKind> find(MPI_Datatype datatype) const {
    const auto found = kinds_.find(to_bits(datatype));
    if (found == kinds_.end()) return std::nullopt;
    return found->second;
  }

 private:
  void add(MPI_Datatype datatype, std::optional<ElementKind> kind) {
    if (datatype != MPI_DATATYPE_NULL && kind) kinds_.emplace(to_bits(datatype), *kind);
  }
  void add_signed(MPI_Datatype type) {
    if (type != MPI_DATATYPE_NULL)
      add(type, by_size(type, ElementKind::kInt8, ElementKind::kInt16, ElementKind::kInt32,
                        ElementKind::kInt64));
  }
  void add_unsigned(MPI_Datatype type) {
    add(type, by_size(type, ElementKind::kUint8, ElementKind::kUint16, ElementKind::kUint32,
                      ElementKind::kUint64));
  }
  /// Adds a floating-point type of `size` bytes, or a complex one of two such parts.
  void add_real(MPI_Datatype type, bool complex) {
    if (type == MPI_DATATYPE_NULL) return;
    int size = 0;
    vendor::Type_size(type, &size);
    if (complex) size /= 2;
    // Fortran's REAL(16) is no long double, though it has its size.
    if (size == 4) add(type, complex ? ElementKind::kFloatComplex : ElementKind::kFloat);
    if (size == 8) add(type, complex ? ElementKind::kDoubleComplex : ElementKind::kDouble);
  }

  void add_c_types() {
    add(MPI_BYTE, ElementKind::kByte);
    add(MPI_PACKED, ElementKind::kByte);
    // Both vendors reduce it as a number, which MPI leaves open.
    add(MPI_CHAR, std::is_signed_v<char> ? ElementKind::kInt8 : ElementKind::kUint8);
    add(MPI_WCHAR, ElementKind::kWideCharacter);
    add(MPI_C_BOOL, ElementKind::kBool);
    add(MPI_LONG, ElementKind::kLong);
    add(MPI_UNSIGNED_LONG, ElementKind::kUnsignedLong);
    for (MPI_Datatype type :
         {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
          MPI_INT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET})
      add_signed(type);
    for (MPI_Datatype type :
         {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
          MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
      add_unsigned(type);
    for (MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE}) add_real(type, false);
    for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX}) add_real(type, true);
    add(MPI_LONG_DOUBLE, ElementKind::kLongDouble);
    add(MPI_C_LONG_DOUBLE_COMPLEX, ElementKind::kLongDoubleComplex);
#ifdef MPI_CXX_BOOL
    add(MPI_CXX_BOOL, ElementKind::kBool);
#endif
#ifdef MPI_CXX_FLOAT_COMPLEX
    for (MPI_Datatype type : {MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX}) add_real(type, true);
    add(MPI_CXX_LONG_DOUBLE_COMPLEX, ElementKind::kLongDoubleComplex);
#endif
  }

  void add_fortran_types() {
    add(MPI_CHARACTER, ElementKind::kCharacter);
    add(MPI_LOGICAL, by_size(MPI_LOGICAL, ElementKind::kLogical8, ElementKind::kLogical16,
                             ElementKind::kLogical32, ElementKind::kLogical64));
    add_signed(MPI_INTEGER);
    for (MPI_Datatype type : {MPI_REAL, MPI_DOUBLE_PRECISION}) add_real(type, false);
    for (MPI_Datatype type : {MPI_COMPLEX, MPI_DOUBLE_COMPLEX}) add_real(type, true);
#ifdef MPI_INTEGER1
    for (MPI_Datatype type : {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
      add_signed(type);
#endif
#ifdef MPI_REAL4
    for (MPI_Datatype type : {MPI_REAL4, MPI_REAL8}) add_real(type, false);
#endif
#ifdef MPI_COMPLEX8
    for (MPI_Datatype type : {MPI_COMPLEX8, MPI_COMPLEX16}) add_real(type, true);
#endif
#ifdef OPEN_MPI
    add(MPI_LOGICAL1, ElementKind::kLogical8);
    add(MPI_LOGICAL2, ElementKind::kLogical16);
    add(MPI_LOGICAL4, ElementKind::kLogical32);
    add(MPI_LOGICAL8, ElementKind::kLogical64);
#endif
  }

  void add_pairs() {
    add(MPI_FLOAT_INT, ElementKind::kFloatInt);
    add(MPI_DOUBLE_INT, ElementKind::kDoubleInt);
    add(MPI_LONG_INT, ElementKind::kLongInt);
    add(MPI_2INT, ElementKind::kTwoInt);
    add(MPI_SHORT_INT, ElementKind::kShortInt);
    add(MPI_LONG_DOUBLE_INT, ElementKind::kLongDoubleInt);
    add(MPI_2INTEGER, ElementKind::kTwoInt);
    add(MPI_2REAL, ElementKind::kTwoFloat);
    add(MPI_2DOUBLE_PRECISION, ElementKind::kTwoDouble);
  }

  std::unordered_map<std::uintptr_t, ElementKind> kinds_;
};

std::optional<ElementKind> kind_of_f90(MPI_Datatype datatype, int combiner) {
  if (combiner == MPI_COMBINER_F90_INTEGER)
    return by_size(datatype, ElementKind::kInt8, ElementKind::kInt16, ElementKind::kInt32,
                   ElementKind::kInt64);
  int size = 0;
  vendor::Type_size(datatype, &size);
  const bool complex = combiner == MPI_COMBINER_F90_COMPLEX;
  const int part = complex ? size / 2 : size;
  if (part == 4) return complex ? ElementKind::kFloatComplex : ElementKind::kFloat;
  if (part == 8) return complex ? ElementKind::kDoubleComplex : ElementKind::kDouble;
  return std::nullopt;
}

bool is_f90(int combiner) {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace

std::optional<wire::ElementKind> element_kind_of(MPI_Datatype datatype) {
  static const auto& table = never_destroyed<const KindTable>();
  if (const auto known = table.find(datatype)) return known;
  DatatypeContents contents;
  if (!contents.read(datatype)) return std::nullopt;
  if (is_f90(contents.combiner)) return kind_of_f90(datatype, contents.combiner);
  // All parts have the same type, or the request is refused when its layout is checked. Parts
  // without elements may have any.
  for (const MPI_Datatype type : contents.types) {
    int size = 0;
    vendor::Type_size(type, &size);
    if (size != 0) return element_kind_of(type);
  }
  return std::nullopt;
}

std::optional<wire::ElementOperation> element_operation_of(MPI_Op op) {
  using Operation = wire::ElementOperation;
  if (op == MPI_SUM) return Operation::kSum;
  if (op == MPI_REPLACE) return Operation::kReplace;
  if (op == MPI_NO_OP) return Operation::kNoOperation;
  if (op == MPI_PROD) return Operation::kProduct;
  if (op == MPI_MAX) return Operation::kMaximum;
  if (op == MPI_MIN) return Operation::kMinimum;
  if (op == MPI_LAND) return Operation::kLogicalAnd;
  if (op == MPI_LOR) return Operation::kLogicalOr;
  if (op == MPI_LXOR) return Operation::kLogicalXor;
  if (op == MPI_BAND) return Operation::kBitAnd;
  if (op == MPI_BOR) return Operation::kBitOr;
  if (op == MPI_BXOR) return Operation::kBitXor;
  if (op == MPI_MAXLOC) return Operation::kMaximumLocation;
  if (op == MPI_MINLOC) return Operation::kMinimumLocation;
  return std::nullopt;
}

}  // namespace impishim::shim
