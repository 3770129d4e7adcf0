# What Debian wants of packages beside their files, made by CPack before it packs:
# a copyright, a changelog of Debian's form, and manual pages that are compressed.
# CPack has the files of each group of components in a folder of that name.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ ${CPACK_JOBRUN_LICENSE} license)

# What is not there to begin with; only the first has pages of its own.
set(tool jobrun)
set(runtime ${CPACK_JOBRUN_LIBRARY})
set(devel libjobrun-dev)
foreach(group tool runtime devel)
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${group}${CPACK_PACKAGING_INSTALL_PREFIX})
  set(doc ${root}/share/doc/${${group}})
  file(WRITE ${doc}/copyright "${license}")
  file(WRITE ${doc}/changelog "jobrun (${CPACK_PACKAGE_VERSION}) unstable; \
urgency=medium

  * The changes are listed in /usr/share/doc/jobrun/CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB pages ${root}/share/man/man*/*)
  execute_process(COMMAND gzip -9nf ${doc}/changelog ${pages}
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB archives ${root}/lib/*.a ${root}/lib/*/*.a)
  if(archives)
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives
      ${archives} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
