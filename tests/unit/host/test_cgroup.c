#include "base/buf.h"
#include "host/internal.h"
#include "scratch.h"

#define V1(root, point, options) "32 31 0:29 " root " " point " rw - cgroup cgroup " options "\n"
#define V2(root, point)          "41 31 0:38 " root " " point " rw shared:4 - cgroup2 cgroup2 rw\n"

struct vector {
    const char *groups, *mounts, *controller;
    const char *expected; /* the version and the folders */
};

static char *root;

static void check(const struct vector *vector)
{
    struct jr_host_reader probe = {.root = root};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_cgroup found = jr_cgroup_find(&probe, vector->controller);
    for (size_t i = 0; i < found.folders.count; i++)
        jr_buf_printf(&text, "%s%s", i == 0 ? found.v2 ? "2 " : "1 " : " ", found.folders.items[i]);
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, vector->expected);
    CU_ASSERT_FALSE(probe.scratch.failed);
    jr_arena_release(&probe.scratch);
}

static void check_all(const struct vector *vectors, size_t count)
{
    SCRATCH(scratch);
    root = scratch.dir;
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "proc", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "proc/self", 0700), 0);
    for (size_t i = 0; i < count; i++) {
        scratch_write(&scratch, "proc/self/cgroup", vectors[i].groups);
        scratch_write(&scratch, "proc/self/mountinfo", vectors[i].mounts);
        check(&vectors[i]);
    }
}

TEST(junk_is_no_group)
{
    static const struct vector vectors[] = {
        {"", V2("/", "/c"), "cpu", ""},
        {"0::/a\n", "", "cpu", ""},
        {"junk\n0\n0:\n", V2("/", "/c"), "cpu", ""},
        {"0::/a\n", "41 31 0:38 / /c rw cgroup2 cgroup2 rw\n", "cpu", ""},
        {"0::/a\n", "41 31 0:38 / - cgroup2 cgroup2 rw\n", "cpu", ""},
        {"0::/a\n", "41 31 0:38 / /c rw - cgroup2 cgroup2\n", "cpu", ""},
        {"0::/a\n", " - \n - - -\n\n", "cpu", ""},
        {"2:cpu:/a\n", V1("/", "/c", "rw,cpuacct"), "cpu", ""},
        {"2:cpu:/a\n", V2("/", "/c"), "cpu", ""},
        {"2:cpuset:/a\n", V1("/", "/c", "rw,cpuset"), "cpu", ""},
    };
    check_all(vectors, sizeof vectors / sizeof vectors[0]);
}

TEST(every_group_up_to_the_mount_is_listed)
{
    static const struct vector vectors[] = {
        {"0::/\n", V2("/", "/c"), "cpu", "2 /c"},
        {"0::/a/b\n", V2("/", "/sys/c"), "cpu", "2 /sys/c/a/b /sys/c/a /sys/c"},
        {"2:cpu:/a\n1:name=systemd:/z\n0::/u\n",
         V1("/", "/s", "rw,name=systemd") V1("/", "/c", "rw,cpu") V2("/", "/u"), "cpu",
         "1 /c/a /c"},
        {"3:cpuacct,cpu:/a:b\n", V1("/", "/c", "rw,cpu,cpuacct"), "cpu", "1 /c/a:b /c"},
        /* hybrid: what version 1 does not have is the unified one's */
        {"2:cpu:/a\n0::/u\n", V1("/", "/c", "rw,cpu") V2("/", "/u"), "memory", "2 /u/u /u"},
    };
    check_all(vectors, sizeof vectors / sizeof vectors[0]);
}

TEST(mounts_may_show_a_part)
{
    static const struct vector vectors[] = {
        {"0::/docker/1\n", V2("/docker/1", "/c"), "cpu", "2 /c"},
        {"0::/docker/1/x\n", V2("/docker/1", "/c"), "cpu", "2 /c/x /c"},
        /* the path of another namespace, or a folder that is no part of it */
        {"0::/docker/12\n", V2("/docker/1", "/c"), "cpu", "2 /c"},
        {"0::/../x\n", V2("/", "/c"), "cpu", "2 /c"},
        {"0::/a\n", V2("/..", "/c"), "cpu", "2 /c"},
        /* of two mounts, the one that shows the group */
        {"0::/a\n", V2("/b", "/c1") V2("/", "/c2"), "cpu", "2 /c2/a /c2"},
        {"0::/a\n", V2("/", "/c1") V2("/", "/c2"), "cpu", "2 /c1/a /c1"},
        {"0::/a\n", V2("/b", "/c1") V2("/d", "/c2"), "cpu", "2 /c1"},
        /* blanks in paths */
        {"0::/a b\n", V2("/", "/my\\040c\\134d"), "cpu", "2 /my c\\d/a b /my c\\d"},
        {"0::/\n", V2("/", "/c\\04"), "cpu", "2 /c\\04"},
    };
    check_all(vectors, sizeof vectors / sizeof vectors[0]);
}
