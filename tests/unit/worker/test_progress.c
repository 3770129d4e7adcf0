/* jr_progress(): the line that it appends, and what it refuses. */
#include <errno.h>

#include "base/io.h"
#include "scratch.h"
#include "worker/c/worker.h"

TEST(appends_lines)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_rank rank = {.progress = jr_worker_progress};
    struct stat st;
    char path[64];
    SCRATCH(scratch);
    (void)umask(022);
    (void)snprintf(path, sizeof path, "%s/3.jsonl", scratch.dir);
    (void)setenv("JOBRUN_PROGRESS_FILE", path, 1);
    CU_ASSERT_EQUAL(jr_progress(&rank, 0, 0, NULL), 0);
    CU_ASSERT_EQUAL(jr_progress(&rank, 5, 90, "{\"loss\": 2, \"x\": null}"), 0);
    CU_ASSERT_EQUAL(jr_progress(&rank, 1, 1, "{}"), 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "3.jsonl", 4096, NULL), 0);
    JR_ASSERT_TEXT(text.data, "{\"step\": 0}\n"
                              "{\"step\": 5, \"of\": 90, \"loss\": 2, \"x\": null}\n"
                              "{\"step\": 1, \"of\": 1}\n");
    CU_ASSERT_EQUAL(fstatat(scratch.fd, "3.jsonl", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0644);
}

TEST(refuses_what_is_no_progress)
{
    static const struct {
        int64_t step, of;
        const char *metrics;
    } bad[] = {{-1, 0, NULL},         {1, -1, NULL},           {1, 0, "x"},
               {1, 0, "[1]"},         {1, 0, "{\"a\": 1"},     {1, 0, "{\"a\": \"b\"}"},
               {1, 0, "{\"a\": {}}"}, {1, 0, "{\"step\": 2}"}, {1, 0, "{\"of\": 2}"},
               {1, 0, "{\"a\": nan}"}};
    struct jr_rank rank = {.progress = jr_worker_progress};
    char path[64];
    SCRATCH(scratch);
    (void)snprintf(path, sizeof path, "%s/3.jsonl", scratch.dir);
    (void)setenv("JOBRUN_PROGRESS_FILE", path, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(jr_progress(&rank, bad[i].step, bad[i].of, bad[i].metrics), -EINVAL);
    CU_ASSERT_NOT_EQUAL(faccessat(scratch.fd, "3.jsonl", F_OK, 0), 0);
    CU_ASSERT_EQUAL(symlinkat("/etc/passwd", scratch.fd, "3.jsonl"), 0);
    CU_ASSERT_EQUAL(jr_progress(&rank, 1, 0, NULL), -ELOOP);
    /* Nobody reads it: it is not waited for. */
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "3.jsonl", 0), 0);
    CU_ASSERT_EQUAL(mkfifoat(scratch.fd, "3.jsonl", 0600), 0);
    CU_ASSERT_EQUAL(jr_progress(&rank, 1, 0, NULL), -ENXIO);
    (void)setenv("JOBRUN_PROGRESS_FILE", "/dev/full", 1);
    CU_ASSERT_EQUAL(jr_progress(&rank, 1, 0, NULL), -ENOSPC);
    (void)setenv("JOBRUN_PROGRESS_FILE", "/nonexistent/3.jsonl", 1);
    CU_ASSERT_EQUAL(jr_progress(&rank, 1, 0, NULL), -ENOENT);
    (void)unsetenv("JOBRUN_PROGRESS_FILE");
    CU_ASSERT_EQUAL(jr_progress(&rank, 1, 0, NULL), -ENOENT);
}
