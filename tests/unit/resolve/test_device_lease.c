#include <errno.h>

#include "devices.h"

static const char *key_of(char out[static JR_DEVICE_KEY_SIZE], const struct jr_host_device *device,
                          const char *kind, const char *name)
{
    jr_device_key(out, device, kind, name);
    return out;
}

TEST(names_a_device_for_all_users_alike)
{
    char key[JR_DEVICE_KEY_SIZE];
    const struct jr_host_device gpu = {
        .kind = JR_DEVICE_CUDA, .index = 3, .uuid = "GPU-8f2b", .bus = "0000:3b:00.0"};
    const struct jr_host_device instance = {
        .kind = JR_DEVICE_CUDA, .uuid = "MIG-77", .bus = "0000:3b:00.0"};
    const struct jr_host_device npu = {.kind = JR_DEVICE_NPU, .index = 5};
    const struct jr_host_device own = {.kind = JR_DEVICE_CUSTOM, .uuid = "ACME-7f3a", .bus = "1"};
    const struct jr_host_device bare = {.kind = JR_DEVICE_CUSTOM, .bus = "b7"};
    JR_ASSERT_TEXT(key_of(key, &gpu, "cuda", "3"), "0000:3b:00.0");
    JR_ASSERT_TEXT(key_of(key, &instance, "cuda", "0"), "MIG-77");
    JR_ASSERT_TEXT(key_of(key, &npu, "npu", "5"), "npu.5");
    JR_ASSERT_TEXT(key_of(key, &own, "custom:acme", "0"), "ACME-7f3a");
    JR_ASSERT_TEXT(key_of(key, &bare, "custom:acme", "0"), "b7");
    JR_ASSERT_TEXT(key_of(key, NULL, "xpu", "2"), "xpu.2");
    JR_ASSERT_TEXT(key_of(key, NULL, "xpu", "XPU-1"), "XPU-1");
}

/* Facts of a user's own may say anything. */
TEST(hashes_what_is_no_name)
{
    char key[JR_DEVICE_KEY_SIZE], other[JR_DEVICE_KEY_SIZE], uuid[201];
    const struct jr_host_device odd = {.kind = JR_DEVICE_CUSTOM, .uuid = "a+1\n@jobrun-device-b"};
    const struct jr_host_device huge = {.kind = JR_DEVICE_CUSTOM, .uuid = uuid};
    memset(uuid, 'u', sizeof uuid - 1);
    uuid[sizeof uuid - 1] = '\0';
    CU_ASSERT_EQUAL(strlen(key_of(key, &odd, "custom:a", "0")), 32);
    CU_ASSERT_EQUAL(strlen(key_of(other, &huge, "custom:a", "0")), 32);
    CU_ASSERT_TRUE(strcmp(key, other) != 0);
    CU_ASSERT_EQUAL(strspn(key, "0123456789abcdef"), 32);
}

TEST(takes_the_first_that_are_free)
{
    struct devices devices;
    struct jr_device_lease held[4], more[4];
    uint32_t chosen[4] = {9, 9, 9, 9};
    devices_make(&devices, 0);
    const struct jr_device_request two = devices_request(&devices, 4, 2);
    const struct jr_device_request three = devices_request(&devices, 4, 3);
    CU_ASSERT_EQUAL(jr_device_lease_share(&held[0], devices.list[1]), 0);
    CU_ASSERT_EQUAL(jr_devices_take(&two, 0, chosen, more), 2);
    CU_ASSERT_EQUAL(chosen[0], 0);
    CU_ASSERT_EQUAL(chosen[1], 2);
    JR_ASSERT_TEXT(more[1].key, devices.list[2]);
    CU_ASSERT_EQUAL(more[1].slot, 0);
    jr_device_lease_release(&held[0]);
    /* too few: none is kept, and the one that was taken is free again */
    CU_ASSERT_EQUAL(devices_take(&three, 0, held), 2);
    CU_ASSERT_EQUAL(devices_take(&two, 0, held), 2);
    for (int i = 0; i < 2; i++) {
        jr_device_lease_release(&held[i]);
        jr_device_lease_release(&more[i]);
    }
    jr_device_lease_release(&more[0]); /* twice is allowed */
    CU_ASSERT_EQUAL(devices_take(&three, 0, held), 3);
    for (int i = 0; i < 3; i++)
        jr_device_lease_release(&held[i]);
}

