/* Command lines of mpiexec, made by hand: hosts, variables, quotes. */
#include "render/render.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define WORDS(...)    ((char *[]){__VA_ARGS__, NULL})
#define W(literal)    ((char[]){literal})
#define HEAD          "#!/bin/sh\n"
#define FOLDERS(count, path)                                                                       \
    "rank=0\nwhile [ $rank -lt " count " ]; do\n  mkdir -p " path                                  \
    "$rank || exit\n  rank=$((rank + 1))\ndone\n"

enum { MOST = 4 };

/* A plan of ranks on nodes, in /srv, with `A=1` and `./a`. */
struct sketch {
    struct jr_plan plan;
    struct jr_plan_rank ranks[MOST];
    struct jr_policy policy;
    struct jr_engine_job job;
};

static void sketch_init(struct sketch *s, const uint32_t *nodes, uint32_t count)
{
    static char launcher[] = "mpiexec", one[] = "A=1", a[] = "./a";
    static char *env[] = {one, NULL}, *argv[] = {a, NULL};
    *s = (struct sketch){.policy.engine.mpi.launcher = launcher};
    for (uint32_t i = 0; i < count; i++)
        s->ranks[i] = (struct jr_plan_rank){.rank = i,
                                            .node_rank = nodes[i],
                                            .argv = argv,
                                            .env = env,
                                            .env_own = 1,
                                            .workdir = "/srv"};
    s->plan = (struct jr_plan){.own_dir = "/runs/r",
                               .world_size = count,
                               .nodes = nodes[count - 1] + 1,
                               .ranks = s->ranks,
                               .policy = &s->policy};
    s->job = (struct jr_engine_job){
        .name = "j", .bind = "none", .meets = true, .policy = &s->policy, .plan = &s->plan};
}

static void check_script(const struct sketch *s, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_MPI, &s->job, NULL), 0);
    JR_ASSERT_TEXT(out.data, expected);
}

#define RANK "-n 1 --wdir /srv env A=1 ./a"

TEST(refuses_what_it_cannot_start)
{
    static const struct {
        bool returns, helper, setup, homeless;
        enum jr_status status;
        const char *text;
    } rows[] = {
        BRACED(.homeless = true, .returns = true, .status = JR_STATUS_UNRESOLVED,
               .text = "the address where the ranks of 2 nodes meet is not known: "
                       "state hosts, or master_addr"),
        BRACED(.returns = true, .helper = true, .status = JR_STATUS_INVALID,
               .text = "a function or a library returns its result to jobrun, which does "
                       "not run under MPI: use a command, a script or a module"),
        BRACED(.helper = true, .setup = true, .status = JR_STATUS_INVALID,
               .text = "MPI starts each rank as a new process: use start_method: spawn"),
        BRACED(.setup = true, .status = JR_STATUS_INVALID,
               .text =
                   "MPI cannot run `setup`: run it before, in the shell that starts the launcher"),
    };
    static char *helper[] = {NULL};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct sketch s;
        struct jr_error err = {0};
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        sketch_init(&s, (const uint32_t[]){0, 1}, 2);
        s.plan.returns = rows[i].returns;
        s.plan.helper.argv = rows[i].helper ? helper : NULL;
        s.plan.setup.text = rows[i].setup ? "x" : NULL;
        s.job.meets = !rows[i].homeless;
        CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_MPI, &s.job, &err), -1);
        CU_ASSERT_EQUAL(err.status, rows[i].status);
        JR_ASSERT_TEXT(err.text, rows[i].text);
        CU_ASSERT_EQUAL(out.len, 0);
    }
}

TEST(writes_one_rank_after_the_other)
{
    struct sketch s;
    sketch_init(&s, (const uint32_t[]){0}, 1);
    check_script(&s,
                 HEAD FOLDERS("1", "/runs/r/attempt_0/") "exec mpiexec "
                                                         "\\\n  --bind-to none \\\n  " RANK "\n");
    sketch_init(&s, (const uint32_t[]){0, 0, 0}, 3);
    check_script(&s,
                 HEAD FOLDERS("3", "/runs/r/attempt_0/") "exec mpiexec "
                                                         "\\\n  --bind-to none \\\n  " RANK
                                                         " \\\n  : " RANK " \\\n  : " RANK "\n");
}

