#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"
#include "resolve/lease.h"

enum { JOBS = 12 };

/* A socket that listens on the loopback address of either IP version, on a port of the kernel's
 * choice; -1 where there is no such version. */
static int listen_on(int family, uint32_t *ret_port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any = {.sa_family = (sa_family_t)family}};
    socklen_t len = sizeof address;
    int on = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET)
        address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address.v6.sin6_addr = in6addr_loopback;
    if (fd < 0 || bind(fd, &address.any, len) != 0 || listen(fd, 4) != 0 ||
        getsockname(fd, &address.any, &len) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(address.v4.sin_port);
    return fd;
}

TEST(names_the_listener)
{
    static const int families[] = {AF_INET, AF_INET6};
    char expected[64];
    for (size_t i = 0; i < 2; i++) {
        struct jr_error err = {0};
        uint32_t port = 0;
        int fd = listen_on(families[i], &port);
        if (fd < 0 && families[i] == AF_INET6)
            continue; /* a machine without IPv6 */
        CU_ASSERT_TRUE_FATAL(fd >= 0);
        CU_ASSERT_EQUAL(jr_lease_take(port, &err), -1);
        CU_ASSERT_EQUAL(err.sys, EADDRINUSE);
        (void)snprintf(expected, sizeof expected, "%u is in use by pid %d", port, (int)getpid());
        JR_ASSERT_TEXT(err.text, expected);
        (void)close(fd);
        fd = jr_lease_take(port, &err);
        CU_ASSERT_TRUE(fd >= 0);
        (void)close(fd);
    }
}

TEST(names_the_other_jobrun)
{
    struct jr_error err = {0};
    uint32_t port = 0;
    char expected[64];
    int fd = jr_lease_any(&port, &err);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(port > 0 && port < 65536);
    CU_ASSERT_EQUAL(jr_lease_take(port, &err), -1);
    CU_ASSERT_EQUAL(err.sys, EADDRINUSE);
    (void)snprintf(expected, sizeof expected, "%u is leased by jobrun, pid %d", port,
                   (int)getpid());
    JR_ASSERT_TEXT(err.text, expected);
    (void)close(fd);
    fd = jr_lease_take(port, &err);
    CU_ASSERT_TRUE(fd >= 0);
    (void)close(fd);
}

/* The lease is a name, not the port: rank 0 can bind it. */
TEST(leaves_the_port_free)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct jr_error err = {0};
    uint32_t port = 0;
    int lease = jr_lease_any(&port, &err);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)port);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    CU_ASSERT_EQUAL(listen(fd, 1), 0);
    (void)close(fd);
    (void)close(lease);
}

/* A server that closed first leaves its port in TIME_WAIT, which does not keep the next one out
 * where both set SO_REUSEADDR: a stated port is had. One that jobrun chooses is for programs that
 * set nothing. */
TEST(leaves_a_port_in_time_wait_unless_it_is_stated)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct jr_error err = {0};
    uint32_t port = 0;
    char byte;
    int server = listen_on(AF_INET, &port);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CU_ASSERT_EQUAL_FATAL(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    int served = accept(server, NULL, NULL);
    (void)close(served);
    (void)close(server);
    CU_ASSERT_EQUAL(read(client, &byte, 1), 0);
    (void)close(client);
    int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    CU_ASSERT_EQUAL(bind(plain, (struct sockaddr *)&address, sizeof address), -1);
    (void)close(plain);
    CU_ASSERT_EQUAL(jr_lease_choose(port, &err), -1);
    CU_ASSERT_EQUAL(err.sys, EADDRINUSE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "(TIME_WAIT)"));
    int fd = jr_lease_take(port, &err);
    CU_ASSERT_TRUE(fd >= 0);
    (void)close(fd);
}

/* A server of one address, or of IPv6 alone, keeps programs out that bind all of them. */
TEST(chooses_what_both_families_can_bind)
{
    static const int families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < 2; i++) {
        struct jr_error err = {0};
        uint32_t port = 0;
        int server = listen_on(families[i], &port);
        if (server < 0)
            continue;
        CU_ASSERT_EQUAL(jr_lease_choose(port, &err), -1);
        CU_ASSERT_EQUAL(err.sys, EADDRINUSE);
        (void)close(server);
        int fd = jr_lease_choose(port, &err);
        CU_ASSERT_TRUE(fd >= 0);
        (void)close(fd);
    }
}

TEST(finds_no_owner_of_a_free_port)
{
    CU_ASSERT_EQUAL(jr_lease_owner(1).pid, 0);
}

TEST(refuses_a_given_port)
{
    const struct facts facts = {.real = true};
    struct scene scene;
    char spec[64];
    uint32_t port = 0;
    int fd = listen_on(AF_INET, &port);
    (void)snprintf(spec, sizeof spec, "master_port: %u\n", port);
    scene_open(&scene, spec, &facts);
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "3:14: error"));
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "in use by pid"));
    scene_close(&scene);
    (void)close(fd);
    scene_open(&scene, spec, &facts);
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL(scene.resolution.job.master_port, port);
    CU_ASSERT_TRUE(scene.resolution.lease_fd >= 0);
    scene_close(&scene);
}

