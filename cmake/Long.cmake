# The long tests, which only `tools/test --all` runs: each in the one build where
# it can find most, and those that take longest first.
#
#   asan     AddressSanitizer and UBSan, clang's where it is here, else gcc's. What
#            reads texts and messages that are broken, and what starves the
#            program of memory.
#   release  as users build it. What has moments to be hit, for it is fastest;
#            what counts the memory that is left, libraries' too; what waits;
#            what others judge, or valgrind.
#   both     what fetches for tests of another build.
#
# A row is NAME:BUILD:SECONDS, about what the test takes by itself.
set(JR_LONG_TESTS
  slurm.graces:release:720 # it waits
  slurm.links:release:620 # so does it
  system.frameworks.fetch:both:280 # so does it
  system.frameworks:release:300
  interop.origins:release:300
  python.versions:release:200
  python.torch:release:180
  python.forks:release:180
  system.first_failures.long.8:release:100
  system.old_kernels.long:release:60
  memcheck.jobrun:release:60
  install.release:release:150
  install.debian:release:120
  install.first_minutes:release:250
  install.wheel:release:120
  memcheck.sweep.no_memory:release:120
  install.roots:release:100
  install.roots.remove:release:1
  install.hooks:release:110
  install.aarch64.build:release:240
  install.aarch64:release:180
  install.site:release:50
  install.portable:release:90
  run.chaos.long:release:120
  system.first_failures.long.0:release:120
  starve.long:asan:120
  system.nodes_by_srun.EPERM:release:90
  system.companion.EPERM:release:20
  system.teardown.EPERM:release:10
  system.restart.EPERM:release:10
  run.start.ENOSYS:release:10
  run.start.EPERM:asan:20
  run.output.ENOSYS:release:20
  run.output.EPERM:asan:30
  run.stop.ENOSYS:release:20
  run.stop.EPERM:asan:20
  run.loss.ENOSYS:release:10
  run.loss.EPERM:asan:10
  slurm.frozen:release:90
  slurm.arrays:release:60
  slurm.sweeps:release:60
  slurm.ssh:release:300
  slurm.far_host:release:40
  slurm.eight_hosts:release:40
  slurm.long:release:90
  slurm.requeue:release:180
  slurm.preemptions:release:400
  system.node_losses.long:release:200
  system.sweep_kills:release:120
  system.spare_kills:release:200
  slurm.many:asan:60
  slurm.silence:asan:60
  slurm.mpi:release:60
  system.mpi_many:release:40
  system.mpi_programs:release:60
  fuzz.machines.long:asan:40
  interop.torch_spawn:release:50
  interop.torch_elastic:release:40
  starve.specs:release:40
  interop.schema.long:release:40
  interop.hostlist.long:release:30
  system.python_long:release:30
  system.unkillable:release:20
  system.foreign_validators:release:100
  system.kubectl:release:20
  system.kubernetes_schemas:release:20
  interop.editor:release:20
  system.report_in_browser:release:10
  format:asan:10)

# jr_long(NAME...): these tests are long ones. Each has its row above.
function(jr_long)
  foreach(name ${ARGN})
    if(NOT "${JR_LONG_TESTS};" MATCHES "(^|;)${name}:([a-z]+):([0-9]+);")
      message(FATAL_ERROR "${name}: no row in cmake/Long.cmake")
    endif()
    set_tests_properties(${name} PROPERTIES
      LABELS "long;long-${CMAKE_MATCH_2}" COST ${CMAKE_MATCH_3})
  endforeach()
endfunction()
