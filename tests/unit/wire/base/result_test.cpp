// SPDX-License-Identifier: Apache-2.0
// Reading the wrong side of a Result ends the process, in release builds too.
#include "wire/base/result.hpp"

#include <gtest/gtest.h>

#include "wire/base/assert.hpp"

namespace impishim {
namespace {

TEST(ResultDeathTest, TheValueOfAnErrorIsNotRead) {
  Result<int> result = Error{ErrorKind::kSystem, "no"};
  EXPECT_DEATH(static_cast<void>(*result), "result.hpp:[0-9]+: the assertion \"ok\\(\\)\"");
}

TEST(ResultDeathTest, TheErrorOfAValueIsNotRead) {
  const Result<int> value = 1;
  EXPECT_DEATH(static_cast<void>(value.error()), "the assertion \"!ok\\(\\)\" does not hold");
  const Result<void> nothing;
  EXPECT_DEATH(static_cast<void>(nothing.error()), "the assertion \"!ok\\(\\)\" does not hold");
}

TEST(Assert, EvaluatesTheConditionOnce) {
  int evaluated = 0;
  IMPISHIM_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace impishim
