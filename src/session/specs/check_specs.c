#include "session/specs/check_specs.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/json.h"
#include "base/syscalls.h"
#include "diag/diag.h"
#include "doc/doc.h"
#include "resolve/device_profile.h"
#include "resolve/resolve.h"
#include "spec/field.h"
#include "spec/load.h"
#include "sweep/swept_spec.h"
#include "vcs/git.h"

#include "base/banned.h"

/* A folder that is looked through. */
struct search {
    struct jr_finds *finds;
    struct jr_arena *arena;
    bool guess;
    size_t root;            /* bytes of the path of the folder itself */
    struct jr_strv ignored; /* below it */
};

static struct jr_found_specs *add_found_path(struct jr_finds *finds, struct jr_arena *arena,
                                             const char *path, const char *why)
{
    struct jr_found_specs *found =
        jr_arena_push(arena, &finds->items, &finds->count, sizeof *found);
    if (found == NULL)
        return NULL;
    found->path = jr_arena_strdup(arena, path);
    found->why = jr_arena_strdup(arena, why);
    return found;
}

static int compare_fts_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t len = strlen(name), size = strlen(suffix);
    return len > size && strcmp(name + len - size, suffix) == 0;
}

bool jr_find_is_named(const char *name)
{
    return ends_with(name, ".jobrun.yaml") || ends_with(name, ".jobrun.yml");
}

/* The name by which others refer to a file: without the folder that is here. */
static const char *plain_name(const char *path)
{
    return strncmp(path, "./", 2) == 0 && path[2] != '\0' ? path + 2 : path;
}

/* What is left alone where specs are guessed: what is hidden, ignored by git, or of a run. */
static bool is_left_out(const struct search *search, const FTSENT *entry)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, record = JR_BUF_INIT;
    bool folder = entry->fts_info == FTS_D;
    const char *below = entry->fts_path + search->root;
    if (!search->guess || entry->fts_level == 0)
        return false;
    jr_buf_printf(&path, "%s%s", below + strspn(below, "/"), folder ? "/" : "");
    jr_buf_printf(&record, "%s/run.json", entry->fts_path);
    return entry->fts_name[0] == '.' ||
           (!path.failed && jr_git_is_ignored(&search->ignored, path.data)) ||
           (folder && !record.failed && access(record.data, F_OK) == 0);
}

static void look_at_file(const struct search *search, const FTSENT *entry)
{
    const char *path = plain_name(entry->fts_path);
    if (jr_find_is_named(entry->fts_name)) {
        (void)add_found_path(search->finds, search->arena, path, NULL);
        return;
    }
    if (!search->guess ||
        !(ends_with(entry->fts_name, ".yaml") || ends_with(entry->fts_name, ".yml")))
        return;
    /* A file that is too large for a spec, or cannot be read, is none. */
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_io_read_file(&text, AT_FDCWD, entry->fts_path, JR_DOC_MAX_BYTES, NULL) != 0 ||
        text.data == NULL || text.failed || !jr_find_reads_like_spec(text.data)) {
        search->finds->passed++;
        return;
    }
    struct jr_found_specs *found = add_found_path(search->finds, search->arena, path, NULL);
    if (found != NULL)
        found->guessed = true;
}

static void find_below(const struct search *search, char *folder)
{
    char *roots[] = {folder, NULL};
    struct jr_finds *finds = search->finds;
    size_t before = finds->count;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_fts_names);
    if (tree == NULL) {
        (void)add_found_path(finds, search->arena, folder, strerror(errno));
        return;
    }
    for (FTSENT *entry; (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info != FTS_DP && is_left_out(search, entry))
            (void)fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F)
            look_at_file(search, entry);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                 entry->fts_info == FTS_NS) /* not known whether it is a spec */
            (void)add_found_path(finds, search->arena, plain_name(entry->fts_path),
                                 strerror(entry->fts_errno));
    }
    if (errno != 0)
        (void)add_found_path(finds, search->arena, folder, strerror(errno));
    (void)fts_close(tree);
    if (finds->count == before)
        (void)add_found_path(finds, search->arena, folder,
                             search->guess
                                 ? "it has no *.jobrun.yaml below it, nor another YAML file "
                                   "with `version` and another field of a spec"
                                 : "it has no *.jobrun.yaml below it");
}

