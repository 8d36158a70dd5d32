# MPI programs as tests: compiled as any user would, run natively and as one job over several systems.
#
# impishim_add_mpi_program(name SOURCES ...): the programs name_<mpi>, one for each MPI on this machine, without the library.
#
# impishim_add_system_test(name SOURCES ... [SHAPES native preload 2+2 ...] [RANKS n] [TIMEOUT seconds] [ARGS ...] [CHECK ...]
#                          [VARIABLES NAME=value ...] [REFERENCE other])
#   One ctest entry name.<mpi>.<shape> for each shape; see tests/system/run_system_test.py for shapes, and for the options of CHECK.
#   PROGRAM instead of SOURCES takes a program that impishim_add_mpi_program() made. What the shape native prints is what the others
#   must print; REFERENCE names the test whose native run counts, where this one has none.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(impishim_add_mpi_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  foreach(mpi IN LISTS IMPISHIM_MPIS)
    set(program ${name}_${mpi})
    add_executable(${program} ${arg_SOURCES})
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(${program} SYSTEM PRIVATE ${IMPISHIM_${mpi}_INCLUDES})
    target_compile_options(${program} PRIVATE -Wall -Wextra -Werror)
    target_link_libraries(${program} PRIVATE ${IMPISHIM_${mpi}_LINK} Threads::Threads)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/programs)
  endforeach()
endfunction()

function(impishim_add_system_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM;RANKS;TIMEOUT;REFERENCE" "SOURCES;SHAPES;ARGS;CHECK;VARIABLES")
  if(NOT arg_SHAPES)
    set(arg_SHAPES native preload 2+2 1+3 1+1+2)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 4)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(arg_SOURCES)
    impishim_add_mpi_program(${name} SOURCES ${arg_SOURCES})
    set(arg_PROGRAM ${name})
  endif()
  if("native" IN_LIST arg_SHAPES)
    set(arg_REFERENCE ${name})
  endif()
  # The runner's bound is for one run, of which a comparing test makes two; ctest's is the last resort.
  math(EXPR last_resort "2 * ${arg_TIMEOUT} + 20")
  foreach(mpi IN LISTS IMPISHIM_MPIS)
    set(reference)
    if(arg_REFERENCE)
      set(reference --reference ${CMAKE_BINARY_DIR}/tests/programs/${arg_REFERENCE}_${mpi}.native)
    endif()
    foreach(shape IN LISTS arg_SHAPES)
      add_test(NAME ${name}.${mpi}.${shape}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/system/run_system_test.py
          --impirun ${CMAKE_BINARY_DIR}/bin/impirun --mpiexec ${IMPISHIM_${mpi}_MPIEXEC}
          --library ${CMAKE_BINARY_DIR}/lib/impishim/${mpi}/libimpishim.so
          --shape ${shape} --ranks ${arg_RANKS} --timeout ${arg_TIMEOUT} ${reference} ${arg_CHECK}
          -- $<TARGET_FILE:${arg_PROGRAM}_${mpi}> ${arg_ARGS})
      set_tests_properties(${name}.${mpi}.${shape} PROPERTIES TIMEOUT ${last_resort} PROCESSORS 2)
      if(shape STREQUAL "native")
        set_tests_properties(${name}.${mpi}.${shape} PROPERTIES FIXTURES_SETUP ${arg_REFERENCE}_${mpi}_native)
      elseif(arg_REFERENCE)
        set_tests_properties(${name}.${mpi}.${shape} PROPERTIES FIXTURES_REQUIRED ${arg_REFERENCE}_${mpi}_native)
      endif()
      if(arg_VARIABLES)
        set_tests_properties(${name}.${mpi}.${shape} PROPERTIES ENVIRONMENT "${arg_VARIABLES}")
      endif()
    endforeach()
  endforeach()
endfunction()
