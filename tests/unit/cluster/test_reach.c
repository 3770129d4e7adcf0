/* Listeners and connections on this machine: who is reached, who is not, and who is another. */
#include "cluster/survey.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define TOKEN "0123456789abcdef"

/* What comes of a connection; `expected` is a part of why it is not there. */
static void check(const char *address, uint32_t port, int listener, enum jr_reach reach,
                  const char *expected)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_reach_connect(address, port, TOKEN, listener, &why), reach);
    const char *text = why.len > 0 ? why.data : "";
    CU_ASSERT_EQUAL(expected == NULL, text[0] == '\0');
    CU_ASSERT_PTR_NOT_NULL(strstr(text, expected == NULL ? "" : expected));
}

TEST(reaches_the_one_that_listens_here)
{
    static const char *const addresses[] = {"127.0.0.1", "localhost", "[127.0.0.1]"};
    struct jr_error err = {0};
    uint32_t port = 29600;
    int own = jr_reach_listen(&port, false, &err);
    CU_ASSERT_TRUE_FATAL(own >= 0);
    CU_ASSERT_TRUE(port >= 29600 && port < 29600 + 65);
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        check(addresses[i], port, own, JR_REACH_OK, NULL);
    (void)close(own);
}

/* Who greets with something else, or with more, or with nothing. */
TEST(knows_another_by_its_token)
{
    static const char *const tokens[] = {"", "0123456789abcdeX", TOKEN "more", "0123"};
    struct jr_error err = {0};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        uint32_t port = 29600;
        int fd = jr_reach_listen(&port, false, &err);
        CU_ASSERT_TRUE_FATAL(fd >= 0);
        pid_t pid = fork();
        if (pid == 0) {
            for (int k = 0; k < 60000; k++) {
                jr_reach_greet(fd, tokens[i]);
                (void)usleep(1000);
            }
            _exit(0);
        }
        check("127.0.0.1", port, -1, JR_REACH_ANOTHER, "something else");
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        (void)close(fd);
    }
}

TEST(says_why_nobody_is_reached)
{
    struct jr_error err = {0};
    uint32_t port = 29600;
    int fd = jr_reach_listen(&port, false, &err);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    (void)close(fd);
    check("127.0.0.1", port, -1, JR_REACH_REFUSED, "refused");
    check("no.such.name.invalid", port, -1, JR_REACH_UNKNOWN, "");
    check("", 1, -1, JR_REACH_UNKNOWN, "");
}

/* A name of any length is no more than that. */
TEST(a_name_may_be_long)
{
    char name[4000];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    check(name, 1, -1, JR_REACH_UNKNOWN, "");
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_reach_resolve(name, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_EQUAL(jr_reach_resolve("[::1]", NULL, &err), 0);
    CU_ASSERT_EQUAL(jr_reach_resolve("localhost", NULL, &err), 0);
}

TEST(knows_its_own_addresses)
{
    static const struct {
        const char *address;
        bool own;
    } rows[] = {
        {"127.0.0.1", true}, {"localhost", true}, {"192.0.2.7", false}, {"2001:db8::7", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_error err = {0};
        bool own = !rows[i].own;
        CU_ASSERT_EQUAL(jr_reach_resolve(rows[i].address, &own, &err), 0);
        CU_ASSERT_EQUAL(own, rows[i].own);
    }
}

/* One that listens and never greets is not waited for for ever. */
TEST(waits_five_seconds)
{
    struct jr_error err = {0};
    uint32_t port = 29600;
    int fd = jr_reach_listen(&port, false, &err);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    check("127.0.0.1", port, -1, JR_REACH_TIMED_OUT, "timed out");
    (void)close(fd);
}

TEST(a_stated_port_is_that_one)
{
    struct jr_error err = {0};
    uint32_t port = 29600, same, next;
    int fd = jr_reach_listen(&port, false, &err);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    same = next = port;
    CU_ASSERT_EQUAL(jr_reach_listen(&same, true, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "could not listen at port"));
    CU_ASSERT_EQUAL(err.status, JR_STATUS_UNRESOLVED);
    int other = jr_reach_listen(&next, false, &err);
    CU_ASSERT_TRUE(other >= 0 && next > port);
    (void)close(other);
    (void)close(fd);
}
