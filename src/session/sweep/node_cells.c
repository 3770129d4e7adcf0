#include "session/sweep/node_cells.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "base/strv.h"
#include "cluster/protocol.h"
#include "record/live_run.h"
#include "record/record_folder.h"
#include "resolve/device_lease.h"
#include "session/sweep/internal.h"
#include "spawn/reap_descendants.h"
#include "store/folder_mark.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define LOCK       JR_OWN_CELLS_LOCK
#define NODE_BEGIN "node_" /* of JR_NODE_DIR */
#define WAIT_NS    (300 * UINT64_C(1000000000))
#define LOOK_MS    50 /* the kernel tells nobody that a lock is free */

/* Nobody can have it: the folder is new. Where the file system has no locks, nobody waits. */
static int take_lock(const struct jr_run_folder *dir)
{
    int fd = openat(dir->fd, LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

/* Whether the controller is still there. */
static bool has_controller(int wait_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO};
    (void)poll(&input, 1, wait_ms);
    return (input.revents & (POLLHUP | POLLERR)) == 0;
}

/* Standard error is the link's, whose lines the controller hands on. */
static void note_wait(bool *noted)
{
    struct utsname here = {0};
    char line[256];
    (void)uname(&here);
    int len = snprintf(line, sizeof line,
                       "waiting for cells that an earlier jobrun is still ending on %.64s\n",
                       here.nodename);
    if (!*noted)
        (void)!write(STDERR_FILENO, line, (size_t)len);
    *noted = true;
}

static void await_lock(int fd, uint64_t until_ns, bool *noted)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && jr_clock_ns() < until_ns) {
        note_wait(noted);
        if (!has_controller(LOOK_MS))
            break;
    }
}

bool jr_own_cells_is(const char *name)
{
    size_t begin = sizeof NODE_BEGIN - 1;
    if (strncmp(name, NODE_BEGIN, begin) != 0)
        return false;
    size_t digits = strspn(name + begin, "0123456789");
    const char *dot = name + begin + digits;
    return digits > 0 && dot[0] == '.' && dot[1] != '\0';
}

/* Whether it is the folder of an agent that another jobrun had. */
static bool is_earlier(const char *name, const char *token)
{
    return jr_own_cells_is(name) && strcmp(strchr(name, '.') + 1, token) != 0;
}

