/* The fields of mappings about the mesh, backends and engines. See fields.h. */
#ifndef JR_FIELDS_PLACEMENT_H
#define JR_FIELDS_PLACEMENT_H

/* clang-format off */
#define JR_FIELDS_PARALLELISM(X)                                               \
    X("model", COUNT, RESOLVED, U32P(model), NULL, "ranks", EXPERIMENT, "1",   \
      "the size of the model axis, the fastest")                               \
    X("pipeline", COUNT, RESOLVED, U32P(pipeline), NULL, "ranks", EXPERIMENT,  \
      "1", "the size of the pipeline axis")                                    \
    X("data", COUNT, RESOLVED, U32P(data), NULL, "ranks", EXPERIMENT,          \
      "world_size / (model x pipeline)",                                       \
      "the size of the data axis, the slowest")

#define JR_FIELDS_BACKENDS(X)                                                  \
    X("default", BACKEND, RESOLVED, STR(fallback), NULL, NULL, EXPERIMENT,     \
      "TORCH_DISTRIBUTED_BACKEND, else by the device",                         \
      "the backend of the whole world")                                        \
    X("model", BACKEND, RESOLVED, STR(model), NULL, NULL, EXPERIMENT,          \
      "the default", "the backend of the model axis")                          \
    X("pipeline", BACKEND, RESOLVED, STR(pipeline), NULL, NULL, EXPERIMENT,    \
      "the default", "the backend of the pipeline axis")                       \
    X("data", BACKEND, RESOLVED, STR(data), NULL, NULL, EXPERIMENT,            \
      "the default", "the backend of the data axis")

#define JR_FIELDS_ENGINE(X)                                                    \
    X("slurm", SLURM, OPTIONAL, SEQ(slurm, bind_env), NULL, NULL, PLACEMENT,   \
      "none", "options of sbatch, by their long names")                        \
    X("kubernetes", KUBERNETES, OPTIONAL, MAP(kubernetes, KUBERNETES), NULL,   \
      NULL, PLACEMENT, "none", "how the pods are made")                        \
    X("mpi", MPI, OPTIONAL, MAP(mpi, MPI), NULL, NULL, PLACEMENT, "none",      \
      "which MPI starts the ranks")                                            \
    X("ssh", SSH, OPTIONAL, POINTER(ssh, SSH), NULL, NULL, PLACEMENT,          \
      "none; --hosts states it", "start the ranks on `hosts`, by ssh")

#define JR_FIELDS_SSH(X)                                                       \
    X("options", LINES, OPTIONAL, STRS(options), NULL, NULL, PLACEMENT,        \
      "none", "words for ssh, such as -J and a jump host")                     \
    X("program", LINE, OPTIONAL, STR(program), NULL, NULL, PLACEMENT,          \
      "the same path as here, else what PATH finds there",                     \
      "the path of jobrun on the hosts")                                       \
    X("copy", FLAG, OPTIONAL, FLAG(copy), NULL, NULL, PLACEMENT, "false",      \
      "copy jobrun to hosts that lack this version of it")                     \
    X("collect", COLLECTS, OPTIONAL, STRS(collect), NULL, NULL, PLACEMENT,     \
      "results, and the last 64 KiB of each log",                              \
      "what comes back whole from hosts that do not see `log_dir`")            \
    X("env", TEXTS, OPTIONAL, STRS(env), NULL, NULL, PLACEMENT, "none",        \
      "names or globs of variables that ranks get from here")

#define JR_FIELDS_KUBERNETES(X)                                                \
    X("image", IMAGE, OPTIONAL, STR(image), NULL, NULL, PLACEMENT,              \
      "`render` refuses", "the container image, which must contain jobrun")    \
    X("namespace", NAMESPACE, OPTIONAL, STR(name_space), NULL, NULL, PLACEMENT,    \
      "that of the user who applies it", "the namespace of all objects")       \
    X("service_account", LABEL, OPTIONAL, STR(service_account), NULL, NULL,    \
      PLACEMENT, "the namespace's default", "the service account of the pods") \
    X("priority_class", LABEL, OPTIONAL, STR(priority_class), NULL, NULL,      \
      PLACEMENT, "none", "the priority class of the pods")                     \
    X("pull_secret", LABEL, OPTIONAL, STR(pull_secret), NULL, NULL,            \
      PLACEMENT, "none", "the secret with which the image is pulled")          \
    X("secret", LABEL, OPTIONAL, STR(secret), NULL, NULL, PLACEMENT, "none",   \
      "a secret whose entries become jobrun's variables")                      \
    X("claim", LABEL, OPTIONAL, STR(claim), NULL, NULL, PLACEMENT, "none",     \
      "a persistent volume claim that all pods share")                         \
    X("mount", MOUNT, OPTIONAL, STR(mount), "/data", NULL, PLACEMENT, "/data",  \
      "where the claim is mounted")                                            \
    X("shm", BYTES, OPTIONAL, STR(shm), NULL, "bytes", PLACEMENT,           \
      "64Mi, the default of container engines", "the size of /dev/shm")        \
    X("cpu", CPUS, OPTIONAL, STR(cpu), NULL, "CPUs", PLACEMENT,            \
      "not limited", "the CPUs of each pod")                                   \
    X("memory", BYTES, OPTIONAL, STR(memory), NULL, "bytes", PLACEMENT,     \
      "not limited", "the memory of each pod")                                 \
    X("device_resource", RESOURCE, OPTIONAL, STR(device_resource), NULL, NULL,     \
      PLACEMENT, "by the device, such as nvidia.com/gpu",                      \
      "the cluster's name for the devices")

#define JR_FIELDS_MPI(X)                                                       \
    X("dialect", MPI_DIALECT, OPTIONAL, WORDS(dialect, dialects), "openmpi",   \
      NULL, PLACEMENT, "openmpi", "the MPI whose options the launcher takes")  \
    X("launcher", LINE, OPTIONAL, STR(launcher), "mpiexec", NULL, PLACEMENT,   \
      "mpiexec", "the program that starts the ranks")
/* clang-format on */

#endif
