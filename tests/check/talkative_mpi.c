// SPDX-License-Identifier: Apache-2.0
// An MPI library that prints when it is loaded.
#include <stdio.h>
#include <string.h>

int MPI_Get_library_version(char* version, int* length);

__attribute__((constructor)) static void begin(void) {
  puts("the talkative library is loaded");
  fflush(stdout);
  fputs("the talkative library has a warning\n", stderr);
}

int MPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Talkative MPI 1.0\nand more");
  *length = (int)strlen(version);
  return 0;
}
