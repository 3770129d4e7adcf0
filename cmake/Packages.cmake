# Debian packages: `cpack -G DEB` in a build that was configured with
# -DCMAKE_INSTALL_PREFIX=/usr, so that the library lies where Debian has it.
# The default reaches nobody: example.org is there for that (RFC 2606). tools/release
# states who makes the release.
set(JR_MAINTAINER "The jobrun authors <jobrun@example.org>"
  CACHE STRING "The maintainer of packages, as NAME <ADDRESS>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME jobrun)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "declarative job-spec runner")
set(CPACK_PACKAGE_CONTACT ${JR_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake)
set(CPACK_JOBRUN_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_JOBRUN_LIBRARY libjobrun${PROJECT_VERSION_MAJOR})

# jr_package(GROUP NAME SECTION LINE...): what the group's package says.
function(jr_package group name section)
  string(TOUPPER ${group} upper)
  string(JOIN "\n" text
    "jobrun reads a job spec in YAML, fills in missing values from the"
    "hardware and the scheduler, launches the ranks of a distributed job,"
    "and succeeds only if every rank delivers its result."
    "" ${ARGN})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${text}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
endfunction()
jr_package(tool jobrun utils
  "This package has the program, its manual pages, completion for shells,"
  "the schemas of specs and records, and the documentation.")
jr_package(runtime ${CPACK_JOBRUN_LIBRARY} libs
  "This package has the shared library, with which other programs run jobs.")
jr_package(devel libjobrun-dev libdevel
  "This package has the headers, the archive, and what pkg-config and CMake"
  "need to find the library.")
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "python3 (>= 3.8)")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "jobrun (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS
  "${CPACK_JOBRUN_LIBRARY} (= ${PROJECT_VERSION}), libcyaml-dev, libyaml-dev, \
libpcre2-dev, libjansson-dev, nettle-dev")

# What packages over the library depend on, and who is told of it.
set(control ${PROJECT_BINARY_DIR}/generated/debian)
file(WRITE ${control}/shlibs "libjobrun ${PROJECT_VERSION_MAJOR} \
${CPACK_JOBRUN_LIBRARY} (>= ${PROJECT_VERSION})\n")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
# What Python has compiled is not in the list of the package's files.
set(package ${CPACK_PACKAGING_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBEXECDIR}/jobrun/python)
file(WRITE ${control}/prerm "#!/bin/sh
set -e
rm -rf ${package}/jobrun/__pycache__
")
file(CHMOD ${control}/prerm PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_TOOL_PACKAGE_CONTROL_EXTRA ${control}/prerm)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${control}/shlibs ${control}/triggers)

include(CPack)
cpack_add_component(program GROUP tool)
cpack_add_component(documentation GROUP tool)
cpack_add_component(library GROUP runtime)
cpack_add_component(development GROUP devel)
