# What is installed beside the programs and the library, by component: `program`,
# `documentation`, `library`, `development`, and, in wheels only, `python`.
install(FILES man/jobrun.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  COMPONENT program)
install(FILES man/jobrun.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5
  COMPONENT program)
install(FILES completions/jobrun.bash RENAME jobrun
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  COMPONENT program)
install(FILES completions/jobrun.zsh RENAME _jobrun
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
install(FILES completions/jobrun.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT program)
install(DIRECTORY schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/jobrun
  COMPONENT program)

# The pages lie as they do in the source, so that their links hold.
install(FILES README.md LICENSE CHANGELOG.md CONTRIBUTING.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT documentation
  PATTERN diagnostics EXCLUDE) # the help texts, which diagnostics.md has too
install(DIRECTORY examples/jobs DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  COMPONENT documentation
  PATTERN CMakeLists.txt EXCLUDE
  PATTERN runs EXCLUDE
  PATTERN __pycache__ EXCLUDE)
