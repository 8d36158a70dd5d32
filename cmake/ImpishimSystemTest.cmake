# SPDX-License-Identifier: Apache-2.0
# MPI programs as tests: compiled as any user would, run natively and as one job over several
# systems.
#
# impishim_add_mpi_program(name SOURCES ... [LINK ...] [MPIS ...] [MEASURES | COMPUTES]): the
# programs name_<mpi>, one for each MPI on this machine, or of those that are named, without the
# library. LINK: libraries of this project, in whose names <mpi> stands for the MPI. MEASURES: speed
# is what it shows, so that it is optimized in full. COMPUTES: it computes for longer than it takes
# to optimize.
#
# impishim_add_system_test(name SOURCES ... [LINK ...] [SHAPES native preload 2+2 ...] [RANKS n]
# [TIMEOUT seconds] [ARGS ...] [CHECK ...]
#                          [VARIABLES NAME=value ...] [REFERENCE other] [COMBINATIONS mpich openmpi
#                          mixed] [ALL_SHAPES])
#   One ctest entry name.<combination>.<shape> for each shape and each combination that runs it; see
#   tests/support/run_system_test.py for shapes, and for the options of CHECK. A combination is an
#   MPI, which all systems then have, or "mixed": every second system has the second MPI. Each runs
#   the shapes that IMPISHIM_SHAPES_<combination> gives it, so that none is left out and the whole
#   stays short; with ALL_SHAPES every one runs all.
#   PROGRAM instead of SOURCES takes a program that impishim_add_mpi_program() made. What the shape
#   native prints is what the others must print; REFERENCE names the test whose native run counts,
#   where this one has none.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
# The Python whose packages the distribution built, mpi4py among them, is not always the first in
# PATH.
find_program(IMPISHIM_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT IMPISHIM_SYSTEM_PYTHON)
  set(IMPISHIM_SYSTEM_PYTHON ${Python3_EXECUTABLE})
endif()

# Of a test's shapes, which a combination runs. Those that stand nowhere here are run by the first
# MPI, and a combination that would be left with no joined shape runs the test's first one.
set(IMPISHIM_SHAPES_mpich native preload 2+2 1+1+2)
set(IMPISHIM_SHAPES_openmpi native 1+3)
set(IMPISHIM_SHAPES_mixed 2+2)

list(LENGTH IMPISHIM_MPIS impishim_mpi_count)
list(GET IMPISHIM_MPIS 0 IMPISHIM_FIRST_MPI)
set(IMPISHIM_COMBINATIONS ${IMPISHIM_MPIS})
if(impishim_mpi_count GREATER 1)
  list(GET IMPISHIM_MPIS 1 IMPISHIM_SECOND_MPI)
  list(APPEND IMPISHIM_COMBINATIONS mixed)
endif()

# impishim_mpis_of(<combination> <first> <second>): the MPIs of its systems 0, 2, ... and 1, 3, ...
function(impishim_mpis_of combination first second)
  set(${first} ${combination} PARENT_SCOPE)
  set(${second} ${combination} PARENT_SCOPE)
  if(combination STREQUAL "mixed")
    set(${first} ${IMPISHIM_FIRST_MPI} PARENT_SCOPE)
    set(${second} ${IMPISHIM_SECOND_MPI} PARENT_SCOPE)
  endif()
endfunction()

