// SPDX-License-Identifier: Apache-2.0
// A library that refers to a name which nothing defines.
extern int impishim_test_undefined(void);

__attribute__((visibility("default"))) int impishim_test_defined(void) {
  return impishim_test_undefined();
}
