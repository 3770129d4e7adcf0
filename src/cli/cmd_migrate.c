/* jobrun migrate: bring specs up to the current version of the language. cli.h
 * declares it. */
#include "cli/find_specs.h"
#include "cli/fix_file.h"
#include "cli/output.h"
#include "doc/doc.h"
#include "spec/migrate.h"

#include "base/banned.h"

/* A step of a file from its version towards the current one. */
static bool migrate_step(struct jr_fixing *fixing)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc;
    bool made = false;
    if (jr_doc_load(&doc, fixing->name, fixing->text.data, fixing->text.len,
                    &diags) == 0) {
        jr_migrate_find(&diags, &doc, jr_migrations());
        made = jr_fixing_make(fixing, &doc, &diags);
    }
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return made;
}

/* What is left to be said of a file: that it is fine, or what is wrong. */
static int conclude_migration(const struct jr_cli *cli, const char *path)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc;
    int status = 0;
    if (jr_doc_load_file(&doc, path, &diags) == 0)
        jr_migrate_find(&diags, &doc, jr_migrations());
    if (diags.errors > 0)
        status = JR_STATUS_INVALID;
    else if (!cli->quiet)
        (void)jr_cli_say(cli, 0,
                         "%s: version %u is the current one: nothing to do",
                         path, jr_migrations()->current);
    jr_cli_diags(cli, &diags);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return status;
}

static int migrate_file(const struct jr_cli *cli,
                        const struct jr_found_specs *found)
{
    if (found->why != NULL)
        return jr_cli_say(cli, JR_STATUS_INVALID, "%s: %s", found->path,
                          found->why);
    int status = jr_fix_file(cli, found->path, migrate_step);
    return status != 0 ? status : conclude_migration(cli, found->path);
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
