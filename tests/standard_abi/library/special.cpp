// SPDX-License-Identifier: Apache-2.0
// The functions whose arguments tell too little to convert them by rule: callbacks, which see the
// standard's handles, and attributes and contents, whose values depend on others.
#include <deque>
#include <mutex>
#include <utility>

#include "conversion.hpp"
#include "standard_numbers.hpp"

namespace standard {
namespace {

/// Lives as long as the program: MPI says when a callback is called last only for some.
template <class Item>
Item& keep(const Item& item) {
  static std::mutex mutex;
  static std::deque<Item> kept;
  const std::lock_guard lock(mutex);
  return kept.emplace_back(item);
}

/// Callbacks that MPI gives no place for the caller's own data: each has a function of its own.
constexpr std::size_t kMost = 64;

template <class Callback>
struct Numbered {
  static inline Callback callbacks[kMost] = {};
  static inline std::size_t count = 0;
  static inline std::mutex mutex;

  static std::size_t add(Callback callback) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < count; ++i) {
      if (callbacks[i] == callback) return i;
    }
    if (count == kMost) leave_out("a 65th callback of one kind");
    callbacks[count] = callback;
    return count++;
  }
};

template <class Function, template <std::size_t> class Trampoline, std::size_t... I>
Function* trampoline(std::size_t index, std::index_sequence<I...> /*all*/) {
  static Function* const all[] = {&Trampoline<I>::call...};
  return all[index];
}

template <class Function, template <std::size_t> class Trampoline>
Function* trampoline(std::size_t index) {
  return trampoline<Function, Trampoline>(index, std::make_index_sequence<kMost>{});
}

using UserFunction = void (*)(void*, void*, int*, Handle*);
using LargeUserFunction = void (*)(void*, void*, MPI_Count*, Handle*);

template <std::size_t I>
struct Reduction {
  static void call(void* in, void* inout, int* length, MPI_Datatype* datatype) {
    Handle handle = standard_handle(Kind::kDatatype, *datatype);
    Numbered<UserFunction>::callbacks[I](in, inout, length, &handle);
  }
};

template <std::size_t I>
struct LargeReduction {
  static void call(void* in, void* inout, MPI_Count* length, MPI_Datatype* datatype) {
    Handle handle = standard_handle(Kind::kDatatype, *datatype);
    Numbered<LargeUserFunction>::callbacks[I](in, inout, length, &handle);
  }
};

template <class Object, Kind kind>
struct ErrorHandlers {
  using Callback = void (*)(Handle*, int*, ...);
  struct Tagged {
    Callback callback;
    bool operator==(const Tagged& other) const = default;
  };
  template <std::size_t I>
  struct Handler {
    static void call(Object* object, int* code, ...) {
      Handle handle = standard_handle(kind, *object);
      int error = standard_error(*code);
      // The type tells the kinds of objects apart.
      Numbered<Tagged>::callbacks[I].callback(&handle, &error);
    }
  };
};

using CopyFunction = int (*)(Handle, int, void*, void*, void*, int*);
using DeleteFunction = int (*)(Handle, int, void*, void*);

struct AttributeFunctions {
  CopyFunction copy;
  DeleteFunction remove;
  void* state;
};

int vendor_error(int code) { return static_cast<int>(to_vendor(Kind::kErrorCode, code)); }

template <class Object, Kind kind>
int copy_attribute(Object object, int keyval, void* state, void* in, void* out, int* flag) {
  constexpr std::uintptr_t kDuplicates = 1;
  const auto& functions = *static_cast<AttributeFunctions*>(state);
  if (functions.copy == nullptr) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  if (reinterpret_cast<std::uintptr_t>(functions.copy) == kDuplicates) {
    *flag = 1;
    *static_cast<void**>(out) = in;
    return MPI_SUCCESS;
  }
  return vendor_error(
      functions.copy(standard_handle(kind, object), keyval, functions.state, in, out, flag));
}

