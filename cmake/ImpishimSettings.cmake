# SPDX-License-Identifier: Apache-2.0
# Compiler settings shared by every target of this project.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

include(ImpishimPrecompile)

find_program(IMPISHIM_CCACHE ccache)
if(IMPISHIM_CCACHE)
  # Two clones of the project find each other's objects: paths below this folder are relative for
  # ccache. Without the two sloppinesses it keeps nothing that uses a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${IMPISHIM_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

# One static library per folder: impishim_add_library(name SOURCES ... LINK ...).
add_library(impishim_settings INTERFACE)
target_include_directories(impishim_settings INTERFACE ${PROJECT_SOURCE_DIR})
option(IMPISHIM_WARNINGS_AS_ERRORS "Treat warnings as errors; the presets do" OFF)
set(IMPISHIM_WARNINGS -Wall -Wextra)
if(IMPISHIM_WARNINGS_AS_ERRORS)
  list(APPEND IMPISHIM_WARNINGS -Werror)
endif()
target_compile_options(impishim_settings INTERFACE ${IMPISHIM_WARNINGS})
# The shared library that is loaded into other people's programs brings its own copy of fmt, hidden
# inside it. It is compiled once (wire/base/fmt_copy.cpp): as a header-only library it would treble
# the time of every file.
find_package(fmt REQUIRED)
get_target_property(impishim_fmt_includes fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(impishim_settings SYSTEM INTERFACE ${impishim_fmt_includes})
if(IMPISHIM_SANITIZER)
  # UBSan would print what it finds and go on, so that no test fails.
  target_compile_options(impishim_settings INTERFACE -fsanitize=${IMPISHIM_SANITIZER}
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # clang warns of what libstdc++ uses inside std::stable_sort.
  target_compile_options(impishim_settings INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
  target_link_options(impishim_settings INTERFACE -fsanitize=${IMPISHIM_SANITIZER})
  # GCC defines these by itself.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    if(IMPISHIM_SANITIZER MATCHES address)
      target_compile_definitions(impishim_settings INTERFACE __SANITIZE_ADDRESS__)
    elseif(IMPISHIM_SANITIZER STREQUAL thread)
      target_compile_definitions(impishim_settings INTERFACE __SANITIZE_THREAD__)
    endif()
  endif()
  # UCX, which MPICH loads, writes its own code into mmap(). It does not survive that in clang's
  # static runtime.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND IMPISHIM_SANITIZER MATCHES address)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER}
      -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
      OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    get_filename_component(runtime_folder ${runtime} DIRECTORY)
    target_link_options(impishim_settings INTERFACE -shared-libasan -Wl,-rpath,${runtime_folder})
    set(IMPISHIM_SANITIZER_RUNTIME ${runtime})
  elseif(IMPISHIM_SANITIZER STREQUAL thread)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libtsan.so
      OUTPUT_VARIABLE IMPISHIM_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()

function(impishim_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC impishim_settings ${arg_LINK})
  impishim_precompile(${name} FROM impishim_base)
endfunction()
