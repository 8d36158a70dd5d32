// SPDX-License-Identifier: Apache-2.0
#include "wire/report/embedded_page.hpp"

#include "wire/report/report_page.hpp"

// The assembler reads the files, which CMake names: no compiler has to take a megabyte of text.
// NOLINTBEGIN(hicpp-no-assembler,cppcoreguidelines-macro-usage)
#define IMPISHIM_EMBED(name, file)                                                             \
  asm(".pushsection .rodata\n.global impishim_" #name "\nimpishim_" #name ":\n.incbin \"" file \
      "\"\n.global impishim_" #name "_end\nimpishim_" #name "_end:\n.byte 0\n.popsection\n");  \
  extern "C" const char impishim_##name[];                                                     \
  extern "C" const char impishim_##name##_end[]

IMPISHIM_EMBED(page_style, IMPISHIM_PAGE_STYLE);
IMPISHIM_EMBED(page_script, IMPISHIM_PAGE_SCRIPT);
IMPISHIM_EMBED(page_library, IMPISHIM_PAGE_LIBRARY);
// NOLINTEND(hicpp-no-assembler,cppcoreguidelines-macro-usage)

namespace impishim::report {

PageParts embedded_page() {
  return {{impishim_page_style, impishim_page_style_end},
          {impishim_page_script, impishim_page_script_end},
          {impishim_page_library, impishim_page_library_end}};
}

}  // namespace impishim::report
