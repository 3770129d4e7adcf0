#include "unit.h"

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

TEST(is_ready_where_devices_are_free)
{
    struct devices devices;
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease leases[2];
    devices_make(&devices, 0);
    const struct jr_device_request two = devices_request(&devices, 3, 2);
    CU_ASSERT_EQUAL(jr_device_queue_join(&queue, &two), 0);
    CU_ASSERT_TRUE(queue.ticket > 0);
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&queue, &two));
    CU_ASSERT_EQUAL(devices_take(&two, queue.ticket, leases), 2);
    jr_device_queue_leave(&queue);
    jr_device_queue_leave(&queue);
    jr_device_lease_release(&leases[0]);
    jr_device_lease_release(&leases[1]);
}

TEST(hears_of_a_device_that_is_given_back)
{
    struct devices devices;
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held[2];
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 2, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held[0], devices.list[0]), 0);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held[1], devices.list[1]), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&queue, &one), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
    CU_ASSERT_FALSE(is_woken(&queue, 0));
    jr_device_lease_release(&held[1]);
    CU_ASSERT_TRUE(is_woken(&queue, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&queue, &one));
    jr_device_lease_release(&held[0]);
    jr_device_queue_leave(&queue);
}

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

TEST(hears_of_a_holder_that_is_killed)
{
    struct devices devices;
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    pid_t child = devices_hold(devices.list[0], "run");
    CU_ASSERT_EQUAL(jr_device_queue_join(&queue, &one), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
    devices_kill(child);
    CU_ASSERT_TRUE(is_woken(&queue, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&queue, &one));
    jr_device_queue_leave(&queue);
}

/* The first wants all, the second would be content with what is free. */
TEST(keeps_the_order_of_arrival)
{
    struct devices devices;
    struct jr_device_queue first = JR_DEVICE_QUEUE_INIT, second = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held, leases[3];
    devices_make(&devices, 0);
    const struct jr_device_request all = devices_request(&devices, 3, 3);
    const struct jr_device_request one = devices_request(&devices, 3, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held, devices.list[0]), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&first, &all), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&second, &one), 0);
    CU_ASSERT_TRUE(second.ticket > first.ticket);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&first, &all));
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&second, &one));
    CU_ASSERT_EQUAL(devices_take(&one, second.ticket, leases), 0);
    CU_ASSERT_EQUAL(devices_take(&one, 0, leases), 0); /* nor one that comes */
    jr_device_lease_release(&held);
    CU_ASSERT_TRUE(is_woken(&first, LIMIT_MS));
    CU_ASSERT_FALSE(is_woken(&second, 0));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&first, &all));
    CU_ASSERT_EQUAL(devices_take(&all, first.ticket, leases), 3);
    jr_device_queue_leave(&first);
    CU_ASSERT_TRUE(is_woken(&second, LIMIT_MS));
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&second, &one));
    for (int i = 0; i < 3; i++)
        jr_device_lease_release(&leases[i]);
    CU_ASSERT_TRUE(is_woken(&second, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&second, &one));
    jr_device_queue_leave(&second);
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

/* A process that waits until it is killed. */
static pid_t wait_in_queue(const struct jr_device_request *request)
{
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    int ready[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        if (jr_device_queue_join(&queue, request) != 0 ||
            jr_device_queue_is_ready(&queue, request) || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return child;
}

static int count_listed(const char *name)
{
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/net/unix", "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *found = strstr(line, name);
        count += found != NULL && strcmp(found, name) == 0;
    }
    (void)fclose(file);
    return count;
}

/* Others ask who is before them. They leave nothing behind, and do not make a waiting process look
 * at the holders of devices again. */
TEST(those_who_ask_leave_nothing_behind)
{
    enum { ASKS = 300 };
    struct devices devices;
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held;
    char name[JR_LEASE_NAME_SIZE];
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held, devices.list[0]), 0);
    CU_ASSERT_EQUAL(jr_device_queue_join(&queue, &one), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
    jr_device_wait_name(name, devices.list[0], queue.ticket);
    int before = count_listed(name);
    struct stat first, last;
    CU_ASSERT_EQUAL(fstat(queue.watched[0], &first), 0);
    for (int i = 0; i < ASKS; i++)
        CU_ASSERT_EQUAL(jr_lease_socket_holder(name).pid, getpid());
    while (count_listed(name) > before && is_woken(&queue, LIMIT_MS))
        CU_ASSERT_FALSE(jr_device_queue_is_ready(&queue, &one));
    CU_ASSERT_EQUAL(count_listed(name), before);
    CU_ASSERT_EQUAL(queue.watched_count, 1);
    CU_ASSERT_EQUAL(fstat(queue.watched[0], &last), 0);
    CU_ASSERT_EQUAL(first.st_ino, last.st_ino);
    jr_device_lease_release(&held);
    CU_ASSERT_TRUE(is_woken(&queue, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&queue, &one));
    jr_device_queue_leave(&queue);
}

/* The head of the queue is killed, and one from its middle. */
TEST(moves_up_for_those_that_are_killed)
{
    struct devices devices;
    struct jr_device_queue last = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held;
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held, devices.list[0]), 0);
    pid_t head = wait_in_queue(&one), middle = wait_in_queue(&one);
    CU_ASSERT_EQUAL(jr_device_queue_join(&last, &one), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&last, &one));
    devices_kill(head);
    CU_ASSERT_FALSE(is_woken(&last, 0)); /* it waits for the one before it */
    devices_kill(middle);
    CU_ASSERT_TRUE(is_woken(&last, LIMIT_MS));
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&last, &one));
    jr_device_lease_release(&held);
    CU_ASSERT_TRUE(is_woken(&last, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&last, &one));
    jr_device_queue_leave(&last);
}

TEST(follows_the_one_before_a_killed_one)
{
    struct devices devices;
    struct jr_device_queue last = JR_DEVICE_QUEUE_INIT;
    struct jr_device_lease held;
    devices_make(&devices, 0);
    const struct jr_device_request one = devices_request(&devices, 1, 1);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held, devices.list[0]), 0);
    pid_t head = wait_in_queue(&one), middle = wait_in_queue(&one);
    CU_ASSERT_EQUAL(jr_device_queue_join(&last, &one), 0);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&last, &one));
    devices_kill(middle);
    CU_ASSERT_TRUE(is_woken(&last, LIMIT_MS));
    jr_device_lease_release(&held);
    CU_ASSERT_FALSE(jr_device_queue_is_ready(&last, &one)); /* the head is */
    devices_kill(head);
    CU_ASSERT_TRUE(is_woken(&last, LIMIT_MS));
    CU_ASSERT_TRUE(jr_device_queue_is_ready(&last, &one));
    jr_device_queue_leave(&last);
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
