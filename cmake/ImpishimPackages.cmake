# SPDX-License-Identifier: Apache-2.0
# cpack: one Debian package for each component. scripts/package builds the tree for it (preset
# debian) and judges what comes out.
set(IMPISHIM_PACKAGE_MAINTAINER "impishim maintainers <maintainers@impishim.invalid>" CACHE STRING
  "Who is named as maintainer in the packages: name <address>")
get_property(shims GLOBAL PROPERTY IMPISHIM_INSTALLED_MPIS)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME impishim)
set(CPACK_PACKAGE_VENDOR impishim)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_VERBATIM_VARIABLES TRUE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL TRUE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${IMPISHIM_PACKAGE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_COMPONENTS_ALL ${shims} tools dev)
set(about "impishim joins the MPI jobs of different clusters, workstations or cloud
partitions into one job with one MPI_COMM_WORLD. The program stays an
unmodified binary.")
set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# impishim_debian_package(component name section summary text...)
macro(impishim_debian_package component name section summary text)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${about}\n.\n${text}")
  list(APPEND IMPISHIM_DEBIAN_NAMES ${component}=${name})
endmacro()

set(IMPISHIM_DEBIAN_NAMES)
set(libraries)
# OpenSSL and libfabric are loaded when they are needed, which dpkg-shlibdeps does not see.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS libssl3)
foreach(mpi IN LISTS shims)
  set(library libimpishim-${mpi}${PROJECT_VERSION_MAJOR})
  string(TOUPPER ${mpi} upper)
  impishim_debian_package(${mpi} ${library} libs "one MPI job over several systems (library for ${mpi})"
    "This package has the library for programs that are built with ${mpi}.")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS libssl3)
  if(IMPISHIM_WITH_LIBFABRIC)
    set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS libfabric1)
  endif()
  list(APPEND libraries "${library} ${same}")
endforeach()
list(JOIN libraries " | " any_library)
list(JOIN libraries ", " every_library)

impishim_debian_package(tools impishim net "one MPI job over several systems (impirun)"
  "This package has impirun, which starts such jobs.")
string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", ${any_library}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "${every_library}, mpich | openmpi-bin")

impishim_debian_package(dev libimpishim-dev libdevel
  "one MPI job over several systems (development files)"
  "This package has the headers, the libraries of distributed arrays\n(darray), the CMake package and pkg-config files.")
# The headers include fmt's. The archives name HDF5's development files, and each MPI's, to those
# who link them.
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${any_library}, ")
foreach(mpi IN LISTS shims)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "lib${mpi}-dev | ")
endforeach()
string(REGEX REPLACE " \\| $" ", libfmt-dev" CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "${CPACK_DEBIAN_DEV_PACKAGE_DEPENDS}")
if(IMPISHIM_HAS_HDF5)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libhdf5-dev")
endif()
# Archives need nothing; dpkg-shlibdeps would ask for them in vain.
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS FALSE)

if(TARGET impishim_darray_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  impishim_debian_package(python python3-impishim-darray python
    "one MPI job over several systems (arrays in Python)"
    "This package has impishim_darray, the Distributed Array Protocol for Python.")
  # The extension is built for one Python alone, as its file name says.
  execute_process(COMMAND ${IMPISHIM_PYTHON_CONFIG} --extension-suffix OUTPUT_VARIABLE suffix
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "-3([0-9]+)" minor ${suffix})
  math(EXPR next "${CMAKE_MATCH_1} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${CMAKE_MATCH_1}~), python3 (<< 3.${next})")
endif()

# What Debian's policy asks of each package, and CPack does not do.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/ImpishimDebianFiles.cmake)
set(CPACK_IMPISHIM_SHIMS ${shims})
set(CPACK_IMPISHIM_NAMES ${IMPISHIM_DEBIAN_NAMES})
set(CPACK_IMPISHIM_SOURCE ${PROJECT_SOURCE_DIR})
include(CPack)
