# SPDX-License-Identifier: Apache-2.0
# The standard ABI (MPI 5.0, chapter 20), for which a libimpishim.so of its own is built: programs
# that need libmpi_abi.so.0 run with every MPI library that has it. IMPISHIM_STANDARD_ABI is "abi", or
# empty if there is none, and IMPISHIM_abi_... says of it what ImpishimFindMPIs.cmake says of an MPI
# library, and
#   IMPISHIM_abi_PMPI_SONAME  the library that has the PMPI_ names, if they are apart from MPI_ names
#   IMPISHIM_abi_TARGET       the target that makes the headers, if it is the library of the tests
#
# It is found by its compiler wrapper mpicc_abi, or by mpi_abi.h and libmpi_abi.so; where neither is
# there, tests build a library of that ABI over MPICH (tests/standard_abi/library).
option(IMPISHIM_BUILD_STANDARD_ABI "Build libimpishim.so for the standard ABI, where it can be" ON)
set(IMPISHIM_STANDARD_ABI)
set(IMPISHIM_abi_SONAME libmpi_abi.so.0)
set(IMPISHIM_abi_PMPI_SONAME libpmpi_abi.so.0)
set(IMPISHIM_abi_ALIASES libmpi_abi.so)
set(IMPISHIM_abi_TARGET)
if(NOT IMPISHIM_BUILD_STANDARD_ABI)
  return()
endif()

find_program(IMPISHIM_ABI_COMPILER mpicc_abi)
if(IMPISHIM_ABI_COMPILER)
  impishim_find_mpi(abi MPICC mpicc_abi MPIEXEC mpiexec.abi mpiexec SHOW -show SONAME
    libmpi_abi.so.0 ALIASES libmpi_abi.so HEADERS mpi.h DEFINITIONS MPI_ABI)
  list(REMOVE_ITEM IMPISHIM_MPIS abi)
  set(IMPISHIM_STANDARD_ABI abi)
  return()
endif()

find_path(IMPISHIM_ABI_INCLUDE mpi_abi.h)
find_library(IMPISHIM_abi_LIBRARY NAMES libmpi_abi.so.0 mpi_abi)
if(IMPISHIM_ABI_INCLUDE AND IMPISHIM_abi_LIBRARY)
  # Its folder may hold the mpi.h of the same library's own ABI.
  set(folder ${CMAKE_BINARY_DIR}/standard-abi)
  file(WRITE ${folder}/mpi.h "#include \"${IMPISHIM_ABI_INCLUDE}/mpi_abi.h\"\n")
  set(IMPISHIM_abi_INCLUDES ${folder})
  set(IMPISHIM_abi_LINK ${IMPISHIM_abi_LIBRARY})
elseif(IMPISHIM_BUILD_TESTS AND "mpich" IN_LIST IMPISHIM_MPIS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/standard_abi/library)
  set(folder ${CMAKE_BINARY_DIR}/tests/standard_abi/library)
  set(IMPISHIM_abi_INCLUDES ${folder}/include)
  set(IMPISHIM_abi_LINK impishim_mpi_abi)
  set(IMPISHIM_abi_LIBRARY ${folder}/libmpi_abi.so.0)
  set(IMPISHIM_abi_TARGET impishim_standard_abi_headers)
  set(IMPISHIM_abi_MPIEXEC ${folder}/bin/mpiexec.abi)
else()
  message(STATUS "abi: no mpi_abi.h")
  return()
endif()
set(IMPISHIM_abi_HEADER_OPTIONS --include ${IMPISHIM_abi_INCLUDES} --header mpi.h)
set(IMPISHIM_STANDARD_ABI abi)
message(STATUS "abi: ${IMPISHIM_abi_INCLUDES}, ${IMPISHIM_abi_LINK}")
