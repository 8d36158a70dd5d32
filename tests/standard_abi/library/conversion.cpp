// SPDX-License-Identifier: Apache-2.0
#include "conversion.hpp"

#include <cstring>
#include <iterator>

// The standard's numbers, under other names than MPICH's: written from mpi_abi.h.
#include "standard_numbers.hpp"

namespace standard {
namespace {

#define BOTH(name) \
  { numbers::k_##name, static_cast<std::intptr_t>(name) }
#define BOTH_POINTERS(name) \
  { numbers::k_##name, reinterpret_cast<std::intptr_t>(name) }

constexpr Pair kComms[] = {BOTH(MPI_COMM_NULL), BOTH(MPI_COMM_WORLD), BOTH(MPI_COMM_SELF)};
constexpr Pair kGroups[] = {BOTH(MPI_GROUP_NULL), BOTH(MPI_GROUP_EMPTY)};
constexpr Pair kWins[] = {BOTH(MPI_WIN_NULL)};
const Pair kFiles[] = {BOTH_POINTERS(MPI_FILE_NULL)};
constexpr Pair kSessions[] = {BOTH(MPI_SESSION_NULL)};
constexpr Pair kMessages[] = {BOTH(MPI_MESSAGE_NULL), BOTH(MPI_MESSAGE_NO_PROC)};
constexpr Pair kInfos[] = {BOTH(MPI_INFO_NULL), BOTH(MPI_INFO_ENV)};
constexpr Pair kRequests[] = {BOTH(MPI_REQUEST_NULL)};
constexpr Pair kErrhandlers[] = {BOTH(MPI_ERRHANDLER_NULL), BOTH(MPI_ERRORS_ARE_FATAL),
                                 BOTH(MPI_ERRORS_RETURN), BOTH(MPI_ERRORS_ABORT)};
constexpr Pair kOps[] = {BOTH(MPI_OP_NULL), BOTH(MPI_SUM),     BOTH(MPI_MIN),  BOTH(MPI_MAX),
                         BOTH(MPI_PROD),    BOTH(MPI_BAND),    BOTH(MPI_BOR),  BOTH(MPI_BXOR),
                         BOTH(MPI_LAND),    BOTH(MPI_LOR),     BOTH(MPI_LXOR), BOTH(MPI_MINLOC),
                         BOTH(MPI_MAXLOC),  BOTH(MPI_REPLACE), BOTH(MPI_NO_OP)};
constexpr Pair kDatatypes[] = {BOTH(MPI_DATATYPE_NULL),
                               BOTH(MPI_AINT),
                               BOTH(MPI_COUNT),
                               BOTH(MPI_OFFSET),
                               BOTH(MPI_PACKED),
                               BOTH(MPI_SHORT),
                               BOTH(MPI_INT),
                               BOTH(MPI_LONG),
                               BOTH(MPI_LONG_LONG),
                               BOTH(MPI_UNSIGNED_SHORT),
                               BOTH(MPI_UNSIGNED),
                               BOTH(MPI_UNSIGNED_LONG),
                               BOTH(MPI_UNSIGNED_LONG_LONG),
                               BOTH(MPI_FLOAT),
                               BOTH(MPI_C_FLOAT_COMPLEX),
                               BOTH(MPI_CXX_FLOAT_COMPLEX),
                               BOTH(MPI_DOUBLE),
                               BOTH(MPI_C_DOUBLE_COMPLEX),
                               BOTH(MPI_CXX_DOUBLE_COMPLEX),
                               BOTH(MPI_LOGICAL),
                               BOTH(MPI_INTEGER),
                               BOTH(MPI_REAL),
                               BOTH(MPI_COMPLEX),
                               BOTH(MPI_DOUBLE_PRECISION),
                               BOTH(MPI_DOUBLE_COMPLEX),
                               BOTH(MPI_LONG_DOUBLE),
                               BOTH(MPI_C_LONG_DOUBLE_COMPLEX),
                               BOTH(MPI_CXX_LONG_DOUBLE_COMPLEX),
                               BOTH(MPI_FLOAT_INT),
                               BOTH(MPI_DOUBLE_INT),
                               BOTH(MPI_LONG_INT),
                               BOTH(MPI_2INT),
                               BOTH(MPI_SHORT_INT),
                               BOTH(MPI_LONG_DOUBLE_INT),
                               BOTH(MPI_2REAL),
                               BOTH(MPI_2DOUBLE_PRECISION),
                               BOTH(MPI_2INTEGER),
                               BOTH(MPI_C_BOOL),
                               BOTH(MPI_CXX_BOOL),
                               BOTH(MPI_WCHAR),
                               BOTH(MPI_INT8_T),
                               BOTH(MPI_UINT8_T),
                               BOTH(MPI_CHAR),
                               BOTH(MPI_SIGNED_CHAR),
                               BOTH(MPI_UNSIGNED_CHAR),
                               BOTH(MPI_BYTE),
                               BOTH(MPI_INT16_T),
                               BOTH(MPI_UINT16_T),
                               BOTH(MPI_INT32_T),
                               BOTH(MPI_UINT32_T),
                               BOTH(MPI_INT64_T),
                               BOTH(MPI_UINT64_T),
                               BOTH(MPI_INTEGER1),
                               BOTH(MPI_CHARACTER),
                               BOTH(MPI_INTEGER2),
                               BOTH(MPI_INTEGER4),
                               BOTH(MPI_REAL4),
                               BOTH(MPI_INTEGER8),
                               BOTH(MPI_REAL8),
                               BOTH(MPI_COMPLEX8),
                               BOTH(MPI_INTEGER16),
                               BOTH(MPI_REAL16),
                               BOTH(MPI_COMPLEX16),
                               BOTH(MPI_COMPLEX32)};
constexpr Pair kErrors[] = {BOTH(MPI_SUCCESS),
                            BOTH(MPI_ERR_BUFFER),
                            BOTH(MPI_ERR_COUNT),
                            BOTH(MPI_ERR_TYPE),
                            BOTH(MPI_ERR_TAG),
                            BOTH(MPI_ERR_COMM),
                            BOTH(MPI_ERR_RANK),
                            BOTH(MPI_ERR_REQUEST),
                            BOTH(MPI_ERR_ROOT),
                            BOTH(MPI_ERR_GROUP),
                            BOTH(MPI_ERR_OP),
                            BOTH(MPI_ERR_TOPOLOGY),
                            BOTH(MPI_ERR_DIMS),
                            BOTH(MPI_ERR_ARG),
                            BOTH(MPI_ERR_UNKNOWN),
                            BOTH(MPI_ERR_TRUNCATE),
                            BOTH(MPI_ERR_OTHER),
                            BOTH(MPI_ERR_INTERN),
                            BOTH(MPI_ERR_PENDING),
                            BOTH(MPI_ERR_IN_STATUS),
                            BOTH(MPI_ERR_ACCESS),
                            BOTH(MPI_ERR_AMODE),
                            BOTH(MPI_ERR_ASSERT),
                            BOTH(MPI_ERR_BAD_FILE),
                            BOTH(MPI_ERR_BASE),
                            BOTH(MPI_ERR_CONVERSION),
                            BOTH(MPI_ERR_DISP),
                            BOTH(MPI_ERR_DUP_DATAREP),
                            BOTH(MPI_ERR_FILE_EXISTS),
                            BOTH(MPI_ERR_FILE_IN_USE),
                            BOTH(MPI_ERR_FILE),
                            BOTH(MPI_ERR_INFO_KEY),
                            BOTH(MPI_ERR_INFO_NOKEY),
                            BOTH(MPI_ERR_INFO_VALUE),
                            BOTH(MPI_ERR_INFO),
                            BOTH(MPI_ERR_IO),
                            BOTH(MPI_ERR_KEYVAL),
                            BOTH(MPI_ERR_LOCKTYPE),
                            BOTH(MPI_ERR_NAME),
                            BOTH(MPI_ERR_NO_MEM),
                            BOTH(MPI_ERR_NOT_SAME),
                            BOTH(MPI_ERR_NO_SPACE),
                            BOTH(MPI_ERR_NO_SUCH_FILE),
                            BOTH(MPI_ERR_PORT),
                            BOTH(MPI_ERR_QUOTA),
                            BOTH(MPI_ERR_READ_ONLY),
                            BOTH(MPI_ERR_RMA_ATTACH),
                            BOTH(MPI_ERR_RMA_CONFLICT),
                            BOTH(MPI_ERR_RMA_RANGE),
                            BOTH(MPI_ERR_RMA_SHARED),
                            BOTH(MPI_ERR_RMA_SYNC),
                            BOTH(MPI_ERR_SERVICE),
                            BOTH(MPI_ERR_SIZE),
                            BOTH(MPI_ERR_SPAWN),
                            BOTH(MPI_ERR_UNSUPPORTED_DATAREP),
                            BOTH(MPI_ERR_UNSUPPORTED_OPERATION),
                            BOTH(MPI_ERR_WIN),
                            BOTH(MPI_ERR_RMA_FLAVOR),
                            BOTH(MPI_ERR_PROC_ABORTED),
                            BOTH(MPI_ERR_VALUE_TOO_LARGE),
                            BOTH(MPI_ERR_SESSION),
                            BOTH(MPI_T_ERR_CANNOT_INIT),
                            BOTH(MPI_T_ERR_NOT_INITIALIZED),
                            BOTH(MPI_T_ERR_NOT_SUPPORTED),
                            BOTH(MPI_T_ERR_MEMORY),
                            BOTH(MPI_T_ERR_INVALID),
                            BOTH(MPI_T_ERR_INVALID_INDEX),
                            BOTH(MPI_T_ERR_INVALID_ITEM),
                            BOTH(MPI_T_ERR_INVALID_SESSION),
                            BOTH(MPI_T_ERR_INVALID_HANDLE),
                            BOTH(MPI_T_ERR_INVALID_NAME),
                            BOTH(MPI_T_ERR_OUT_OF_HANDLES),
                            BOTH(MPI_T_ERR_OUT_OF_SESSIONS),
                            BOTH(MPI_T_ERR_CVAR_SET_NOT_NOW),
                            BOTH(MPI_T_ERR_CVAR_SET_NEVER),
                            BOTH(MPI_T_ERR_PVAR_NO_WRITE),
                            BOTH(MPI_T_ERR_PVAR_NO_STARTSTOP),
                            BOTH(MPI_T_ERR_PVAR_NO_ATOMIC)};
constexpr Pair kKeyvals[] = {
    BOTH(MPI_KEYVAL_INVALID), BOTH(MPI_TAG_UB),          BOTH(MPI_IO),
    BOTH(MPI_HOST),           BOTH(MPI_WTIME_IS_GLOBAL), BOTH(MPI_UNIVERSE_SIZE),
    BOTH(MPI_APPNUM),         BOTH(MPI_LASTUSEDCODE),    BOTH(MPI_WIN_BASE),
    BOTH(MPI_WIN_DISP_UNIT),  BOTH(MPI_WIN_SIZE),        BOTH(MPI_WIN_CREATE_FLAVOR),
    BOTH(MPI_WIN_MODEL)};
constexpr Pair kRanks[] = {BOTH(MPI_ANY_SOURCE), BOTH(MPI_PROC_NULL), BOTH(MPI_ROOT)};
constexpr Pair kTags[] = {BOTH(MPI_ANY_TAG)};
constexpr Pair kThreadLevels[] = {BOTH(MPI_THREAD_SINGLE), BOTH(MPI_THREAD_FUNNELED),
                                  BOTH(MPI_THREAD_SERIALIZED), BOTH(MPI_THREAD_MULTIPLE)};
constexpr Pair kOrders[] = {BOTH(MPI_ORDER_C), BOTH(MPI_ORDER_FORTRAN)};
constexpr Pair kDistributions[] = {BOTH(MPI_DISTRIBUTE_NONE), BOTH(MPI_DISTRIBUTE_BLOCK),
                                   BOTH(MPI_DISTRIBUTE_CYCLIC), BOTH(MPI_DISTRIBUTE_DFLT_DARG)};
constexpr Pair kLockTypes[] = {BOTH(MPI_LOCK_EXCLUSIVE), BOTH(MPI_LOCK_SHARED)};
constexpr Pair kWhences[] = {BOTH(MPI_SEEK_SET), BOTH(MPI_SEEK_CUR), BOTH(MPI_SEEK_END)};
constexpr Pair kSplitTypes[] = {BOTH(MPI_COMM_TYPE_SHARED), BOTH(MPI_COMM_TYPE_HW_UNGUIDED),
                                BOTH(MPI_COMM_TYPE_HW_GUIDED)};
constexpr Pair kCombiners[] = {BOTH(MPI_COMBINER_NAMED),          BOTH(MPI_COMBINER_DUP),
                               BOTH(MPI_COMBINER_CONTIGUOUS),     BOTH(MPI_COMBINER_VECTOR),
                               BOTH(MPI_COMBINER_HVECTOR),        BOTH(MPI_COMBINER_INDEXED),
                               BOTH(MPI_COMBINER_HINDEXED),       BOTH(MPI_COMBINER_INDEXED_BLOCK),
                               BOTH(MPI_COMBINER_HINDEXED_BLOCK), BOTH(MPI_COMBINER_STRUCT),
                               BOTH(MPI_COMBINER_SUBARRAY),       BOTH(MPI_COMBINER_DARRAY),
                               BOTH(MPI_COMBINER_F90_INTEGER),    BOTH(MPI_COMBINER_F90_REAL),
                               BOTH(MPI_COMBINER_F90_COMPLEX),    BOTH(MPI_COMBINER_RESIZED)};
constexpr Pair kComparisons[] = {BOTH(MPI_IDENT), BOTH(MPI_CONGRUENT), BOTH(MPI_SIMILAR),
                                 BOTH(MPI_UNEQUAL)};
constexpr Pair kTopologies[] = {BOTH(MPI_CART), BOTH(MPI_GRAPH), BOTH(MPI_DIST_GRAPH)};
constexpr Pair kTypeClasses[] = {BOTH(MPI_TYPECLASS_INTEGER), BOTH(MPI_TYPECLASS_REAL),
                                 BOTH(MPI_TYPECLASS_COMPLEX)};
constexpr Pair kFlavours[] = {BOTH(MPI_WIN_FLAVOR_CREATE), BOTH(MPI_WIN_FLAVOR_ALLOCATE),
                              BOTH(MPI_WIN_FLAVOR_DYNAMIC), BOTH(MPI_WIN_FLAVOR_SHARED)};
constexpr Pair kModels[] = {BOTH(MPI_WIN_UNIFIED), BOTH(MPI_WIN_SEPARATE)};
constexpr Pair kVerbosities[] = {
    BOTH(MPI_T_VERBOSITY_USER_BASIC),   BOTH(MPI_T_VERBOSITY_USER_DETAIL),
    BOTH(MPI_T_VERBOSITY_USER_ALL),     BOTH(MPI_T_VERBOSITY_TUNER_BASIC),
    BOTH(MPI_T_VERBOSITY_TUNER_DETAIL), BOTH(MPI_T_VERBOSITY_TUNER_ALL),
    BOTH(MPI_T_VERBOSITY_MPIDEV_BASIC), BOTH(MPI_T_VERBOSITY_MPIDEV_DETAIL),
    BOTH(MPI_T_VERBOSITY_MPIDEV_ALL)};
constexpr Pair kBindings[] = {
    BOTH(MPI_T_BIND_NO_OBJECT),      BOTH(MPI_T_BIND_MPI_COMM),    BOTH(MPI_T_BIND_MPI_DATATYPE),
    BOTH(MPI_T_BIND_MPI_ERRHANDLER), BOTH(MPI_T_BIND_MPI_FILE),    BOTH(MPI_T_BIND_MPI_GROUP),
    BOTH(MPI_T_BIND_MPI_OP),         BOTH(MPI_T_BIND_MPI_REQUEST), BOTH(MPI_T_BIND_MPI_WIN),
    BOTH(MPI_T_BIND_MPI_MESSAGE),    BOTH(MPI_T_BIND_MPI_INFO)};
constexpr Pair kScopes[] = {BOTH(MPI_T_SCOPE_CONSTANT), BOTH(MPI_T_SCOPE_READONLY),
                            BOTH(MPI_T_SCOPE_LOCAL),    BOTH(MPI_T_SCOPE_GROUP),
                            BOTH(MPI_T_SCOPE_GROUP_EQ), BOTH(MPI_T_SCOPE_ALL),
                            BOTH(MPI_T_SCOPE_ALL_EQ)};
constexpr Pair kVariableClasses[] = {
    BOTH(MPI_T_PVAR_CLASS_STATE),         BOTH(MPI_T_PVAR_CLASS_LEVEL),
    BOTH(MPI_T_PVAR_CLASS_SIZE),          BOTH(MPI_T_PVAR_CLASS_PERCENTAGE),
    BOTH(MPI_T_PVAR_CLASS_HIGHWATERMARK), BOTH(MPI_T_PVAR_CLASS_LOWWATERMARK),
    BOTH(MPI_T_PVAR_CLASS_COUNTER),       BOTH(MPI_T_PVAR_CLASS_AGGREGATE),
    BOTH(MPI_T_PVAR_CLASS_TIMER),         BOTH(MPI_T_PVAR_CLASS_GENERIC)};
constexpr Pair kAccessModes[] = {
    BOTH(MPI_MODE_APPEND),     BOTH(MPI_MODE_CREATE),      BOTH(MPI_MODE_DELETE_ON_CLOSE),
    BOTH(MPI_MODE_EXCL),       BOTH(MPI_MODE_RDONLY),      BOTH(MPI_MODE_RDWR),
    BOTH(MPI_MODE_SEQUENTIAL), BOTH(MPI_MODE_UNIQUE_OPEN), BOTH(MPI_MODE_WRONLY)};
constexpr Pair kAssertions[] = {BOTH(MPI_MODE_NOCHECK), BOTH(MPI_MODE_NOPRECEDE),
                                BOTH(MPI_MODE_NOPUT), BOTH(MPI_MODE_NOSTORE),
                                BOTH(MPI_MODE_NOSUCCEED)};

struct Table {
  const Pair* begin;
  const Pair* end;
};

template <std::size_t N>
constexpr Table table(const Pair (&pairs)[N]) {
  return {pairs, pairs + N};
}

/// In the order of Kind.
const Table kTables[] = {
    table(kComms),       table(kDatatypes),     table(kErrhandlers),    table(kFiles),
    table(kGroups),      table(kInfos),         table(kMessages),       table(kOps),
    table(kRequests),    table(kSessions),      table(kWins),           table(kErrors),
    table(kKeyvals),     table(kRanks),         table(kTags),           table(kThreadLevels),
    table(kOrders),      table(kDistributions), table(kLockTypes),      table(kWhences),
    table(kSplitTypes),  table(kCombiners),     table(kComparisons),    table(kTopologies),
    table(kTypeClasses), table(kFlavours),      table(kModels),         table(kVerbosities),
    table(kBindings),    table(kScopes),        table(kVariableClasses)};
static_assert(std::size(kTables) == static_cast<std::size_t>(Kind::kVariableClass) + 1);

Table table_of(Kind kind) { return kTables[static_cast<std::size_t>(kind)]; }

/// Handles are unsigned numbers in MPICH, all else may be negative.
std::intptr_t as_number(Kind kind, std::intptr_t vendor) {
  const bool integer_handle = kind <= Kind::kWin && kind != Kind::kFile;
  return integer_handle ? static_cast<std::intptr_t>(static_cast<std::uint32_t>(vendor)) : vendor;
}

int bits(const Table& table, int value, std::intptr_t Pair::*from, std::intptr_t Pair::*to) {
  int found = 0;
  for (const Pair* pair = table.begin; pair != table.end; ++pair) {
    if ((value & pair->*from) != 0) found |= static_cast<int>(pair->*to);
  }
  return found;
}

}  // namespace

void* vendor_symbol(const char* name) {
  static void* const library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found != nullptr) return found;
  std::fprintf(stderr, "libpmpi_abi: %s\n", dlerror());
  std::abort();
}

std::intptr_t to_vendor(Kind kind, std::intptr_t value) {
  const Table table = table_of(kind);
  for (const Pair* pair = table.begin; pair != table.end; ++pair) {
    if (pair->standard == value) return pair->vendor;
  }
  return value;
}

std::intptr_t to_standard(Kind kind, std::intptr_t value) {
  constexpr std::intptr_t kClass = 0x7f;
  constexpr std::intptr_t kOfUser = 0x40000000;
  const Table table = table_of(kind);
  // MPICH's codes have their class in their lowest bits. The text of a code is lost here.
  if (kind == Kind::kErrorCode && (value & kOfUser) == 0) value &= kClass;
  for (const Pair* pair = table.begin; pair != table.end; ++pair) {
    if (as_number(kind, pair->vendor) == value) return pair->standard;
  }
  return value;
}

int vendor_access_mode(int mode) {
  return bits(table(kAccessModes), mode, &Pair::standard, &Pair::vendor);
}

int standard_access_mode(int mode) {
  return bits(table(kAccessModes), mode, &Pair::vendor, &Pair::standard);
}

int vendor_assertion(int assertion) {
  return bits(table(kAssertions), assertion, &Pair::standard, &Pair::vendor);
}

const void* vendor_buffer(const void* buffer) {
  constexpr std::uintptr_t kInPlace = 1;
  return reinterpret_cast<std::uintptr_t>(buffer) == kInPlace ? MPI_IN_PLACE : buffer;
}

const int* vendor_weights(const int* weights) {
  constexpr std::uintptr_t kUnweighted = 10;
  constexpr std::uintptr_t kEmpty = 11;
  const auto value = reinterpret_cast<std::uintptr_t>(weights);
  if (value == kUnweighted) return *static_cast<int**>(vendor_symbol("MPI_UNWEIGHTED"));
  if (value == kEmpty) return *static_cast<int**>(vendor_symbol("MPI_WEIGHTS_EMPTY"));
  return weights;
}

Integers::Integers(Kind kind, const int* values, std::ptrdiff_t count, bool writes)
    : kind_(kind), values_(const_cast<int*>(values)), count_(count), writes_(writes) {
  for (std::ptrdiff_t i = 0; values != nullptr && i < count; ++i)
    converted_.push_back(static_cast<int>(to_vendor(kind, values[i])));
  converted_.push_back(0);
}

Integers::~Integers() {
  for (std::ptrdiff_t i = 0; writes_ && values_ != nullptr && i < count_; ++i)
    values_[i] = static_cast<int>(to_standard(kind_, converted_[static_cast<std::size_t>(i)]));
}

Statuses::Statuses(const Status* statuses, std::ptrdiff_t count, bool writes)
    : statuses_(const_cast<Status*>(statuses)), count_(count), writes_(writes) {
  for (std::ptrdiff_t i = 0; statuses != nullptr && i < count; ++i) {
    MPI_Status status{};
    status.MPI_SOURCE = static_cast<int>(to_vendor(Kind::kRank, statuses[i].source));
    status.MPI_TAG = static_cast<int>(to_vendor(Kind::kTag, statuses[i].tag));
    status.MPI_ERROR = static_cast<int>(to_vendor(Kind::kErrorCode, statuses[i].error));
    status.count_lo = statuses[i].internal[0];
    status.count_hi_and_cancelled = statuses[i].internal[1];
    converted_.push_back(status);
  }
  converted_.emplace_back();
  before_ = converted_;
}

Statuses::~Statuses() {
  for (std::ptrdiff_t i = 0; writes_ && statuses_ != nullptr && i < count_; ++i) {
    const MPI_Status& status = converted_[static_cast<std::size_t>(i)];
    Status& to = statuses_[i];
    to.source = static_cast<int>(to_standard(Kind::kRank, status.MPI_SOURCE));
    to.tag = static_cast<int>(to_standard(Kind::kTag, status.MPI_TAG));
    // Calls that leave the field alone leave it alone here, too.
    if (status.MPI_ERROR != before_[static_cast<std::size_t>(i)].MPI_ERROR)
      to.error = standard_error(status.MPI_ERROR);
    to.internal[0] = status.count_lo;
    to.internal[1] = status.count_hi_and_cancelled;
  }
}

int peers(MPI_Comm comm) {
  int inter = 0;
  VENDOR(PMPI_Comm_test_inter)(comm, &inter);
  int size = 0;
  if (inter != 0) {
    VENDOR(PMPI_Comm_remote_size)(comm, &size);
  } else {
    VENDOR(PMPI_Comm_size)(comm, &size);
  }
  return size;
}

int neighbours(MPI_Comm comm, bool sources) {
  int topology = MPI_UNDEFINED;
  VENDOR(PMPI_Topo_test)(comm, &topology);
  int count = 0;
  if (topology == MPI_CART) {
    VENDOR(PMPI_Cartdim_get)(comm, &count);
    return 2 * count;
  }
  if (topology == MPI_GRAPH) {
    int rank = 0;
    VENDOR(PMPI_Comm_rank)(comm, &rank);
    VENDOR(PMPI_Graph_neighbors_count)(comm, rank, &count);
    return count;
  }
  if (topology != MPI_DIST_GRAPH) return 0;
  int to = 0;
  int weighted = 0;
  VENDOR(PMPI_Dist_graph_neighbors_count)(comm, &count, &to, &weighted);
  return sources ? count : to;
}

void leave_out(const char* function) {
  std::fprintf(
      stderr, "libpmpi_abi: %s is not part of this library, which tests use for the standard ABI\n",
      function);
  std::abort();
}

}  // namespace standard