template <class Object, Kind kind>
int delete_attribute(Object object, int keyval, void* value, void* state) {
  const auto& functions = *static_cast<AttributeFunctions*>(state);
  if (functions.remove == nullptr) return MPI_SUCCESS;
  return vendor_error(
      functions.remove(standard_handle(kind, object), keyval, value, functions.state));
}

template <class Object, Kind kind, class Create>
int create_keyval(Create create, void* copy, void* remove, int* keyval, void* state) {
  auto& kept = keep(AttributeFunctions{reinterpret_cast<CopyFunction>(copy),
                                       reinterpret_cast<DeleteFunction>(remove), state});
  return standard_error(
      create(&copy_attribute<Object, kind>, &delete_attribute<Object, kind>, keyval, &kept));
}

/// Values of predefined attributes that are numbers of the ABI.
void convert_attribute(int keyval, void* value) {
  const auto convert = [value](Kind kind) {
    int*& number = *static_cast<int**>(value);
    number = &keep(static_cast<int>(to_standard(kind, *number)));
  };
  switch (keyval) {
    case MPI_IO:
    case MPI_HOST:
      return convert(Kind::kRank);
    case MPI_WIN_CREATE_FLAVOR:
      return convert(Kind::kFlavour);
    case MPI_WIN_MODEL:
      return convert(Kind::kModel);
    default:
      return;
  }
}

template <class Get, class Object>
int get_attribute(Get get, Object object, int keyval, void* value, int* flag) {
  const int key = static_cast<int>(to_vendor(Kind::kKeyval, keyval));
  const int code = get(object, key, value, flag);
  if (code == MPI_SUCCESS && *flag != 0) convert_attribute(key, value);
  return standard_error(code);
}

struct GeneralizedRequest {
  int (*query)(void*, Status*);
  int (*free)(void*);
  int (*cancel)(void*, int);
  void* state;

  static int do_query(void* extra, MPI_Status* status) {
    auto& self = *static_cast<GeneralizedRequest*>(extra);
    Status given{};
    {
      // A status that the user fills, from what it is now.
      given.source = status->MPI_SOURCE;
      given.tag = status->MPI_TAG;
      given.error = standard_error(status->MPI_ERROR);
      given.internal[0] = status->count_lo;
      given.internal[1] = status->count_hi_and_cancelled;
    }
    const int code = self.query(self.state, &given);
    status->MPI_SOURCE = static_cast<int>(to_vendor(Kind::kRank, given.source));
    status->MPI_TAG = static_cast<int>(to_vendor(Kind::kTag, given.tag));
    status->MPI_ERROR = vendor_error(given.error);
    status->count_lo = given.internal[0];
    status->count_hi_and_cancelled = given.internal[1];
    return vendor_error(code);
  }
  static int do_free(void* extra) {
    auto& self = *static_cast<GeneralizedRequest*>(extra);
    return vendor_error(self.free(self.state));
  }
  static int do_cancel(void* extra, int complete) {
    auto& self = *static_cast<GeneralizedRequest*>(extra);
    return vendor_error(self.cancel(self.state, complete));
  }
};

/// The integers of a datatype's contents that are numbers of the ABI: orders and distributions.
void convert_contents(MPI_Datatype datatype, int* integers, std::ptrdiff_t given) {
  int counts[3] = {};
  int combiner = MPI_COMBINER_NAMED;
  VENDOR(PMPI_Type_get_envelope)(datatype, &counts[0], &counts[1], &counts[2], &combiner);
  const auto convert = [&](Kind kind, std::ptrdiff_t from, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = from; i < from + count && i < given; ++i)
      integers[i] = static_cast<int>(to_standard(kind, integers[i]));
  };
  if (combiner == MPI_COMBINER_SUBARRAY && given > 0) {
    const std::ptrdiff_t dimensions = integers[0];
    convert(Kind::kOrder, 3 * dimensions + 1, 1);
  }
  if (combiner == MPI_COMBINER_DARRAY && given > 2) {
    const std::ptrdiff_t dimensions = integers[2];
    convert(Kind::kDistribution, 3 + dimensions, 2 * dimensions);
    convert(Kind::kOrder, 3 + 4 * dimensions, 1);
  }
}

}  // namespace
}  // namespace standard