TEST(names_hosts_with_their_ranks)
{
    static char gpu1[] = "gpu1", gpu2[] = "gpu 2", gpu3[] = "gpu3";
    char *hosts[] = {gpu1, gpu2, gpu3};
    struct sketch s;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    sketch_init(&s, (const uint32_t[]){0, 0, 1, 2}, 4);
    s.plan.hosts = hosts;
    CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_MPI, &s.job, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "exec mpiexec \\\n  --host gpu1:2,'gpu 2':1,gpu3:1 "
                                            "\\\n  --bind-to none"));
    /* one that is not known, and no list is written */
    hosts[1] = NULL;
    jr_buf_clear(&out);
    CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_MPI, &s.job, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "exec mpiexec \\\n  --bind-to none"));
    /* and where all of them are, no other place has to be */
    hosts[1] = gpu2;
    s.job.meets = false;
    jr_buf_clear(&out);
    CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_MPI, &s.job, NULL), 0);
}

TEST(speaks_as_the_launcher_does)
{
    static const struct {
        enum jr_mpi_dialect dialect;
        const char *bind, *line;
    } rows[] = {
        {JR_MPI_OPENMPI, "none",
         " \\\n  --host h:1 \\\n  --bind-to none \\\n  -n 1 --wdir /srv env"},
        {JR_MPI_OPENMPI, "core",
         " \\\n  --host h:1 \\\n  --bind-to core \\\n  -n 1 --wdir /srv env"},
        {JR_MPI_OPENMPI, "device",
         " \\\n  --host h:1 \\\n  --bind-to numa \\\n  -n 1 --wdir /srv env"},
        {JR_MPI_HYDRA, "numa", " \\\n  -hosts h:1 \\\n  -bind-to numa \\\n  -n 1 -wdir /srv env"},
    };
    static char host[] = "h", launcher[] = "/opt/my mpi/mpirun";
    char *hosts[] = {host};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct sketch s;
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        sketch_init(&s, (const uint32_t[]){0}, 1);
        s.plan.hosts = hosts;
        s.policy.engine.mpi.launcher = launcher;
        s.policy.engine.mpi.dialect = rows[i].dialect;
        s.job.bind = rows[i].bind;
        CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_MPI, &s.job, NULL), 0);
        const char *line = strstr(out.data, "exec '/opt/my mpi/mpirun'");
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        CU_ASSERT_TRUE(strncmp(line + strlen("exec '/opt/my mpi/mpirun'"), rows[i].line,
                               strlen(rows[i].line)) == 0);
    }
}

/* What the launcher tells its processes itself is left to it, a secret to the environment of the
 * script, and what is inherited to the launcher. */
TEST(writes_the_variables_of_each_rank)
{
    struct sketch s;
    sketch_init(&s, (const uint32_t[]){0}, 1);
    char *env[] = {W("OMPI_COMM_WORLD_RANK=0"),
                   W("PMI_RANK=0"),
                   W("PMIX_RANK=0"),
                   W("MPI_LOCALRANKID=0"),
                   W("MPI_HOME=/m"),
                   W("XPMI_RANK=1"),
                   W("HF_TOKEN=s3cret"),
                   W("TOKENS=2"),
                   W("B=x y=$z"),
                   W("C="),
                   W("HOME=/inherited"),
                   NULL};
    char *secrets[] = {W("*_TOKEN"), W("*SECRET*")};
    s.ranks[0].env = env;
    s.ranks[0].env_own = 10;
    s.plan.secrets = secrets;
    s.plan.secrets_count = 2;
    s.ranks[0].workdir = "/srv/it's";
    char *argv[] = {W("./a b"), W(""), W("$HOME"), NULL};
    s.ranks[0].argv = argv;
    check_script(&s, HEAD FOLDERS("1", "/runs/r/attempt_0/") "exec mpiexec \\\n  --bind-to none "
                                                             "\\\n  -n 1 --wdir /srv/it\\'s env "
                                                             "MPI_HOME=/m XPMI_RANK=1 "
                                                             "HF_TOKEN=\"${HF_TOKEN:?}\" "
                                                             "TOKENS=2 'B=x y=$z' C= './a b' '' "
                                                             "'$HOME'\n");
}

TEST(tells_no_secrets_and_no_checks)
{
    struct sketch s;
    sketch_init(&s, (const uint32_t[]){0}, 1);
    char *hidden[] = {W("hunter22"), NULL};
    char *argv[] = {W("./a"), W("--key=hunter22"), NULL};
    s.plan.hidden = hidden;
    s.ranks[0].argv = argv;
    s.policy.results.stated = true;
    s.plan.own_dir = "/runs/a b";
    check_script(&s, HEAD "# Nothing checks the ranks against `results` here.\n" FOLDERS(
                         "1", "'/runs/a b/attempt_0/'") "exec mpiexec \\\n  --bind-to none \\\n  "
                                                        "-n 1 --wdir /srv env A=1 ./a "
                                                        "--key=<redacted>\n");
}
