/* The pipes of a sampler, with a shell in its place. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/sweep/sampler_process.h"
#include "unit.h"

enum { WAIT_MS = 60000 };

static int poll_answer(const struct jr_sampler_process *process, int wait_ms)
{
    struct pollfd item = {.fd = process->out_fd, .events = POLLIN};
    return poll(&item, 1, wait_ms);
}

/* It may answer before the leader has said all. Such an answer is not taken by the way, for then
 * nothing would wake the leader, which waits for it. */
static void an_answer_that_is_there_wakes(void)
{
    char folder[] = "/tmp/jr_sampler_XXXXXX";
    static char script[] = "read line; echo 1; cat >/dev/null";
    char *const argv[] = {(char *)"sh", (char *)"-c", script, NULL};
    char *const envp[] = {(char *)"PATH=/usr/bin:/bin", NULL};
    struct jr_sampler_process process;
    struct jr_error err = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t len = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct jr_sampler_command command = {
        .argv = argv, .envp = envp, .folder = folder, .dir_fd = dir_fd, .file_mode = 0600};
    CU_ASSERT_EQUAL_FATAL(jr_sampler_start(&process, &command, &err), 0);
    jr_buf_str(&text, "tell\n");
    jr_sampler_say(&process, &text);
    CU_ASSERT_EQUAL(text.len, 0);
    CU_ASSERT_EQUAL(poll_answer(&process, WAIT_MS), 1);
    jr_buf_str(&text, "ask\n");
    jr_sampler_say(&process, &text);
    CU_ASSERT_EQUAL(poll_answer(&process, 0), 1);
    jr_sampler_turn(&process);
    const char *line = jr_sampler_line(&process, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_EQUAL(len, 1);
    CU_ASSERT_EQUAL(line[0], '1');
    jr_sampler_close(&process);
    (void)unlinkat(dir_fd, JR_SAMPLER_LOG, 0);
    (void)close(dir_fd);
    (void)rmdir(folder);
}

JR_UNIT_MAIN("sampler_process", CASE(an_answer_that_is_there_wakes))
