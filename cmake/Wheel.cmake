# Where the files go in a wheel, which scikit-build-core builds from this: SKBUILD
# and the folders SKBUILD_*_DIR are its own. Installers put what is in the folder of
# scripts into PREFIX/bin, and what is in that of data into PREFIX, so that the
# program finds its files at the same place as after `cmake --install`.
set(data ${SKBUILD_DATA_DIR})
set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
set(CMAKE_INSTALL_FULL_BINDIR ${data}/bin)
set(CMAKE_INSTALL_FULL_LIBDIR ${data}/lib)
set(CMAKE_INSTALL_LIBEXECDIR ${data}/libexec)
set(CMAKE_INSTALL_FULL_LIBEXECDIR ${data}/libexec)
set(CMAKE_INSTALL_DATADIR ${data}/share)
set(CMAKE_INSTALL_MANDIR ${data}/share/man)