static void await_earlier(int sweep_fd, const char *token)
{
    uint64_t until_ns = jr_clock_ns() + WAIT_NS;
    const struct dirent *entry;
    bool noted = false;
    int again = dup(sweep_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char path[NAME_MAX + sizeof "/" LOCK];
        if (!is_earlier(entry->d_name, token))
            continue;
        (void)snprintf(path, sizeof path, "%s/" LOCK, entry->d_name);
        JR_CLOSE int fd = jr_open_beneath(sweep_fd, path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
        if (fd >= 0)
            await_lock(fd, until_ns, &noted);
    }
    if (entries != NULL)
        (void)closedir(entries);
}

/* Who may read what is in it, as the spec says. */
static enum jr_log_mode find_log_mode(const struct jr_message *share)
{
    return share->mode == JR_LOG_GROUP || share->mode == JR_LOG_UMASK
               ? (enum jr_log_mode)share->mode
               : JR_LOG_PRIVATE;
}

/* Make the folder beside that of the message `share`, for the agent of `node`, and wait for those
 * that came before it, as long as standard input has not ended. -1 with `err`. */
static int own_cells_make(struct jr_own_cells *ret, const struct jr_message *share, uint32_t node,
                          struct jr_error *err)
{
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    char name[64];
    const char *slash = strrchr(share->cells, '/');
    JR_FREE char *sweep =
        slash == NULL ? NULL : strndup(share->cells, (size_t)(slash - share->cells));
    (void)snprintf(name, sizeof name, JR_OWN_CELLS_NAME, node, share->token);
    if (sweep == NULL || asprintf(&ret->dir, "%s/%s", sweep, name) < 0) {
        ret->dir = NULL;
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    int failed = jr_run_folder_create(&dir, sweep, name, true, find_log_mode(share), err);
    if (failed == 0) {
        ret->lock_fd = take_lock(&dir);
        await_earlier(dir.log_fd, share->token);
    }
    jr_run_folder_close(&dir);
    return failed;
}

/* Where no cell has run, nothing is left of it. */
static void remove_unused(const char *dir)
{
    JR_BUF_CLEANUP struct jr_buf lock = JR_BUF_INIT;
    jr_buf_printf(&lock, "%s/" LOCK, dir);
    if (!lock.failed && unlink(lock.data) == 0)
        (void)rmdir(dir);
}

/* Let go of it, once nothing of its cells runs. */
static void own_cells_release(struct jr_own_cells *own)
{
    if (own->dir != NULL)
        remove_unused(own->dir);
    free(own->dir);
    if (own->lock_fd > 0)
        (void)close(own->lock_fd);
    *own = (struct jr_own_cells){0};
}

#define NS_PER_MS UINT64_C(1000000)

bool jr_device_is_there(const struct jr_host *host, const char *kind, const char *key)
{
    char other[JR_DEVICE_KEY_SIZE], name[16];
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        (void)snprintf(name, sizeof name, "%u", device->index);
        jr_device_key(other, device, kind, name);
        if (device->visible && strcmp(key, other) == 0)
            return true;
    }
    return false;
}

/* What the process of the cell finds out. */
static void share_gone(struct jr_node_devices *devices)
{
    void *shared = devices->list.count == 0
                       ? MAP_FAILED
                       : mmap(NULL, devices->list.count, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    devices->gone = shared == MAP_FAILED ? NULL : shared;
}

/* Name devices of a node by their numbers, and what their kind is spelled like, in `arena`. Without
 * memory that has failed. */
static void node_devices_name(struct jr_node_devices *ret, const struct jr_host *host,
                              const char *kind, struct jr_arena *arena)
{
    struct jr_device_list *list = &ret->list;
    char key[JR_DEVICE_KEY_SIZE];
    share_gone(ret);
    ret->kind = jr_arena_strdup(arena, kind);
    list->names = jr_arena_array(arena, list->count, sizeof *list->names);
    list->keys = jr_arena_array(arena, list->count, sizeof *list->keys);
    ret->leases = jr_arena_array(arena, list->count, sizeof *ret->leases);
    for (uint32_t i = 0; !arena->failed && i < list->count; i++) {
        const struct jr_host_device *device = &host->devices[ret->numbers[i]];
        list->names[i] = jr_arena_printf(arena, "%u", device->index);
        if (list->names[i] == NULL)
            return;
        jr_device_key(key, device, kind, list->names[i]);
        list->keys[i] = jr_arena_strdup(arena, key);
    }
}

static struct jr_device_request make_request(const struct jr_node_devices *devices)
{
    return (struct jr_device_request){.keys = devices->list.keys,
                                      .count = devices->list.count,
                                      .need = devices->list.count,
                                      .around = devices->around};
}

/* Lease them with a ticket of the queue; 0: without one. */
static bool take_devices(struct jr_node_devices *devices, uint64_t ticket, const char *run_id)
{
    const struct jr_device_request request = make_request(devices);
    struct jr_arena arena = JR_ARENA_INIT;
    uint32_t *chosen = jr_arena_array(&arena, request.count + 1, sizeof *chosen);
    bool taken = chosen != NULL &&
                 jr_devices_take(&request, ticket, chosen, devices->leases) == request.need;
    jr_arena_release(&arena);
    if (!taken)
        return false;
    devices->leased = request.need;
    for (uint32_t i = 0; i < devices->leased; i++)
        jr_device_lease_note(&devices->leases[i], run_id);
    return true;
}

/* Lease them for a run. False: others have some of them. */
static bool node_devices_take(struct jr_node_devices *devices, const char *run_id)
{
    return devices->list.count == 0 || take_devices(devices, 0, run_id);
}

/* Wait for them, for so long at most (0: without an end), and lease them. 0; a
 * signal that stops runs and came first, all of which are blocked; or -1 with
 * `err`, JR_STATUS_UNRESOLVED where the time was over. */
static int node_devices_await(struct jr_node_devices *devices, const char *run_id,
                              uint64_t limit_ms, struct jr_error *err)
{
    const struct jr_device_request request = make_request(devices);
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    static const struct jr_policy none;
    uint64_t until_ns = limit_ms == 0 || limit_ms > UINT64_MAX / (2 * NS_PER_MS)
                            ? UINT64_MAX
                            : jr_clock_ns() + limit_ms * NS_PER_MS;
    int ended = 0;
    if (jr_device_queue_join(&queue, &request) != 0) {
        ended = jr_error_sys(err, JR_STATUS_LAUNCH, "cannot wait for devices");
        jr_device_queue_leave(&queue);
        return ended;
    }
    do
        ended = jr_session_sleep_in_queue(&queue, &request, &none, until_ns);
    while (ended == 0 && !take_devices(devices, queue.ticket, run_id));
    jr_device_queue_leave(&queue);
    return ended >= 0 ? ended
                      : jr_error_set(err, JR_STATUS_UNRESOLVED,
                                     "the time of --wait is over, and the devices are still held");
}

/* Append who holds some of them: "0 is held by run x (pid 7)". */
static void node_devices_holders(struct jr_buf *out, const struct jr_node_devices *devices)
{
    struct jr_device_claims claims;
    const struct jr_device_viewer viewer = {.around = devices->around};
    jr_device_claims_read(&claims);
    if (jr_device_holders_print(out, &claims, &devices->list, &viewer) == 0)
        jr_buf_str(out, "others came earlier");
    jr_device_claims_release(&claims);
}

/* In the process of a cell that has failed: see which of them are not there any more, by the facts
 * as they are now. `envp` is that of its session, and `file` its spec. */
static void node_devices_check(struct jr_node_devices *devices, char *const *envp,
                               const struct jr_spec_file *file)
{
    const struct jr_session_options options = {.envp = envp};
    const struct jr_device_list *list = &devices->list;
    struct jr_error err = {0};
    struct jr_session *now =
        devices->gone == NULL || file == NULL ? NULL : jr_session_open(&options);
    if (now != NULL && jr_session_facts(now, NULL, &err) == JR_STATUS_OK &&
        jr_session_read_devices(now, file) == JR_STATUS_OK)
        for (uint32_t i = 0; i < list->count; i++)
            devices->gone[i] = !jr_device_is_there(&now->host, devices->kind, list->keys[i]);
    jr_session_close(now);
}

/* What there is no room for is found out by the next cell that gets it. */
static char *node_devices_list_gone(const struct jr_node_devices *devices)
{
    enum { MOST_BYTES = 256 }; /* of a message, see protocol.h */
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; devices->gone != NULL && i < devices->list.count; i++)
        if (devices->gone[i] && text.len < MOST_BYTES)
            jr_buf_printf(&text, "%s%u", text.len == 0 ? "" : ",", devices->numbers[i]);
    return text.len == 0 || text.failed ? NULL : jr_buf_detach(&text);
}

/* Give them back, and what is shared with the cell. */
static void node_devices_give(struct jr_node_devices *devices)
{
    if (devices->gone != NULL)
        (void)munmap(devices->gone, devices->list.count);
    devices->gone = NULL;
    for (uint32_t i = 0; i < devices->leased; i++)
        jr_device_lease_release(&devices->leases[i]);
    devices->leased = 0;
}

#define END_WAIT_NS (10 * UINT64_C(1000000000))

/* A cell that begins. */
struct beginning {
    struct jr_node_cells *cells;
    struct jr_node_cell *cell;
    const struct jr_message *word;
    struct jr_host_part part;
    char folder[16];
    const char *run_id; /* among those of all sweeps */
    const struct jr_agent_cell_ends *ends;
};

/* "cell 7: ...", as one piece of the pipe, which does not mix it with others.
 */
static void say_cell_line(int notes_fd, uint32_t number, const char *text)
{
    char line[PIPE_BUF];
    int len = snprintf(line, sizeof line - 1, "cell %u: %s", number, text);
    size_t size = len < 0 ? 0 : (size_t)len;
    size = size < sizeof line - 1 ? size : sizeof line - 2;
    line[size] = '\n';
    (void)!write(notes_fd, line, size + 1);
}

static void say_line(void *data, const char *text)
{
    const struct beginning *beginning = data;
    say_cell_line(beginning->ends->notes_fd, beginning->cell->number, text);
}

/* In the process of the cell: the session up to where it is resolved. */
static enum jr_status load_cell(struct jr_session *session, const struct beginning *beginning,
                                struct jr_error *err)
{
    const struct jr_message *word = beginning->word;
    const struct jr_spec_source source = {.name =
                                              word->name != NULL ? word->name : beginning->folder,
                                          .folder = word->folder,
                                          .text = word->spec,
                                          .len = strlen(word->spec)};
    jr_cell_take_part(session, &beginning->cells->host, &beginning->part);
    session->custom = beginning->cells->node->custom;
    session->leases = beginning->cell->devices.leases;
    session->leases_count = beginning->cell->devices.leased;
    session->placed = true;
    session->cell = word->cell;
    session->sweep_id = word->sweep;
    session->cells_dir = beginning->cell->cells_dir;
    session->cell_run_id = beginning->run_id;
    session->fingerprint = word->fingerprint;
    enum jr_status status = jr_session_load(session, &source, err);
    session->spec_name = word->name;
    return status;
}

/* Have the devices, or wait for them. Returns 0, or how the process ends. */
static int await_devices(struct beginning *beginning)
{
    struct jr_node_devices *devices = &beginning->cell->devices;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    if (devices->leased == devices->list.count)
        return 0;
    jr_buf_str(&line, "waiting for devices: ");
    node_devices_holders(&line, devices);
    say_line(beginning, line.failed ? "waiting for devices" : line.data);
    int ended =
        node_devices_await(devices, beginning->run_id, (uint64_t)beginning->word->limit_ms, &err);
    if (ended < 0)
        say_line(beginning, err.text);
    return ended < 0 ? (int)err.status : ended > 0 ? 128 + ended : 0;
}

/* What its ranks print goes to the console, plain or in color; NULL: to their files alone. */
static enum jr_status run_shown(struct jr_session *session, const char *console,
                                struct jr_error *err)
{
    const struct jr_session_console shown = {.out_fd = STDOUT_FILENO,
                                             .err_fd = STDERR_FILENO,
                                             .in_fd = -1,
                                             .color =
                                                 console != NULL && strcmp(console, "color") == 0};
    return jr_session_run(session, console == NULL ? NULL : &shown, err);
}

/* The whole of the cell. Returns the exit status. */
static int run_cell(struct beginning *beginning)
{
    struct jr_error err = {0};
    const struct jr_session_options options = {.envp = beginning->cells->node->options.envp,
                                               .run_id = beginning->folder,
                                               .code_of = beginning->cells->code,
                                               .inject = beginning->word->inject,
                                               .end_children = true,
                                               .note = say_line,
                                               .data = beginning};
    int ended = await_devices(beginning);
    if (ended != 0)
        return ended;
    struct jr_session *session = jr_session_open(&options);
    if (session == NULL)
        return JR_STATUS_LAUNCH;
    enum jr_status status = load_cell(session, beginning, &err);
    if (status == JR_STATUS_OK)
        status = jr_session_begin(session, &err);
    bool begun = status == JR_STATUS_OK;
    if (begun)
        status = run_shown(session, beginning->word->console, &err);
    if (status != JR_STATUS_OK)
        say_line(beginning, err.text);
    int code = begun && status == JR_STATUS_OK ? jr_session_exit_code(session) : (int)status;
    if (code != 0 && code < 128)
        node_devices_check(&beginning->cell->devices, options.envp, session->file);
    jr_session_close(session); /* with it go the port and the control group */
    return code;
}

/* The agent's streams are its own; a cell that has the console has pipes. */
static int leave_streams(const struct beginning *beginning)
{
    const struct jr_agent_cell_ends *ends = beginning->ends;
    bool shown = beginning->word->console != NULL;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(shown ? ends->out_fd : null, STDOUT_FILENO) < 0 ||
        dup2(shown ? ends->err_fd : null, STDERR_FILENO) < 0)
        return -1;
    return close(null);
}

