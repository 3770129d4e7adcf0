/* Who holds devices, as messages say it. */
#include "resolve/device_lease.h"

#include "devices.h"

/* The first three devices, by these names. */
static const char *names[] = {"a", "b", "c"};

static void expect_holders(struct devices *devices, const struct jr_device_viewer *viewer,
                           const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_device_claims claims RELEASE(jr_device_claims_release);
    const struct jr_device_list list = {names, devices->list, 3};
    jr_device_claims_read(&claims);
    size_t count = jr_device_holders_print(&text, &claims, &list, viewer);
    CU_ASSERT_EQUAL(count == 0, expected[0] == '\0');
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

TEST(groups_devices_by_their_holders)
{
    struct devices devices;
    struct jr_device_lease own;
    char text[256];
    devices_make(&devices, 0);
    expect_holders(&devices, &(struct jr_device_viewer){0}, "");
    pid_t one = devices_hold(devices.list[2], "x");
    CU_ASSERT_EQUAL(jr_device_lease_share(&own, devices.list[0]), 0);
    (void)snprintf(text, sizeof text, "a is held by pid %d; c is held by run x (pid %d)",
                   (int)getpid(), (int)one);
    expect_holders(&devices, &(struct jr_device_viewer){0}, text);
    const struct jr_device_viewer self = {.own = &own, .own_count = 1};
    (void)snprintf(text, sizeof text, "c is held by run x (pid %d)", (int)one);
    expect_holders(&devices, &self, text);
    expect_holders(&devices, &(struct jr_device_viewer){&own, 1, .around = "x"}, "");
    expect_holders(&devices, &(struct jr_device_viewer){&own, 1, .around = "y"}, text);
    struct jr_device_lease more;
    CU_ASSERT_EQUAL(jr_device_lease_share(&more, devices.list[1]), 0);
    (void)snprintf(text, sizeof text, "a, b are held by pid %d; c is held by run x (pid %d)",
                   (int)getpid(), (int)one);
    expect_holders(&devices, &(struct jr_device_viewer){0}, text);
    jr_device_lease_release(&own);
    jr_device_lease_release(&more);
    devices_kill(one);
}

TEST(tells_who_came_earlier)
{
    struct devices devices;
    struct jr_device_claims claims RELEASE(jr_device_claims_release);
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    char expected[128];
    devices_make(&devices, 0);
    const struct jr_device_request two = devices_request(&devices, 2, 2);
    CU_ASSERT_EQUAL_FATAL(jr_device_queue_join(&queue, &two), 0);
    jr_device_claims_read(&claims);
    CU_ASSERT_FALSE(jr_device_waiters_print(&text, &claims, &two, queue.ticket));
    CU_ASSERT_EQUAL(text.len, 0);
    CU_ASSERT_TRUE(jr_device_waiters_print(&text, &claims, &two, 0));
    (void)snprintf(expected, sizeof expected, "pid %d waits for some of them, and came earlier",
                   (int)getpid());
    JR_ASSERT_TEXT(text.data, expected);
    jr_device_queue_leave(&queue);
}