TEST(only_looks_without_leases)
{
    struct devices devices;
    struct jr_device_lease lease;
    devices_make(&devices, 0);
    const struct jr_device_request all = devices_request(&devices, 3, 3);
    CU_ASSERT_EQUAL(devices_take(&all, 0, NULL), 3);
    CU_ASSERT_EQUAL(devices_take(&all, 0, NULL), 3);
    CU_ASSERT_EQUAL(jr_device_lease_share(&lease, devices.list[2]), 0);
    CU_ASSERT_EQUAL(devices_take(&all, 0, NULL), 2);
    jr_device_lease_release(&lease);
}

TEST(has_an_end_of_sharers)
{
    struct devices devices;
    struct jr_device_lease leases[JR_DEVICE_SHARERS_MOST], more;
    devices_make(&devices, 0);
    for (int i = 0; i < JR_DEVICE_SHARERS_MOST; i++)
        CU_ASSERT_EQUAL_FATAL(jr_device_lease_share(&leases[i], devices.list[0]), 0);
    CU_ASSERT_EQUAL(jr_device_lease_share(&more, devices.list[0]), -1);
    CU_ASSERT_EQUAL(errno, EADDRINUSE);
    for (int i = 0; i < JR_DEVICE_SHARERS_MOST; i++)
        jr_device_lease_release(&leases[i]);
}

enum { TAKERS = 8 };

/* One of many that begin at once: take `need`, tell how many, and hold them. */
static void be_a_taker(const struct jr_device_request *request, const int go[2], int report,
                       int gate)
{
    struct jr_device_lease leases[DEVICES_MOST];
    char byte;
    (void)close(go[1]);
    (void)!read(go[0], &byte, 1);
    uint32_t taken = devices_take(request, 0, leases);
    if (write(report, &taken, sizeof taken) != (ssize_t)sizeof taken)
        _exit(1);
    while (read(gate, &byte, 1) > 0)
        continue;
    _exit(0);
}

/* How many of them had what they need. */
static int count_winners(const struct jr_device_request *request)
{
    int go[2], report[2], gate[2], winners = 0;
    pid_t takers[TAKERS];
    CU_ASSERT_EQUAL_FATAL(pipe(go) | pipe(report) | pipe(gate), 0);
    for (int i = 0; i < TAKERS; i++) {
        takers[i] = fork();
        if (takers[i] == 0) {
            (void)close(gate[1]);
            be_a_taker(request, go, report[1], gate[0]);
        }
    }
    (void)close(go[0]);
    (void)close(go[1]); /* now */
    for (int i = 0; i < TAKERS; i++) {
        uint32_t taken = 0;
        CU_ASSERT_EQUAL(read(report[0], &taken, sizeof taken), (ssize_t)sizeof taken);
        winners += taken == request->need;
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    (void)close(report[0]);
    (void)close(report[1]);
    for (int i = 0; i < TAKERS; i++)
        CU_ASSERT_EQUAL(waitpid(takers[i], NULL, 0), takers[i]);
    return winners;
}

/* As many have devices as if they had come one after the other. */
TEST(shares_devices_out_at_one_moment)
{
    struct devices devices;
    devices_make(&devices, 0);
    for (uint32_t need = 1; need <= 5; need++) {
        const struct jr_device_request request = devices_request(&devices, DEVICES_MOST, need);
        CU_ASSERT_EQUAL(count_winners(&request), (int)(DEVICES_MOST / need));
    }
}
