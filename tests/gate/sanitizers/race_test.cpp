// SPDX-License-Identifier: Apache-2.0
// A race made on purpose, in the build with ThreadSanitizer: it must fail the program that runs it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace impishim {
namespace {

constexpr int kExitOfThreadSanitizer = 66;

int shared = 0;

/// The one that comes second finds the other's trace, whichever it is.
void race() {
  std::thread other([] { ++shared; });
  ++shared;
  other.join();
}

TEST(SanitizersDeathTest, ARaceFailsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        race();
        std::exit(0);
      },
      testing::ExitedWithCode(kExitOfThreadSanitizer), "data race");
}

}  // namespace
}  // namespace impishim
