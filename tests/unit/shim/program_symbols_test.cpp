// SPDX-License-Identifier: Apache-2.0
#include "shim/values/program_symbols.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace impishim::shim {
namespace {

TEST(ProgramSymbols, FindsWhatTheProgramCalls) {
  const std::array<std::string_view, 2> names{"no_such_function", "dlopen"};
  EXPECT_TRUE(program_refers_to(names));
}

TEST(ProgramSymbols, FindsNoOtherName) {
  const std::array<std::string_view, 1> names{"no_such_function"};
  EXPECT_FALSE(program_refers_to(names));
  EXPECT_FALSE(program_refers_to({}));
}

TEST(ProgramSymbols, DoesNotCountADefinition) {
  const std::array<std::string_view, 1> names{"impishim_test_defined"};
  void* library = dlopen(IMPISHIM_TEST_REFERRING_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, names[0].data()), nullptr);
  EXPECT_FALSE(program_refers_to(names));
  dlclose(library);
}

TEST(ProgramSymbols, FindsWhatALibraryCallsWhileItIsLoaded) {
  const std::array<std::string_view, 1> names{"impishim_test_undefined"};
  EXPECT_FALSE(program_refers_to(names));
  void* library = dlopen(IMPISHIM_TEST_REFERRING_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_TRUE(program_refers_to(names));
  dlclose(library);
  EXPECT_FALSE(program_refers_to(names));
}

}  // namespace
}  // namespace impishim::shim
