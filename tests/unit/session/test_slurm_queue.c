/* Asking Slurm about jobs: by commands in PATH, which are the tests' own here. */
#include "session/slurm_queue.h"

#include "base/io.h"
#include "scratch.h"

static struct scratch scratch;
static char path_variable[600];
static char *const environment[] = {path_variable, NULL};

/* execvpe(3) looks for commands in our own PATH. */
static const char *const path = path_variable + sizeof "PATH=" - 1;

static void make_command(const char *name, const char *text)
{
    scratch_write(&scratch, name, text);
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, name, 0755, 0), 0);
}

static void start(void)
{
    scratch_start(&scratch);
    (void)snprintf(path_variable, sizeof path_variable, "PATH=%s:/usr/bin:/bin", scratch.dir);
    CU_ASSERT_EQUAL(setenv("PATH", path, 1), 0);
}

/* What a command has noted. */
static void check_text(const char *name, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, name, 4096, NULL), 0);
    JR_ASSERT_TEXT(text.data, expected);
}

/* How the job stands. */
static void check(struct jr_slurm_queue *queue, const char *job, enum jr_queue_place place)
{
    CU_ASSERT_EQUAL(jr_slurm_queue_find(queue, job), place);
}

TEST(finds_jobs_and_arrays)
{
    struct jr_slurm_queue queue;
    start();
    make_command("squeue", "#!/bin/sh\necho \"$@\" | tr '\\n' ' ' >> "
                           "\"${0%/*}/asked\"\nprintf '12\\n12\\n78\\n70\\n'\n");
    jr_slurm_queue_init(&queue, environment);
    check(&queue, "12", JR_QUEUE_QUEUED);
    check(&queue, "70", JR_QUEUE_QUEUED); /* 78 is a task of it */
    check(&queue, "1", JR_QUEUE_ENDED);
    check(&queue, "7", JR_QUEUE_ENDED);
    check(&queue, "120", JR_QUEUE_ENDED);
    check(&queue, "12;far", JR_QUEUE_QUEUED);
    check(&queue, "13;far", JR_QUEUE_ENDED);
    char expected[256];
    unsigned user = (unsigned)geteuid();
    (void)snprintf(expected, sizeof expected,
                   "--noheader --user %u --format %%A %%F --noheader --user %u "
                   "--format %%A %%F --clusters far ",
                   user, user);
    check_text("asked", expected); /* once for each cluster */
    jr_slurm_queue_release(&queue);
    scratch_end(&scratch);
}

TEST(tells_what_is_no_job)
{
    static const char *const words[] = {NULL, "", "x", "12x", ";c", "-1"};
    struct jr_slurm_queue queue;
    start();
    jr_slurm_queue_init(&queue, environment);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        check(&queue, words[i], JR_QUEUE_NO_JOB);
    CU_ASSERT_FALSE(queue.asked);
    CU_ASSERT_PTR_NOT_NULL(jr_slurm_cancel(&queue, NULL));
    jr_slurm_queue_release(&queue);
    scratch_end(&scratch);
}

TEST(tells_why_there_is_no_answer)
{
    struct jr_slurm_queue queue;
    start();
    make_command("squeue", "#!/bin/sh\nexit 3\n");
    jr_slurm_queue_init(&queue, environment);
    check(&queue, "12", JR_QUEUE_SILENT);
    JR_ASSERT_TEXT(queue.silent, "exited with code 3");
    jr_slurm_queue_release(&queue);
    scratch_end(&scratch);
}

TEST(cancels_a_job_of_its_cluster)
{
    struct jr_slurm_queue queue;
    start();
    make_command("scancel", "#!/bin/sh\necho \"$@\" >> \"${0%/*}/told\"\n");
    jr_slurm_queue_init(&queue, environment);
    CU_ASSERT_PTR_NULL(jr_slurm_cancel(&queue, "12"));
    CU_ASSERT_PTR_NULL(jr_slurm_cancel(&queue, "13;far"));
    check_text("told", "12\n--clusters far 13\n");
    make_command("scancel", "#!/bin/sh\nexit 1\n");
    const char *why = jr_slurm_cancel(&queue, "12");
    CU_ASSERT_PTR_NOT_NULL_FATAL(why);
    JR_ASSERT_TEXT(why, "exited with code 1");
    jr_slurm_queue_release(&queue);
    scratch_end(&scratch);
}
