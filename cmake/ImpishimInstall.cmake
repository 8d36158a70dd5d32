# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, beside the targets that install themselves: the CMake package,
# pkg-config files and module files. Components:
#   <mpi>    libimpishim.so of that MPI (mpich, openmpi, abi)
#   tools    impirun, and what belongs to it; install() without a component means this one
#   dev      headers, the libraries of darray, the CMake package, pkg-config files
#   python   the Python extension
#   modules  files for environment modules and Lmod
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tools)
set(IMPISHIM_PYTHON_DIR lib/python CACHE STRING "Where the Python extension goes, below the prefix")

# impirun looks for PREFIX/lib/impishim. Where libraries have another folder (lib64, Debian's
# lib/<architecture>), this name leads there.
if(NOT CMAKE_INSTALL_LIBDIR STREQUAL lib)
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_PREFIX}/lib
    ${CMAKE_INSTALL_FULL_LIBDIR}/impishim)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/install)
  file(CREATE_LINK ${to_libraries} ${CMAKE_BINARY_DIR}/install/impishim SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/install/impishim DESTINATION lib COMPONENT tools)
endif()

# impishim_install_shim(mpi target): the library of that MPI, as impishim::shim_<mpi> for other
# projects. Each has an export set of its own, since any of them may be absent where it is used.
function(impishim_install_shim mpi target)
  set(options)
  foreach(definition IN LISTS IMPISHIM_${mpi}_DEFINITIONS)
    list(APPEND options $<INSTALL_INTERFACE:${definition}>)
  endforeach()
  target_compile_definitions(${target} INTERFACE ${options})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(folder IN LISTS IMPISHIM_${mpi}_INCLUDES)
    target_include_directories(${target} SYSTEM INTERFACE $<INSTALL_INTERFACE:${folder}>)
  endforeach()
  # The program's own calls are to come here, whether or not the linker sees one to begin with.
  foreach(word IN ITEMS -Wl,--no-as-needed ${IMPISHIM_${mpi}_LINK})
    target_link_libraries(${target} INTERFACE $<INSTALL_INTERFACE:${word}>)
  endforeach()
  install(TARGETS ${target} EXPORT impishim-${mpi} LIBRARY DESTINATION
    ${CMAKE_INSTALL_LIBDIR}/impishim/${mpi} COMPONENT ${mpi})
  install(EXPORT impishim-${mpi} NAMESPACE impishim:: FILE impishim-${mpi}.cmake DESTINATION
    ${CMAKE_INSTALL_LIBDIR}/cmake/impishim COMPONENT dev)
  set_property(GLOBAL APPEND PROPERTY IMPISHIM_INSTALLED_MPIS ${mpi})
endfunction()

# impishim_install_pkg_config(name description cflags libs requires): one pkg-config file.
function(impishim_install_pkg_config name description cflags libs requires)
  file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
  list(JOIN cflags " " cflags)
  list(JOIN libs " " libs)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pkg-config.pc.in
    ${CMAKE_BINARY_DIR}/install/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/install/${name}.pc DESTINATION
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# Words by which programs that use the MPI `mpi` are compiled.
function(impishim_mpi_cflags mpi result)
  set(words)
  foreach(folder IN LISTS IMPISHIM_${mpi}_INCLUDES)
    list(APPEND words -I${folder})
  endforeach()
  foreach(definition IN LISTS IMPISHIM_${mpi}_DEFINITIONS)
    list(APPEND words -D${definition})
  endforeach()
  set(${result} ${words} PARENT_SCOPE)
endfunction()

# impishim_install_package(): all that says where the rest is. Called when all targets are there.
function(impishim_install_package)
  get_property(shims GLOBAL PROPERTY IMPISHIM_INSTALLED_MPIS)
  install(EXPORT impishim NAMESPACE impishim:: FILE impishimTargets.cmake DESTINATION
    ${CMAKE_INSTALL_LIBDIR}/cmake/impishim COMPONENT dev)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/impishimConfig.cmake.in
    ${CMAKE_BINARY_DIR}/install/impishimConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/impishim
    PATH_VARS CMAKE_INSTALL_LIBDIR NO_SET_AND_CHECK_MACRO)
  # Before version 1 any minor version may change the interfaces.
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/impishimConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/install/impishimConfig.cmake
    ${CMAKE_BINARY_DIR}/install/impishimConfigVersion.cmake DESTINATION
    ${CMAKE_INSTALL_LIBDIR}/cmake/impishim COMPONENT dev)

  foreach(mpi IN LISTS shims)
    impishim_mpi_cflags(${mpi} cflags)
    set(folder \${libdir}/impishim/${mpi})
    impishim_install_pkg_config(impishim-${mpi} "One MPI job over several systems, for ${mpi}"
      "-I\${includedir};${cflags}"
      "-L${folder};-Wl,-rpath,${folder};-Wl,--no-as-needed;-limpishim;${IMPISHIM_${mpi}_LINK}" "")
  endforeach()
  set(files)
  if(IMPISHIM_HAS_HDF5)
    set(files -Wl,--push-state,--as-needed ${IMPISHIM_HDF5_LIBRARIES} -Wl,--pop-state)
  endif()
  set(IMPISHIM_serial_LINK -limpishim_darray_one_process)
  foreach(mpi IN LISTS IMPISHIM_MPIS ITEMS serial)
    impishim_mpi_cflags(${mpi} cflags)
    if(mpi STREQUAL serial)
      set(cflags -I\${includedir}/darray/serial)
    endif()
    # Static libraries: each before those that it uses.
    set(libraries)
    foreach(part ${mpi} plan_${mpi} dap local index)
      list(APPEND libraries -limpishim_darray_${part})
    endforeach()
    impishim_install_pkg_config(impishim-darray-${mpi} "Distributed arrays, for ${mpi}"
      "-I\${includedir};${cflags}"
      "-L\${libdir};${libraries};-limpishim_fmt;${files};${IMPISHIM_${mpi}_LINK}" "")
  endforeach()
  list(GET IMPISHIM_MPIS 0 first_mpi)
  impishim_install_pkg_config(impishim-darray "Distributed arrays, for ${first_mpi}" "" ""
    "impishim-darray-${first_mpi}")

  file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_DATADIR}/modulefiles/impishim /prefix)
  string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
  foreach(suffix IN ITEMS "" .lua)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/modulefile${suffix}.in
      ${CMAKE_BINARY_DIR}/install/modulefile${suffix} @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/install/modulefile${suffix} DESTINATION
      ${CMAKE_INSTALL_DATADIR}/modulefiles/impishim RENAME ${PROJECT_VERSION}${suffix} COMPONENT
      modules)
  endforeach()
endfunction()
