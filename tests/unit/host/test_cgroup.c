#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "host/internal.h"

#define V1(root, point, options) "32 31 0:29 " root " " point " rw - cgroup cgroup " options "\n"
#define V2(root, point)          "41 31 0:38 " root " " point " rw shared:4 - cgroup2 cgroup2 rw\n"

struct vector {
    const char *groups, *mounts, *controller;
    const char *expected; /* the version and the folders */
};

static char root[] = "/tmp/jr_cgroup_XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/proc/self/%s", root, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void check(const struct vector *vector)
{
    struct jr_host_reader probe = {.root = root};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    write_file("cgroup", vector->groups);
    write_file("mountinfo", vector->mounts);
    struct jr_cgroup found = jr_cgroup_find(&probe, vector->controller);
    for (size_t i = 0; i < found.folders.count; i++)
        jr_buf_printf(&text, "%s%s", i == 0 ? found.v2 ? "2 " : "1 " : " ", found.folders.items[i]);
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, vector->expected);
    CU_ASSERT_FALSE(probe.scratch.failed);
    jr_arena_release(&probe.scratch);
}

static void check_all(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&vectors[i]);
}

static void junk_is_no_group(void)
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

static void every_group_up_to_the_mount_is_listed(void)
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

static void mounts_may_show_a_part(void)
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

static void makes_its_folder(void)
{
    char path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
    (void)snprintf(path, sizeof path, "%s/proc", root);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/proc/self", root);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
}

static void removes_its_folder(void)
{
    static const char *const names[] = {"/proc/self/cgroup", "/proc/self/mountinfo", "/proc/self",
                                        "/proc", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s%s", root, names[i]);
        CU_ASSERT_EQUAL(remove(path), 0);
    }
}

JR_UNIT_MAIN("cgroup", CASE(makes_its_folder), CASE(junk_is_no_group),
             CASE(every_group_up_to_the_mount_is_listed), CASE(mounts_may_show_a_part),
             CASE(removes_its_folder))
