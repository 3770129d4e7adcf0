/*
 * jobrun new: a commented starter spec, or another launcher's command line as one. What the line
 * said and no spec can say is named in the spec's comments, and on standard error. And what helps
 * to write it: explain, schema. cli.h declares them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "base/syscalls.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "diag/diag.h"
#include "session/specs/spec_help.h"
#include "spec/jsonschema.h"
#include "spec/manual.h"
#include "session/translate/translate.h"

#include "base/banned.h"

/* The JSON Schema of specs as a file, for editors: of `schema -o`, and beside the spec of `new
 * -o`. */

/* What is larger is no schema of jobrun. */
enum { MOST_BYTES = 16 << 20 };

/* What is where the schema is to be. */
enum schema_state {
    ABSENT,  /* nothing */
    CURRENT, /* this very schema */
    EARLIER, /* that of another build */
    FOREIGN, /* something else, or nothing that can be read */
};

static enum schema_state find_schema_state(const char *path, const struct jr_buf *schema)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_access(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return ABSENT;
    if (jr_io_read_file(&text, AT_FDCWD, path, MOST_BYTES, NULL) != 0)
        return FOREIGN;
    if (text.len == schema->len && memcmp(text.data, schema->data, text.len) == 0)
        return CURRENT;
    return jr_spec_is_schema(text.data, text.len) ? EARLIER : FOREIGN;
}

