#include <poll.h>
#include <sys/stat.h>

#include "devices.h"

/* Whether something has changed for those who wait: at once, or soon. */
static bool is_woken(const struct jr_device_queue *queue, int limit_ms)
{
    struct pollfd end = {.fd = queue->epoll_fd, .events = POLLIN};
    return poll(&end, 1, limit_ms) == 1;
}

enum { LIMIT_MS = 60000 };

/* Where two share it, it is free when both are gone. */
TEST(waits_for_all_that_share_a_device)
{
    struct devices devices;
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held[2];
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(jr_device_lease_share(&held[i], devices.list[0]), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&queue, &one), 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
        jr_device_lease_release(&held[i]);
        CU_ASSERT_TRUE(is_woken(&queue, LIMIT_MS));
    }
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&queue, &one));
    jr_device_queue_leave(&queue);
}

TEST(does_not_wait_for_who_wants_others)
{
    struct devices devices, apart;
    struct jr_device_queue first = JR_DEVICE_QUEUE_INIT, second = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held;
    devices_make(&devices, 0);
    devices_make(&apart, DEVICES_MOST);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    const struct jr_device_request other = devices_request(&apart, 1, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held, devices.list[0]), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&first, &one), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&second, &other), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&first, &one));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&second, &other));
    jr_device_lease_release(&held);
    jr_device_queue_leave(&first);
    jr_device_queue_leave(&second);
}

/* Strangers have made so many connections that the kernel refuses more. */
TEST(looks_again_where_it_cannot_connect)
{
    enum { MOST = 70000 };
    struct devices devices;
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held;
    char name[JR_LEASE_NAME_SIZE];
    int end = 0;
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held, devices.list[0]), 0);
    (void)snprintf(name, sizeof name, "jobrun-device-%s", devices.list[0]);
    for (int i = 0; i < MOST && end >= 0; i++) {
        end = jr_lease_socket_connect(name);
        if (end >= 0)
            (void)close(end);
    }
    CU_ASSERT_EQUAL(jr_device_queue_join(&queue, &one), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
    CU_ASSERT_TRUE(is_woken(&queue, LIMIT_MS));
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
    jr_device_lease_release(&held);
    CU_ASSERT_TRUE(is_woken(&queue, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&queue, &one));
    jr_device_queue_leave(&queue);
}