void jr_find_specs(struct jr_finds *ret, struct jr_arena *arena, char *const *words, int count,
                   char *const *envp)
{
    *ret = (struct jr_finds){0};
    for (int i = 0; i < count && !arena->failed; i++) {
        struct stat st;
        struct search search = {
            .finds = ret, .arena = arena, .guess = envp != NULL, .root = strlen(words[i])};
        if (stat(words[i], &st) != 0 || !S_ISDIR(st.st_mode)) {
            (void)add_found_path(ret, arena, words[i], NULL);
            continue;
        }
        if (envp != NULL)
            search.ignored = jr_git_ignored(arena, words[i], envp);
        find_below(&search, words[i]);
    }
}

/* What a YAML file is, by the keys of its top level. It may be broken, and is to be checked just
 * the same: so it is not parsed. */

enum { LONGEST = 64, FIELDS = 128 };

/* Copy the key that a line begins with; false where it begins with none. Quotes are taken off. */
static bool take_key(char ret[static LONGEST], const char *line)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-";
    char quote = *line == '"' || *line == '\'' ? *line : '\0';
    const char *key = line + (quote != '\0');
    size_t len = strspn(key, letters);
    const char *end = key + len;
    if (len == 0 || len >= LONGEST || (quote != '\0' && *end++ != quote))
        return false;
    end += strspn(end, " \t");
    (void)memcpy(ret, key, len);
    ret[len] = '\0';
    return *end == ':';
}

/* Note the key that a line begins with: `version`, or one that is, or was meant to be, another
 * field of the spec. */
static void look_at_line(const char *line, bool *version, bool *field)
{
    char key[LONGEST];
    const char *names[FIELDS + 1];
    size_t count = 0;
    if (!take_key(key, line))
        return;
    bool own = strcmp(key, "version") == 0;
    const struct jr_spec_field *row = jr_field_root()->fields;
    for (; row->key != NULL && count < FIELDS; row++)
        if (strcmp(row->key, "version") != 0)
            names[count++] = row->key;
    names[count] = NULL;
    *version |= own;
    *field |= !own && jr_did_you_mean(key, names) != NULL;
}

bool jr_find_reads_like_spec(const char *text)
{
    bool version = false, field = false;
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (bool begun = false; *text != '\0'; text += *text == '\n') {
        bool mark = strncmp(text, "---", 3) == 0;
        int depth = 0;
        if (mark && begun)
            break;
        /* The keys of {version: 1, ...}: those after a brace or a comma that is in no other
         * bracket. */
        for (const char *at = text; *text == '{' && !begun && *at != '\0'; at++) {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            if (depth <= 0)
                break;
            if (depth == 1 && (*at == '{' || *at == ','))
                look_at_line(at + 1 + strspn(at + 1, " \t\r\n"), &version, &field);
        }
        look_at_line(text, &version, &field);
        begun = begun || (!mark && strchr("#%\r\n", *text) == NULL);
        text += strcspn(text, "\n");
    }
    return version && field;
}

/* A fix may uncover others: none that is known takes more passes. */
enum { MOST_PASSES = 10 };

/* A text that is being fixed. */
struct fixing {
    const struct jr_check_options *options;
    const char *name, *folder; /* of the text */
    struct jr_buf *text;       /* as far as it is fixed */
    struct jr_buf *told;       /* a line for each fix */
};

/* Make the fixes of one reading, unless they would spoil the text, so that it is no YAML: then they
 * were not that sure. `doc` was read from the text. Returns whether there were any. */
