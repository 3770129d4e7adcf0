#include "cli/schema_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "base/syscalls.h"
#include "cli/output.h"
#include "session/specs/spec_help.h"

#include "base/banned.h"

/* What is larger is no schema of jobrun. */
enum { MOST_BYTES = 16 << 20 };

/* What is where the schema is to be. */
enum schema_state {
    ABSENT,  /* nothing */
    CURRENT, /* this very schema */
    EARLIER, /* that of another build */
    FOREIGN, /* something else, or nothing that can be read */
};

static enum schema_state find_schema_state(const char *path,
                                           const struct jr_buf *schema)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_access(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT)
        return ABSENT;
    if (jr_io_read_file(&text, AT_FDCWD, path, MOST_BYTES, NULL) != 0)
        return FOREIGN;
    if (text.len == schema->len &&
        memcmp(text.data, schema->data, text.len) == 0)
        return CURRENT;
    return jr_spec_help_is_schema(text.data, text.len) ? EARLIER : FOREIGN;
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
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot write to %s: %s",
                          cli->output, strerror(errno));
    *slash = '\0';
    JR_CLOSE int folder =
        open(slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jr_io_replace(folder, slash + 1, schema->data, schema->len,
                      status.st_mode & 07777, &err) != 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    return 0;
}

int jr_schema_file_write(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf schema = JR_BUF_INIT;
    jr_spec_help_schema(&schema);
    if (schema.failed)
        return jr_cli_out(cli, &schema);
    switch (find_schema_state(cli->output, &schema)) {
    case ABSENT:
        return jr_cli_create(cli, cli->output, &schema);
    case EARLIER:
        return replace_schema(cli, &schema);
    case FOREIGN:
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "%s already exists and is no schema of jobrun: it "
                          "was not changed",
                          cli->output);
    case CURRENT:
        break;
    }
    return 0;
}

/* The schema's path: in the folder of the spec. */
static void add_schema_path(struct jr_buf *out, const char *spec)
{
    const char *slash = strrchr(spec, '/');
    if (slash != NULL)
        jr_buf_add(out, spec, (size_t)(slash - spec) + 1);
    jr_buf_str(out, jr_spec_help_schema_file());
}

/* An editor reads an old schema, or none: what to type. */
static int advise_to_renew(const struct jr_cli *cli, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
    jr_shell_quote(&word, path);
    return jr_cli_say(cli, 0,
                      "%s is of another build of jobrun; to replace it, type: "
                      "jobrun schema -o %s",
                      path, word.failed ? path : word.data);
}

int jr_schema_file_add(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf schema = JR_BUF_INIT, path = JR_BUF_INIT;
    jr_spec_help_schema(&schema);
    add_schema_path(&path, cli->output);
    if (schema.failed || path.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    int status = 0;
    switch (find_schema_state(path.data, &schema)) {
    case ABSENT:
        status = jr_cli_create(cli, path.data, &schema);
        if (status == 0)
            status = jr_cli_say(cli, 0, "wrote %s, by which editors check %s",
                                path.data, cli->output);
        break;
    case EARLIER:
        return advise_to_renew(cli, path.data);
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
