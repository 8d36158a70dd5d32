// SPDX-License-Identifier: Apache-2.0
/// Errors with their kind and their exact text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "darray/base/error.hpp"

namespace impishim_test {

/// "kind: text" of the error that a call throws, or "none".
template <class Call>
std::string error_of(const Call& call) {
  static const char* const kNames[] = {"argument", "shape", "key", "layout",
                                       "protocol", "type",  "mpi", "unsupported"};
  try {
    call();
  } catch (const impishim::darray::Error& error) {
    return std::string(kNames[static_cast<std::size_t>(error.kind())]) + ": " + error.what();
  }
  return "none";
}

/// The text of the error of this kind that a call throws; a failure of the test if there is none,
/// or one of another kind.
template <class Call>
std::string error_of(impishim::darray::ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const impishim::darray::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

/// The kind of the error that a call throws; a failure of the test if there is none.
template <class Call>
impishim::darray::ErrorKind kind_of(const Call& call) {
  try {
    call();
  } catch (const impishim::darray::Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return impishim::darray::ErrorKind::kMpi;
}

}  // namespace impishim_test
