// SPDX-License-Identifier: Apache-2.0
/// Values of the standard ABI as MPICH has them, and back. The functions of the library, which
/// write_library.py writes, are made of these.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// The symbol of a function: STANDARD_PREFIX is "P" in one library, and "" in the other. MPICH's
/// header declares the same names with other types.
#define EXPORTED(name) __asm__(STANDARD_PREFIX name)

namespace standard {

/// A handle of the standard ABI: a pointer that nothing is read through. Numbers below 4096 are
/// constants.
using Handle = void*;

struct Status {
  int source;
  int tag;
  int error;
  int internal[5];
};

/// Returns a function of MPICH's. MPICH is opened apart from the program: its own calls of
/// MPI functions must stay its own, since the names are also those of this library.
void* vendor_symbol(const char* name);

#define VENDOR(name)                                                                              \
  ([] {                                                                                           \
    static auto* const found = reinterpret_cast<decltype(&name)>(standard::vendor_symbol(#name)); \
    return found;                                                                                 \
  }())

/// One named value in both.
struct Pair {
  std::intptr_t standard;
  std::intptr_t vendor;
};

enum class Kind {
  kComm,
  kDatatype,
  kErrhandler,
  kFile,
  kGroup,
  kInfo,
  kMessage,
  kOp,
  kRequest,
  kSession,
  kWin,
  kErrorCode,
  kKeyval,
  kRank,
  kTag,
  kThreadLevel,
  kOrder,
  kDistribution,
  kLockType,
  kWhence,
  kSplitType,
  kCombiner,
  kComparison,
  kTopology,
  kTypeClass,
  kFlavour,
  kModel,
  kVerbosity,
  kBinding,
  kScope,
  kVariableClass
};

/// Returns the vendor's value. A value without a name is the same in both.
std::intptr_t to_vendor(Kind kind, std::intptr_t value);
std::intptr_t to_standard(Kind kind, std::intptr_t value);

/// Returns the vendor's bits of an access mode of files, or of an assertion of windows.
int vendor_access_mode(int mode);
int standard_access_mode(int mode);
int vendor_assertion(int assertion);

const void* vendor_buffer(const void* buffer);
inline void* vendor_buffer(void* buffer) {
  return const_cast<void*>(vendor_buffer(const_cast<const void*>(buffer)));
}
const int* vendor_weights(const int* weights);
inline int* vendor_weights(int* weights) {
  return const_cast<int*>(vendor_weights(const_cast<const int*>(weights)));
}

inline int standard_error(int code) {
  return static_cast<int>(to_standard(Kind::kErrorCode, code));
}

template <class Value>
Value vendor_value(Kind kind, Handle handle) {
  const std::intptr_t found = to_vendor(kind, reinterpret_cast<std::intptr_t>(handle));
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<Value>(found);
  } else {
    return static_cast<Value>(found);
  }
}

template <class Value>
Handle standard_handle(Kind kind, Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<Handle>(to_standard(kind, reinterpret_cast<std::intptr_t>(value)));
  } else {
    return reinterpret_cast<Handle>(
        to_standard(kind, static_cast<std::intptr_t>(static_cast<std::uint32_t>(value))));
  }
}

/// An array of handles that a call reads.
template <class Value>
class Inputs {
 public:
  Inputs(Kind kind, const Handle* handles, std::ptrdiff_t count) : null_(handles == nullptr) {
    for (std::ptrdiff_t i = 0; !null_ && i < count; ++i)
      values_.push_back(vendor_value<Value>(kind, handles[i]));
    values_.push_back(Value{});
  }
  const Value* vendor() { return null_ ? nullptr : values_.data(); }
  /// Hands the array to an operation that reads it after the call. It is never freed.
  const Value* kept() { return null_ ? nullptr : (new std::vector<Value>(values_))->data(); }

 private:
  bool null_;
  std::vector<Value> values_;
};

/// Handles that a call reads and writes, or only writes.
template <class Value>
class InOut {
 public:
  InOut(Kind kind, Handle* handles, std::ptrdiff_t count)
      : kind_(kind), handles_(handles), inputs_(kind, handles, count), count_(count) {}
  InOut(const InOut&) = delete;
  InOut& operator=(const InOut&) = delete;
  ~InOut() {
    for (std::ptrdiff_t i = 0; handles_ != nullptr && i < count_; ++i)
      handles_[i] = standard_handle(kind_, inputs_.vendor()[i]);
  }
  Value* vendor() { return const_cast<Value*>(inputs_.vendor()); }

 private:
  Kind kind_;
  Handle* handles_;
  Inputs<Value> inputs_;
  std::ptrdiff_t count_;
};

/// Integers that a call reads and writes.
class Integers {
 public:
  Integers(Kind kind, const int* values, std::ptrdiff_t count, bool writes);
  Integers(const Integers&) = delete;
  Integers& operator=(const Integers&) = delete;
  ~Integers();
  int* vendor() { return values_ == nullptr ? nullptr : converted_.data(); }

 private:
  Kind kind_;
  int* values_;
  std::ptrdiff_t count_;
  bool writes_;
  std::vector<int> converted_;
};

/// Statuses that a call reads or writes, or the constant that says none.
class Statuses {
 public:
  Statuses(const Status* statuses, std::ptrdiff_t count, bool writes);
  Statuses(const Statuses&) = delete;
  Statuses& operator=(const Statuses&) = delete;
  ~Statuses();
  MPI_Status* vendor() { return statuses_ == nullptr ? MPI_STATUS_IGNORE : converted_.data(); }

 private:
  Status* statuses_;
  std::ptrdiff_t count_;
  bool writes_;
  std::vector<MPI_Status> before_;
  std::vector<MPI_Status> converted_;
};

/// The number of datatypes that an MPI_Alltoallw on this communicator has, or, with `sources` or
/// destinations, one among neighbours.
int peers(MPI_Comm comm);
int neighbours(MPI_Comm comm, bool sources);

/// Ends the program at a function that this library leaves out.
[[noreturn]] void leave_out(const char* function);

}  // namespace standard
