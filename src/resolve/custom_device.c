#include "resolve/custom_device.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/syscalls.h"
#include "host/ask.h"
#include "resolve/facts.h"

#include "base/banned.h"

enum { CANNOT_START = 127, WORDS_MOST = 4096 };

/* What is read, and where its mistakes are reported. */
struct reading {
    const struct jr_custom *custom;
    const char *name, *path; /* "acme.facts", and where it lies */
    struct jr_arena *arena;
    struct jr_diags *diags;
    int words_fd; /* what the program writes to standard error */
};

static struct jr_diag *refuse_custom_device(const struct reading *r, const char *why)
{
    return jr_diags_error(r->diags, JR_CODE_DEVICE_FACTS_UNREADABLE, r->custom->at, "device",
                          "%s %s", r->name, why);
}

/* The child reads nothing and prints facts; its other output is kept for the message. */
static int run_facts_program(void *data, int fd)
{
    const struct reading *r = data;
    char *const argv[] = {(char *)r->path, NULL};
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(r->words_fd, STDERR_FILENO) >= 0 &&
        dup2(fd, STDOUT_FILENO) >= 0 && chdir(r->custom->folder) == 0 &&
        jr_close_range(STDERR_FILENO + 1, ~0U, JR_CLOSE_RANGE_CLOEXEC) == 0)
        (void)execve(r->path, argv, r->custom->envp);
    (void)dprintf(r->words_fd, "%s\n", strerror(errno));
    return CANNOT_START;
}

/* The last line of its other output; NULL: there is none. */
static const char *last_words(const struct reading *r)
{
    char text[WORDS_MOST + 1] = "";
    off_t end = lseek(r->words_fd, 0, SEEK_END);
    off_t from = end > WORDS_MOST ? end - WORDS_MOST : 0;
    ssize_t len = pread(r->words_fd, text, WORDS_MOST, from);
    while (len > 0 && strchr("\n\r ", text[len - 1]) != NULL)
        text[--len] = '\0';
    const char *line = strrchr(text, '\n');
    return len <= 0 ? NULL : jr_arena_strdup(r->arena, line == NULL ? text : line + 1);
}

/* Its output, as a text to read. False after a complaint. */
static bool ask_facts_program(struct reading *r, struct jr_buf *out)
{
    const struct jr_ask ask = {run_facts_program, r, r->custom->limit_ms, JR_DOC_MAX_BYTES};
    JR_CLOSE int words = jr_memory_file("facts");
    r->words_fd = words;
    const char *why = jr_ask(out, r->arena, &ask);
    if (why == NULL)
        return true;
    struct jr_diag *diag = refuse_custom_device(r, why);
    const char *said = last_words(r);
    if (said != NULL)
        jr_diag_help(r->diags, diag, "its last output: %s", said);
    else
        jr_diag_help(r->diags, diag, "run it by hand: it must print facts and exit with 0");
    return false;
}

/* Others could have it run what they like. */
static bool is_program_trusted(const struct reading *r, const struct stat *st)
{
    const char *why = NULL, *help = "";
    if (!S_ISREG(st->st_mode))
        why = "is not a regular file", help = "put a program there";
    else if (access(r->path, X_OK) != 0)
        why = "is not executable", help = "chmod +x, or name it .facts.yaml if it is facts itself";
    else if ((st->st_mode & S_IWOTH) != 0)
        why = "is a program that everybody may write to", help = "chmod o-w";
    else if (st->st_uid != 0 && st->st_uid != geteuid())
        why = "is a program that belongs to another user", help = "copy it, or let root own it";
    if (why != NULL)
        jr_diag_help(r->diags, refuse_custom_device(r, why), "%s", help);
    return why == NULL;
}

/* Take over a document that was loaded, or not; `before` is how many errors there were until
 * then. */
static int take_facts_doc(const struct reading *r, struct jr_host *ret, int got, struct jr_doc *doc,
                          size_t before)
{
    const struct jr_node *root = doc->root;
    jr_arena_adopt(r->arena, &doc->arena);
    if (got == 0)
        got = jr_facts_custom(ret, r->arena, root, r->diags);
    return r->diags->errors == before ? got : -1; /* a key may stand twice */
}

static int read_program(struct reading *r, struct jr_host *ret, const struct stat *st)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    struct jr_doc doc;
    size_t before = r->diags->errors;
    if (!is_program_trusted(r, st) || !ask_facts_program(r, &out))
        return -1;
    const char *name = jr_arena_printf(r->arena, "output of %s", r->name);
    int got = jr_doc_load(&doc, name, out.len == 0 ? "" : out.data, out.len, r->diags);
    return take_facts_doc(r, ret, got, &doc, before);
}

static int read_facts_file(struct reading *r, struct jr_host *ret)
{
    struct jr_doc doc;
    size_t before = r->diags->errors;
    int got = jr_doc_load_file(&doc, r->path, r->diags);
    return take_facts_doc(r, ret, got, &doc, before);
}

static bool find_facts_source(struct reading *r, const char *suffix, struct stat *ret)
{
    const char *kind = strchr(r->custom->device, ':') + 1;
    r->name = jr_arena_printf(r->arena, "%s%s", kind, suffix);
    r->path = jr_arena_printf(r->arena, "%s/%s", r->custom->folder, r->name);
    return r->path != NULL && strchr(kind, '/') == NULL && stat(r->path, ret) == 0;
}

bool jr_custom_is(const char *device)
{
    static const char prefix[] = "custom:";
    return device != NULL && strncmp(device, prefix, sizeof prefix - 1) == 0;
}

enum jr_status jr_custom_read(struct jr_host *hw, struct jr_arena *arena,
                              const struct jr_custom *custom, struct jr_diags *diags)
{
    struct reading r = {.custom = custom, .arena = arena, .diags = diags};
    struct jr_host own = {0};
    struct stat file, program;
    size_t before = diags->errors;
    bool told = true;
    if (!jr_custom_is(custom->device))
        return JR_STATUS_OK;
    bool has_file = find_facts_source(&r, ".facts.yaml", &file);
    struct reading other = r;
    if (find_facts_source(&other, ".facts", &program)) {
        r = other;
        if (has_file)
            jr_diag_help(diags, refuse_custom_device(&r, "exists, and so does .facts.yaml"),
                         "remove one of the two");
        else
            (void)read_program(&r, &own, &program);
    } else if (has_file) {
        (void)read_facts_file(&r, &own);
    } else {
        told = false;
    }
    if (diags->errors != before)
        return JR_STATUS_UNRESOLVED;
    if (told && !arena->failed)
        jr_host_add_custom(hw, arena, &own, custom->envp);
    return arena->failed ? JR_STATUS_LAUNCH : JR_STATUS_OK;
}