static bool make_fixes(struct fixing *fixing, const struct jr_doc *doc,
                       const struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf out = JR_BUF_INIT;
    /* The byte order mark is before the source's text. */
    size_t count = 0, mark = fixing->text->len - doc->source->len;
    struct jr_edit *edits = jr_fix_choose(&arena, doc->source, diags, &count);
    bool made = edits != NULL;
    if (made) {
        struct jr_diags none = JR_DIAGS_INIT;
        struct jr_doc again = JR_DOC_INIT;
        jr_buf_add(&out, fixing->text->data, mark);
        jr_fix_apply(&out, doc->source, edits, count);
        made = !out.failed && (doc->root == NULL ||
                               jr_doc_load(&again, fixing->name, out.data, out.len, &none) == 0);
        fixing->told->failed |= out.failed;
        jr_diags_release(&none);
        jr_doc_release(&again);
    }
    for (size_t i = 0; made && i < count; i++)
        jr_fix_tell(fixing->told, &edits[i]);
    if (made) {
        jr_buf_release(fixing->text);
        *fixing->text = out;
    } else {
        jr_buf_release(&out);
    }
    jr_arena_release(&arena);
    return made;
}

/* The fixes of what checking finds. */
static bool fix_findings(struct fixing *fixing)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    bool fixed = false;
    const struct jr_spec_options options = jr_check_reading(fixing->options);
    const struct jr_spec_source source = {
        .name = fixing->name,
        .folder = fixing->folder,
        .text = fixing->text->data,
        .len = fixing->text->len,
    };
    (void)jr_spec_load(&file, &source, &options, &diags);
    if (file != NULL && jr_spec_doc(file)->source != NULL)
        fixed = make_fixes(fixing, jr_spec_doc(file), &diags);
    jr_diags_release(&diags);
    jr_spec_free(file);
    return fixed;
}

/* Returns whether the text is another one now. */
static bool fix_text(struct fixing *fixing)
{
    int passes = 0;
    while (passes < MOST_PASSES && fix_findings(fixing))
        passes++;
    return passes > 0;
}

/* Replace the file, of which `path` is the real one, unless it is no longer the one that was
 * read. */
static int replace_fixed_file(const char *path, const struct stat *as_read,
                              const struct jr_buf *text, struct jr_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    JR_FREE char *folder = strndup(path, (size_t)(name - path));
    struct stat now;
    if (folder == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    JR_CLOSE int dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 || fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "it no longer exists");
    if (as_read->st_dev != now.st_dev || as_read->st_ino != now.st_ino ||
        as_read->st_size != now.st_size || as_read->st_mtim.tv_sec != now.st_mtim.tv_sec ||
        as_read->st_mtim.tv_nsec != now.st_mtim.tv_nsec)
        return jr_error_set(err, JR_STATUS_LAUNCH, "it has changed since it was read");
    if (jr_access(dir_fd, name, W_OK, AT_EACCESS) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "it cannot be written");
    if (jr_io_replace(dir_fd, name, text->data, text->len, as_read->st_mode & 07777, err) != 0)
        return -1;
    /* The new file is ours; only root can give it back. */
    if (as_read->st_uid != geteuid() || as_read->st_gid != getegid())
        (void)!fchownat(dir_fd, name, as_read->st_uid, as_read->st_gid, AT_SYMLINK_NOFOLLOW);
    return 0;
}