/* The file itself is replaced, not a link to it; its mode is kept. */
static int replace_schema(const struct jr_cli *cli, const struct jr_buf *schema)
{
    struct stat status;
    struct jr_error err;
    JR_FREE char *path = realpath(cli->output, NULL);
    char *slash = path == NULL ? NULL : strrchr(path, '/');
    if (slash == NULL || stat(path, &status) != 0 ||
        jr_access(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot write to %s: %s", cli->output,
                          strerror(errno));
    *slash = '\0';
    JR_CLOSE int folder = open(slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jr_io_replace(folder, slash + 1, schema->data, schema->len, status.st_mode & 07777, &err) !=
        0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    return 0;
}

/* Write the schema to the file of --output. One that a build of jobrun has written is replaced in
 * one step, anything else is refused. Returns the exit status. */
static int write_schema_file(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf schema = JR_BUF_INIT;
    jr_spec_schema(&schema);
    if (schema.failed)
        return jr_cli_out(cli, &schema);
    switch (find_schema_state(cli->output, &schema)) {
    case ABSENT:
        return jr_cli_create(cli, cli->output, &schema);
    case EARLIER:
        return replace_schema(cli, &schema);
    case FOREIGN:
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "%s already exists and is no schema of jobrun: it was not changed",
                          cli->output);
    case CURRENT:
        break;
    }
    return 0;
}

/* Write it where the modeline of the new spec of --output points, unless a file is there, and say
 * so. Returns the exit status. */
static int add_schema_file(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf schema = JR_BUF_INIT, path = JR_BUF_INIT, word = JR_BUF_INIT;
    jr_spec_schema(&schema);
    const char *slash = strrchr(cli->output, '/'); /* in the folder of the spec */
    if (slash != NULL)
        jr_buf_add(&path, cli->output, (size_t)(slash - cli->output) + 1);
    jr_buf_str(&path, JR_SCHEMA_FILE);
    if (schema.failed || path.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    int status = 0;
    switch (find_schema_state(path.data, &schema)) {
    case ABSENT:
        status = jr_cli_create(cli, path.data, &schema);
        if (status == 0)
            status =
                jr_cli_say(cli, 0, "wrote %s, by which editors check %s", path.data, cli->output);
        break;
    case EARLIER: /* an editor reads an old schema: what to type */
        jr_shell_quote(&word, path.data);
        return jr_cli_say(
            cli, 0, "%s is of another build of jobrun; to replace it, type: jobrun schema -o %s",
            path.data, word.failed ? path.data : word.data);
    case FOREIGN:
        return jr_cli_say(cli, 0,
                          "%s is no schema of jobrun, and was not changed: "
                          "editors cannot check %s by it",
                          path.data, cli->output);
    case CURRENT:
        break;
    }
    return status;
}

/* What people call the starters. */
static const struct {
    const char *word, *kind;
} meant_kinds[] = {
    {"pytorch", "torch"},    {"ddp", "torch"},     {"fsdp", "torch"},    {"lightning", "torch"},
    {"accelerate", "torch"}, {"openmpi", "mpi"},   {"mpich", "mpi"},     {"sbatch", "slurm"},
    {"hpc", "slurm"},        {"shell", "minimal"}, {"basic", "minimal"}, {"simple", "minimal"},
    {"function", "python"},  {"script", "python"}, {"megatron", "mesh"},
};

/* There is no such starter: all that there are, and the nearest. */
static int refuse_kind(const struct jr_cli *cli, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t i = 0, count = sizeof meant_kinds / sizeof *meant_kinds;
    while (i < count && strcmp(meant_kinds[i].word, word) != 0)
        i++;
    const char *near = i < count ? meant_kinds[i].kind : jr_value_near("KIND", word);
    JR_BUF_CLEANUP struct jr_buf file = JR_BUF_INIT;
    jr_shell_quote(&file, word);
    if (jr_mistake_is_spec_name(word))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "new writes to a file with -o; type: jobrun new -o %s",
                          file.failed ? word : file.data);
    for (const struct jr_starter_spec *row = jr_starter_specs; row->word; row++)
        jr_buf_printf(&text, "%s%s", text.len == 0 ? "" : ", ", row->word);
    if (near != NULL)
        jr_buf_printf(&text, "; did you mean 'jobrun new %s'?", near);
    return jr_cli_say(cli, JR_STATUS_USAGE, "there is no starter '%s'; there are %s", word,
                      text.failed ? "" : text.data);
}

/* The spec to standard output, or to the file of --output, and beside that what its first line
 * names. */
static int deliver_spec(const struct jr_cli *cli, struct jr_buf *spec)
{
    int status = jr_cli_deliver(cli, spec);
    return status != 0 || cli->output == NULL ? status : add_schema_file(cli);
}

static int print_translation(const struct jr_cli *cli, struct jr_translation *translation)
{
    struct jr_buf out = JR_BUF_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    if (translation->help != NULL) {
        out.width = jr_cli_columns();
        jr_launcher_print(&out, translation->help);
        return jr_cli_out(cli, &out);
    }
    if (jr_translation_print(&out, translation, &diags) != 0) {
        jr_cli_diags(cli, &diags);
        jr_diags_release(&diags);
        jr_buf_release(&out);
        return jr_cli_say(cli, JR_STATUS_USAGE, "the line contradicts itself");
    }
    jr_diags_release(&diags);
    /* What the spec leaves out or says otherwise. */
    for (size_t i = 0; i < translation->notes_count; i++) {
        const struct jr_note *note = &translation->notes[i];
        if (note->verdict != JR_VERDICT_NEEDLESS)
            (void)jr_cli_say(cli, 0, "'%s' %s: %s", note->what,
                             note->verdict == JR_VERDICT_LOST ? "has no counterpart"
                                                              : "is not quite the same",
                             note->why);
    }
    return deliver_spec(cli, &out);
}

/* A line that is not in quotes, or a file without -o: the line to type. */
static int refuse_words(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (cli->from == NULL) {
        jr_buf_printf(&text, "new %s -o ", cli->words[0]);
        jr_shell_quote(&text, cli->words[1]);
    } else {
        jr_shell_quote(&line, cli->from);
        for (int i = 0; i < cli->words_count; i++) {
            jr_buf_char(&line, ' ');
            jr_shell_quote(&line, cli->words[i]);
        }
        jr_buf_str(&text, "new --from ");
        if (!line.failed)
            jr_shell_quote(&text, line.data);
    }
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s; type: jobrun %s",
                      cli->from == NULL ? "new writes to the file of -o"
                                        : "--from wants the line in quotes",
                      text.failed ? "new --help" : text.data);
}

