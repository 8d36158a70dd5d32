# SPDX-License-Identifier: Apache-2.0
# Run by cpack over what it has gathered for the packages, a folder for each component: adds
# copyright, changelog and lintian's overrides, and compresses man pages, as Debian's policy asks.
cmake_policy(VERSION 3.25)
find_program(gzip gzip REQUIRED)
foreach(pair IN LISTS CPACK_IMPISHIM_NAMES)
  string(REGEX MATCH "^(.+)=(.+)$" pair ${pair})
  set(name ${CMAKE_MATCH_2})
  set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CMAKE_MATCH_1}/usr/share)
  set(documents ${share}/doc/${name})
  configure_file(${CPACK_IMPISHIM_SOURCE}/packaging/debian/copyright ${documents}/copyright COPYONLY)
  configure_file(${CPACK_IMPISHIM_SOURCE}/CHANGELOG.md ${documents}/changelog COPYONLY)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${documents}/changelog.Debian
    "impishim (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Built by cpack; see changelog.gz.\n\n"
    " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
  file(GLOB_RECURSE manual ${share}/man/*.[1-9])
  execute_process(COMMAND ${gzip} -9nf ${documents}/changelog ${documents}/changelog.Debian
    ${manual} COMMAND_ERROR_IS_FATAL ANY)
  if(CMAKE_MATCH_1 IN_LIST CPACK_IMPISHIM_SHIMS)
    file(READ ${CPACK_IMPISHIM_SOURCE}/packaging/debian/library.lintian-overrides text)
    string(REPLACE "@package@" ${name} text "${text}")
    file(WRITE ${share}/lintian/overrides/${name} "${text}")
  endif()
  # Whatever the umask of the one who builds.
  file(CHMOD_RECURSE ${share} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
endforeach()