int jr_fix_file(struct jr_buf *told, const char *path, const struct jr_check_options *options,
                struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, fixes = JR_BUF_INIT;
    JR_FREE char *real = realpath(path, NULL);
    struct stat as_read;
    if (real == NULL || stat(real, &as_read) != 0 ||
        jr_io_read_file(&text, AT_FDCWD, real, JR_DOC_MAX_BYTES, NULL) != 0)
        return 0;
    JR_FREE char *folder = jr_spec_folder(path);
    struct fixing fixing = {
        .options = options, .name = path, .folder = folder, .text = &text, .told = &fixes};
    if (folder == NULL || !fix_text(&fixing))
        return 0;
    if (text.failed || fixes.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (replace_fixed_file(real, &as_read, &text, err) != 0)
        return -1;
    jr_buf_add(told, fixes.data, fixes.len);
    return 0;
}

int jr_fix_input(struct jr_buf *ret, struct jr_buf *told, int fd,
                 const struct jr_check_options *options, struct jr_error *err)
{
    JR_FREE char *folder = jr_spec_folder("-");
    struct fixing fixing = {
        .options = options, .name = "stdin", .folder = folder, .text = ret, .told = told};
    if (jr_io_read_fd(ret, fd, JR_DOC_MAX_BYTES, err) != 0)
        return -1;
    if (folder != NULL)
        (void)fix_text(&fixing);
    return 0;
}

/* A spec that is several: every cell of it. */

/* What is done with a cell that is valid in itself. */
typedef enum jr_status cell_checker(struct jr_spec_checks *checks, struct jr_spec_file *cell,
                                    struct jr_diags *diags);

/* So many different findings are kept, each with the cell that it quotes. */
enum { MOST_FINDINGS = 500 };

/* A finding, and the cells that have it. */
struct shared {
    const struct jr_diag *diag;
    size_t first, cells, last; /* `last`: the one that was counted last, + 1 */
};

/* The list of findings of one cell, which others have, too. */
struct kept {
    struct jr_diags diags;
    struct jr_spec_file *file;
};

struct checking {
    struct jr_spec_checks *checks;
    struct jr_swept_spec *swept;
    struct shared *items;
    size_t count;
    struct kept *kept; /* that findings are in */
    size_t kept_count;
    struct jr_shared_files files;
    json_t *places; /* of findings in `items`, by what they say */
    enum jr_status status;
};

/* The lower of two, OK aside: which verdict counts for several. */
static enum jr_status worse_status(enum jr_status a, enum jr_status b)
{
    if (a == JR_STATUS_OK || b == JR_STATUS_OK)
        return a == JR_STATUS_OK ? b : a;
    return a < b ? a : b;
}

/* Count a finding of a cell. Returns whether it is a new one, which is kept. */
static bool count_finding(struct checking *checking, size_t cell, const struct jr_diag *diag)
{
    struct jr_arena *arena = &checking->checks->arena;
    struct jr_buf key JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_source *source = diag->span.source; /* the same as that of another cell: */
    jr_buf_printf(&key, "%s %u:%u ", diag->code, diag->span.line, diag->span.column);
    jr_buf_safe(&key, source == NULL ? "" : source->name);
    jr_buf_safe(&key, diag->message);
    if (key.failed || key.data == NULL) {
        arena->failed = true;
        return false;
    }
    const json_t *place = json_object_get(checking->places, key.data);
    if (place != NULL) {
        struct shared *same = &checking->items[json_integer_value(place)];
        same->cells += same->last != cell + 1;
        same->last = cell + 1;
        return false;
    }
    if (checking->count == MOST_FINDINGS)
        return false;
    (void)json_object_set_new(checking->places, key.data,
                              json_integer((json_int_t)checking->count));
    struct shared *item = jr_arena_push(arena, &checking->items, &checking->count, sizeof *item);
    if (item == NULL)
        return false;
    *item = (struct shared){diag, cell, 1, cell + 1};
    return true;
}

static void keep_findings(struct checking *checking, size_t cell, struct jr_diags *diags,
                          struct jr_spec_file *file)
{
    bool kept = false;
    for (size_t i = 0; i < diags->count; i++)
        kept |= count_finding(checking, cell, &diags->items[i]);
    struct kept *slot = NULL;
    if (kept)
        slot = jr_arena_push(&checking->checks->arena, &checking->kept, &checking->kept_count,
                             sizeof *slot);
    if (slot != NULL) {
        *slot = (struct kept){*diags, file};
        return;
    }
    jr_diags_release(diags);
    jr_spec_free(file);
}

static void check_cell(struct checking *checking, size_t cell, cell_checker *check)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    enum jr_status status = JR_STATUS_INVALID;
    if (jr_swept_spec_load(&file, checking->swept, cell, &diags) == 0 &&
        jr_shared_files_add(&checking->files, file, cell, &diags) == 0)
        status = check(checking->checks, file, &diags);
    checking->status = worse_status(checking->status, status);
    keep_findings(checking, cell, &diags, file);
}

static void check_chosen_cell(struct checking *checking, cell_checker *check)
{
    struct jr_spec_checks *checks = checking->checks;
    struct jr_error why = {0};
    size_t cell;
    if (jr_cells_choose(&cell, &checking->swept->cells, checks->options.cell, &why) == 0) {
        check_cell(checking, cell, check);
        return;
    }
    (void)jr_diags_error(&checks->diags, JR_CODE_WRONG_CELLS, checking->swept->axes.at, NULL,
                         "--cell %s: %s", checks->options.cell, why.text);
    checking->status = why.status;
}

