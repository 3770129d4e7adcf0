/*
 * mpirun and mpiexec, of Open MPI and of MPICH (Hydra). Plain `mpirun` may be either: their tables
 * are searched one after the other. Sources: the ompi personality of PRRTE (schizo_ompi.c),
 * mpirun(1), MPICH's hydra utils.c. internal.h declares its table.
 */
#include <string.h>

#include "base/num.h"
#include "session/translate/internal.h"
#include "spec/template_text.h"

#include "base/banned.h"

/* [ppr:]N:node, and modifiers behind it. */
static int set_mapping(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const orders[] = {"slot",    "core", "hwthread", "socket",
                                         "package", "numa", "l3cache"};
    char **parts = jr_put_split(t, given->value, ':');
    if (parts == NULL)
        return -1;
    size_t count = 0;
    while (parts[count] != NULL)
        count++;
    size_t ppr = strcmp(parts[0], "ppr") == 0;
    if (count >= ppr + 2 && strcmp(parts[ppr + 1], "node") == 0)
        return jr_put(t, given, "local_world_size", parts[ppr]);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (count == 1 && strcmp(parts[0], orders[i]) == 0) {
            jr_note_add(t, JR_VERDICT_NEEDLESS, given->what, "ranks fill one node after the other");
            return 0;
        }
    jr_note_add(t, JR_VERDICT_LOST, given->what, "ranks fill one node after the other");
    return 0;
}

/* An MCA parameter is a variable, too. */
static int set_mca(struct jr_translator *t, const struct jr_given *given)
{
    const char *name = jr_arena_printf(t->arena, "%s%s", given->flag->field + 4, given->value);
    const char *path = jr_arena_printf(t->arena, "env.%s", name);
    if (name == NULL || path == NULL)
        return -1;
    return jr_put(t, given, path, jr_template_literal(t->arena, given->second));
}

/* What stands before a rank's lines; %r is the rank. */
static int set_mpi_prefix(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    for (const char *at = given->value; *at != '\0'; at++) {
        if (at[0] != '%') {
            jr_buf_char(&out, *at);
            continue;
        }
        if (*++at != 'r') {
            jr_note_add(t, JR_VERDICT_LOST, given->what,
                        "`console.prefix` knows %r, as %{rank}, alone");
            return 0;
        }
        jr_buf_str(&out, "%{rank}");
    }
    const char *prefix = jr_buf_keep(&out, t->arena);
    return prefix == NULL ? 0 : jr_put(t, given, "console.prefix", prefix);
}

/* --output tag,timestamp,...: dir= and file= name files. */
static int set_output(struct jr_translator *t, const struct jr_given *given)
{
    if (strstr(given->value, "timestamp") != NULL)
        return jr_put(t, given, "console.timestamps", "true");
    jr_note_add(t, JR_VERDICT_NEEDLESS, given->what,
                "lines have a prefix, and each rank its own files");
    return 0;
}

#define ONE_PROGRAM "all ranks run the same program"
#define PLAN        "see jobrun plan"
#define ITS_OWN     "it is about the launcher itself"
#define OWN_FILES   "each rank's streams have files of their own: see `log_dir`"
#define INHERITED   "ranks inherit the whole environment: see `env_remove`"
#define NO_MPI      "jobrun does not configure MPI"
#define COPIES      "code: freeze sends the work tree to hosts that do not see it"
#define WINDOWS     "jobrun SPEC --debug RANK gives a rank this terminal"
#define PLACES      "a spec does not describe sockets, cores and hardware threads"

static const struct jr_flag flags_mpi[] = {
    JR_SETS("-np -n", ONE, jr_set_field, "world_size"),
    JR_SETS("-host", ONE, jr_set_hosts, "hosts"),
    JR_SETS("-hostfile -machinefile", ONE, jr_set_hostfile, "hosts"),
    JR_SETS("-wdir", ONE, jr_set_path, "workdir"),
    JR_SETS("-map-by", ONE, set_mapping, "local_world_size"),
    JR_SETS("-bind-to", ONE, jr_set_binding, "bind"),
    JR_SETS("-timeout", ONE, jr_set_seconds, "timeouts.run"),
    JR_LOST("-configfile", ONE, ONE_PROGRAM),
    JR_NEEDLESS("-v -verbose -version", NONE, ITS_OWN),
    JR_LOST("-path", ONE, "name the program by its path, or set PATH"),
    {0},
};

