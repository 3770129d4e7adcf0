/* The folders of a control group; test_proc.c of base holds which group that is. */
#include "base/buf.h"
#include "host/internal.h"
#include "scratch.h"

#define V1(root, point, options) "32 31 0:29 " root " " point " rw - cgroup cgroup " options "\n"
#define V2(root, point)          "41 31 0:38 " root " " point " rw shared:4 - cgroup2 cgroup2 rw\n"

TEST(every_group_up_to_the_mount_is_listed)
{
    static const struct {
        const char *groups, *mounts, *controller;
        const char *expected; /* the version and the folders */
    } vectors[] = {
        {"0::/a\n", "", "cpu", ""},
        {"0::/\n", V2("/", "/c"), "cpu", "2 /c"},
        {"0::/docker/1/x\n", V2("/docker/1", "/c"), "cpu", "2 /c/x /c"},
        {"0::/docker/12\n", V2("/docker/1", "/c"), "cpu", "2 /c"},
        {"0::/a/b\n", V2("/", "/sys/c"), "cpu", "2 /sys/c/a/b /sys/c/a /sys/c"},
        {"2:cpu:/a\n1:name=systemd:/z\n0::/u\n",
         V1("/", "/s", "rw,name=systemd") V1("/", "/c", "rw,cpu") V2("/", "/u"), "cpu",
         "1 /c/a /c"},
        {"3:cpuacct,cpu:/a:b\n", V1("/", "/c", "rw,cpu,cpuacct"), "cpu", "1 /c/a:b /c"},
        /* hybrid: what version 1 does not have is the unified one's */
        {"2:cpu:/a\n0::/u\n", V1("/", "/c", "rw,cpu") V2("/", "/u"), "memory", "2 /u/u /u"},
    };
    SCRATCH(scratch);
    scratch_tree(&scratch, "proc/self/x");
    JR_EACH(row, vectors) {
        struct jr_host_reader probe = {.root = scratch.dir};
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        scratch_write(&scratch, "proc/self/cgroup", row->groups);
        scratch_write(&scratch, "proc/self/mountinfo", row->mounts);
        struct jr_cgroup found = jr_cgroup_find(&probe, row->controller);
        for (size_t i = 0; i < found.folders.count; i++)
            jr_buf_printf(&text, "%s%s",
                          i > 0      ? " "
                          : found.v2 ? "2 "
                                     : "1 ",
                          found.folders.items[i]);
        JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, row->expected);
        CU_ASSERT_FALSE(probe.scratch.failed);
        jr_arena_release(&probe.scratch);
    }
}
