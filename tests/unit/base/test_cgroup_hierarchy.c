/* Where a control group controller lives, by the texts of the kernel. */
#include "base/proc.h"

#include <stdlib.h>

#include "unit.h"

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
#define CPU                                                                                        \
    "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "                                  \
    "rw,cpu,cpuacct\n"
#define MEM "35 25 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define OTHER                                                                                      \
    "24 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"                                               \
    "25 24 0:22 / /proc rw - proc proc rw\n"

struct vector {
    const char *groups, *mounts, *controller;
    bool v2, shown;
    const char *point; /* NULL: nowhere */
    const char *leaf;
};

static const struct vector vectors[] = {
    /* Nothing, or nothing of use. */
    {NULL, NULL, "cpu", true, false, NULL, ""},
    {"", "", "cpu", true, false, NULL, ""},
    {"0::/a\n", "", "cpu", true, false, NULL, ""},
    {"", V2, "cpu", true, false, NULL, ""},
    {"0::/a\n", OTHER, NULL, true, false, NULL, ""},
    {"nonsense\n0\n0:\n", V2, "cpu", true, false, NULL, ""},
    {"0::/a\n", "1 2 3\n- cgroup2\nx - cgroup2 c rw\n", NULL, true, false, NULL, ""},
    {"0::/a\n", "30 23 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n", NULL, true, false, NULL, ""},
    {"0::/a\n", CPU, NULL, true, false, NULL, ""},
    {"4:memory:/a\n", CPU, "memory", false, false, NULL, ""},
    /* Version 2. */
    {"0::/a/b\n", OTHER V2, NULL, true, true, "/sys/fs/cgroup", "/a/b"},
    {"0::/a/b\n", V2, "cpu", true, true, "/sys/fs/cgroup", "/a/b"},
    {"0::/\n", V2, NULL, true, true, "/sys/fs/cgroup", ""},
    {"0::/a b\n", V2, NULL, true, true, "/sys/fs/cgroup", "/a b"},
    {"0::/a:b\n", V2, NULL, true, true, "/sys/fs/cgroup", "/a:b"},
    {"0::/a", V2, NULL, true, true, "/sys/fs/cgroup", "/a"},
    /* Version 1, whatever the order of its names. */
    {"5:cpu,cpuacct:/a\n4:memory:/b\n", CPU MEM, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct",
     "/a"},
    {"5:cpuacct,cpu:/a\n", CPU, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct", "/a"},
    {"4:memory:/b\n5:cpu,cpuacct:/a\n", CPU MEM, "memory", false, true, "/sys/fs/cgroup/memory",
     "/b"},
    {"4:memory:/b\n", MEM, "mem", true, false, NULL, ""},
    {"4:memory:/b\n", MEM, "memor", true, false, NULL, ""},
    {"5:cpuset:/a\n0::/u\n", CPU V2, "cpu", true, true, "/sys/fs/cgroup", "/u"},
    {"1:name=systemd:/s\n4:memory:/b\n", MEM, "memory", false, true, "/sys/fs/cgroup/memory", "/b"},
    /* Both at once: a controller is where it is. */
    {"5:cpu,cpuacct:/a\n0::/u\n", CPU V2, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct", "/a"},
    {"0::/u\n5:cpu,cpuacct:/a\n", CPU V2, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct", "/a"},
    {"0::/u\n5:cpu,cpuacct:/a\n", V2 CPU, "memory", true, true, "/sys/fs/cgroup", "/u"},
    {"0::/u\n5:cpu,cpuacct:/a\n", CPU V2, NULL, true, true, "/sys/fs/cgroup", "/u"},
    /* A container, whose mount shows its own group, or another one. */
    {"0::/docker/x\n", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 c rw\n", NULL, true, true,
     "/sys/fs/cgroup", ""},
    {"0::/docker/x/y\n", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 c rw\n", NULL, true,
     true, "/sys/fs/cgroup", "/y"},
    {"0::/docker/xy\n", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 c rw\n", NULL, true,
     false, "/sys/fs/cgroup", ""},
    {"0::/\n", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 c rw\n", NULL, true, false,
     "/sys/fs/cgroup", ""},
    {"0::/../other\n", V2, NULL, true, false, "/sys/fs/cgroup", ""},
    {"0::/..\n", V2, NULL, true, false, "/sys/fs/cgroup", ""},
    /* Of several mounts the first that shows the group; else the first. */
    {"0::/a/b\n",
     "30 23 0:26 /x /one rw - cgroup2 c rw\n"
     "31 23 0:26 /a /two rw - cgroup2 c rw\n"
     "32 23 0:26 / /three rw - cgroup2 c rw\n",
     NULL, true, true, "/two", "/b"},
    {"0::/a/b\n",
     "30 23 0:26 /x /one rw - cgroup2 c rw\n"
     "31 23 0:26 /y /two rw - cgroup2 c rw\n",
     NULL, true, false, "/one", ""},
    /* Blanks and backslashes of paths are escaped. */
    {"0::/a\n", "30 23 0:26 / /with\\040blank\\134 rw - cgroup2 c rw\n", NULL, true, true,
     "/with blank\\", "/a"},
    {"0::/a b/c\n", "30 23 0:26 /a\\040b /x rw - cgroup2 c rw\n", NULL, true, true, "/x", "/c"},
    {"0::/a\n", "30 23 0:26 / /x\\04 rw - cgroup2 c rw\n", NULL, true, true, "/x\\04", "/a"},
    {"0::/a\n", "30 23 0:26 / /x\\089 rw - cgroup2 c rw\n", NULL, true, true, "/x\\089", "/a"},
    /* Optional fields before the dash are passed over. */
    {"0::/a\n",
     "30 23 0:26 / /sys/fs/cgroup rw shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n", NULL,
     true, true, "/sys/fs/cgroup", "/a"},
};

static void finds_hierarchies(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *vector = &vectors[i];
        char *groups = vector->groups == NULL ? NULL : strdup(vector->groups);
        char *mounts = vector->mounts == NULL ? NULL : strdup(vector->mounts);
        struct jr_cgroup_hierarchy found =
            jr_cgroup_hierarchy_find(groups, mounts, vector->controller);
        CU_ASSERT_EQUAL(found.v2, vector->v2);
        CU_ASSERT_EQUAL(found.shown, vector->shown);
        JR_ASSERT_TEXT(found.leaf, vector->leaf);
        if (vector->point == NULL)
            CU_ASSERT_PTR_NULL(found.point)
        else
            JR_ASSERT_TEXT(found.point, vector->point);
        if (found.v2 != vector->v2 || found.shown != vector->shown)
            printf("\n    vector %zu", i);
        free(groups);
        free(mounts);
    }
}

JR_UNIT_MAIN("cgroup_hierarchy", CASE(finds_hierarchies))
