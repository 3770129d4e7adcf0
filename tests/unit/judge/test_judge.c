#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fake_run.h"
#include "quoted.h"
#include "judge/judge.h"

/* From here on this process has no openat2, as in old containers. */
static int lose_openat2(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Which of the files opens, as bits, without openat2. */
static unsigned opened_by_walking(const struct fake *fake)
{
    static const char *const paths[] = {
        "link", "folder/file", "../etc/passwd",  "attempt_0/../file",
        "none", "file/x",      "attempt_0/file", "file"};
    unsigned opened = 0;
    if (lose_openat2() != 0)
        return 1U << 31;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (jr_run_file_open(fake->fd, paths[i], NULL) >= 0)
            opened |= 1U << i;
    return opened;
}

TEST(links_are_not_followed_without_openat2)
{
    int status = 0;
    FAKE(fake, 1);
    fake_write(&fake, "file", "x");
    fake_write(&fake, "attempt_0/file", "x");
    (void)symlinkat("file", fake.fd, "link");
    (void)symlinkat("attempt_0", fake.fd, "folder");
    pid_t pid = fork();
    if (pid == 0)
        _exit(opened_by_walking(&fake) == 0xc0 ? 0 : 1);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
}

TEST(what_is_not_opened)
{
    static const struct {
        const char *path;
        int sys; /* 0: any */
    } cases[] = {
        {"none", ENOENT},         {"../etc/passwd", EXDEV}, {"attempt_0", 0},    {"pipe", 0},
        {"link", ELOOP},          {"folder/file", ELOOP},   {"file/x", ENOTDIR}, {"", ENOENT},
        {"/nonexistent", ENOENT}, {"/dev/null", 0}};
    FAKE(fake, 1);
    fake_write(&fake, "file", "x");
    fake_write(&fake, "attempt_0/file", "x");
    (void)mkfifoat(fake.fd, "pipe", 0600);
    (void)symlinkat("file", fake.fd, "link");
    (void)symlinkat("attempt_0", fake.fd, "folder");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct jr_error err = {0};
        int fd = jr_run_file_open(fake.fd, cases[c].path, &err);
        CU_ASSERT_EQUAL(fd, -1);
        CU_ASSERT_TRUE(err.text[0] != '\0');
        if (cases[c].sys != 0)
            CU_ASSERT_EQUAL(err.sys, cases[c].sys);
    }
}

TEST(files_are_read_up_to_a_limit)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    FAKE(fake, 1);
    fake_write(&fake, "file", "12345");
    CU_ASSERT_EQUAL(jr_run_file_read(&text, fake.fd, "file", 4, &err), -1);
    CU_ASSERT_EQUAL(jr_run_file_read(&text, fake.fd, "file", 5, &err), 0);
    JR_ASSERT_TEXT(text.data, "12345");
    char path[128];
    (void)snprintf(path, sizeof path, "%s/link", fake.dir);
    (void)symlinkat("file", fake.fd, "link");
    CU_ASSERT_EQUAL(jr_run_file_read(&text, fake.fd, path, 5, &err), -1);
    CU_ASSERT_EQUAL(err.sys, ELOOP);
}

TEST(the_tail_is_the_last_lines)
{
    static const struct {
        const char *text;
        unsigned lines;
        const char *tail;
    } cases[] = {{"", 3, ""},
                 {"\n", 3, ""},
                 {"a", 3, "a"},
                 {"a\n", 3, "a"},
                 {"a\nb\nc\n", 3, "a\nb\nc"},
                 {"a\nb\nc\nd", 3, "b\nc\nd"},
                 {"a\nb\nc\nd\n", 1, "d"},
                 {"a\n\n\n\n", 2, "\n"}};
    FAKE(fake, 1);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
        fake_write(&fake, "log", cases[c].text);
        jr_run_file_tail(&tail, fake.fd, "log", cases[c].lines);
        JR_ASSERT_TEXT(tail.data == NULL ? "" : tail.data, cases[c].tail);
    }
}

TEST(the_tail_of_a_large_log_is_cut)
{
    enum { SIZE = 1 << 20 };
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    char *text = malloc(SIZE + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    (void)memset(text, 'x', SIZE);
    text[SIZE] = '\0';
    FAKE(fake, 1);
    fake_write(&fake, "log", text);
    jr_run_file_tail(&tail, fake.fd, "log", 10);
    CU_ASSERT_EQUAL(tail.len, 16 * 1024);
    jr_buf_clear(&tail);
    text[SIZE - 10] = '\n';
    fake_write(&fake, "log", text);
    jr_run_file_tail(&tail, fake.fd, "log", 1);
    JR_ASSERT_TEXT(tail.data, "xxxxxxxxx");
    jr_buf_clear(&tail);
    jr_run_file_tail(&tail, fake.fd, "none", 1);
    CU_ASSERT_EQUAL(tail.len, 0);
    free(text);
}
