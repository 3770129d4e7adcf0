/*
 * usage: facts ROOT
 *
 * Print the facts of the machine that is recorded below ROOT, as `doctor
 * --format yaml` prints those of this one.
 */
#include <stdio.h>

#include "host/host.h"
#include "resolve/device_profile.h"

int main(int argc, char **argv, char **envp)
{
    struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf facts = JR_BUF_INIT;
    struct jr_error err = {0};
    struct jr_host hw;
    if (argc != 2)
        return 2;
    if (jr_host_probe(&hw, &arena, argv[1], envp, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    jr_host_probe_more(&hw, &arena, argv[1]);
    jr_profile_emit(&facts, &hw);
    (void)fwrite(facts.data, 1, facts.len, stdout);
    jr_arena_release(&arena);
    return ferror(stdout) != 0;
}