/* Tell a finding, and which cells have it. */
static void tell_finding(struct checking *checking, const struct shared *item)
{
    struct jr_buf more JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cells *cells = &checking->swept->cells;
    if (item->cells < cells->count && checking->checks->options.cell == NULL) {
        jr_buf_printf(&more, " (cell %zu: ", item->first);
        jr_cells_text(&more, cells, item->first);
        if (item->cells > 1)
            jr_buf_printf(&more, ", and %zu more", item->cells - 1);
        jr_buf_char(&more, ')');
    }
    jr_diags_copy(&checking->checks->diags, item->diag,
                  more.failed || more.data == NULL ? "" : more.data);
}

/* The texts that findings quote live as long as the checks. */
static void release_checking(struct checking *checking)
{
    struct jr_spec_checks *checks = checking->checks;
    for (size_t i = 0; i < checking->kept_count; i++) {
        struct jr_spec_file **slot = jr_arena_push(
            &checks->arena, &checks->specs, &checks->specs_count, sizeof(struct jr_spec_file *));
        if (slot != NULL)
            *slot = checking->kept[i].file;
        jr_diags_release(&checking->kept[i].diags);
    }
    json_decref(checking->places);
    jr_shared_files_release(&checking->files);
}

/* Load every cell of the sweep that `file` is, which is taken over, and have
 * `check` look at those that are valid. What is wrong with all of them is told
 * once; what is wrong with some names the first, and how many there are. The
 * lowest status, OK aside. */
static enum jr_status check_every_cell(struct jr_spec_checks *checks, struct jr_spec_file *file,
                                       const struct jr_swept_words *words, cell_checker *check)
{
    struct jr_swept_spec **slot = jr_arena_push(
        &checks->arena, &checks->swept, &checks->swept_count, sizeof(struct jr_swept_spec *));
    struct jr_swept_spec *swept = slot == NULL ? NULL : calloc(1, sizeof *swept);
    if (swept == NULL) {
        jr_spec_free(file);
        return JR_STATUS_LAUNCH;
    }
    *slot = swept;
    struct checking checking = {.checks = checks, .swept = swept, .places = json_object()};
    jr_shared_files_init(&checking.files);
    if (jr_swept_spec_open(swept, file, words, &checks->diags) != 0)
        checking.status = JR_STATUS_INVALID;
    else if (checks->options.cell != NULL)
        check_chosen_cell(&checking, check);
    else
        for (size_t i = 0; i < swept->cells.count; i++)
            check_cell(&checking, i, check);
    for (size_t i = 0; i < checking.count; i++)
        tell_finding(&checking, &checking.items[i]);
    release_checking(&checking);
    return checks->arena.failed ? JR_STATUS_LAUNCH : checking.status;
}

struct jr_spec_options jr_check_reading(const struct jr_check_options *options)
{
    return (struct jr_spec_options){
        .sets = options->sets,
        .root = options->root,
        .environ = options->environ,
        .allow_env = options->allow_env,
        .validate = true,
        .strict = options->strict,
        .unbound = true,
    };
}

/* A target as a spec states it. */
struct target {
    const char *profile, *path;
    const char *written; /* the source, where ${...} had a part; or NULL */
    struct jr_span at;
};

/* Resolve the spec on a machine. `name` is told, `at` is where the spec names it (line 0: it does
 * not). Returns what jr_resolve does. */
static enum jr_status try_target(const struct jr_spec_file *file, const struct jr_host *host,
                                 const char *name, struct jr_span at, struct jr_diags *diags)
{
    struct jr_resolution resolution = JR_RESOLUTION_INIT;
    const struct jr_resolve_options options = {.target = name, .target_at = at};
    enum jr_status status = jr_resolve(&resolution, file, host, &options, diags);
    jr_resolution_release(&resolution);
    return status;
}

/* The machine of a target. Mistakes in one that contains ${...} are reported with the text of the
 * source. */