int jr_cmd_new(struct jr_cli *cli)
{
    const char *first = cli->words_count == 0 ? NULL : cli->words[0];
    const struct jr_starter_spec *starter = jr_starter_spec_find(first);
    bool kind = first != NULL && starter != NULL;
    /* Whether the words are those of a line without quotes, or a kind and a file. */
    bool mistaken = cli->from != NULL ? first != NULL && !kind && strchr(cli->from, ' ') == NULL
                                      : cli->words_count == 2 && kind && cli->output == NULL &&
                                            strpbrk(cli->words[1], "./") != NULL;
    if (mistaken && cli->rest == NULL)
        return refuse_words(cli);
    if (cli->words_count > 1 || cli->rest != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE, "jobrun new [KIND], or jobrun new --from LINE");
    if (first != NULL && cli->from != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE, "give a KIND or --from, not both");
    if (cli->from != NULL) {
        struct jr_translation translation;
        struct jr_error err;
        int status = jr_translate(&translation, cli->from, &err) != 0
                         ? jr_cli_say(cli, (int)err.status, "%s", err.text)
                         : print_translation(cli, &translation);
        jr_translation_release(&translation);
        return status;
    }
    if (starter == NULL)
        return refuse_kind(cli, first);
    struct jr_buf out = JR_BUF_INIT;
    jr_starter_spec_print(&out, starter);
    return deliver_spec(cli, &out);
}

/*
 * jobrun explain: a diagnostic by its code, or a field by its path. Without a word all fields are
 * listed; a code's beginning (JR, JR03) lists codes.
 */

/* How much of a word that is nothing is repeated. */
enum { MAX_WORD = 64 };

/* The codes whose four digits begin with `digits`; whether there are any. */
static bool list_codes(struct jr_buf *out, const char *digits)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    for (size_t i = 0; i < count; i++) {
        JR_BUF_CLEANUP struct jr_buf number = JR_BUF_INIT;
        jr_buf_printf(&number, "%04u", codes[i].number);
        if (!number.failed && strncmp(number.data, digits, strlen(digits)) == 0)
            jr_buf_printf(out, "JR%s  %s\n", number.data, codes[i].title);
    }
    return out->len > 0;
}

static int explain_code(const struct jr_cli *cli, const char *word)
{
    struct jr_buf out = JR_BUF_INIT;
    uint32_t number;
    char name[16] = "";
    bool named = strncasecmp(word, "JR", 2) == 0;
    if (!named && jr_num_u32(word, &number))
        (void)snprintf(name, sizeof name, "%04u", number);
    const struct jr_code *code = jr_code_find(name[0] != '\0' ? name : word);
    if (code != NULL)
        jr_buf_printf(&out, "JR%04u: %s\n\n%s", code->number, code->title, code->text);
    else if (!named || !list_codes(&out, word + 2))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "there is no diagnostic '%.*s'; jobrun explain JR lists them", MAX_WORD,
                          word);
    return jr_cli_out(cli, &out);
}

int jr_cmd_explain(struct jr_cli *cli)
{
    struct jr_buf out = {.width = jr_cli_columns()};
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE, "explain takes one argument: what is '%.*s'?",
                          MAX_WORD, cli->words[1]);
    if (cli->words_count == 0) {
        jr_field_list(&out);
        jr_buf_str(&out, "\n"
                         "jobrun explain FIELD describes one field, by its "
                         "path: parallelism.model\n"
                         "jobrun explain CODE describes a diagnostic; jobrun "
                         "explain JR lists them\n");
        return jr_cli_out(cli, &out);
    }
    const char *word = cli->words[0];
    bool named = strncasecmp(word, "JR", 2) == 0;
    const char *digits = named ? word + 2 : word;
    if ((named || digits[0] != '\0') && strspn(digits, "0123456789") == strlen(digits))
        return explain_code(cli, word);
    struct jr_error err = {0};
    if (jr_spec_help_field(&out, word, &err) != 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    return jr_cli_out(cli, &out);
}

/* jobrun schema: the JSON Schema of the spec. */

int jr_cmd_schema(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    if (cli->output != NULL)
        return write_schema_file(cli);
    jr_spec_schema(&out);
    return jr_cli_out(cli, &out);
}