function(impishim_add_mpi_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MEASURES;COMPUTES" "" "SOURCES;LINK;MPIS")
  if(NOT arg_MPIS)
    set(arg_MPIS ${IMPISHIM_MPIS})
  endif()
  foreach(mpi IN LISTS arg_MPIS)
    set(program ${name}_${mpi})
    add_executable(${program} ${arg_SOURCES})
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}
      ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(${program} SYSTEM PRIVATE ${IMPISHIM_${mpi}_INCLUDES})
    target_compile_definitions(${program} PRIVATE ${IMPISHIM_${mpi}_DEFINITIONS})
    # clang warns of what libstdc++ uses inside std::stable_sort.
    target_compile_options(${program} PRIVATE ${IMPISHIM_WARNINGS}
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
    if(arg_COMPUTES)
      target_compile_options(${program} PRIVATE -O1)
    elseif(NOT arg_MEASURES)
      target_compile_options(${program} PRIVATE ${IMPISHIM_TEST_OPTIMIZATION})
    endif()
    string(REPLACE "<mpi>" ${mpi} libraries "${arg_LINK}")
    target_link_libraries(${program} PRIVATE ${libraries} ${IMPISHIM_${mpi}_LINK} Threads::Threads)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
      ${CMAKE_BINARY_DIR}/tests/programs)
  endforeach()
endfunction()

# impishim_shapes_of(<combination> <variable> shapes...): those that this combination runs.
function(impishim_shapes_of combination variable)
  set(mine)
  set(joined)
  foreach(shape IN LISTS ARGN)
    set(unassigned TRUE)
    foreach(other IN LISTS IMPISHIM_COMBINATIONS)
      if(shape IN_LIST IMPISHIM_SHAPES_${other})
        set(unassigned FALSE)
      endif()
    endforeach()
    if(shape IN_LIST IMPISHIM_SHAPES_${combination} OR (unassigned AND combination STREQUAL
      IMPISHIM_FIRST_MPI))
      list(APPEND mine ${shape})
    endif()
    if(shape MATCHES "^[0-9]")
      list(APPEND joined ${shape})
    endif()
  endforeach()
  if(joined AND NOT "${mine}" MATCHES "[0-9]")
    list(GET joined 0 first)
    list(APPEND mine ${first})
  endif()
  set(${variable} ${mine} PARENT_SCOPE)
endfunction()

# impishim_add_shape(<name> <combination> <shape> <seconds> <reference test or ""> <program>
# <runner's options> <program's arguments>)
function(impishim_add_shape name combination shape timeout reference program options arguments)
  # Mixed runs begin with the first MPI, and are compared with its native run.
  impishim_mpis_of(${combination} mpi second)
  set(alternate)
  if(NOT second STREQUAL mpi)
    set(alternate --alternate $<TARGET_FILE:${program}_${second}>)
  endif()
  # The first MPI's hosts are whole nodes, so that every program also runs over relays.
  if(combination STREQUAL IMPISHIM_FIRST_MPI)
    list(APPEND options --host-procs node)
  endif()
  if(reference)
    list(APPEND options --reference ${CMAKE_BINARY_DIR}/tests/programs/${reference}_${mpi}.native)
  endif()
  if(IMPISHIM_SANITIZER_RUNTIME)
    list(APPEND options --sanitizer ${IMPISHIM_SANITIZER_RUNTIME})
    math(EXPR timeout "4 * ${timeout}")
  endif()
  set(test ${name}.${combination}.${shape})
  add_test(NAME ${test}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/support/run_system_test.py
      --impirun ${CMAKE_BINARY_DIR}/bin/impirun --mpiexec ${IMPISHIM_${mpi}_MPIEXEC}
      --library ${CMAKE_BINARY_DIR}/lib/impishim/${mpi}/libimpishim.so
      --yielding $<TARGET_FILE:impishim_yielding> --shape ${shape} --timeout ${timeout} ${alternate}
      ${options}
      -- $<TARGET_FILE:${program}_${mpi}> ${arguments})
  # The runner's bound is for one run, of which a comparing test makes two; ctest's is the last
  # resort.
  math(EXPR last_resort "2 * ${timeout} + 20")
  set_tests_properties(${test} PROPERTIES TIMEOUT ${last_resort} PROCESSORS 2)
  if(shape STREQUAL "native")
    set_tests_properties(${test} PROPERTIES FIXTURES_SETUP ${reference}_${mpi}_native)
  elseif(reference)
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${reference}_${mpi}_native)
  endif()