/* On several nodes only the first one's port is here, and it is not moved. */
TEST(never_moves_on_several_nodes)
{
    const struct facts first = {.real = true, .job_nodes = 2, .job_rank = 0};
    const struct facts second = {.real = true, .job_nodes = 2, .job_rank = 1};
    struct scene scene;
    char spec[64];
    uint32_t port = 0;
    int fd = listen_on(AF_INET, &port);
    (void)snprintf(spec, sizeof spec, "master_port: %u\n", port);
    scene_open(&scene, spec, &first);
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_UNRESOLVED);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene_told(&scene), "never moved"));
    scene_close(&scene);
    scene_open(&scene, spec, &second);
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL(scene.resolution.lease_fd, -1);
    scene_close(&scene);
    (void)close(fd);
}

TEST(lets_go_unless_kept)
{
    const struct facts facts = {.real = true};
    const struct jr_resolve_options options = {.keep_port = false};
    struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
    scene_facts(&scene, &facts);
    scene_load(&scene, "master_port: 0\n");
    CU_ASSERT_EQUAL(jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags),
                    JR_STATUS_OK);
    CU_ASSERT_EQUAL(scene.resolution.lease_fd, -1);
    CU_ASSERT_TRUE(scene.resolution.job.master_port > 0);
}

/* One job of many: tell the port that was chosen, hold it until `gate` ends. */
static void be_a_job(int report, int gate)
{
    const struct facts facts = {.real = true};
    struct scene scene;
    char byte;
    scene_open(&scene, "", &facts);
    uint32_t port = scene.resolution.job.master_port;
    if (write(report, &port, sizeof port) != (ssize_t)sizeof port)
        _exit(1);
    while (read(gate, &byte, 1) > 0)
        continue;
    _exit(0);
}

TEST(gives_each_job_its_own)
{
    uint32_t ports[JOBS];
    pid_t jobs[JOBS];
    int report[2], gate[2], status;
    CU_ASSERT_EQUAL_FATAL(pipe(report), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(gate), 0);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = fork();
        CU_ASSERT_TRUE_FATAL(jobs[i] >= 0);
        if (jobs[i] == 0) {
            (void)close(gate[1]);
            be_a_job(report[1], gate[0]);
        }
    }
    (void)close(report[1]);
    (void)close(gate[0]);
    for (int i = 0; i < JOBS; i++) {
        ssize_t got = read(report[0], &ports[i], sizeof ports[i]);
        CU_ASSERT_EQUAL_FATAL(got, (ssize_t)sizeof ports[i]);
        CU_ASSERT_TRUE(ports[i] >= 29500);
        for (int j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(ports[i], ports[j]);
    }
    (void)close(gate[1]);
    (void)close(report[0]);
    for (int i = 0; i < JOBS; i++) {
        CU_ASSERT_EQUAL(waitpid(jobs[i], &status, 0), jobs[i]);
        CU_ASSERT_EQUAL(status, 0);
    }
}

enum { NOBODY = 65534, FIRST = 29500 };

static int take_name(const char *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t len = strlen(text);
    memcpy(name.sun_path + 1, text, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) != 0)
        return -1;
    return listen(fd, 1);
}

/* Another user, who holds so many leases until the pipe is closed. */
static pid_t squat(unsigned count, const int ends[2])
{
    char name[64], byte;
    int ready[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t child = fork();
    if (child != 0) {
        (void)close(ready[1]);
        CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
        (void)close(ready[0]);
        return child;
    }
    (void)close(ends[1]);
    int failed = setgid(NOBODY) != 0 || setuid(NOBODY) != 0;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "jobrun-port-%u", FIRST + i);
        failed |= take_name(name) != 0;
    }
    failed |= take_name("jobrun-port-29501-0") != 0;
    if (!failed && write(ready[1], "x", 1) == 1)
        (void)!read(ends[0], &byte, 1);
    _exit(failed);
}

/* In a network namespace of our own, where nobody else has leases. */
static void check_squatter(unsigned count)
{
    struct jr_error err = {0};
    int ends[2], status;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = squat(count, ends);
    int first = jr_lease_take(FIRST, &err);
    if (count <= JR_LEASES_MOST) {
        CU_ASSERT_EQUAL(first, -1);
        CU_ASSERT_EQUAL(err.sys, EADDRINUSE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "leased by jobrun, pid "));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "of user "));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "65534"));
    } else {
        int second = jr_lease_take(FIRST + 1, &err);
        CU_ASSERT_TRUE(first >= 0 && second >= 0);
        CU_ASSERT_EQUAL(jr_lease_take(FIRST, &err), -1); /* that is ours */
        CU_ASSERT_PTR_NULL(strstr(err.text, "of user"));
        (void)close(second);
        (void)close(first);
        first = jr_lease_take(FIRST, &err);
        CU_ASSERT_TRUE(first >= 0);
        (void)close(first);
    }
    (void)close(ends[1]);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    (void)close(ends[0]);
}

TEST(a_user_cannot_squat_on_all_ports)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
        return; /* it takes root to be two users */
    check_squatter(10);
    check_squatter(JR_LEASES_MOST + 50);
}
