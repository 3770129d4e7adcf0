/*
 * Old sweeps, removed among the runs. show_sweep.h declares it.
 *
 * A sweep may be gone on with at any moment. So its journal is locked, as by who leads it, and
 * nothing may have been written there since the sweep was found to have ended. Then its folder gets
 * a name that is no sweep's, so that nobody finds half of one, and is emptied under that. What a
 * prune that was killed has left of it the next one removes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "record/record_folder.h"
#include "session/sweep/show_sweep.h"
#include "session/sweep/sweep_part.h"
#include "sweep/journal.h"

#include "base/banned.h"

#define REMOVED ".pruned-"

/* What is removed, and what is told of it. */
struct pruning {
    struct jr_pruned *pruned;
    struct jr_buf *out, *bad;
    int log_fd;
    bool dry;
    json_t *sizes; /* of the journals, by their sweeps, when we began */
};

static int open_log_entry(const struct pruning *pruning, const char *name)
{
    return openat(pruning->log_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Call `look` for each entry of LOG_DIR. */
static void each_log_entry(struct pruning *pruning,
                           void (*look)(struct pruning *pruning, const char *name))
{
    int again = open_log_entry(pruning, ".");
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        look(pruning, entry->d_name);
    if (entries != NULL)
        (void)closedir(entries);
}

/* The bytes of the journal in a folder; 0: it has none. */
static json_int_t journal_size(int fd)
{
    struct stat st;
    return fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (json_int_t)st.st_size : 0;
}

static void note_size(struct pruning *pruning, const char *name)
{
    JR_CLOSE int fd = open_log_entry(pruning, name);
    if (fd >= 0 && jr_sweep_is_folder(pruning->log_fd, name))
        jr_json_set_int(pruning->sizes, name, journal_size(fd));
}

static void fail_removal(const struct pruning *pruning, const char *id, const char *why)
{
    pruning->pruned->failed++;
    jr_buf_printf(pruning->bad, "jobrun: %s could not be removed: %s\n", id, why);
}

/* What a prune that was killed has left. */
static void remove_rest(struct pruning *pruning, const char *name)
{
    JR_CLOSE int fd =
        strncmp(name, REMOVED, strlen(REMOVED)) == 0 ? open_log_entry(pruning, name) : -1;
    struct jr_trust trust = jr_trust_run(pruning->log_fd, fd);
    if (fd < 0 || !jr_trust_is_ours(&trust))
        return;
    if (jr_prune_folder(pruning->pruned, pruning->log_fd, name) != 0)
        fail_removal(pruning, name, strerror(errno));
}

/* Whether something was written to the journal, but for the end of a line that was torn. */
static bool has_gone_on(const struct pruning *pruning, const char *id,
                        const struct jr_journal *journal)
{
    struct stat st;
    json_int_t before = jr_json_get_int(pruning->sizes, id);
    return fstat(journal->fd, &st) != 0 || st.st_size > before + 1;
}

/* Remove the folder of a sweep whose journal is locked. */
static void remove_sweep(const struct pruning *pruning, const char *id)
{
    char name[sizeof REMOVED + 160];
    (void)snprintf(name, sizeof name, REMOVED "%s-%d", id, (int)getpid());
    if (renameat(pruning->log_fd, id, pruning->log_fd, name) != 0) {
        fail_removal(pruning, id, strerror(errno));
        return;
    }
    pruning->pruned->removed++;
    jr_buf_printf(pruning->out, "%s\n", id);
    if (jr_prune_folder(pruning->pruned, pruning->log_fd, name) != 0)
        fail_removal(pruning, name, strerror(errno));
}

/* Remove a sweep that has ended, unless somebody goes on with it. */
static void prune_sweep(const struct pruning *pruning, const char *id)
{
    struct jr_journal journal = {.fd = -1};
    struct jr_error err = {0};
    pid_t holder = 0;
    JR_CLOSE int fd = open_log_entry(pruning, id);
    if (pruning->dry) {
        pruning->pruned->removed++;
        jr_buf_printf(pruning->out, "%s\n", id);
    } else if (fd < 0) {
        if (errno != ENOENT) /* or another prune has removed it */
            fail_removal(pruning, id, strerror(errno));
    } else if (jr_journal_open(&journal, fd, S_IRUSR | S_IWUSR, &holder, &err) != 0) {
        pruning->pruned->unfinished += holder != 0;
        if (holder == 0)
            fail_removal(pruning, id, err.text);
    } else if (has_gone_on(pruning, id, &journal)) {
        pruning->pruned->unfinished++;
    } else {
        remove_sweep(pruning, id);
    }
    jr_journal_close(&journal);
}

/* The same of what this host has of a sweep that another machine leads. */
static void prune_part(const struct pruning *pruning, const char *id)
{
    if (!pruning->dry && jr_sweep_part_remove(pruning->pruned, pruning->log_fd, id) != 0) {
        fail_removal(pruning, id, strerror(errno));
        return;
    }
    pruning->pruned->removed++;
    jr_buf_printf(pruning->out, "%s\n", id);
}

static void prune_row(const struct pruning *pruning, const char *id)
{
    if (jr_sweep_part_is(pruning->log_fd, id))
        prune_part(pruning, id);
    else
        prune_sweep(pruning, id);
}

/* Whether a row is one that stays, by its age. */
static bool is_young(const struct jr_record *record, const struct jr_prune_options *options)
{
    double limit = (double)jr_clock_wall_ns() / 1e9 - (double)options->older_ms / 1e3;
    return options->older_ms > 0 && record->started > limit;
}

void jr_sweeps_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                     const char *log_dir, struct jr_prune_options *options, char *const *envp)
{
    struct jr_records records = JR_RECORDS_INIT;
    struct jr_error err = {0};
    uint32_t rows = 0, runs = 0;
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret = (struct jr_pruned){0};
    if (log_fd < 0 || jr_records_list(&records, log_dir, &err) != 0)
        return;
    struct pruning pruning = {ret, out, bad, log_fd, options->dry, json_object()};
    each_log_entry(&pruning, note_size); /* before it is read how they stand */
    if (!options->dry)
        each_log_entry(&pruning, remove_rest);
    jr_sweeps_add(&records, log_dir, envp);
    for (size_t i = 0; i < records.count; i++) {
        const struct jr_record *record = &records.items[i];
        bool sweep = jr_sweep_is_folder(log_fd, record->id) || jr_sweep_part_is(log_fd, record->id);
        if (!jr_trust_is_ours(&record->trust) || !record->finished) {
            ret->unfinished += sweep && jr_trust_is_ours(&record->trust);
            ret->foreign += sweep && !jr_trust_is_ours(&record->trust);
            continue;
        }
        bool kept = rows++ < options->keep || is_young(record, options);
        runs += kept && !sweep;
        if (!sweep)
            continue;
        if (kept)
            ret->kept++;
        else
            prune_row(&pruning, record->id);
    }
    if (!options->dry && ret->removed > 0)
        jr_prune_latest(log_fd);
    if (options->keep > 0)
        options->keep = runs;
    json_decref(pruning.sizes);
    jr_records_release(&records);
}
