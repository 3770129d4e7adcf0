/*
 * Read the facts of machines, and of what is wrong with them, and write them as
 * `doctor --format yaml` does: whatever stands in their files, the program must
 * come through, and --on must take what it wrote.
 *
 * usage: read_machines ROOT...
 *
 * Exit status 1 when one was not: it is named on standard error.
 */
#include <stdio.h>
#include <unistd.h>

#include "host/host.h"
#include "resolve/device_profile.h"

#define LIMIT_S 20 /* for one machine: it is read in milliseconds */

static int read_back(const char *root, const struct jr_buf *facts)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_diags diags = {0};
    struct jr_host hw;
    int failed = jr_profile_read(&hw, &arena, "facts.yaml", facts->data, facts->len, &diags);
    if (failed != 0)
        (void)fprintf(stderr, "%s: %s\n", root,
                      diags.count > 0 ? diags.items[0].message : "no memory");
    jr_diags_release(&diags);
    jr_arena_release(&arena);
    return failed;
}

static int read_machine(const char *root, char *const *envp)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf facts = JR_BUF_INIT;
    struct jr_host_finding *findings;
    struct jr_error err = {0};
    struct jr_host hw;
    int failed = jr_host_probe(&hw, &arena, root, envp, &err);
    if (failed != 0) {
        (void)fprintf(stderr, "%s: %s\n", root, err.text);
    } else {
        jr_host_probe_more(&hw, &arena, root);
        (void)jr_host_examine(&findings, &arena, &hw, root, envp);
        jr_profile_emit(&facts, &hw);
        failed = read_back(root, &facts);
    }
    jr_buf_release(&facts);
    jr_arena_release(&arena);
    return failed;
}

int main(int argc, char **argv, char **envp)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        (void)alarm(LIMIT_S);
        failed |= read_machine(argv[i], envp);
    }
    return failed != 0;
}
