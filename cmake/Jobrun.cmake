# One target per folder, with only the link edges that the architecture allows.

add_library(jr_flags INTERFACE)
target_compile_options(jr_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-align
  -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wswitch-enum -Wredundant-decls
  $<$<BOOL:${JR_WERROR}>:-Werror>)
target_compile_definitions(jr_flags INTERFACE _GNU_SOURCE)
# What nobody has set is garbage that tests notice.
if(JR_SANITIZE)
  target_compile_options(jr_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -ftrivial-auto-var-init=pattern)
  target_link_options(jr_flags INTERFACE -fsanitize=address,undefined)
endif()
if(JR_FUZZ)
  target_compile_options(jr_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# jr_layer_headers(NAME RESULT): the folder from which "NAME/..." can be included.
function(jr_layer_headers name result)
  set(headers ${PROJECT_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${headers})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${headers}/${name} SYMBOLIC)
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

# jr_layer(NAME SOURCES ... SEES LAYER ... USES TARGET ...)
#
# SEES are the layers whose headers this one may include, as "LAYER/NAME.h"; they
# are not passed on, so an include of a layer that is not listed does not compile:
# each layer has an include folder of its own, with a link to its sources and
# nothing else. USES are third-party targets that this folder owns.
function(jr_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;SEES;USES" ${ARGN})
  jr_layer_headers(${name} headers)
  add_library(jr_${name} STATIC ${L_SOURCES})
  target_include_directories(jr_${name}
    PUBLIC ${headers}
    PRIVATE ${PROJECT_SOURCE_DIR}/src/include
            ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(jr_${name} PRIVATE jr_flags ${L_USES})
  if(JR_SANITIZE) # which takes less time in all than without it
    target_compile_options(jr_${name} PRIVATE -O1)
  endif()
  foreach(layer ${L_SEES})
    target_link_libraries(jr_${name} PRIVATE jr_${layer})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY JR_LAYERS ${name})
endfunction()

# All layers, for tests and tools: lowest last, as linkers want them.
add_library(jr_layers INTERFACE)
target_include_directories(jr_layers INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/include
  ${PROJECT_BINARY_DIR}/generated)

# jr_c_string(NAME FILE): the text of a file as a C string literal.
function(jr_c_string name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\" \\\n    \"" text "${text}")
  set(${name} "\"${text}\"" PARENT_SCOPE)
endfunction()

if(JR_MEMCHECK)
  find_program(JR_VALGRIND valgrind REQUIRED)
endif()
# jr_starves(TARGET): what our own files ask the allocator for goes through
# tests/unit/support/starve.h, which has the n-th request fail.
function(jr_starves target)
  target_link_options(${target} PRIVATE
    LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
endfunction()

# The unit tests that are run in valgrind, too: those of folders that work in
# memory. The others start processes, which valgrind (3.19) does not follow: it
# knows no pidfd_open(2), clone(2) by itself, close_range(2) or openat2(2).
set(JR_MEMCHECK_FOLDERS
    base diag doc judge plan record render report resolve spec store sweep)
# What cannot be held to its word there, for the same reason, or because valgrind
# takes each process for itself in /proc, sees undefined values in what PCRE2
# compiles at run time, and dies where exec fails. One test asks the kernel which
# pages are mapped.
set(JR_NO_MEMCHECK base.beneath base.pidfd base.subprocess base.syscalls
    judge.pattern judge.restart record.await_run record.live_run
    record.merge_nodes record.record_facts record.record_folder record.run_list
    report.screen resolve.custom_device store.outcome)
# What takes 8 s and more there, for it has vectors by the thousand. AddressSanitizer
# sees the same but for values that nobody has set, and where it is, these are
# garbage that the vectors notice.
set(JR_LONG_MEMCHECK doc.emit doc.interpolate doc.limits judge.exception
    judge.results plan.lazy plan.plan_json plan.rank_env record.load_metrics
    report.page_curves report.top resolve.emit resolve.fingerprint
    resolve.machines resolve.sizes spec.spec_file spec.lint_redirect spec.manual
    store.metrics_file)
foreach(name ${JR_NO_MEMCHECK} ${JR_LONG_MEMCHECK})
  string(REPLACE "." "/test_" file "${name}")
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/tests/unit/${file}.c")
    message(FATAL_ERROR "${name} is no unit test any more")
  endif()
endforeach()

# jr_unit_test(FOLDER MODULE): tests/unit/FOLDER/test_MODULE.c with CUnit, which
# sees the headers of all layers. Each request of its arenas is a block of its own,
# so that a sanitizer sees who reads beyond one.
function(jr_unit_test folder module)
  if(NOT TARGET PkgConfig::CUNIT)
    return()
  endif()
  set(target unit_${folder}_${module})
  add_executable(${target} test_${module}.c)
  if(NOT "${folder}.${module}" STREQUAL "base.arena")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:jr_starved_arena>)
  endif()
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests/unit/support)
  target_compile_definitions(${target} PRIVATE
    TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE jr_flags jr_layers jr_unit PkgConfig::CUNIT)
  add_test(NAME unit.${folder}.${module} COMMAND ${target})
  set_tests_properties(unit.${folder}.${module} PROPERTIES TIMEOUT 600)
  if(JR_MEMCHECK AND folder IN_LIST JR_MEMCHECK_FOLDERS
      AND NOT "${folder}.${module}" IN_LIST JR_NO_MEMCHECK
      AND NOT "${folder}.${module}" IN_LIST JR_LONG_MEMCHECK)
    add_test(NAME memcheck.${folder}.${module}
      COMMAND ${JR_VALGRIND} -q --error-exitcode=9 --leak-check=full
        --read-inline-info=no $<TARGET_FILE:${target}>)
    # Not where the same program may write at the same time.
    set(scratch ${CMAKE_CURRENT_BINARY_DIR}/memcheck)
    file(MAKE_DIRECTORY ${scratch})
    set_tests_properties(memcheck.${folder}.${module} PROPERTIES
      WORKING_DIRECTORY ${scratch} TIMEOUT 3600 LABELS "long;long-release")
  endif()
endfunction()
