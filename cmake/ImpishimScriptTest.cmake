# SPDX-License-Identifier: Apache-2.0
# Tests of impirun that are Python scripts.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# impishim_add_script_tests(<prefix> <script> [MPIEXEC launcher] [PROGRAM target] [FOREIGN target]
# [ARGUMENTS ...] [PROPERTIES ...]): one ctest entry <prefix>.<name> for each method test_<name> of a Python script
# that uses tests/launch/support.py, so that a list of names never lags behind. Without MPIEXEC and
# the others the script starts no program.
function(impishim_add_script_tests prefix script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "MPIEXEC;PROGRAM;FOREIGN" "ARGUMENTS;PROPERTIES")
  set(mpiexec none)
  if(arg_MPIEXEC)
    set(mpiexec ${arg_MPIEXEC})
  endif()
  foreach(kind PROGRAM FOREIGN)
    set(target_${kind} none)
    if(arg_${kind})
      set(target_${kind} $<TARGET_FILE:${arg_${kind}}>)
    endif()
  endforeach()
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(STRINGS ${path} lines REGEX "^(class |    def test_)")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z]+)")
      set(class ${CMAKE_MATCH_1})
    elseif(line MATCHES "def test_([a-z0-9_]+)")
      set(name ${CMAKE_MATCH_1})
      add_test(NAME ${prefix}.${name}
        COMMAND ${Python3_EXECUTABLE} ${path} --impirun ${CMAKE_BINARY_DIR}/bin/impirun
          --mpiexec ${mpiexec} --program ${target_PROGRAM} --foreign-program ${target_FOREIGN}
          ${arg_ARGUMENTS} ${class}.test_${name})
      set_tests_properties(${prefix}.${name} PROPERTIES TIMEOUT 150
        SKIP_REGULAR_EXPRESSION "skipped=1" ${arg_PROPERTIES})
    endif()
  endforeach()
endfunction()
