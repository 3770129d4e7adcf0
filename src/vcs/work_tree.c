#include "vcs/work_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "vcs/git.h"

#include "base/banned.h"

enum { MOST_FILTERS = 64 };

struct jr_git_command jr_work_tree_command(const struct jr_work_tree *tree, const char *folder,
                                           const char *const *words,
                                           const struct jr_work_look *look)
{
    return (struct jr_git_command){
        .folder = folder,
        .words = words,
        .settings = (const char *const *)tree->settings.items,
        .envp = look->envp,
    };
}

/* Keep what a process answers. */
static int keep_answer(struct jr_buf *answer, struct jr_task *process,
                       const struct jr_work_look *look, struct jr_error *err)
{
    const struct jr_task_sink sink = {jr_git_keep, answer};
    return jr_git_end(process, &sink, &look->limit, err);
}

/* git does not read the repository of somebody else (git-config(1):
 * safe.directory). */
static int report_refusal(const char *top, struct jr_error *err)
{
    struct stat st;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_error why = *err;
    if (err->sys == 0 && stat(top, &st) == 0 && st.st_uid != geteuid()) {
        const char *owner = jr_user_name(&arena, st.st_uid);
        (void)jr_error_set(err, JR_STATUS_LAUNCH,
                           "the repository %s belongs to %s, and git does not trust it (git "
                           "config --global --add safe.directory %s)",
                           top, owner == NULL ? "another user" : owner, top);
    } else {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s: %s", top, why.text);
        err->sys = why.sys;
    }
    jr_arena_release(&arena);
    return -1;
}

/* The next line of an answer. NULL: there is none. */
static char *take_answer_line(struct jr_buf *answer, size_t *at)
{
    if (*at >= answer->len)
        return NULL;
    char *line = answer->data + *at;
    char *end = strchr(line, '\n');
    if (end == NULL)
        return NULL;
    *end = '\0';
    *at += (size_t)(end - line) + 1;
    return line;
}

/* git says where its files are from the folder that it was asked in. */
static const char *absolute_path(struct jr_work_tree *tree, const char *folder, const char *path)
{
    if (path == NULL || path[0] == '/')
        return jr_arena_strdup(&tree->arena, path);
    return jr_arena_printf(&tree->arena, "%s/%s", folder, path);
}

/* Where the tree, its index and its objects are. A repository may say that its files lie elsewhere
 * (core.worktree): these are not those that run. */
static int take_places(struct jr_work_tree *tree, const char *folder, struct jr_buf *answer,
                       struct jr_error *err)
{
    size_t at = 0;
    char *top = take_answer_line(answer, &at);
    size_t len = top == NULL ? 0 : strlen(top);
    if (len == 0 || strncmp(folder, top, len) != 0 || (folder[len] != '/' && folder[len] != '\0'))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the repository of %s says that its files are in %s (core.worktree)",
                            folder, len == 0 ? "no folder" : top);
    tree->top = jr_arena_strdup(&tree->arena, top);
    tree->index = absolute_path(tree, folder, take_answer_line(answer, &at));
    tree->objects = absolute_path(tree, folder, take_answer_line(answer, &at));
    const char *format = take_answer_line(answer, &at);
    tree->sha256 = format != NULL && strcmp(format, "sha256") == 0;
    if (tree->index == NULL || tree->objects == NULL || tree->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s: git does not say where its objects are",
                            top);
    return 0;
}

/* "filter.NAME.clean": take the NAME out of the way. */
static int switch_filter_off(struct jr_work_tree *tree, const char *key, struct jr_error *err)
{
    static const char *const off[] = {"clean=", "process=", "required=false"};
    const char *dot = strrchr(key, '.');
    int len = (int)(dot - key);
    if (memchr(key, '=', (size_t)len) != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the filter '%.*s' of git's configuration has a "
                            "name that cannot be switched off",
                            len, key);
    if (tree->settings.count > (size_t)3 * MOST_FILTERS)
        return jr_error_set(err, JR_STATUS_LAUNCH, "git's configuration has more than %d filters",
                            MOST_FILTERS);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        jr_strv_push(&tree->settings, &tree->arena,
                     jr_arena_printf(&tree->arena, "%.*s.%s", len, key, off[i]));
    return tree->arena.failed ? jr_git_report_memory(err) : 0;
}

/* Filters are programs that git runs when it reads a file whose attributes name them
 * (gitattributes(5)); the files count as they lie. */
static int take_filters(struct jr_work_tree *tree, const struct jr_buf *answer,
                        struct jr_error *err)
{
    static const char start[] = "filter.";
    for (size_t at = 0; at < answer->len; at += strlen(answer->data + at) + 1) {
        const char *key = answer->data + at;
        const char *dot = strrchr(key, '.');
        if (strncmp(key, start, sizeof start - 1) == 0 && dot != NULL &&
            dot > key + sizeof start - 2 && switch_filter_off(tree, key, err) != 0)
            return -1;
    }
    return 0;
}

/* Both are asked at the same time: each takes as long as git takes to begin. */
static int ask_twice(struct jr_work_tree *tree, const char *folder, const struct jr_work_look *look,
                     struct jr_error *err)
{
    static const char *const where[] = {
        "rev-parse",  "--show-toplevel", "--git-path",           "index",
        "--git-path", "objects",         "--show-object-format", NULL};
    static const char *const what[] = {"config", "-z", "--name-only", "--list", NULL};
    JR_BUF_CLEANUP struct jr_buf places = JR_BUF_INIT, keys = JR_BUF_INIT;
    const struct jr_git_command first = jr_work_tree_command(tree, folder, where, look);
    const struct jr_git_command second = jr_work_tree_command(tree, folder, what, look);
    struct jr_task asked[2] = {JR_TASK_NONE, JR_TASK_NONE};
    JR_FREE char *around = jr_io_find_above(folder, ".git");
    int failed = jr_git_begin(&asked[0], &first, NULL, err);
    if (failed == 0)
        failed = jr_git_begin(&asked[1], &second, NULL, err);
    if (failed == 0)
        failed = keep_answer(&places, &asked[0], look, err);
    if (failed != 0)
        failed = report_refusal(around == NULL ? folder : around, err);
    else
        failed = take_places(tree, folder, &places, err);
    if (failed == 0)
        failed = keep_answer(&keys, &asked[1], look, err);
    if (failed == 0)
        failed = take_filters(tree, &keys, err);
    jr_task_cancel(&asked[0]);
    jr_task_cancel(&asked[1]);
    return failed;
}

int jr_work_tree_open(struct jr_work_tree *ret, const char *folder, const struct jr_work_look *look,
                      struct jr_error *err)
{
    /* What is compared is all that a file's state says; a text is what it is; the index is one
     * file; and what is written is short-lived. */
    static const char *const own[] = {"core.trustctime=true", "core.checkStat=default",
                                      "core.safecrlf=false",  "core.splitIndex=false",
                                      "core.compression=0",   "core.bigFileThreshold=16m",
                                      "index.skipHash=true",  NULL};
    *ret = (struct jr_work_tree){.status = JR_TASK_NONE};
    for (size_t i = 0; own[i] != NULL; i++)
        jr_strv_push(&ret->settings, &ret->arena, jr_arena_strdup(&ret->arena, own[i]));
    if (ret->arena.failed)
        return jr_git_report_memory(err);
    return ask_twice(ret, folder, look, err);
}

void jr_work_tree_release(struct jr_work_tree *tree)
{
    jr_task_cancel(&tree->status);
    jr_buf_release(&tree->tracked);
    jr_arena_release(&tree->arena);
}
