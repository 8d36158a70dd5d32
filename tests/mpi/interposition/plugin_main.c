// SPDX-License-Identifier: Apache-2.0
/* A program without MPI: runs run() of the shared object that its first argument names. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*run)(int, char**) = (int (*)(int, char**))dlsym(plugin, "run");
  return run == NULL ? 2 : run(argc, argv);
}