static void fork_cell(struct beginning *beginning)
{
    struct jr_node_cells *cells = beginning->cells;
    pid_t agent = getpid();
    beginning->cell->pid = fork();
    if (beginning->cell->pid != 0)
        return;
    jr_cell_leave_parent(agent);
    for (size_t i = 0; i < cells->count; i++)
        if (&cells->cells[i] != beginning->cell)
            node_devices_give(&cells->cells[i].devices);
    _exit(leave_streams(beginning) != 0 ? JR_STATUS_LAUNCH : run_cell(beginning));
}

/* "0,2", each below `most`. False: it is not that. */
static bool read_numbers(const char *text, uint32_t most, struct jr_arena *arena,
                         const uint32_t **ret, uint32_t *ret_count)
{
    const char *at = text == NULL ? "" : text;
    uint32_t *numbers = jr_arena_array(arena, strlen(at) + 1, sizeof *numbers);
    uint32_t count = 0;
    uint64_t number;
    while (numbers != NULL && *at != '\0') {
        if (!jr_num_digits(&at, &number) || number >= most || (*at != ',' && *at != '\0'))
            return false;
        numbers[count++] = (uint32_t)number;
        at += *at == ',';
    }
    *ret = numbers;
    *ret_count = count;
    return numbers != NULL;
}