using namespace standard;

#define EXPORT(name) EXPORTED(#name)

extern "C" {

int standard_Op_create(void* function, int commute, Handle* op) EXPORT(MPI_Op_create);
int standard_Op_create(void* function, int commute, Handle* op) {
  const std::size_t index = Numbered<UserFunction>::add(reinterpret_cast<UserFunction>(function));
  InOut<MPI_Op> made(Kind::kOp, op, 1);
  return standard_error(VENDOR(PMPI_Op_create)(trampoline<MPI_User_function, Reduction>(index),
                                               commute, made.vendor()));
}

int standard_Op_create_c(void* function, int commute, Handle* op) EXPORT(MPI_Op_create_c);
int standard_Op_create_c(void* function, int commute, Handle* op) {
  const std::size_t index =
      Numbered<LargeUserFunction>::add(reinterpret_cast<LargeUserFunction>(function));
  InOut<MPI_Op> made(Kind::kOp, op, 1);
  return standard_error(VENDOR(PMPI_Op_create_c)(
      trampoline<MPI_User_function_c, LargeReduction>(index), commute, made.vendor()));
}

#define ERROR_HANDLER(object, kind)                                                                \
  int standard_##object##_create_errhandler(void* function, Handle* handler)                       \
      EXPORT(MPI_##object##_create_errhandler);                                                    \
  int standard_##object##_create_errhandler(void* function, Handle* handler) {                     \
    using Handlers = ErrorHandlers<MPI_##object, kind>;                                            \
    const std::size_t index =                                                                      \
        Numbered<Handlers::Tagged>::add({reinterpret_cast<Handlers::Callback>(function)});         \
    InOut<MPI_Errhandler> made(Kind::kErrhandler, handler, 1);                                     \
    return standard_error(VENDOR(PMPI_##object##_create_errhandler)(                               \
        trampoline<MPI_##object##_errhandler_function, Handlers::Handler>(index), made.vendor())); \
  }

ERROR_HANDLER(Comm, Kind::kComm)
ERROR_HANDLER(Win, Kind::kWin)
ERROR_HANDLER(File, Kind::kFile)
ERROR_HANDLER(Session, Kind::kSession)

#define KEYVAL(name, object, kind)                                                              \
  int standard_##name(void* copy, void* remove, int* keyval, void* state) EXPORT(MPI_##name);   \
  int standard_##name(void* copy, void* remove, int* keyval, void* state) {                     \
    return create_keyval<MPI_##object, kind>(VENDOR(PMPI_##name), copy, remove, keyval, state); \
  }

KEYVAL(Comm_create_keyval, Comm, Kind::kComm)
KEYVAL(Keyval_create, Comm, Kind::kComm)
KEYVAL(Type_create_keyval, Datatype, Kind::kDatatype)
KEYVAL(Win_create_keyval, Win, Kind::kWin)

#define GET_ATTRIBUTE(name, object, kind)                                                       \
  int standard_##name(Handle handle, int keyval, void* value, int* flag) EXPORT(MPI_##name);    \
  int standard_##name(Handle handle, int keyval, void* value, int* flag) {                      \
    return get_attribute(VENDOR(PMPI_##name), vendor_value<MPI_##object>(kind, handle), keyval, \
                         value, flag);                                                          \
  }

GET_ATTRIBUTE(Comm_get_attr, Comm, Kind::kComm)
GET_ATTRIBUTE(Attr_get, Comm, Kind::kComm)
GET_ATTRIBUTE(Win_get_attr, Win, Kind::kWin)

int standard_Grequest_start(void* query, void* free_function, void* cancel, void* state,
                            Handle* request) EXPORT(MPI_Grequest_start);
int standard_Grequest_start(void* query, void* free_function, void* cancel, void* state,
                            Handle* request) {
  auto& kept = keep(GeneralizedRequest{reinterpret_cast<int (*)(void*, Status*)>(query),
                                       reinterpret_cast<int (*)(void*)>(free_function),
                                       reinterpret_cast<int (*)(void*, int)>(cancel), state});
  InOut<MPI_Request> made(Kind::kRequest, request, 1);
  return standard_error(
      VENDOR(PMPI_Grequest_start)(&GeneralizedRequest::do_query, &GeneralizedRequest::do_free,
                                  &GeneralizedRequest::do_cancel, &kept, made.vendor()));
}

int standard_Type_get_contents(Handle datatype, int max_integers, int max_addresses,
                               int max_datatypes, int* integers, MPI_Aint* addresses,
                               Handle* datatypes) EXPORT(MPI_Type_get_contents);
int standard_Type_get_contents(Handle datatype, int max_integers, int max_addresses,
                               int max_datatypes, int* integers, MPI_Aint* addresses,
                               Handle* datatypes) {
  const auto type = vendor_value<MPI_Datatype>(Kind::kDatatype, datatype);
  InOut<MPI_Datatype> made(Kind::kDatatype, datatypes, max_datatypes);
  const int code = VENDOR(PMPI_Type_get_contents)(type, max_integers, max_addresses, max_datatypes,
                                                  integers, addresses, made.vendor());
  if (code == MPI_SUCCESS) convert_contents(type, integers, max_integers);
  return standard_error(code);
}

int standard_Abi_get_version(int* major, int* minor) EXPORT(MPI_Abi_get_version);
int standard_Abi_get_version(int* major, int* minor) {
  *major = static_cast<int>(numbers::k_MPI_ABI_VERSION);
  *minor = static_cast<int>(numbers::k_MPI_ABI_SUBVERSION);
  return MPI_SUCCESS;
}

int standard_Get_version(int* version, int* subversion) EXPORT(MPI_Get_version);
int standard_Get_version(int* version, int* subversion) {
  *version = static_cast<int>(numbers::k_MPI_VERSION);
  *subversion = static_cast<int>(numbers::k_MPI_SUBVERSION);
  return MPI_SUCCESS;
}

// Constants are their own numbers, and other handles those of MPICH. Files are addresses in MPICH
// and have a number of ROMIO's.
#define NUMBERS(name)                                                        \
  int standard_##name##_toint(Handle handle) EXPORT(MPI_##name##_toint);     \
  int standard_##name##_toint(Handle handle) {                               \
    return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));        \
  }                                                                          \
  Handle standard_##name##_fromint(int number) EXPORT(MPI_##name##_fromint); \
  Handle standard_##name##_fromint(int number) {                             \
    return reinterpret_cast<Handle>(                                         \
        static_cast<std::intptr_t>(static_cast<std::uint32_t>(number)));     \
  }

NUMBERS(Comm)
NUMBERS(Type)
NUMBERS(Errhandler)
NUMBERS(Group)
NUMBERS(Info)
NUMBERS(Message)
NUMBERS(Op)
NUMBERS(Request)
NUMBERS(Session)
NUMBERS(Win)

int standard_File_toint(Handle file) EXPORT(MPI_File_toint);
int standard_File_toint(Handle file) {
  return VENDOR(MPI_File_c2f)(vendor_value<MPI_File>(Kind::kFile, file));
}
Handle standard_File_fromint(int number) EXPORT(MPI_File_fromint);
Handle standard_File_fromint(int number) {
  return standard_handle(Kind::kFile, VENDOR(MPI_File_f2c)(number));
}
}
