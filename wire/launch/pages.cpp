// SPDX-License-Identifier: Apache-2.0
// Writes the manual page and the completions of impirun into a folder; runs when impirun is built.
#include <cstdio>
#include <fstream>
#include <string>

#include "wire/launch/options/option_text.hpp"

namespace {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: impirun_pages FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  const bool written =
      write(folder + "/impirun.1", impishim::launch::manual_page(IMPISHIM_VERSION)) &&
      write(folder + "/impirun", impishim::launch::bash_completion()) &&
      write(folder + "/_impirun", impishim::launch::zsh_completion());
  return written ? 0 : 1;
}