endfunction()

function(impishim_add_system_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALL_SHAPES" "PROGRAM;RANKS;TIMEOUT;REFERENCE"
                        "SOURCES;LINK;SHAPES;ARGS;CHECK;VARIABLES;COMBINATIONS")
  if(NOT arg_SHAPES)
    set(arg_SHAPES native preload 2+2 1+3 1+1+2)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 4)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_COMBINATIONS)
    set(arg_COMBINATIONS ${IMPISHIM_COMBINATIONS})
  endif()
  if(arg_SOURCES)
    impishim_add_mpi_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK})
    set(arg_PROGRAM ${name})
  endif()
  if("native" IN_LIST arg_SHAPES)
    set(arg_REFERENCE ${name})
  endif()
  foreach(combination IN LISTS arg_COMBINATIONS)
    if(NOT combination IN_LIST IMPISHIM_COMBINATIONS)
      continue()
    endif()
    set(shapes ${arg_SHAPES})
    if(NOT arg_ALL_SHAPES)
      impishim_shapes_of(${combination} shapes ${arg_SHAPES})
    elseif(combination STREQUAL "mixed")
      list(FILTER shapes INCLUDE REGEX "^[0-9]")
    endif()
    foreach(shape IN LISTS shapes)
      impishim_add_shape(${name} ${combination} ${shape} ${arg_TIMEOUT} "${arg_REFERENCE}"
        ${arg_PROGRAM}
                         "--ranks;${arg_RANKS};${arg_CHECK}" "${arg_ARGS}")
      if(arg_VARIABLES)
        # Tests run beside each other: a file of one is named <test>.
        string(REPLACE "<test>" ${name}.${combination}.${shape} variables "${arg_VARIABLES}")
        set_tests_properties(${name}.${combination}.${shape} PROPERTIES ENVIRONMENT
          "${variables}")
      endif()
    endforeach()
  endforeach()
endfunction()

# impishim_add_fortran_test(<name> <source>): builds one source for the three faces of Fortran
# (FACE is 1 for mpif.h, 2 for the module mpi, 3 for mpi_f08), and runs each natively and joined.
function(impishim_add_fortran_test name source)
  set(faces mpif_h use_mpi use_mpi_f08)
  foreach(mpi IN LISTS IMPISHIM_MPIS)
    find_program(IMPISHIM_${mpi}_MPIFORT NAMES mpifort.${mpi})
    if(NOT IMPISHIM_${mpi}_MPIFORT)
      message(STATUS "No tests of Fortran ${name}: there is no mpifort.${mpi}")
      return()
    endif()
  endforeach()
  foreach(mpi IN LISTS IMPISHIM_MPIS)
    set(number 0)
    foreach(face IN LISTS faces)
      math(EXPR number "${number} + 1")
      set(program_name ${name}_${face}_${mpi})
      set(program ${CMAKE_BINARY_DIR}/tests/programs/fortran_${program_name})
      set(modules ${CMAKE_CURRENT_BINARY_DIR}/${program_name})
      file(MAKE_DIRECTORY ${modules})
      add_custom_command(OUTPUT ${program}
        COMMAND ${IMPISHIM_${mpi}_MPIFORT} -DFACE=${number} -ffree-line-length-none -J ${modules} -o
          ${program} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        DEPENDS ${source} VERBATIM)
      add_custom_target(build_${program_name} ALL DEPENDS ${program})
      # An imported program can be run as other system tests are.
      add_executable(${program_name} IMPORTED)
      set_target_properties(${program_name} PROPERTIES IMPORTED_LOCATION ${program})
    endforeach()
  endforeach()
  foreach(face IN LISTS faces)
    impishim_add_system_test(${name}_${face} PROGRAM ${name}_${face} SHAPES native 2+2)
  endforeach()
endfunction()
