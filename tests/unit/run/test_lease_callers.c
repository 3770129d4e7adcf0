/* Those who ask for the holder of a lease, or wait for its end. */
#include <sys/un.h>

#include "fake_runner.h"

static struct sockaddr_un own_address(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "jobrun-unit-callers-%d",
                   (int)getpid());
    return address;
}

static int hold_lease(void)
{
    const struct sockaddr_un address = own_address();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 64), 0);
    return fd;
}

static int call_lease(void)
{
    const struct sockaddr_un address = own_address();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void turn_until_kept(size_t count)
{
    struct jr_lease_callers *callers = &fake.runner.lease_callers;
    while (callers->backlog.kept_count != count &&
           fake_runner_readable(callers->backlog.epoll_fd, FAKE_WAIT_MS))
        (void)jr_loop_turn(&fake.runner.loop, true);
    CU_ASSERT_EQUAL(callers->backlog.kept_count, count);
}

TEST(does_nothing_without_leases)
{
    BEGIN(fake_runner_end, fake_runner_start());
    CU_ASSERT_EQUAL(jr_lease_callers_keep(&fake.runner), 0);
    fake_runner_open(&jr_lease_callers_policy);
    CU_ASSERT_EQUAL(fake.runner.lease_callers.watch.fd, -1);
    CU_ASSERT_EQUAL(jr_loop_turn(&fake.runner.loop, true), 0);
    jr_lease_callers_policy.close(&fake.runner);
}

/* A lease that lies where a slot will be is kept above the slots until the end, and one that does
 * not lies where it was. */
TEST(serves_a_lease_wherever_it_lies)
{
    static const int numbers[] = {JR_SLOT_PMI, 100};
    for (size_t i = 0; i < 2; i++) {
        BEGIN(fake_runner_end, fake_runner_start());
        int held = hold_lease();
        CU_ASSERT_EQUAL_FATAL(dup2(held, numbers[i]), numbers[i]);
        (void)close(held);
        fake.options.leases = &numbers[i];
        fake.options.leases_count = 1;
        CU_ASSERT_EQUAL(jr_lease_callers_keep(&fake.runner), 0);
        int kept = fake.runner.lease_callers.leases[0];
        CU_ASSERT_TRUE(kept >= JR_SLOT_END);
        CU_ASSERT_EQUAL(kept == numbers[i], i == 1);
        fake_runner_open(&jr_lease_callers_policy);
        (void)close(call_lease());
        int waits = call_lease();
        turn_until_kept(1);
        (void)close(numbers[i] == kept ? -1 : numbers[i]);
        jr_lease_callers_policy.close(&fake.runner);
        CU_ASSERT_TRUE(fake_runner_readable(waits, FAKE_WAIT_MS));
        CU_ASSERT_EQUAL(fcntl(kept, F_GETFD) < 0, i == 0);
        (void)close(waits);
        (void)close(i == 1 ? kept : -1);
    }
}

/* What cannot be watched does not hinder the run. */
TEST(a_bad_lease_is_no_failure)
{
    static const int bad[] = {9999};
    BEGIN(fake_runner_end, fake_runner_start());
    fake.options.leases = bad;
    fake.options.leases_count = 1;
    CU_ASSERT_EQUAL(jr_lease_callers_keep(&fake.runner), 0);
    fake_runner_open(&jr_lease_callers_policy);
    CU_ASSERT_EQUAL(fake.runner.lease_callers.watch.fd, -1);
    jr_lease_callers_policy.close(&fake.runner);
}
