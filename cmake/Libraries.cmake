# The libraries of others, as targets PkgConfig::NAME.
#
# With JR_STATIC they are archives (.a), so that the program needs nothing of the
# system but libc, which stays shared: dlopen(3) of a driver's library (NVML) or of
# a job's own needs the libc that these are linked with.
find_package(PkgConfig REQUIRED)
if(JR_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(CYAML REQUIRED IMPORTED_TARGET libcyaml)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)

if(JR_STATIC)
  foreach(name YAML CYAML PCRE2 JANSSON NETTLE)
    get_target_property(files PkgConfig::${name} INTERFACE_LINK_LIBRARIES)
    if(NOT files MATCHES "^/[^;]*[.]a(;|$)")
      message(FATAL_ERROR "JR_STATIC needs the archive of ${${name}_LIBRARIES} "
        "(a file .a), and there is only ${files}. Install the archive, or build "
        "with -DJR_STATIC=OFF (pip install . -C cmake.define.JR_STATIC=OFF).")
    endif()
  endforeach()
  # An archive does not say that it needs another one.
  target_link_libraries(PkgConfig::CYAML INTERFACE PkgConfig::YAML)
endif()