static int load_target(struct jr_host *ret, struct jr_arena *arena, const struct target *target,
                       struct jr_diags *diags)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    if (target->written == NULL)
        return jr_profile_load_target(ret, arena, target->profile, target->at, diags);
    int status = jr_profile_load_target(ret, arena, target->profile, target->at, &silent);
    if (status != 0)
        (void)jr_diags_error(diags, JR_CODE_WRONG_MACHINE_PROFILE, target->at, target->path,
                             "'%s' is not a machine after substitution: '%s'", target->path,
                             target->written);
    jr_diags_release(&silent);
    return status;
}

/* Resolve the spec on each of its own targets, whose facts are read into
 * `arena` (their texts are quoted by findings). A contradiction of the spec
 * itself ends the resolving, as no machine can mend it; profiles that cannot be
 * read are all told. Returns the lowest of what the targets got, OK aside. */
static enum jr_status try_targets(const struct jr_spec_file *file, struct jr_arena *arena,
                                  struct jr_diags *diags)
{
    const struct jr_spec *spec = jr_spec_get(file);
    enum jr_status worst = JR_STATUS_OK, status = JR_STATUS_OK;
    JR_FREE char *here = spec->targets_count > 0 ? getcwd(NULL, 0) : NULL;
    for (uint32_t i = 0; i < spec->targets_count; i++) {
        struct target target = {
            .profile = spec->targets[i],
            .path = jr_arena_printf(arena, "targets[%u]", i),
        };
        struct jr_host host;
        if (target.path == NULL)
            return JR_STATUS_LAUNCH;
        target.written = jr_spec_written(file, arena, target.path);
        target.at = jr_spec_where(file, target.path);
        /* A path as it is seen from the folder `here`; a shorthand is its own name. */
        size_t len = here == NULL ? 0 : strlen(here);
        bool below =
            len > 0 && strncmp(target.profile, here, len) == 0 && target.profile[len] == '/';
        const char *name =
            target.written != NULL ? target.written : target.profile + (below ? len + 1 : 0);
        if (load_target(&host, arena, &target, diags) != 0)
            worst = JR_STATUS_INVALID;
        else if (status != JR_STATUS_INVALID)
            status = try_target(file, &host, name, target.at, diags);
        worst = worse_status(worst, status);
    }
    return worst;
}

/* Start a file; the findings until `end_file` are its own. */
static bool begin_file(struct jr_spec_checks *checks, const char *name)
{
    struct jr_checked *file =
        jr_arena_push(&checks->arena, &checks->files, &checks->files_count, sizeof *file);
    if (file == NULL)
        return false;
    file->name = jr_arena_strdup(&checks->arena, name);
    file->first = checks->diags.count;
    file->errors = checks->diags.errors;
    file->warnings = checks->diags.warnings;
    return file->name != NULL;
}

/* Findings that others have, too, in a file that several extend, are reported once. Returns whether
 * nothing is to be reported about this one. */
static bool end_file(struct jr_spec_checks *checks, enum jr_status status)
{
    struct jr_checked *file = &checks->files[checks->files_count - 1];
    file->errors = checks->diags.errors - file->errors;
    file->warnings = checks->diags.warnings - file->warnings;
    file->folded = jr_diags_fold(&checks->diags, file->first);
    file->count = checks->diags.count - file->first;
    jr_diags_sort_from(&checks->diags, file->first);
    if (checks->options.strict && file->warnings > 0)
        status = JR_STATUS_INVALID;
    checks->status = worse_status(checks->status, status);
    return file->errors + file->warnings == file->folded;
}

/* Hold a spec that is valid in itself against the machines, if there are any:
 * a template is for none. Only that takes its values. */
static enum jr_status check_targets(struct jr_spec_checks *checks, struct jr_spec_file *spec,
                                    struct jr_diags *diags)
{
    const struct jr_span nowhere = {0};
    enum jr_status status = JR_STATUS_OK;
    if (checks->options.on == NULL && jr_doc_get(jr_spec_tree(spec), "targets") == NULL)
        return JR_STATUS_OK;
    if (jr_spec_bind(spec, diags) != 0)
        return JR_STATUS_LAUNCH;
    if (jr_spec_get(spec) == NULL)
        return JR_STATUS_OK;
    if (checks->options.on != NULL)
        status = try_target(spec, checks->machine, checks->options.on, nowhere, diags);
    if (status == JR_STATUS_INVALID)
        return status;
    return worse_status(status, try_targets(spec, &checks->arena, diags));
}

