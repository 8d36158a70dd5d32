// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/element.hpp"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tests/support/content.hpp"

namespace sweep {
namespace {

constexpr std::uint32_t bit(Op op) { return 1U << static_cast<unsigned>(op); }
constexpr std::uint32_t kOrder = bit(Op::kMax) | bit(Op::kMin);
constexpr std::uint32_t kArithmetic = bit(Op::kSum) | bit(Op::kProd);
constexpr std::uint32_t kLogical = bit(Op::kLand) | bit(Op::kLor) | bit(Op::kLxor);
constexpr std::uint32_t kBits = bit(Op::kBand) | bit(Op::kBor) | bit(Op::kBxor);
// The groups of MPI-3.1 5.9.2.
constexpr std::uint32_t kCInteger = kOrder | kArithmetic | kLogical | kBits;
constexpr std::uint32_t kFortranInteger = kOrder | kArithmetic | kBits;
constexpr std::uint32_t kMultiLanguage = kOrder | kArithmetic | kBits;
constexpr std::uint32_t kFloating = kOrder | kArithmetic;
constexpr std::uint32_t kLocation = bit(Op::kMinloc) | bit(Op::kMaxloc);

/// A pair of value and index, as in MPI_DOUBLE_INT.
template <typename Value, typename Index>
struct Located {
  Value value;
  Index index;
};

template <typename T>
struct IsLocated : std::false_type {};
template <typename Value, typename Index>
struct IsLocated<Located<Value, Index>> : std::true_type {};
template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Any value of T that every representation has: long is 4 bytes in external32, wchar_t 2.
template <typename T>
T any_value(std::uint64_t seed) {
  if constexpr (std::is_same_v<T, wchar_t>) {
    return static_cast<T>(seed & 0x7FFF);
  } else if constexpr (std::is_same_v<T, long>) {
    return static_cast<std::int32_t>(seed);
  } else if constexpr (std::is_same_v<T, unsigned long>) {
    return static_cast<std::uint32_t>(seed);
  } else if constexpr (std::is_same_v<T, bool>) {
    return seed % 2 != 0;
  } else {
    return static_cast<T>(static_cast<std::int64_t>(seed));
  }
}

/// A small one, whose sums, products and comparisons with a few others are exact.
template <typename T>
T small_value(std::uint64_t seed, Op op) {
  if constexpr (std::is_same_v<T, bool>) {
    return seed % 2 != 0;
  } else {
    const int value = static_cast<int>(seed % 5);
    if (op == Op::kLand || op == Op::kLor || op == Op::kLxor) return static_cast<T>(value % 2);
    return static_cast<T>(std::is_unsigned_v<T> ? value % 3 : value - 2);
  }
}

template <typename T>
T value_for(std::uint64_t seed, Op op) {
  constexpr bool has_bits = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  const bool any =
      op == Op::kMove || (has_bits && (op == Op::kBand || op == Op::kBor || op == Op::kBxor));
  return any ? any_value<T>(seed) : small_value<T>(seed, op);
}

template <typename T>
void make(std::byte* to, std::uint64_t seed, Op op) {
  std::memset(to, 0, sizeof(T));
  if constexpr (IsLocated<T>::value) {
    const T pair{value_for<decltype(T::value)>(seed, op == Op::kMove ? op : Op::kMax),
                 static_cast<decltype(T::index)>(seed >> 40 & 0x7F)};
    std::memcpy(to + offsetof(T, value), &pair.value, sizeof(pair.value));
    std::memcpy(to + offsetof(T, index), &pair.index, sizeof(pair.index));
  } else if constexpr (IsComplex<T>::value) {
    using Part = typename T::value_type;
    // No product of these has a part of zero, whose sign would depend on the order of
    // multiplication.
    const T factor = seed % 2 == 0 ? T(2, 1) : T(3, 2);
    const T value =
        op == Op::kProd ? factor : T(value_for<Part>(seed, op), value_for<Part>(seed >> 32, op));
    std::memcpy(to, &value, sizeof(T));
  } else {
    const T value = value_for<T>(seed, op);
    std::memcpy(to, &value, sizeof(T));
  }
}

template <typename T>
T located(Op op, const T& left, const T& right) {
  if (left.value == right.value) return {left.value, std::min(left.index, right.index)};
  const bool takes_left = op == Op::kMinloc ? left.value < right.value : left.value > right.value;
  return takes_left ? left : right;
}

template <typename T>
T of_integers(Op op, T left, T right) {
  switch (op) {
    case Op::kLand:
      return static_cast<T>(left != 0 && right != 0);
    case Op::kLor:
      return static_cast<T>(left != 0 || right != 0);
    case Op::kLxor:
      return static_cast<T>((left != 0) != (right != 0));
    case Op::kBand:
      return static_cast<T>(left & right);
    case Op::kBor:
      return static_cast<T>(left | right);
    case Op::kBxor:
      return static_cast<T>(left ^ right);
    default:
      std::abort();
  }
}

template <typename T>
T combined(Op op, T left, T right) {
  if (op == Op::kSum) return static_cast<T>(left + right);
  if (op == Op::kProd) return static_cast<T>(left * right);
  if constexpr (!IsComplex<T>::value) {
    if (op == Op::kMax) return std::max(left, right);
    if (op == Op::kMin) return std::min(left, right);
  }
  if constexpr (std::is_integral_v<T>) return of_integers(op, left, right);
  std::abort();
}

template <typename T>
void combine(Op op, const std::byte* left, std::byte* right) {
  T result;
  if constexpr (IsLocated<T>::value) {
    result = located(op, load<T>(left), load<T>(right));
    std::memcpy(right + offsetof(T, value), &result.value, sizeof(result.value));
    std::memcpy(right + offsetof(T, index), &result.index, sizeof(result.index));
  } else {
    result = combined(op, load<T>(left), load<T>(right));
    std::memcpy(right, &result, sizeof(T));
  }
}

/// Of the 16 bytes of x86's long double 10 hold something.
template <typename T>
void mark(std::vector<unsigned char>& mask, std::size_t at) {
  const std::size_t used =
      std::is_same_v<T, long double> && sizeof(T) == 16 && __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(T);
  std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(at), used, 0xFF);
}

template <typename T>
std::vector<unsigned char> mask_of() {
  std::vector<unsigned char> mask(sizeof(T), 0);
  if constexpr (IsLocated<T>::value) {
    mark<decltype(T::value)>(mask, offsetof(T, value));
    mark<decltype(T::index)>(mask, offsetof(T, index));
  } else if constexpr (IsComplex<T>::value) {
    mark<typename T::value_type>(mask, 0);
    mark<typename T::value_type>(mask, sizeof(typename T::value_type));
  } else {
    mark<T>(mask, 0);
  }
  return mask;
}

template <typename T>
void add(std::vector<Basic>& all, const char* name, MPI_Datatype handle, std::uint32_t operations) {
  if (handle == MPI_DATATYPE_NULL) return;
  all.push_back({name, handle, sizeof(T), mask_of<T>(), operations, make<T>, combine<T>});
}

#define ADD(type, handle, operations) add<type>(all, #handle, handle, operations)

void add_c_types(std::vector<Basic>& all) {
  ADD(int, MPI_INT, kCInteger);
  ADD(long, MPI_LONG, kCInteger);
  ADD(short, MPI_SHORT, kCInteger);
  ADD(unsigned short, MPI_UNSIGNED_SHORT, kCInteger);
  ADD(unsigned, MPI_UNSIGNED, kCInteger);
  ADD(unsigned long, MPI_UNSIGNED_LONG, kCInteger);
  ADD(long long, MPI_LONG_LONG_INT, kCInteger);
  ADD(unsigned long long, MPI_UNSIGNED_LONG_LONG, kCInteger);
  ADD(signed char, MPI_SIGNED_CHAR, kCInteger);
  ADD(unsigned char, MPI_UNSIGNED_CHAR, kCInteger);
  ADD(std::int8_t, MPI_INT8_T, kCInteger);
  ADD(std::int16_t, MPI_INT16_T, kCInteger);
  ADD(std::int32_t, MPI_INT32_T, kCInteger);
  ADD(long long, MPI_INT64_T, kCInteger);
  ADD(std::uint8_t, MPI_UINT8_T, kCInteger);
  ADD(std::uint16_t, MPI_UINT16_T, kCInteger);
  ADD(std::uint32_t, MPI_UINT32_T, kCInteger);
  ADD(unsigned long long, MPI_UINT64_T, kCInteger);
  ADD(float, MPI_FLOAT, kFloating);
  ADD(double, MPI_DOUBLE, kFloating);
  ADD(long double, MPI_LONG_DOUBLE, kFloating);
  ADD(bool, MPI_C_BOOL, kLogical);
  ADD(std::complex<float>, MPI_C_FLOAT_COMPLEX, kArithmetic);
  ADD(std::complex<double>, MPI_C_DOUBLE_COMPLEX, kArithmetic);
  ADD(std::complex<long double>, MPI_C_LONG_DOUBLE_COMPLEX, kArithmetic);
  ADD(unsigned char, MPI_BYTE, kBits);
  ADD(char, MPI_CHAR, 0);
  ADD(wchar_t, MPI_WCHAR, 0);
  // long long has the width of these, and is not narrowed as long is.
  static_assert(sizeof(MPI_Aint) == sizeof(long long) && sizeof(MPI_Offset) == sizeof(long long) &&
                sizeof(MPI_Count) == sizeof(long long));
  ADD(long long, MPI_AINT, kMultiLanguage);
  // No negative numbers: Open MPI 4.1 compares MPI_OFFSET as if it had no sign.
  ADD(unsigned long long, MPI_OFFSET, kMultiLanguage);
  ADD(long long, MPI_COUNT, kMultiLanguage);
  ADD(bool, MPI_CXX_BOOL, kLogical);
  ADD(std::complex<float>, MPI_CXX_FLOAT_COMPLEX, kArithmetic);
  ADD(std::complex<double>, MPI_CXX_DOUBLE_COMPLEX, kArithmetic);
  ADD(std::complex<long double>, MPI_CXX_LONG_DOUBLE_COMPLEX, kArithmetic);
}

/// LOGICAL is 4 bytes with gfortran, and made of the values 0 and 1.
void make_logical(std::byte* to, std::uint64_t seed, Op /*op*/) {
  const int value = static_cast<int>(seed % 2);
  std::memcpy(to, &value, sizeof(value));
}

void add_fortran_types(std::vector<Basic>& all) {
  ADD(int, MPI_INTEGER, kFortranInteger);
  ADD(std::int8_t, MPI_INTEGER1, kFortranInteger);
  ADD(std::int16_t, MPI_INTEGER2, kFortranInteger);
  ADD(std::int32_t, MPI_INTEGER4, kFortranInteger);
  ADD(long long, MPI_INTEGER8, kFortranInteger);
  ADD(float, MPI_REAL, kFloating);
  ADD(float, MPI_REAL4, kFloating);
  ADD(double, MPI_REAL8, kFloating);
  ADD(double, MPI_DOUBLE_PRECISION, kFloating);
  ADD(std::complex<float>, MPI_COMPLEX, kArithmetic);
  ADD(std::complex<float>, MPI_COMPLEX8, kArithmetic);
  ADD(std::complex<double>, MPI_DOUBLE_COMPLEX, kArithmetic);
  ADD(std::complex<double>, MPI_COMPLEX16, kArithmetic);
  ADD(int, MPI_LOGICAL, kLogical);
  all.back().make = make_logical;
  ADD(char, MPI_CHARACTER, 0);
}

void add_pairs(std::vector<Basic>& all) {
  using Floats = Located<float, float>;
  using Doubles = Located<double, double>;
  using FloatInt = Located<float, int>;
  using DoubleInt = Located<double, int>;
  using LongInt = Located<long, int>;
  using Ints = Located<int, int>;
  using ShortInt = Located<short, int>;
  using LongDoubleInt = Located<long double, int>;
  ADD(FloatInt, MPI_FLOAT_INT, kLocation);
  ADD(DoubleInt, MPI_DOUBLE_INT, kLocation);
  ADD(LongInt, MPI_LONG_INT, kLocation);
  ADD(Ints, MPI_2INT, kLocation);
  ADD(ShortInt, MPI_SHORT_INT, kLocation);
  ADD(LongDoubleInt, MPI_LONG_DOUBLE_INT, kLocation);
  ADD(Floats, MPI_2REAL, kLocation);
  ADD(Doubles, MPI_2DOUBLE_PRECISION, kLocation);
  ADD(Ints, MPI_2INTEGER, kLocation);
}

#undef ADD

}  // namespace