static const struct jr_flag flags_openmpi[] = {
    JR_SETS("-c --n", ONE, jr_set_field, "world_size"),
    JR_SETS("-N -npernode", ONE, jr_set_field, "local_world_size"),
    JR_SETS("-pernode", NONE, jr_set_field, "local_world_size=1"),
    JR_SETS("-ppr", ONE, set_mapping, "local_world_size"),
    JR_SETS("-H", ONE, jr_set_hosts, "hosts"),
    JR_SETS("-wd", ONE, jr_set_path, "workdir"),
    JR_SETS("-x", ONE, jr_set_pair, "env"),
    JR_SETS("-mca -gmca -omca -gomca", TWO, set_mca, "env.OMPI_MCA_"),
    JR_SETS("-pmixmca -gpmixmca", TWO, set_mca, "env.PMIX_MCA_"),
    JR_LOST("-prtemca", TWO, ITS_OWN),
    JR_SETS("-oversubscribe", NONE, jr_set_field, "oversubscribe=true"),
    JR_SETS("-cpus-per-proc -cpus-per-rank", ONE, jr_set_field, "threads"),
    JR_SETS("-bind-to-core -bycore", NONE, jr_set_field, "bind=core"),
    JR_SETS("-bind-to-socket", NONE, jr_set_field, "bind=numa"),
    JR_SETS("-bind-to-none", NONE, jr_set_field, "bind=none"),
    JR_SETS("-timestamp-output", NONE, jr_set_field, "console.timestamps=true"),
    JR_SETS("-output", ONE, set_output, "console.timestamps"),
    JR_SETS("-max-restarts", ONE, jr_set_restarts, "restart.max"),
    JR_NEEDLESS("-nooversubscribe", NONE, "more ranks than devices are refused unless allowed"),
    JR_NEEDLESS("-byslot", NONE, "ranks fill one node after the other"),
    JR_NEEDLESS("-tag-output", NONE, "lines on the console have a prefix: see `console`"),
    JR_NEEDLESS("-output-filename -output-directory", ONE, OWN_FILES),
    JR_NEEDLESS("-report-bindings -display-map -display-devel-map -display-allocation "
                "-display-devel-allocation -display-topo -display-comm -display-comm-finalize",
                NONE, PLAN),
    JR_NEEDLESS("-display -output-proctable", ONE, PLAN),
    JR_NEEDLESS("-allow-run-as-root -q -quiet -V -p -noprefix -show-progress -debug "
                "-debug-daemons -debug-daemons-file -leave-session-attached",
                NONE, ITS_OWN),
    JR_NEEDLESS("-prefix -tmpdir -launch-agent -max-vm-size -pset -spawn-timeout", ONE, ITS_OWN),
    JR_SETS("-default-hostfile", ONE, jr_set_hostfile, "hosts"),
    JR_LOST("-rankfile -rf", ONE,
            "ranks fill one node after the other: state `hosts`, and in "
            "`local_world_size` how many ranks each has"),
    JR_LOST("-rank-by -cpu-set -cpu-list -npersocket", ONE, PLACES),
    JR_LOST("-use-hwthread-cpus -bynode -nolocal", NONE, PLACES),
    JR_LOST("-merge-stderr-to-stdout -xml", NONE, "a rank's two streams stay apart"),
    JR_LOST("-stream-buffering", ONE, "the program decides about its buffering"),
    JR_LOST("-stdin", ONE,
            "ranks read /dev/null, or one of them jobrun's own standard input: "
            "jobrun SPEC --stdin RANK"),
    JR_LOST("-forward-signals", ONE, "USR1 and USR2 go to the ranks, and others as `signals` says"),
    JR_LOST("-app -appfile -file", ONE, ONE_PROGRAM),
    JR_LOST("-tune -am -amca -initial-errhandler -with-ft", ONE, NO_MPI),
    JR_LOST("-preload-files", ONE, COPIES),
    JR_LOST("-s -preload-binary", NONE, COPIES),
    JR_LOST("-arch -xterm -stop-in-init -stop-in-app", ONE, WINDOWS),
    JR_LOST("-soft -stop-on-exec", NONE, WINDOWS),
    JR_LOST("-enable-recovery -disable-recovery -continuous", NONE,
            "the first failure stops the job, or see `on_failure`"),
    JR_LOST("-get-stack-traces -report-state-on-timeout", NONE,
            "`on_hang` gathers them from a job that hangs; jobrun show --stacks prints them"),
    JR_LOST("-do-not-launch", NONE, PLAN),
    {0},
};

