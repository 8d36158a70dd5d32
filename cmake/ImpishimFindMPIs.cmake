# SPDX-License-Identifier: Apache-2.0
# Finds every MPI library on this machine by its compiler wrapper and records, for each one in
# IMPISHIM_MPIS:
#   IMPISHIM_<mpi>_MPICC, IMPISHIM_<mpi>_MPIEXEC, IMPISHIM_<mpi>_INCLUDES, IMPISHIM_<mpi>_LINK,
#   IMPISHIM_<mpi>_SONAME
#   IMPISHIM_<mpi>_LIBRARY            the path of the library with that name
#   IMPISHIM_<mpi>_ALIASES            other file names by which programs open it
#   IMPISHIM_<mpi>_FORTRAN            the beginning of its Fortran library's name, if that hands
#                                     callbacks over inside (shim/entry/call_origin.hpp)
#   IMPISHIM_<mpi>_HEADER_OPTIONS     the headers that declare its functions, as options of
#                                     scripts/gen_wrappers.py
#   IMPISHIM_<mpi>_DEFINITIONS        macros for every file that includes them
#   IMPISHIM_<mpi>_WHOLE_DEFINITIONS  macros for the library's own files: the headers then declare
#                                     all that the MPI library exports
set(IMPISHIM_MPIS)
set(IMPISHIM_BUILD_FOR "" CACHE STRING "mpich, openmpi or both, with ; between; empty: all that are found")

function(impishim_find_mpi mpi)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" ""
    "MPICC;MPIEXEC;SHOW;SONAME;ALIASES;FORTRAN;HEADERS;DEFINITIONS;WHOLE_DEFINITIONS")
  if(IMPISHIM_BUILD_FOR AND NOT mpi STREQUAL "abi" AND NOT mpi IN_LIST IMPISHIM_BUILD_FOR)
    message(STATUS "${mpi}: not asked for by IMPISHIM_BUILD_FOR")
    return()
  endif()
  find_program(IMPISHIM_${mpi}_MPICC NAMES ${arg_MPICC})
  find_program(IMPISHIM_${mpi}_MPIEXEC NAMES ${arg_MPIEXEC})
  if(NOT IMPISHIM_${mpi}_MPICC OR NOT IMPISHIM_${mpi}_MPIEXEC)
    if(mpi IN_LIST IMPISHIM_BUILD_FOR)
      message(FATAL_ERROR "${mpi}, which IMPISHIM_BUILD_FOR names, is not found: set "
        "IMPISHIM_${mpi}_MPICC and IMPISHIM_${mpi}_MPIEXEC to its compiler wrapper and launcher")
    endif()
    message(STATUS "${mpi}: not found")
    return()
  endif()
  execute_process(COMMAND ${IMPISHIM_${mpi}_MPICC} ${arg_SHOW} OUTPUT_VARIABLE command
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${command}")
  set(includes)
  set(link)
  set(folders)
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)")
      list(APPEND includes ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-L" OR word MATCHES "^-lmpi" )
      list(APPEND link ${word})
      if(word MATCHES "^-L(.+)")
        list(APPEND folders ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  find_library(IMPISHIM_${mpi}_LIBRARY NAMES ${arg_SONAME} HINTS ${folders} REQUIRED)
  set(IMPISHIM_${mpi}_INCLUDES ${includes} PARENT_SCOPE)
  set(IMPISHIM_${mpi}_LINK ${link} PARENT_SCOPE)
  set(options)
  foreach(directory IN LISTS includes)
    list(APPEND options --include ${directory})
  endforeach()
  foreach(definition IN LISTS arg_DEFINITIONS arg_WHOLE_DEFINITIONS)
    list(APPEND options --define ${definition})
  endforeach()
  foreach(header IN LISTS arg_HEADERS)
    list(APPEND options --header ${header})
  endforeach()
  set(IMPISHIM_${mpi}_HEADER_OPTIONS ${options} PARENT_SCOPE)
  foreach(name SONAME ALIASES FORTRAN DEFINITIONS WHOLE_DEFINITIONS)
    set(IMPISHIM_${mpi}_${name} ${arg_${name}} PARENT_SCOPE)
  endforeach()
  set(IMPISHIM_MPIS ${IMPISHIM_MPIS} ${mpi} PARENT_SCOPE)
  message(STATUS "${mpi}: ${IMPISHIM_${mpi}_MPICC}, ${includes}, ${link}")
endfunction()

impishim_find_mpi(mpich MPICC mpicc.mpich MPIEXEC mpiexec.mpich mpiexec.hydra SHOW -show SONAME
  libmpich.so.12 ALIASES libmpich.so libmpi.so.12 libmpi.so HEADERS mpi.h)
# Open MPI's header hides the functions that MPI-3 removed, which its library still exports for
# older programs and its Fortran layer still calls. Its C++ bindings, which mpi.h includes, would
# need a library more.
impishim_find_mpi(openmpi MPICC mpicc.openmpi MPIEXEC mpiexec.openmpi SHOW --showme SONAME
  libmpi.so.40 ALIASES libmpi.so FORTRAN libmpi_mpifh.so HEADERS mpi.h mpi-ext.h
                  DEFINITIONS OMPI_SKIP_MPICXX=1 WHOLE_DEFINITIONS OMPI_OMIT_MPI1_COMPAT_DECLS=0)
if(NOT IMPISHIM_MPIS)
  message(FATAL_ERROR
    "No MPI library found: install one (Debian: libmpich-dev mpich, or libopenmpi-dev openmpi-bin)")
endif()