const std::vector<Basic>& basics() {
  static const std::vector<Basic> all = [] {
    std::vector<Basic> made;
    add_c_types(made);
    add_fortran_types(made);
    add_pairs(made);
    return made;
  }();
  return all;
}

const Basic& basic(MPI_Datatype handle) {
  const auto found = std::ranges::find(basics(), handle, &Basic::handle);
  if (found == basics().end()) std::abort();
  return *found;
}

MPI_Op predefined(Op op) {
  switch (op) {
    case Op::kMax:
      return MPI_MAX;
    case Op::kMin:
      return MPI_MIN;
    case Op::kSum:
      return MPI_SUM;
    case Op::kProd:
      return MPI_PROD;
    case Op::kLand:
      return MPI_LAND;
    case Op::kLor:
      return MPI_LOR;
    case Op::kLxor:
      return MPI_LXOR;
    case Op::kBand:
      return MPI_BAND;
    case Op::kBor:
      return MPI_BOR;
    case Op::kBxor:
      return MPI_BXOR;
    case Op::kMinloc:
      return MPI_MINLOC;
    case Op::kMaxloc:
      return MPI_MAXLOC;
    default:
      return MPI_OP_NULL;
  }
}

const char* name(Op op) {
  constexpr const char* kNames[] = {"move", "max",    "min",    "sum",      "prod",
                                    "land", "lor",    "lxor",   "band",     "bor",
                                    "bxor", "minloc", "maxloc", "user sum", "user affine"};
  return kNames[static_cast<std::size_t>(op)];
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return impishim_test::Random(a * 0x9E3779B97F4A7C15U + b).next();
}

}  // namespace sweep
