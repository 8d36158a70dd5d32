# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library and of fmt that most files include are parsed once for each kind
# of target instead of once for each file: they are four fifths of the time that a file of this
# project takes to compile. Nothing may rely on it: every file includes what it uses, and
# scripts/check builds without (preset check).
set(IMPISHIM_COMMON_HEADERS
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory>
  <mutex> <numeric> <optional> <set> <span>
  <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

# Sources of one library that share most of their headers are compiled eight at a time, so that what
# they share is parsed and instantiated once for all of them. Nothing may rely on that either.
option(IMPISHIM_UNITE "Compile the sources of the larger libraries several at a time" ON)
function(impishim_unite target)
  if(IMPISHIM_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # What is in an unnamed namespace of a source seems to stand in a header then.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>)
  endif()
endfunction()

# impishim_precompile(target [EXTRA headers...]): this target's own set. impishim_precompile(target
# FROM other): that of another one, which has to be compiled with the same options for code.
function(impishim_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "EXTRA")
  if(arg_FROM AND NOT arg_FROM STREQUAL target)
    target_precompile_headers(${target} REUSE_FROM ${arg_FROM})
  else()
    set(headers)
    foreach(header IN LISTS IMPISHIM_COMMON_HEADERS arg_EXTRA)
      list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
    endforeach()
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()
