#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resolve/lease.h"

/* A name that no other process has. */
static const char *own_name(char out[static JR_LEASE_NAME_SIZE], const char *end)
{
    (void)snprintf(out, JR_LEASE_NAME_SIZE, "jobrun-unit-%d-%s", (int)getpid(), end);
    return out;
}

TEST(refuses_what_is_taken)
{
    char name[JR_LEASE_NAME_SIZE];
    int fd = jr_lease_socket_hold(own_name(name, "a"));
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(jr_lease_socket_hold(name), -1);
    CU_ASSERT_EQUAL(errno, EADDRINUSE);
    (void)close(fd);
    fd = jr_lease_socket_hold(name);
    CU_ASSERT_TRUE(fd >= 0);
    (void)close(fd);
}

TEST(refuses_a_name_that_is_too_long)
{
    char name[JR_LEASE_NAME_SIZE + 1];
    memset(name, 'x', sizeof name);
    name[JR_LEASE_NAME_SIZE] = '\0';
    errno = 0;
    CU_ASSERT_EQUAL(jr_lease_socket_hold(name), -1);
    CU_ASSERT_EQUAL(errno, EINVAL);
    errno = 0;
    CU_ASSERT_EQUAL(jr_lease_socket_connect(name), -1);
    CU_ASSERT_EQUAL(errno, EINVAL);
    name[JR_LEASE_NAME_SIZE - 1] = '\0';
    int fd = jr_lease_socket_hold(name);
    CU_ASSERT_TRUE(fd >= 0);
    (void)close(fd);
}

TEST(finds_nobody)
{
    char name[JR_LEASE_NAME_SIZE];
    CU_ASSERT_EQUAL(jr_lease_socket_connect(own_name(name, "none")), -1);
    CU_ASSERT_EQUAL(errno, ECONNREFUSED);
    struct jr_holder holder = jr_lease_socket_holder(name);
    CU_ASSERT_EQUAL(holder.pid, 0);
    CU_ASSERT_EQUAL(holder.uid, (uid_t)-1);
}

TEST(tells_whose_it_is)
{
    char name[JR_LEASE_NAME_SIZE], byte;
    int ready[2], gate[2], status;
    CU_ASSERT_EQUAL_FATAL(pipe(ready) | pipe(gate), 0);
    (void)own_name(name, "child");
    pid_t child = fork();
    if (child == 0) {
        (void)close(gate[1]);
        int fd = jr_lease_socket_hold(name);
        if (fd >= 0 && write(ready[1], "x", 1) == 1)
            (void)!read(gate[0], &byte, 1);
        _exit(0);
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    struct jr_holder holder = jr_lease_socket_holder(name);
    CU_ASSERT_EQUAL(holder.pid, child);
    CU_ASSERT_EQUAL(holder.uid, geteuid());
    (void)close(gate[1]);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(jr_lease_socket_holder(name).pid, 0);
    (void)close(gate[0]);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

struct listed {
    const char *want;
    int found, all;
};

static bool note_listed(void *data, const char *name)
{
    struct listed *listed = data;
    listed->found += strcmp(name, listed->want) == 0;
    listed->all++;
    return true;
}

static bool note_first(void *data, const char *name)
{
    (void)note_listed(data, name);
    return false;
}

/* The ends of connections bear the name, too, and are none. */
TEST(lists_those_that_listen)
{
    char name[JR_LEASE_NAME_SIZE], other[JR_LEASE_NAME_SIZE], prefix[JR_LEASE_NAME_SIZE];
    int fds[] = {jr_lease_socket_hold(own_name(name, "list")),
                 jr_lease_socket_hold(own_name(other, "list2"))};
    int end = jr_lease_socket_connect(name);
    struct listed listed = {.want = name}, first = {.want = name};
    jr_lease_socket_list(own_name(prefix, "list"), note_listed, &listed);
    CU_ASSERT_EQUAL(listed.found, 1);
    CU_ASSERT_EQUAL(listed.all, 2);
    jr_lease_socket_list(prefix, note_first, &first);
    CU_ASSERT_EQUAL(first.all, 1);
    (void)close(end);
    (void)close(fds[0]);
    listed = (struct listed){.want = name};
    jr_lease_socket_list(prefix, note_listed, &listed);
    CU_ASSERT_EQUAL(listed.found, 0);
    CU_ASSERT_EQUAL(listed.all, 1);
    (void)close(fds[1]);
}

TEST(prints_a_holder)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_holder_print(&text, &(struct jr_holder){7, geteuid()});
    JR_ASSERT_TEXT(text.data, "pid 7");
    jr_buf_clear(&text);
    jr_holder_print(&text, &JR_HOLDER_UNKNOWN);
    JR_ASSERT_TEXT(text.data, "another process");
    jr_buf_clear(&text);
    jr_holder_print(&text, &(struct jr_holder){0, geteuid() + 12345});
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "another process of user "));
}