/* What the cell gets of the node. */
static int read_part(struct beginning *beginning, struct jr_error *err)
{
    struct jr_node_cell *cell = beginning->cell;
    const struct jr_message *word = beginning->word;
    const struct jr_host *host = &beginning->cells->host;
    struct jr_host_part *part = &beginning->part;
    struct jr_node_devices *devices = &cell->devices;
    if (!read_numbers(word->devices, host->devices_count, &cell->arena, &part->devices,
                      &part->devices_count) ||
        !read_numbers(word->cores, jr_host_core_count(host), &cell->arena, &part->cores,
                      &part->cores_count))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "this node has other devices or CPUs than it had when the sweep began");
    devices->numbers = part->devices;
    devices->list.count = part->devices_count;
    devices->around = jr_env_get(beginning->cells->node->options.envp, "JOBRUN_RUN_ID");
    node_devices_name(devices, host, word->device == NULL ? "" : word->device, &cell->arena);
    cell->cells_dir = jr_arena_strdup(
        &cell->arena, beginning->cells->own.dir != NULL ? beginning->cells->own.dir : word->cells);
    beginning->run_id = jr_arena_printf(&cell->arena, "%s.%s", word->sweep, beginning->folder);
    return cell->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

/* Room for one more. */
static struct jr_node_cell *push_cell(struct jr_node_cells *cells)
{
    struct jr_node_cell *more = realloc(cells->cells, (cells->count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    cells->cells = more;
    more[cells->count] = (struct jr_node_cell){0};
    return &more[cells->count++];
}

static void drop_cell(struct jr_node_cells *cells, struct jr_node_cell *cell)
{
    node_devices_give(&cell->devices);
    jr_arena_release(&cell->arena);
    free(cell->note);
    *cell = cells->cells[--cells->count];
}

int jr_node_cells_share(struct jr_node_cells *cells, const struct jr_message *word, uint32_t node,
                        struct jr_error *err)
{
    if (word->cells == NULL || word->token == NULL || cells->own.dir != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the jobrun of the sweep did not say where cells are");
    JR_CLOSE int fd = open(word->cells, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct jr_run_folder shared = {.fd = fd};
    if (fd >= 0 && jr_folder_mark_is(&shared, word->token))
        return 0;
    cells->collect = strdup(word->collect == NULL ? "" : word->collect);
    if (cells->collect == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (own_cells_make(&cells->own, word, node, err) != 0)
        return -1;
    if (!word->on || asprintf(&cells->code, "%s/frozen", cells->own.dir) >= 0)
        return 0;
    cells->code = NULL;
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

int jr_node_cells_begin(struct jr_node_cells *cells, const struct jr_message *word,
                        const struct jr_agent_cell_ends *ends, struct jr_error *err)
{
    if (word->spec == NULL || word->folder == NULL || word->sweep == NULL || word->cells == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the jobrun of the sweep did not say what to run");
    struct jr_node_cell *cell = push_cell(cells);
    struct beginning beginning = {.cells = cells, .cell = cell, .word = word, .ends = ends};
    if (cell == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (!cells->ready) {
        cells->host = cells->node->host;
        jr_cell_host_alone(&cells->host);
        cells->ready = true;
    }
    cells->ends = *ends;
    (void)jr_num_u32(word->cell, &cell->number);
    jr_cell_folder(beginning.folder, cell->number);
    int failed = read_part(&beginning, err);
    if (failed == 0) {
        (void)node_devices_take(&cell->devices, beginning.run_id);
        fork_cell(&beginning);
        if (cell->pid < 0)
            failed = jr_error_sys(err, JR_STATUS_LAUNCH, "could not begin");
    }
    if (failed != 0)
        drop_cell(cells, cell);
    return failed;
}

static void take_guard_end(struct jr_node_cell *cell, int status)
{
    cell->pid = 0;
    cell->over = WIFEXITED(status);
    cell->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* One that failed has said why. */
static void take_sender_end(struct jr_node_cell *cell, int status)
{
    cell->sender = 0;
    cell->sent = true;
    if (WIFSIGNALED(status) && cell->note == NULL &&
        asprintf(&cell->note, "cell %u: what sends what it has left was killed by signal %d\n",
                 cell->number, WTERMSIG(status)) < 0)
        cell->note = NULL;
}

/* Reap what has ended. What is neither guard nor sender was left by a guard that was killed. */
static void reap_processes(struct jr_node_cells *cells)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < cells->count; i++)
            if (cells->cells[i].pid == pid)
                take_guard_end(&cells->cells[i], status);
            else if (cells->cells[i].sender == pid)
                take_sender_end(&cells->cells[i], status);
}

/* What a cell left whose two processes were killed. The line about it goes to
 * the agent by hand: it alone reads the pipe of the notes, which may be full.
 */
static void end_lost_cell(struct jr_node_cell *cell)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[16];
    jr_cell_folder(folder, cell->number);
    if (jr_lost_sweep(&line, cell->cells_dir, folder) == 0)
        return;
    jr_buf_char(&line, '\n');
    cell->note = jr_buf_detach(&line);
}

/* Cells without a guard are over once their runners are. */
static void end_orphans(struct jr_node_cells *cells)
{
    pid_t *known = calloc(2 * cells->count + 1, sizeof *known);
    bool lost = false;
    for (size_t i = 0; known != NULL && i < cells->count; i++) {
        struct jr_node_cell *cell = &cells->cells[i];
        known[i] = cell->pid;
        known[cells->count + i] = cell->sender;
        if (cell->pid != 0 || cell->over)
            continue;
        cell->over = !jr_cell_has_runner(cell->cells_dir, cell->number, &known[i]);
        lost |= cell->over;
        if (cell->over)
            end_lost_cell(cell);
    }
    if (lost)
        jr_cell_kill_strays(known, 2 * cells->count);
    free(known);
}

/* The process of a sender. Its cell is over, and changes no more. */
static _Noreturn void send_cell(const struct jr_node_cells *cells, const struct jr_node_cell *cell)
{
    const struct jr_cell_sending sending = {.cells_dir = cell->cells_dir,
                                            .number = cell->number,
                                            .collect = cells->collect,
                                            .fd = cells->ends.left_fd};
    struct jr_error err = {0};
    if (jr_cell_send(&sending, &err) == 0)
        _exit(JR_STATUS_OK);
    say_cell_line(cells->ends.notes_fd, cell->number, err.text);
    _exit(JR_STATUS_LAUNCH);
}

/* The next cell to be sent; NULL: there is none, or one is being sent: what two would write were
 * mixed. */
static struct jr_node_cell *find_to_send(const struct jr_node_cells *cells)
{
    struct jr_node_cell *next = NULL;
    for (size_t i = cells->count; i-- > 0;) {
        if (cells->cells[i].sender != 0)
            return NULL;
        if (cells->cells[i].over && !cells->cells[i].sent)
            next = &cells->cells[i];
    }
    return cells->own.dir == NULL || cells->leaves ? NULL : next;
}

/* A process that cannot be made is one that was killed. */
static void start_sender(const struct jr_node_cells *cells, struct jr_node_cell *cell)
{
    pid_t agent = getpid();
    cell->sender = fork();
    if (cell->sender == 0) {
        jr_cell_leave_parent(agent);
        send_cell(cells, cell);
    }
    if (cell->sender < 0)
        take_sender_end(cell, SIGKILL);
}

/* Whether all of a cell is done that is to be done here. */
static bool is_cell_done(const struct jr_node_cells *cells, const struct jr_node_cell *cell)
{
    return cell->over &&
           (cells->own.dir == NULL || cell->sent || (cells->leaves && cell->sender == 0));
}

/* All others would end like that, one after the other. Where the folder is the sweep's, that is
 * seen there. */
static bool has_no_room(const struct jr_node_cells *cells, const struct jr_node_cell *cell)
{
    if (cells->own.dir == NULL || cell->code != JR_STATUS_LAUNCH)
        return false;
    JR_CLOSE int fd = open(cells->own.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && jr_cell_disk_is_full(fd);
}

/* Take the end of a cell that is done. */
static bool take_done_cell(struct jr_node_cells *cells, struct jr_agent_cell_end *ret)
{
    for (size_t i = 0; i < cells->count; i++) {
        struct jr_node_cell *cell = &cells->cells[i];
        if (!is_cell_done(cells, cell))
            continue;
        (void)snprintf(ret->cell, sizeof ret->cell, "%u", cell->number);
        ret->code = cell->code;
        ret->note = cell->note;
        ret->sent = cell->sent;
        ret->full = has_no_room(cells, cell);
        cell->note = NULL;
        ret->gone = node_devices_list_gone(&cell->devices);
        drop_cell(cells, cell);
        return true;
    }
    return false;
}

bool jr_node_cells_next_end(struct jr_node_cells *cells, struct jr_agent_cell_end *ret)
{
    reap_processes(cells);
    end_orphans(cells);
    if (take_done_cell(cells, ret))
        return true;
    struct jr_node_cell *next = find_to_send(cells);
    if (next != NULL)
        start_sender(cells, next);
    return next != NULL && next->sent && take_done_cell(cells, ret);
}

void jr_node_cells_signal(const struct jr_node_cells *cells, const char *number, int sig)
{
    uint32_t one = 0;
    if (number != NULL && !jr_num_u32(number, &one))
        return;
    for (size_t i = 0; i < cells->count; i++)
        if (cells->cells[i].pid > 0 && (number == NULL || cells->cells[i].number == one))
            (void)kill(cells->cells[i].pid, sig);
}

void jr_node_cells_progress(const struct jr_node_cells *cells, struct jr_buf *out)
{
    for (size_t i = 0; cells->own.dir != NULL && i < cells->count; i++) {
        char folder[16];
        jr_cell_folder(folder, cells->cells[i].number);
        JR_CLOSE int fd = jr_record_folder_open(cells->cells[i].cells_dir, folder, NULL);
        json_t *progress = fd < 0 ? NULL : jr_record_folder_progress(fd);
        if (progress == NULL)
            continue;
        json_t *line = json_object();
        (void)json_object_del(progress, "ranks"); /* there may be many */
        jr_json_set_int(line, "cell", cells->cells[i].number);
        jr_json_set(line, "progress", progress);
        jr_json_print(out, line, 0);
        jr_buf_char(out, '\n');
        json_decref(line);
    }
}

void jr_node_cells_leave(struct jr_node_cells *cells)
{
    cells->leaves = true;
    jr_node_cells_signal(cells, NULL, SIGTERM);
    for (size_t i = 0; i < cells->count; i++)
        if (cells->cells[i].sender > 0)
            (void)kill(cells->cells[i].sender, SIGKILL);
}

void jr_node_cells_release(struct jr_node_cells *cells)
{
    struct jr_reap reap;
    if (cells->ready)
        jr_reap(&reap, END_WAIT_NS, NULL);
    while (cells->count > 0)
        drop_cell(cells, &cells->cells[0]);
    free(cells->cells);
    free(cells->collect);
    free(cells->code);
    own_cells_release(&cells->own);
    cells->cells = NULL;
    cells->collect = cells->code = NULL;
}
