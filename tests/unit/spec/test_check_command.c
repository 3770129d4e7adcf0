/* Commands that no program can be meant by. */
#include "case.h"

static void check_command(const char *words, const char *more, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "version: 1\nentrypoint: [%s]\n%s", words, more);
    SPEC_CASE(c, text.data);
    const char *found = c.found.data == NULL ? "" : c.found.data;
    if (strcmp(found, expected) != 0)
        printf("\n  of: %s\n", words);
    JR_ASSERT_TEXT(found, expected);
}

TEST(warns_of_launchers)
{
    static const char *const others[] = {
        "./torchrun.py, a", "accelerate, config",
        "torchrunner, a",   "python3, -m, torch",
        "python3, -m",      "accelerate",
        "echo, torchrun",   "python3, torch.distributed.run, -m",
    };
    EACH_PART(part, "torchrun, a.py|/opt/bin/mpirun, ./a|srun, ./a|accelerate, launch, a|"
                    "deepspeed, a.py|mpiexec.hydra, ./a") {
        check_command(part, "", "JR0337@2:14 entrypoint.command[0]");
        check_command(part, "world_size: 2\n", "JR0337@2:14 entrypoint.command[0]");
        check_command(part, "world_size: 1\n", "");
    }
    check_command("python3, -m, torch.distributed.run, a.py", "",
                  "JR0337@2:27 entrypoint.command[2]");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_command(others[i], "", "");
}

TEST(warns_of_what_a_shell_would_do)
{
    static const char *const right[] = {
        "./cd, src", "conda, run, a", "1A=1, ./a", "=1, a", "a-b=1, c", "echo, cd",
    };
    EACH_PART(part,
              "cd, src|source, a|., a|export, A=1|ulimit, -n|A=1, ./a|conda, activate, e|for, i|"
              "_a1=, ./a")
        check_command(part, "", "JR0338@2:14 entrypoint.command[0]");
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        check_command(right[i], "", "");
}

TEST(warns_of_words_in_one_piece)
{
    check_command("./a --lr 3 --x", "", "JR0338@2:14 entrypoint.command[0]");
    check_command("./a, --lr 3, -j  -4", "",
                  "JR0338@2:19 entrypoint.command[1]\n"
                  "JR0338@2:27 entrypoint.command[2]");
    check_command("./a, !!str --lr 3", "", "");
    check_command("!!str ./a --lr 3", "", "");
    check_command("./a, --name a b, --lr=3 4, --- 3, -- 3, --3 3", "", "");
    check_command("./a b, c d", "", "");
    check_command("./a --lr 3 | tee", "", "");
    /* what may be a secret is in no message */
    check_command("./a, --pass 31415", "", "");
    check_command("./a --my-key 3 -x", "", "");
}
