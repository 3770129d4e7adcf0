/* jobrun migrate: bring specs up to the current version of the language. cli.h
 * declares it. */
#include "cli/output.h"
#include "session/specs/find_specs.h"
#include "session/specs/fix_file.h"

#include "base/banned.h"

/* What is left to be said of a file: that it is fine, or what is wrong. */
static int conclude_migration(const struct jr_cli *cli, const char *path)
{
    struct jr_unmigrated left;
    int status = 0;
    uint32_t version = jr_unmigrated_find(&left, path);
    if (left.diags.errors > 0)
        status = JR_STATUS_INVALID;
    else if (!cli->quiet)
        (void)jr_cli_say(cli, 0,
                         "%s: version %u is the current one: nothing to do",
                         path, version);
    jr_cli_diags(cli, &left.diags);
    jr_unmigrated_release(&left);
    return status;
}

static int migrate_file(const struct jr_cli *cli,
                        const struct jr_found_specs *found)
{
    struct jr_buf told = JR_BUF_INIT;
    struct jr_error err = {0};
    if (found->why != NULL)
        return jr_cli_say(cli, JR_STATUS_INVALID, "%s: %s", found->path,
                          found->why);
    if (jr_fix_file(&told, found->path, NULL, &err) != 0) {
        jr_buf_release(&told);
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s: not fixed: %s",
                          found->path, err.text);
    }
    if (!cli->quiet)
        jr_cli_err(cli, &told);
    else
        jr_buf_release(&told);
    return conclude_migration(cli, found->path);
}

int jr_cmd_migrate(struct jr_cli *cli)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_finds finds = {0};
    int status = 0;
    if (cli->words_count == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "no spec is given: jobrun migrate FILE or FOLDER...");
    jr_find_specs(&finds, &arena, cli->words, cli->words_count, NULL);
    for (size_t i = 0; i < finds.count; i++) {
        int one = migrate_file(cli, &finds.items[i]);
        status = status == 0 ? one : status;
    }
    if (arena.failed)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    jr_arena_release(&arena);
    return status;
}
