/* Who chose the port of a resolved job, whether it is held, and how another one takes its place. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "case.h"
#include "resolve/lease.h"

/* A spec that states a port which nobody has: of the kernel's choice. */
static const char *stated_port(char text[static 32])
{
    uint32_t port = 0;
    int lease = jr_lease_any(&port, NULL);
    CU_ASSERT_TRUE_FATAL(lease >= 0);
    (void)close(lease);
    (void)snprintf(text, 32, "master_port: %u\n", port);
    return text;
}

static void check_choice(const char *spec, const struct facts *facts, enum jr_port_choice choice,
                         bool held)
{
    struct jr_error err = {0};
    SCENE(scene, spec, facts);
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    CU_ASSERT_EQUAL(scene.resolution.port_choice, choice);
    CU_ASSERT_EQUAL(scene.resolution.lease_fd >= 0, held);
    uint32_t port = scene.resolution.job.master_port;
    CU_ASSERT_TRUE(port > 0 && port < 65536);
    if (held) { /* nobody else gets it meanwhile */
        CU_ASSERT_EQUAL(jr_lease_take(port, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is leased by jobrun"));
    }
}

TEST(holds_what_it_chose)
{
    static const struct facts here = {.real = true}, imagined = {0};
    static const struct facts second = {.real = true, .job_nodes = 2, .job_rank = 1};
    char text[32];
    check_choice("master_port: 0\n", &here, JR_PORT_ANY, true);
    check_choice("", &here, JR_PORT_FIRST_FREE, true);
    check_choice(stated_port(text), &here, JR_PORT_GIVEN, true);
    check_choice("master_port: 0\n", &imagined, JR_PORT_GIVEN, false);
    check_choice("", &imagined, JR_PORT_GIVEN, false);
    check_choice("", &second, JR_PORT_GIVEN, false);
}

/* Another port where jobrun chose it, and the old one is let go; a stated one stays, and stays
 * held. */
TEST(renews_what_it_chose)
{
    char text[32];
    const char *const specs[] = {"master_port: 0\n", "", stated_port(text)};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct jr_error err = {0};
        SCENE(scene, specs[i], &(struct facts){.real = true});
        CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
        uint32_t before = scene.resolution.job.master_port;
        CU_ASSERT_EQUAL(jr_resolution_renew_port(&scene.resolution, &err), 0);
        uint32_t after = scene.resolution.job.master_port;
        CU_ASSERT_EQUAL(after != before, i < 2);
        CU_ASSERT_TRUE(scene.resolution.lease_fd >= 0);
        int *leases = NULL;
        CU_ASSERT_EQUAL_FATAL(
            jr_resolution_leases(&scene.resolution, &scene.resolution.arena, &leases), 1);
        CU_ASSERT_EQUAL(leases[0], scene.resolution.lease_fd);
        CU_ASSERT_EQUAL(jr_lease_take(after, &err), -1);
        /* ports from 29500 on may be another run's by now */
        int old = i == 0 ? jr_lease_take(before, &err) : -1;
        CU_ASSERT_EQUAL(old >= 0, i == 0);
        if (old >= 0)
            (void)close(old);
    }
}

TEST(puts_another_port_in_its_place)
{
    uint32_t ports[] = {29600, 29601};
    SCENE(scene, "world_size: 2\n", &(struct facts){0});
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    jr_resolution_set_port(&scene.resolution, 29510);
    CU_ASSERT_EQUAL(scene.resolution.job.master_port, 29510);
    scene.resolution.job.rank_ports = ports;
    jr_resolution_set_port(&scene.resolution, 29512);
    CU_ASSERT_EQUAL(ports[0], 29602);
    CU_ASSERT_EQUAL(ports[1], 29603);
    jr_resolution_set_port(&scene.resolution, 29500);
    CU_ASSERT_EQUAL(ports[0], 29590);
    CU_ASSERT_EQUAL(ports[1], 29591);
}

/* Of two sockets that listen, the one that does is named by its process. */
TEST(names_the_owner_of_a_port)
{
    int fds[2];
    uint32_t ports[2];
    for (int i = 0; i < 2; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof at;
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CU_ASSERT_TRUE_FATAL(fds[i] >= 0);
        CU_ASSERT_EQUAL(bind(fds[i], (struct sockaddr *)&at, len), 0);
        CU_ASSERT_EQUAL(listen(fds[i], 1), 0);
        CU_ASSERT_EQUAL(getsockname(fds[i], (struct sockaddr *)&at, &len), 0);
        ports[i] = ntohs(at.sin_port);
    }
    CU_ASSERT_EQUAL(jr_lease_owner(ports[0]).pid, getpid());
    CU_ASSERT_EQUAL(jr_lease_owner(ports[1]).pid, getpid());
    (void)close(fds[0]);
    CU_ASSERT_EQUAL(jr_lease_owner(ports[0]).pid, 0);
    CU_ASSERT_EQUAL(jr_lease_owner(ports[1]).pid, getpid());
    (void)close(fds[1]);
}
