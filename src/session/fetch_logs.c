/* The rest of logs that are on another host. foreground.h declares it. */
#include "session/foreground.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/engine.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/rank_set.h"
#include "base/shell_words.h"
#include "base/subprocess.h"
#include "cluster/transport.h"
#include "judge/judge.h"
#include "record/record_folder.h"
#include "report/show.h"
#include "session/internal.h"
#include "session/left_files.h"

#include "base/banned.h"

enum { REST_MOST = 1 << 20 };

/* A log, and where all of it is. */
struct fetching {
    const struct jr_fetch_logs *wanted;
    struct jr_arena arena;
    int run_fd;
    const char *log;  /* below the run folder */
    const char *rest; /* what says where it is */
    const char *part; /* what it is until it is whole */
    mode_t mode;      /* of its files */
    const char *host, *path;
    json_int_t cut; /* bytes of it that are not here; 0: not known */
    struct jr_ssh ssh;
};

/* False: it is here, or another user's. */
static bool take_rest_fields(struct fetching *fetching, const json_t *rest)
{
    struct jr_arena *arena = &fetching->arena;
    const json_t *options = json_object_get(rest, "options");
    const char *host = jr_json_get_str(rest, "host");
    const char *path = jr_json_get_str(rest, "path");
    size_t count = json_array_size(options);
    fetching->ssh = (struct jr_ssh){.options = jr_arena_array(arena, count, sizeof(char *)),
                                    .options_count = (uint32_t)count};
    for (size_t i = 0; i < count && fetching->ssh.options != NULL; i++)
        fetching->ssh.options[i] =
            jr_arena_strdup(arena, json_string_value(json_array_get(options, i)));
    fetching->host = jr_arena_strdup(arena, host);
    fetching->path = jr_arena_strdup(arena, path);
    fetching->cut = jr_json_get_int(rest, "cut");
    return host != NULL && path != NULL && !arena->failed;
}

static bool find_rest(struct fetching *fetching)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct stat st;
    JR_CLOSE int fd = jr_run_file_open(fetching->run_fd, fetching->rest, NULL);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        jr_io_read_fd(&text, fd, REST_MOST, NULL) != 0)
        return false;
    fetching->mode = st.st_mode & 0777;
    json_t *rest = jr_json_parse(text.data, text.len, NULL);
    bool found = take_rest_fields(fetching, rest);
    json_decref(rest);
    return found;
}

/* All that ssh prints goes to the file. -1 where it fails. */
static int copy_by_ssh(struct fetching *fetching, int fd)
{
    JR_BUF_CLEANUP struct jr_buf command = JR_BUF_INIT;
    jr_buf_str(&command, "exec cat ");
    jr_shell_quote(&command, fetching->path);
    const struct jr_ssh_start start = {
        .ssh = &fetching->ssh, .host = fetching->host, .command = command.data};
    char **words = command.failed ? NULL : jr_ssh_words(&fetching->arena, &start);
    const int fds[3] = {-1, fd, STDERR_FILENO};
    const struct jr_subprocess ssh = {.argv = words, .envp = fetching->wanted->envp, .fds = fds};
    const struct jr_task_limit limit = {.stop_fd = -1};
    struct jr_task task;
    int status = 0;
    if (words == NULL || jr_task_begin(&task, &ssh, NULL) != 0)
        return -1;
    int failed = jr_task_end(&task, NULL, &limit, &status);
    jr_task_cancel(&task);
    return failed == 0 && status == 0 ? 0 : -1;
}

/* How many bytes at a place are the same in both files. */
static size_t count_same(int here, off_t at, int whole, off_t from)
{
    char ours[8192], theirs[8192];
    ssize_t len = pread(here, ours, sizeof ours, at);
    size_t same = 0;
    if (len <= 0 || pread(whole, theirs, (size_t)len, from) != len)
        return 0;
    while (same < (size_t)len && ours[same] == theirs[same])
        same++;
    return same;
}

/* Where the second line of what is here begins: the first is our own. -1: there is none. */
static off_t find_second_line(int here)
{
    char line[512];
    ssize_t len = pread(here, line, sizeof line, 0);
    const char *end = len <= 0 ? NULL : memchr(line, '\n', (size_t)len);
    return end == NULL ? -1 : (off_t)(end - line) + 1;
}

