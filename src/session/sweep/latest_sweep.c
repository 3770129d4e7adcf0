#include "session/sweep/latest_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "session/stages.h"
#include "session/sweep/load_sweep.h"
#include "session/sweep/sweep_run_parts.h"

#include "base/banned.h"

enum { MOST_BYTES = 256 << 20 };

/* A sweep that comes into question. */
struct candidate {
    char id[128];
    uint64_t written_ns; /* its journal; wall time */
    bool submitted;
};

/* The sweeps of a spec. */
struct candidates {
    const char *spec;             /* its file; NULL: it has none */
    struct candidate last, named; /* that was written to last, and that has the
                                     link; without an id: none */
    size_t count;
};

json_t *jr_read_sweep_file(int dir_fd)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_io_read_file(&text, dir_fd, JR_SWEEP_FILE, MOST_BYTES, NULL) != 0 || text.data == NULL)
        return NULL;
    return jr_json_parse(text.data, text.len, NULL);
}

/* Read an entry of the log_dir. False: it is no sweep of ours and of the spec.
 */
static bool read_candidate(struct candidate *ret, int log_fd, const char *name, const char *spec)
{
    struct stat st;
    const char *job;
    JR_CLOSE int fd = openat(log_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstat(fd, &st) != 0 || st.st_uid != geteuid())
        return false;
    json_t *sweep = jr_read_sweep_file(fd);
    const char *own = jr_json_get_str(sweep, "spec");
    bool same = spec == NULL ? own == NULL && sweep != NULL : own != NULL && strcmp(own, spec) == 0;
    ret->submitted = jr_sweep_is_submitted(sweep, &job);
    json_decref(sweep);
    if (fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    ret->written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    (void)stpcpy(ret->id, name); /* 127 at most */
    return same;
}

/* What the link is to; "": there is none. */
static void read_link(char ret[static 128], int log_fd)
{
    ssize_t got = readlinkat(log_fd, "latest", ret, 127);
    ret[got > 0 ? got : 0] = '\0';
}

static void find_candidates(struct candidates *all, int log_fd)
{
    int again = dup(log_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    char link[128];
    read_link(link, log_fd);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        struct candidate one;
        if (!jr_run_folder_is_id(entry->d_name) ||
            !read_candidate(&one, log_fd, entry->d_name, all->spec))
            continue;
        all->count++;
        if (one.written_ns >= all->last.written_ns)
            all->last = one;
        if (strcmp(one.id, link) == 0)
            all->named = one;
    }
    if (entries != NULL)
        (void)closedir(entries);
}

static void note_choice(const struct jr_sweep_run *run, const struct candidates *all)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line,
                  "going on with %s, which was written to last of %zu sweeps "
                  "of this spec: --resume=ID goes on with another",
                  all->last.id, all->count);
    jr_session_note_buf(run->session, &line);
}

bool jr_find_latest_sweep(const struct jr_sweep_run *run, char ret[static 128])
{
    JR_FREE char *spec = jr_sweep_spec_path(run);
    JR_CLOSE int log_fd = open(run->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct candidates all = {.spec = spec};
    if (log_fd >= 0)
        find_candidates(&all, log_fd);
    if (all.count == 0)
        return false;
    bool named = all.named.id[0] != '\0' && !all.last.submitted;
    if (!named && all.count > 1 && strcmp(all.named.id, all.last.id) != 0)
        note_choice(run, &all);
    (void)stpcpy(ret, named ? all.named.id : all.last.id);
    return true;
}