static const struct jr_flag flags_hydra[] = {
    JR_SETS("-ppn -perhost -grr", ONE, jr_set_field, "local_world_size"),
    JR_SETS("-hosts -hostlist -machine -machines -machinelist", ONE, jr_set_hosts, "hosts"),
    JR_SETS("-f", ONE, jr_set_hostfile, "hosts"),
    JR_SETS("-genv -env", TWO, jr_set_env_two, "env"),
    JR_NEEDLESS("-genvall -envall", NONE, "the ranks inherit jobrun's environment"),
    JR_LOST("-genvlist -envlist -genvexcl", ONE, INHERITED),
    JR_LOST("-genvnone -envnone", NONE, INHERITED),
    JR_NEEDLESS("-prepend-rank -l", NONE, "lines on the console have a prefix: see `console`"),
    JR_SETS("-prepend-pattern", ONE, set_mpi_prefix, "console.prefix"),
    JR_NEEDLESS("-outfile-pattern -outfile -errfile-pattern -errfile", ONE, OWN_FILES),
    JR_SETS("-binding", ONE, jr_set_binding, "bind"),
    JR_LOST("-membind -order-nodes -ranks-per-proc", ONE, PLACES),
    JR_SETS("-gpus-per-proc", ONE, jr_set_gpus_each, "device_visibility"),
    JR_LOST("-gpu-subdevs-per-proc", ONE, "a rank sees whole devices"),
    JR_SETS("-disable-auto-cleanup", NONE, jr_set_field, "on_failure=continue"),
    JR_NEEDLESS("-enable-auto-cleanup", NONE, "the first failure stops all"),
    JR_NEEDLESS("-print-all-exitcodes", NONE, "the report has them"),
    JR_NEEDLESS("-print-rank-map", NONE, PLAN),
    JR_NEEDLESS("-launcher -launcher-exec -bootstrap -bootstrap-exec -rmk "
                "-demux -topolib -bindlib -usize -pmi-port -localhost",
                ONE, ITS_OWN),
    JR_NEEDLESS("-info -profile -skip-launch-node "
                "-disable-hostname-propagation -enable-hostname-propagation",
                NONE, ITS_OWN),
    JR_LOST("-iface -nameserver", ONE, NO_MPI),
    JR_LOST("-enable-x -disable-x", NONE, "ranks have no screen"),
    JR_LOST("-ckpoint-interval -ckpoint-prefix -ckpoint-num -ckpointlib", ONE,
            "jobrun makes no checkpoints"),
    {0},
};

static int finish_mpi(struct jr_translator *t)
{
    const struct jr_given unasked = {.what = "mpirun's default"};
    t->mpi = true;
    if (jr_hosts_count(t) == 0 || jr_doc_get(t->to->spec, "world_size") != NULL ||
        jr_doc_get(t->to->spec, "local_world_size") != NULL || t->hostfile)
        return 0;
    return jr_put(t, &unasked, "local_world_size", "1");
}

const struct jr_launcher jr_launcher_mpirun = {
    .names = "mpirun|mpiexec",
    .tables = {flags_mpi, flags_openmpi, flags_hydra},
    .ssh = true,
    .words = true,
    .several = true,
    .finish = finish_mpi,
};

const struct jr_launcher jr_launcher_openmpi = {
    .names = "mpirun.openmpi|mpiexec.openmpi|orterun|prterun",
    .tables = {flags_mpi, flags_openmpi},
    .ssh = true,
    .words = true,
    .several = true,
    .finish = finish_mpi,
};

const struct jr_launcher jr_launcher_hydra = {
    .names = "mpiexec.hydra|mpirun.mpich|mpiexec.mpich",
    .tables = {flags_mpi, flags_hydra},
    .ssh = true,
    .words = true,
    .several = true,
    .finish = finish_mpi,
};