/* Whether what is here is what stands there behind the cut: a run of the same name may have another
 * log there by now. */
static bool is_same_log(const struct fetching *fetching, int whole)
{
    struct stat st;
    JR_CLOSE int here = jr_run_file_open(fetching->run_fd, fetching->log, NULL);
    off_t first = here < 0 ? -1 : find_second_line(here), at = first;
    if (fetching->cut <= 0)
        return true;
    if (first < 0 || fstat(here, &st) != 0)
        return false;
    for (size_t same = 1; at < st.st_size && same > 0; at += (off_t)same)
        same = count_same(here, at, whole, (off_t)fetching->cut + at - first);
    return at == st.st_size;
}

static int take_place(const struct fetching *fetching)
{
    const char *log;
    JR_CLOSE int fd = jr_open_above(fetching->run_fd, fetching->log, &log);
    const char *part = strrchr(fetching->part, '/') + 1;
    const char *rest = strrchr(fetching->rest, '/') + 1;
    return fd >= 0 && renameat(fd, part, fd, log) == 0 ? unlinkat(fd, rest, 0) : -1;
}

static void drop_part(const struct fetching *fetching)
{
    const char *part;
    JR_CLOSE int fd = jr_open_above(fetching->run_fd, fetching->part, &part);
    if (fd >= 0)
        (void)unlinkat(fd, part, 0);
}

static void note_missing(const struct fetching *fetching, bool other)
{
    const struct jr_fetch_logs *wanted = fetching->wanted;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_buf_printf(&line, "the begin of %s/%s could not be fetched from ", wanted->id,
                  fetching->log);
    jr_buf_safe(&line, fetching->host);
    jr_buf_str(&line, other ? ", where another log is by now " : ", where it is ");
    jr_buf_safe(&line, fetching->path);
    jr_buf_str(&line, "; its end follows");
    if (!line.failed)
        wanted->note(wanted->data, line.data);
}

static void fetch_whole_log(struct fetching *fetching)
{
    JR_CLOSE int fd = jr_open_beneath(fetching->run_fd, fetching->part,
                                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, fetching->mode);
    bool copied = fd >= 0 && copy_by_ssh(fetching, fd) == 0;
    bool other = copied && !is_same_log(fetching, fd);
    if (copied && !other && take_place(fetching) == 0)
        return;
    if (fd >= 0)
        drop_part(fetching);
    note_missing(fetching, other);
}

/* A log without a slash is in no attempt, and none of ours. */
static void fetch_log(const struct jr_fetch_logs *wanted, int run_fd, const char *log)
{
    struct fetching fetching = {
        .wanted = wanted, .arena = JR_ARENA_INIT, .run_fd = run_fd, .log = log};
    struct jr_arena *arena = &fetching.arena;
    if (log == NULL || log[0] == '/' || strchr(log, '/') == NULL)
        return;
    fetching.rest = jr_arena_printf(arena, "%s" JR_LEFT_REST, log);
    fetching.part = jr_arena_printf(arena, "%s.part-%d", log, (int)getpid());
    if (!arena->failed && find_rest(&fetching))
        fetch_whole_log(&fetching);
    jr_arena_release(arena);
}

void jr_fetch_logs(const struct jr_fetch_logs *wanted)
{
    struct jr_record_logs logs = JR_RECORD_LOGS_INIT;
    JR_CLOSE int run_fd = jr_record_folder_open(wanted->log_dir, wanted->id, NULL);
    if (run_fd < 0 ||
        jr_record_logs_load(&logs, wanted->log_dir, wanted->id, wanted->attempt, NULL) != 0)
        return;
    for (size_t i = 0; i < logs.count; i++) {
        const struct jr_record_log *log = &logs.items[i];
        if (!jr_set_has(wanted->ranks, log->rank))
            continue;
        fetch_log(wanted, run_fd, log->out);
        fetch_log(wanted, run_fd, log->err);
    }
    jr_record_logs_release(&logs);
}
