/* Control sockets: which plans have them, what is read of them, and who wrote it. */
#include "spawn/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deny.h"
#include "descriptors.h"
#include "elsewhere.h"

TEST(python_and_what_returns_have_them)
{
    for (int i = 0; i < 8; i++) {
        const struct jr_policy policy = {.exit_barrier = (i & 1) != 0};
        const struct jr_plan plan = {.policy = &policy,
                                     .form = (i & 4) != 0 ? JR_FORM_PYTHON : JR_FORM_COMMAND,
                                     .returns = (i & 2) != 0};
        CU_ASSERT_EQUAL(jr_control_wanted(&plan), i != 0);
        CU_ASSERT_EQUAL(jr_control_is_awaited(&plan), (i & 3) != 0);
    }
}

/* Ours does not block, and no other program gets either. */
TEST(ends_are_as_they_should_be)
{
    int ends[2];
    struct jr_control_status status;
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(fcntl(ends[i], F_GETFD), FD_CLOEXEC);
        CU_ASSERT_EQUAL((fcntl(ends[i], F_GETFL) & O_NONBLOCK) != 0, i == 0);
    }
    CU_ASSERT_FALSE(jr_control_read(&status, ends[0]));
    CU_ASSERT_EQUAL(jr_control_waiting(ends[0]), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* In another process, where one of the calls fails. */
static bool fails_without_a_trace(unsigned number)
{
    const struct deny_call call = {number, EPERM};
    int ends[2] = {-1, -1};
    unsigned open = count_descriptors();
    return deny(&call, 1) && jr_control_open(ends) == -1 && errno == EPERM &&
           count_descriptors() == open;
}

TEST(leaves_nothing_where_it_fails)
{
    static const unsigned numbers[] = {SYS_socketpair, SYS_setsockopt, SYS_fcntl};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ELSEWHERE(fails_without_a_trace(numbers[i]));
}

/* Bytes come whole, with who wrote them, until the end. */
TEST(reads_what_was_written)
{
    static const char *const texts[] = {"b", "r 1 2 3 4 5", "x 75", "\n"};
    int ends[2];
    struct jr_control_status status;
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t len = strlen(texts[i]);
        memset(&status, 'x', sizeof status);
        CU_ASSERT_EQUAL(write(ends[1], texts[i], len), (ssize_t)len);
        CU_ASSERT_EQUAL(jr_control_waiting(ends[0]), len);
        CU_ASSERT_TRUE(jr_control_read(&status, ends[0]));
        CU_ASSERT_EQUAL(status.len, len);
        JR_ASSERT_TEXT(status.text, texts[i]);
        CU_ASSERT_EQUAL(status.from, getpid());
        CU_ASSERT_FALSE(jr_control_read(&status, ends[0]));
    }
    (void)close(ends[1]);
    CU_ASSERT_TRUE(jr_control_read(&status, ends[0]));
    CU_ASSERT_EQUAL(status.len, 0);
    JR_ASSERT_TEXT(status.text, "");
    (void)close(ends[0]);
}

/* What two processes wrote is not one text, though it waits there together. */
TEST(tells_processes_apart)
{
    int ends[2];
    struct jr_control_status status;
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "b", 1), 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(write(ends[1], "r", 1) == 1 ? 0 : 1);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CU_ASSERT_EQUAL(write(ends[1], "f", 1), 1);
    CU_ASSERT_EQUAL(jr_control_waiting(ends[0]), 3);
    static const char *const texts[] = {"b", "r", "f"};
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(jr_control_read(&status, ends[0]));
        JR_ASSERT_TEXT(status.text, texts[i]);
        CU_ASSERT_EQUAL(status.from, i == 1 ? pid : getpid());
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Of a long text a piece is taken at once, and the rest next. */
TEST(takes_long_texts_in_pieces)
{
    static char text[3 * JR_CONTROL_MOST];
    int ends[2];
    struct jr_control_status status;
    size_t got = 0;
    memset(text, 'y', sizeof text);
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], text, sizeof text), (ssize_t)sizeof text);
    while (jr_control_read(&status, ends[0])) {
        CU_ASSERT_TRUE(status.len > 0 && status.len < JR_CONTROL_MOST);
        CU_ASSERT_EQUAL(strlen(status.text), status.len);
        got += status.len;
    }
    CU_ASSERT_EQUAL(got, sizeof text);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A descriptor that is none has come to its end, and nothing waits there. */
TEST(an_error_is_an_end)
{
    struct jr_control_status status = {.len = 5};
    CU_ASSERT_TRUE(jr_control_read(&status, -1));
    CU_ASSERT_EQUAL(status.len, 0);
    CU_ASSERT_EQUAL(status.from, 0);
    CU_ASSERT_EQUAL(jr_control_waiting(-1), 0);
}

/* A descriptor that a rank sends along is not kept. */
TEST(descriptors_are_not_kept)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    int ends[2], pair[2];
    char byte = 'b';
    struct iovec iov = {&byte, 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct jr_control_status status;
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    CU_ASSERT_EQUAL(pipe(pair), 0);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &pair[1], sizeof(int));
    CU_ASSERT_EQUAL(sendmsg(ends[1], &message, 0), 1);
    (void)close(pair[1]);
    CU_ASSERT_TRUE(jr_control_read(&status, ends[0]));
    JR_ASSERT_TEXT(status.text, "b");
    CU_ASSERT_EQUAL(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
    CU_ASSERT_EQUAL(read(pair[0], &byte, 1), 0); /* nobody has the other end */
    (void)close(pair[0]);
    (void)close(ends[0]);
    (void)close(ends[1]);
}
