// SPDX-License-Identifier: Apache-2.0
#include "shim/error/errors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "impishim/ulfm.h"
#include "shim/entry_points.hpp"
#include "shim/error/failure.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/never_destroyed.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {
namespace {

/// The error codes that this library created, with their texts. A vendor may not keep the text of
/// codes that are added to a predefined class.
class OwnErrors {
 public:
  static OwnErrors& instance() {
    static auto& errors = never_destroyed<OwnErrors>();
    return errors;
  }

  int code(int error_class, const std::string& text) {
    const MutexLock lock(mutex_);
    const auto key = std::make_pair(error_class, text);
    if (const auto found = codes_.find(key); found != codes_.end()) return found->second;
    // The number of texts is bounded. Beyond the limit, new texts map to the plain error class.
    if (codes_.size() >= kMaxTexts) return vendor_class_of(error_class);
    int made = vendor_class_of(error_class);
    if (vendor::Add_error_code(vendor_class_of(error_class), &made) != MPI_SUCCESS)
      return vendor_class_of(error_class);
    codes_.emplace(key, made);
    texts_.emplace(made, key);
    return made;
  }

  std::optional<std::pair<int, std::string>> find(int code) {
    const MutexLock lock(mutex_);
    const auto found = texts_.find(code);
    if (found == texts_.end()) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr std::size_t kMaxTexts = 4096;
  Mutex mutex_;
  std::map<std::pair<int, std::string>, int> codes_ IMPISHIM_GUARDED_BY(mutex_);
  std::map<int, std::pair<int, std::string>> texts_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Returns true for a class that the vendor's MPI does not have.
bool is_impishim_class(int error_class) {
  return error_class >= IMPISHIM_ERR_PROC_FAILED && error_class <= IMPISHIM_ERR_REVOKED;
}

enum class Handling { kReturn, kEnd, kCall };

/// Returns the effect of the error handler of `comm`.
Handling handling_of(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (vendor::Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return Handling::kReturn;
  if (handler == MPI_ERRORS_RETURN) return Handling::kReturn;
  // MPI_ERRORS_ABORT ends the processes of the communicator, and thus the job, since it spans
  // systems.
  if (is_predefined(handler)) return Handling::kEnd;
  vendor::Errhandler_free(&handler);  // drops our reference
  return Handling::kCall;
}

}  // namespace

int error_code(int error_class, std::string_view function, std::string_view text) {
  return OwnErrors::instance().code(error_class, fmt::format("{}: {}", function, text));
}

int raise(MPI_Comm comm, int error_class, std::string_view function, std::string_view text) {
  const int code = error_code(error_class, function, text);
  return raise_code(comm, code, fmt::format("{}: {}", function, text));
}

bool is_predefined(MPI_Errhandler handler) {
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN;
}

bool ends_job(MPI_Comm comm) { return handling_of(comm) == Handling::kEnd; }

int raise_code(MPI_Comm comm, int code, std::string_view text) {
  const Handling handling = handling_of(comm);
  if (handling == Handling::kEnd) end_job(1, text);
  if (handling == Handling::kCall) vendor::Comm_call_errhandler(comm, code);
  return code;
}

int raise(MPI_Comm comm, std::string_view function, const Error& error) {
  return raise(comm, error_class_of(error.kind), function, error.text);
}

int vendor_error_class(int code) {
  int error_class = MPI_ERR_OTHER;
  vendor::Error_class(code, &error_class);
  return error_class;
}

std::string vendor_error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  vendor::Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

int raise_hidden_error(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS) return code;
  return raise(comm, vendor_error_class(code), "inside this system", vendor_error_text(code));
}

int error_class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kTruncation:
      return MPI_ERR_TRUNCATE;
    case ErrorKind::kConversion:
      return MPI_ERR_CONVERSION;
    case ErrorKind::kConfiguration:
      return MPI_ERR_ARG;
    case ErrorKind::kTooLittle:
    case ErrorKind::kAuthentication:
    case ErrorKind::kProtocol:
    case ErrorKind::kConnection:
    case ErrorKind::kTimeout:
    case ErrorKind::kSystem:
    case ErrorKind::kAborted:
      break;
      break;
    case ErrorKind::kLost:
      return proc_failed_class();
  }
  return MPI_ERR_OTHER;
}

int proc_failed_class() { return MPIX_ERR_PROC_FAILED; }
int proc_failed_pending_class() { return MPIX_ERR_PROC_FAILED_PENDING; }
int revoked_class() { return MPIX_ERR_REVOKED; }

int vendor_class_of(int error_class) {
  return is_impishim_class(error_class) ? MPI_ERR_OTHER : error_class;
}

int revoked_code(std::string_view function) {
  return error_code(revoked_class(), function, "the communicator is revoked");
}

int raise_revoked(MPI_Comm comm, std::string_view function) {
  return raise(comm, revoked_class(), function, "the communicator is revoked");
}

std::optional<std::string> own_error_text(int code) {
  const auto found = OwnErrors::instance().find(code);
  if (!found) return std::nullopt;
  return found->second;
}

std::optional<int> own_error_class(int code) {
  const auto found = OwnErrors::instance().find(code);
  if (!found) return std::nullopt;
  return found->first;
}

void end_job(int code, std::string_view text) {
  if (!text.empty()) log_line(LogArea::kShim, LogLevel::kError, text);
  write_log_buffer();
  Job* job = the_job.load(std::memory_order_acquire);
  if (job != nullptr && job->engine != nullptr) announce_end(*job, code, std::string(text));
  if (job != nullptr) keep_records(*job);
  let_launcher_read();
  vendor::Abort(MPI_COMM_WORLD, code);
  // The vendor's abort should not return; if it does, this process still ends.
  _exit(code == 0 ? 1 : code);
}

namespace calls {

int Error_string(Job& /*job*/, int errorcode, char* string, int* resultlen) {
  const auto text = own_error_text(errorcode);
  if (!text) return vendor::Error_string(errorcode, string, resultlen);
  const std::size_t size = std::min<std::size_t>(text->size(), MPI_MAX_ERROR_STRING - 1);
  text->copy(string, size);
  string[size] = '\0';
  *resultlen = static_cast<int>(size);
  return MPI_SUCCESS;
}

int Error_class(Job& /*job*/, int errorcode, int* errorclass) {
  const auto own = own_error_class(errorcode);
  if (!own) return vendor::Error_class(errorcode, errorclass);
  *errorclass = vendor_class_of(*own);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