/* Load a spec, or each of its cells, and check it. *ret quotes findings. */
static enum jr_status check_spec(struct jr_spec_checks *checks, struct jr_spec_file **ret,
                                 const char *path)
{
    JR_FREE char *folder = NULL;
    struct jr_spec_source source = {.path = path};
    if (strcmp(path, "-") == 0 && checks->input.data != NULL) { /* it was read before */
        folder = jr_spec_folder(path);
        checks->arena.failed |= folder == NULL;
        source = (struct jr_spec_source){.name = "stdin",
                                         .folder = folder,
                                         .text = checks->input.data,
                                         .len = checks->input.len};
    }
    struct jr_spec_options options = jr_check_reading(&checks->options);
    char *const *sweeps = checks->options.sweeps;
    options.sweeps = true;
    options.swept = sweeps != NULL && sweeps[0] != NULL;
    if (checks->arena.failed || jr_spec_load(ret, &source, &options, &checks->diags) != 0)
        return JR_STATUS_INVALID;
    if (!jr_spec_sweeps(*ret))
        return check_targets(checks, *ret, &checks->diags);
    const struct jr_swept_words words = {&source, &options, sweeps};
    struct jr_spec_file *file = *ret;
    *ret = NULL;
    return check_every_cell(checks, file, &words, check_targets);
}

static void check_file(struct jr_spec_checks *checks, const char *path)
{
    size_t place = checks->specs_count;
    struct jr_spec_file *spec = NULL;
    if (jr_arena_push(&checks->arena, &checks->specs, &checks->specs_count,
                      sizeof(struct jr_spec_file *)) == NULL ||
        !begin_file(checks, strcmp(path, "-") == 0 ? "stdin" : path))
        return;
    enum jr_status status = check_spec(checks, &spec, path);
    checks->specs[place] = spec;
    if (end_file(checks, status)) { /* then nobody quotes it */
        jr_spec_free(spec);
        checks->specs[place] = NULL;
    }
}

void jr_spec_checks_run(struct jr_spec_checks *checks)
{
    for (size_t i = 0; i < checks->finds.count; i++) {
        const struct jr_found_specs *found = &checks->finds.items[i];
        if (found->why == NULL) {
            check_file(checks, found->path);
            continue;
        }
        /* What cannot be looked at is a finding like any other. */
        struct jr_source *source = jr_arena_alloc(&checks->arena, sizeof *source);
        if (source == NULL || !begin_file(checks, found->path))
            continue;
        source->name = checks->files[checks->files_count - 1].name;
        (void)jr_diags_error(&checks->diags, JR_CODE_FILE_UNREADABLE,
                             (struct jr_span){.source = source}, NULL, "cannot check it: %s",
                             found->why);
        (void)end_file(checks, JR_STATUS_INVALID);
    }
}

enum jr_status jr_spec_checks_open(struct jr_spec_checks *ret,
                                   const struct jr_check_options *options)
{
    *ret = (struct jr_spec_checks){.options = *options};
    if (options->on == NULL)
        return JR_STATUS_OK;
    ret->machine = jr_arena_alloc(&ret->arena, sizeof *ret->machine);
    if (ret->machine == NULL)
        return JR_STATUS_LAUNCH;
    if (jr_profile_load(ret->machine, &ret->arena, options->on, &ret->diags) == 0)
        return JR_STATUS_OK;
    return jr_profile_status(&ret->diags, 0);
}

void jr_spec_checks_release(struct jr_spec_checks *checks)
{
    jr_diags_release(&checks->diags);
    for (size_t i = 0; i < checks->specs_count; i++)
        jr_spec_free(checks->specs[i]);
    for (size_t i = 0; i < checks->swept_count; i++) {
        jr_swept_spec_close(checks->swept[i]);
        free(checks->swept[i]);
    }
    jr_arena_release(&checks->arena);
    jr_buf_release(&checks->input);
}
