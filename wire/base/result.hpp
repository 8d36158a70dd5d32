// SPDX-License-Identifier: Apache-2.0
/// Errors as values: the only way in which a failure travels inside wire/ and collectives/. Code in
/// these folders does not throw for anything that a peer, the network or a user can cause.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "wire/base/assert.hpp"

namespace impishim {

/// The cause of a failure. The MPI layer maps it to an MPI error class.
enum class ErrorKind : std::uint8_t {
  kConfiguration,   ///< a variable, option or argument given by the user
  kAuthentication,  ///< no common method, or a key that does not match
  kProtocol,        ///< a peer sent bytes that IMPI does not allow
  kConnection,      ///< a peer is gone or cannot be reached
  kTimeout,         ///< a peer did not answer within its time limit
  kSystem,          ///< a system call failed on this machine
  kConversion,      ///< a value does not fit the wire's data representation
  kTruncation,      ///< a message is longer than the receive buffer
  kTooLittle,       ///< a message is shorter than what was asked for, where both ends must agree
  kAborted,         ///< some process of the job called MPI_Abort
  kLost,            ///< a system of the job is lost, and the others go on
};

/// A failure: its kind, and one sentence that names the cause and, where possible, the cure.
///
/// Construction, copying and destruction are compiled out of line and as cold code. Otherwise each
/// function that can fail would contain them several times, and the hot paths of messages would not
/// fit the processor's cache.
struct Error {
  [[gnu::cold]] Error(ErrorKind kind_, std::string text_);
  [[gnu::cold]] Error(const Error& other);
  [[gnu::cold]] Error(Error&& other) noexcept;
  [[gnu::cold]] Error& operator=(const Error& other);
  [[gnu::cold]] Error& operator=(Error&& other) noexcept;
  [[gnu::cold]] ~Error();

  ErrorKind kind;
  std::string text;
};

/// Either a value or an Error. Reading the side that is not set is a bug and asserts.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    IMPISHIM_ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    IMPISHIM_ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    IMPISHIM_ASSERT(ok());
    return std::move(*std::get_if<0>(&content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    IMPISHIM_ASSERT(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    IMPISHIM_ASSERT(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace impishim
