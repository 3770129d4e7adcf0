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
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define END_WAIT_NS (10 * UINT64_C(1000000000))
#define NS_PER_MS   UINT64_C(1000000)

/* A folder of their own. */

#define LOCK       JR_OWN_CELLS_LOCK
#define NODE_BEGIN "node_" /* of JR_NODE_DIR */
#define WAIT_NS    (300 * UINT64_C(1000000000))
#define LOOK_MS    50 /* the kernel tells nobody that a lock is free */

bool jr_own_cells_is(const char *name)
{
    size_t begin = sizeof NODE_BEGIN - 1;
    if (strncmp(name, NODE_BEGIN, begin) != 0)
        return false;
    size_t digits = strspn(name + begin, "0123456789");
    const char *dot = name + begin + digits;
    return digits > 0 && dot[0] == '.' && dot[1] != '\0';
}

/* Wait for a lock while the controller is there, and say so once: standard error is the link's,
 * whose lines the controller hands on. */
static void await_lock(int fd, uint64_t until_ns, bool *noted)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && jr_clock_ns() < until_ns) {
        struct pollfd input = {.fd = STDIN_FILENO};
        struct utsname here = {0};
        (void)uname(&here);
        if (!*noted)
            (void)dprintf(STDERR_FILENO,
                          "waiting for cells that an earlier jobrun is still ending on %.64s\n",
                          here.nodename);
        *noted = true;
        (void)poll(&input, 1, LOOK_MS);
        if ((input.revents & (POLLHUP | POLLERR)) != 0)
            break;
    }
}

/* Wait for the agents that other jobruns had on this host, each of which has such a folder. */
static void await_earlier(int sweep_fd, const char *token)
{
    uint64_t until_ns = jr_clock_ns() + WAIT_NS;
    const struct dirent *entry;
    bool noted = false;
    int again = dup(sweep_fd);
    JR_CLOSEDIR DIR *entries = again < 0 ? NULL : fdopendir(again);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char path[NAME_MAX + sizeof "/" LOCK];
        if (!jr_own_cells_is(entry->d_name) || strcmp(strchr(entry->d_name, '.') + 1, token) == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/" LOCK, entry->d_name);
        JR_CLOSE int fd = jr_open_beneath(sweep_fd, path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
        if (fd >= 0)
            await_lock(fd, until_ns, &noted);
    }
}

/* Make the folder beside that of the message `share`, for the agent of `node`, and wait for those
 * that came before it. -1 with `err`. */
static int own_cells_make(struct jr_own_cells *ret, const struct jr_message *share, uint32_t node,
                          struct jr_error *err)
{
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    char name[64];
    const char *slash = strrchr(share->cells, '/');
    JR_FREE char *sweep =
        slash == NULL ? NULL : strndup(share->cells, (size_t)(slash - share->cells));
    enum jr_log_mode mode = share->mode == JR_LOG_GROUP || share->mode == JR_LOG_UMASK
                                ? (enum jr_log_mode)share->mode
                                : JR_LOG_PRIVATE;
    (void)snprintf(name, sizeof name, JR_OWN_CELLS_NAME, node, share->token);
    if (sweep == NULL || asprintf(&ret->dir, "%s/%s", sweep, name) < 0) {
        ret->dir = NULL;
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    int failed = jr_run_folder_create(&dir, sweep, name, true, mode, err);
    if (failed == 0) {
        /* Nobody can have it: the folder is new. Where the file system has no locks, nobody
         * waits. */
        ret->lock_fd = openat(dir.fd, LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, dir.file_mode);
        if (ret->lock_fd >= 0)
            (void)flock(ret->lock_fd, LOCK_EX | LOCK_NB);
        await_earlier(dir.log_fd, share->token);
    }
    jr_run_folder_close(&dir);
    return failed;
}

int jr_node_cells_share(void *data, const struct jr_message *word, bool *ret_apart,
                        struct jr_error *err)
{
    struct jr_node_cells *cells = data;
    if (word->cells == NULL || word->token == NULL || cells->own.dir != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the jobrun of the sweep did not say where cells are");
    JR_CLOSE int fd = open(word->cells, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct jr_run_folder shared = {.fd = fd};
    *ret_apart = fd < 0 || !jr_folder_mark_is(&shared, word->token);
    if (!*ret_apart)
        return 0;
    cells->collect = strdup(word->collect == NULL ? "" : word->collect);
    if (cells->collect == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (own_cells_make(&cells->own, word, cells->index, err) != 0)
        return -1;
    if (!word->on)
        return 0;
    if (asprintf(&cells->code, "%s/frozen", cells->own.dir) >= 0)
        return JR_AGENT_WANTS_CODE;
    cells->code = NULL;
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

/* The devices of a cell. */

/* Name the devices that a cell gets, what their kind is spelled like, and what is shared with its
 * process. Without memory the arena has failed. */
static void name_cell_devices(struct jr_node_cell *cell, const struct jr_host *host,
                              const char *kind)
{
    struct jr_node_devices *devices = &cell->devices;
    struct jr_device_list *list = &devices->list;
    struct jr_arena *arena = &cell->arena;
    char key[JR_DEVICE_KEY_SIZE];
    list->count = cell->part.devices_count;
    void *shared = list->count == 0 ? MAP_FAILED
                                    : mmap(NULL, list->count, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    devices->gone = shared == MAP_FAILED ? NULL : shared;
    devices->kind = jr_arena_strdup(arena, kind);
    list->names = jr_arena_array(arena, list->count, sizeof *list->names);
    list->keys = jr_arena_array(arena, list->count, sizeof *list->keys);
    devices->leases = jr_arena_array(arena, list->count, sizeof *devices->leases);
    for (uint32_t i = 0; !arena->failed && i < list->count; i++) {
        const struct jr_host_device *device = &host->devices[cell->part.devices[i]];
        list->names[i] = jr_arena_printf(arena, "%u", device->index);
        if (list->names[i] == NULL)
            return;
        jr_device_key(key, device, kind, list->names[i]);
        list->keys[i] = jr_arena_strdup(arena, key);
    }
}

/* Lease them with a ticket of the queue; 0: without one. False: others have some of them. */
static bool take_cell_devices(struct jr_node_cell *cell, uint64_t ticket)
{
    struct jr_node_devices *devices = &cell->devices;
    uint32_t count = devices->list.count;
    const struct jr_device_request request = {devices->list.keys, count, count, devices->around};
    if (count == 0)
        return true;
    JR_FREE uint32_t *chosen = calloc(count, sizeof *chosen);
    if (chosen == NULL || jr_devices_take(&request, ticket, chosen, devices->leases) < count)
        return false;
    devices->leased = count;
    for (uint32_t i = 0; i < count; i++)
        jr_device_lease_note(&devices->leases[i], cell->run_id);
    return true;
}

/* Give them back, and what is shared with the cell. */
static void give_cell_devices(struct jr_node_devices *devices)
{
    if (devices->gone != NULL)
        (void)munmap(devices->gone, devices->list.count);
    devices->gone = NULL;
    for (uint32_t i = 0; i < devices->leased; i++)
        jr_device_lease_release(&devices->leases[i]);
    devices->leased = 0;
}

/* The process of a cell. */

/* "cell 7: ...", as one piece of the pipe, which does not mix it with others. */
static void say_cell_line(void *data, const char *text)
{
    const struct jr_node_cell *cell = data;
    char line[PIPE_BUF];
    int len = snprintf(line, sizeof line - 1, "cell %u: %s", cell->number, text);
    size_t size = len < 0 ? 0 : (size_t)len;
    size = size < sizeof line - 1 ? size : sizeof line - 2;
    line[size] = '\n';
    (void)!write(cell->notes_fd, line, size + 1);
}

/* Have the devices, or wait for them, for so long at most (0: without an end). Returns 0, or how
 * the process ends: by a signal that stops runs, all of which are blocked, or an exit status. */
static int await_cell_devices(struct jr_node_cell *cell, uint64_t limit_ms)
{
    static const struct jr_policy none;
    const struct jr_node_devices *devices = &cell->devices;
    uint32_t count = devices->list.count;
    const struct jr_device_request request = {devices->list.keys, count, count, devices->around};
    const struct jr_device_viewer viewer = {.around = devices->around};
    struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
    struct jr_device_claims claims;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    int ended;
    if (devices->leased == count)
        return 0;
    jr_buf_str(&line, "waiting for devices: ");
    jr_device_claims_read(&claims);
    if (jr_device_holders_print(&line, &claims, &devices->list, &viewer) == 0)
        jr_buf_str(&line, "others came earlier");
    jr_device_claims_release(&claims);
    say_cell_line(cell, line.failed ? "waiting for devices" : line.data);
    uint64_t until_ns = limit_ms == 0 || limit_ms > UINT64_MAX / (2 * NS_PER_MS)
                            ? UINT64_MAX
                            : jr_clock_ns() + limit_ms * NS_PER_MS;
    if (jr_device_queue_join(&queue, &request) != 0) {
        ended = jr_error_sys(&err, JR_STATUS_LAUNCH, "cannot wait for devices");
    } else {
        do
            ended = jr_session_sleep_in_queue(&queue, &request, &none, until_ns);
        while (ended == 0 && !take_cell_devices(cell, queue.ticket));
        if (ended < 0)
            (void)jr_error_set(&err, JR_STATUS_UNRESOLVED,
                               "the time of --wait is over, and the devices are still held");
    }
    jr_device_queue_leave(&queue);
    if (ended < 0)
        say_cell_line(cell, err.text);
    return ended < 0 ? (int)err.status : ended > 0 ? 128 + ended : 0;
}

/* A cell has failed: see which of its devices are not there any more, by the facts as they are
 * now. */
static void check_cell_devices(const struct jr_node_cell *cell, char *const *envp,
                               const struct jr_spec_file *file)
{
    const struct jr_session_options options = {.envp = envp};
    const struct jr_node_devices *devices = &cell->devices;
    struct jr_error err = {0};
    struct jr_session *now =
        devices->gone == NULL || file == NULL ? NULL : jr_session_open(&options);
    if (now != NULL && jr_session_facts(now, NULL, &err) == JR_STATUS_OK &&
        jr_session_read_devices(now, file) == JR_STATUS_OK)
        for (uint32_t i = 0; i < devices->list.count; i++)
            devices->gone[i] =
                !jr_device_is_there(&now->host, devices->kind, devices->list.keys[i]);
    jr_session_close(now);
}

/* The whole of a cell, in a process of its own. Returns the exit status. */
static int run_cell(const struct jr_node_cells *cells, struct jr_node_cell *cell,
                    const struct jr_message *word)
{
    const struct jr_session_options options = {.envp = cells->node->options.envp,
                                               .run_id = cell->folder,
                                               .code_of = cells->code,
                                               .inject = word->inject,
                                               .end_children = true,
                                               .note = say_cell_line,
                                               .data = cell};
    const struct jr_spec_source source = {.name = word->name != NULL ? word->name : cell->folder,
                                          .folder = word->folder,
                                          .text = word->spec,
                                          .len = strlen(word->spec)};
    bool color = word->console != NULL && strcmp(word->console, "color") == 0;
    const struct jr_session_console shown = {
        .out_fd = STDOUT_FILENO, .err_fd = STDERR_FILENO, .in_fd = -1, .color = color};
    struct jr_error err = {0};
    /* The agent's streams are its own; a cell that is shown on the console has pipes. */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(word->console != NULL ? cells->ends.out_fd : null, STDOUT_FILENO) < 0 ||
        dup2(word->console != NULL ? cells->ends.err_fd : null, STDERR_FILENO) < 0 ||
        close(null) != 0)
        return JR_STATUS_LAUNCH;
    int ended = await_cell_devices(cell, (uint64_t)word->limit_ms);
    if (ended != 0)
        return ended;
    struct jr_session *session = jr_session_open(&options);
    if (session == NULL)
        return JR_STATUS_LAUNCH;
    jr_cell_take_part(session, &cells->host, &cell->part);
    session->custom = cells->node->custom;
    session->leases = cell->devices.leases;
    session->leases_count = cell->devices.leased;
    session->placed = true;
    session->cell = word->cell;
    session->sweep_id = word->sweep;
    session->cells_dir = cell->cells_dir;
    session->cell_run_id = cell->run_id;
    session->fingerprint = word->fingerprint;
    enum jr_status status = jr_session_load(session, &source, &err);
    session->spec_name = word->name;
    if (status == JR_STATUS_OK)
        status = jr_session_begin(session, &err);
    bool begun = status == JR_STATUS_OK;
    if (begun)
        status = jr_session_run(session, word->console == NULL ? NULL : &shown, &err);
    if (status != JR_STATUS_OK)
        say_cell_line(cell, err.text);
    int code = begun && status == JR_STATUS_OK ? jr_session_exit_code(session) : (int)status;
    if (code != 0 && code < 128)
        check_cell_devices(cell, options.envp, session->file);
    jr_session_close(session); /* with it go the port and the control group */
    return code;
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

static void drop_cell(struct jr_node_cells *cells, struct jr_node_cell *cell)
{
    give_cell_devices(&cell->devices);
    jr_arena_release(&cell->arena);
    free(cell->note);
    *cell = cells->cells[--cells->count];
}

/* What a cell is called, and gets of the node. -1 with `err`. */
static int fill_cell(struct jr_node_cell *cell, const struct jr_node_cells *cells,
                     const struct jr_message *word, struct jr_error *err)
{
    const struct jr_host *host = &cells->host;
    const char *cells_dir = cells->own.dir != NULL ? cells->own.dir : word->cells;
    (void)jr_num_u32(word->cell, &cell->number);
    jr_cell_folder(cell->folder, cell->number);
    cell->notes_fd = cells->ends.notes_fd;
    cell->cells_dir = jr_arena_strdup(&cell->arena, cells_dir);
    cell->run_id = jr_arena_printf(&cell->arena, "%s.%s", word->sweep, cell->folder);
    if (!read_numbers(word->devices, host->devices_count, &cell->arena, &cell->part.devices,
                      &cell->part.devices_count) ||
        !read_numbers(word->cores, jr_host_core_count(host), &cell->arena, &cell->part.cores,
                      &cell->part.cores_count))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "this node has other devices or CPUs than it had when the sweep began");
    cell->devices.around = jr_env_get(cells->node->options.envp, "JOBRUN_RUN_ID");
    name_cell_devices(cell, host, word->device == NULL ? "" : word->device);
    return cell->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

int jr_node_cells_begin(void *data, const struct jr_message *word,
                        const struct jr_agent_cell_ends *ends, struct jr_error *err)
{
    struct jr_node_cells *cells = data;
    pid_t agent = getpid();
    if (*cells->lease_fd >= 0) /* each cell takes a port of its own */
        (void)close(*cells->lease_fd);
    *cells->lease_fd = -1;
    if (word->spec == NULL || word->folder == NULL || word->sweep == NULL || word->cells == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the jobrun of the sweep did not say what to run");
    struct jr_node_cell *more = realloc(cells->cells, (cells->count + 1) * sizeof *more);
    if (more == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    struct jr_node_cell *cell = &more[cells->count++];
    *cell = (struct jr_node_cell){0};
    cells->cells = more;
    cells->ends = *ends;
    if (!cells->ready) {
        cells->host = cells->node->host;
        jr_cell_host_alone(&cells->host);
        cells->ready = true;
    }
    if (fill_cell(cell, cells, word, err) != 0) {
        drop_cell(cells, cell);
        return -1;
    }
    (void)take_cell_devices(cell, 0); /* else its process waits for them */
    cell->pid = fork();
    if (cell->pid == 0) {
        jr_cell_leave_parent(agent);
        for (size_t i = 0; i + 1 < cells->count; i++)
            give_cell_devices(&cells->cells[i].devices);
        _exit(run_cell(cells, cell, word));
    }
    if (cell->pid > 0)
        return 0;
    (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not begin");
    drop_cell(cells, cell);
    return -1;
}

/* The end of a cell. */

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
        for (size_t i = 0; i < cells->count; i++) {
            struct jr_node_cell *cell = &cells->cells[i];
            if (cell->sender == pid)
                take_sender_end(cell, status);
            if (cell->pid != pid)
                continue;
            cell->pid = 0;
            cell->over = WIFEXITED(status);
            cell->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        }
}

/* Cells without a guard are over once their runners are. What one left whose two processes were
 * killed is ended; the line about it goes to the agent by hand: it alone reads the pipe of the
 * notes, which may be full. */
static void end_orphans(struct jr_node_cells *cells)
{
    JR_FREE pid_t *known = calloc(2 * cells->count + 1, sizeof *known);
    bool lost = false;
    for (size_t i = 0; known != NULL && i < cells->count; i++) {
        struct jr_node_cell *cell = &cells->cells[i];
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        known[i] = cell->pid;
        known[cells->count + i] = cell->sender;
        if (cell->pid != 0 || cell->over ||
            jr_cell_has_runner(cell->cells_dir, cell->number, &known[i]))
            continue;
        cell->over = lost = true;
        if (jr_lost_sweep(&line, cell->cells_dir, cell->folder) == 0)
            continue;
        jr_buf_char(&line, '\n');
        cell->note = jr_buf_detach(&line);
    }
    if (lost)
        jr_cell_kill_strays(known, 2 * cells->count);
}

/* Begin to send what the next cell has left that is over; NULL: there is none, or one is being
 * sent: what two would write were mixed. A process that cannot be made is one that was killed. */
static struct jr_node_cell *send_next_cell(struct jr_node_cells *cells)
{
    struct jr_node_cell *cell = NULL;
    pid_t agent = getpid();
    for (size_t i = cells->count; i-- > 0;) {
        if (cells->cells[i].sender != 0)
            return NULL;
        if (cells->cells[i].over && !cells->cells[i].sent)
            cell = &cells->cells[i];
    }
    if (cell == NULL || cells->own.dir == NULL || cells->leaves)
        return NULL;
    cell->sender = fork();
    if (cell->sender == 0) { /* the cell is over, and changes no more */
        struct jr_error err = {0};
        jr_cell_leave_parent(agent);
        if (jr_cell_send(cell->cells_dir, cell->number, cells->collect, cells->ends.left_fd,
                         &err) == 0)
            _exit(JR_STATUS_OK);
        say_cell_line(cell, err.text);
        _exit(JR_STATUS_LAUNCH);
    }
    if (cell->sender < 0)
        take_sender_end(cell, SIGKILL);
    return cell;
}

/* Take the end of a cell of which all is done that is to be done here. */
static bool take_done_cell(struct jr_node_cells *cells, struct jr_agent_cell_end *ret)
{
    enum { MOST_BYTES = 256 }; /* of a message, see protocol.h */
    const char *own = cells->own.dir;
    struct jr_buf gone JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_node_cell *cell = NULL;
    for (size_t i = 0; cell == NULL && i < cells->count; i++) {
        const struct jr_node_cell *one = &cells->cells[i];
        if (one->over && (own == NULL || one->sent || (cells->leaves && one->sender == 0)))
            cell = &cells->cells[i];
    }
    if (cell == NULL)
        return false;
    (void)snprintf(ret->cell, sizeof ret->cell, "%u", cell->number);
    ret->code = cell->code;
    ret->note = cell->note;
    ret->sent = cell->sent;
    cell->note = NULL;
    /* All others would end like that, one after the other. Where the folder is the sweep's, that
     * is seen there. */
    JR_CLOSE int fd = own == NULL || cell->code != JR_STATUS_LAUNCH
                          ? -1
                          : open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ret->full = fd >= 0 && jr_cell_disk_is_full(fd);
    /* What there is no room for is found out by the next cell that gets it. */
    for (uint32_t i = 0; cell->devices.gone != NULL && i < cell->devices.list.count; i++)
        if (cell->devices.gone[i] && gone.len < MOST_BYTES)
            jr_buf_printf(&gone, "%s%u", gone.len == 0 ? "" : ",", cell->part.devices[i]);
    ret->gone = gone.len == 0 || gone.failed ? NULL : jr_buf_detach(&gone);
    drop_cell(cells, cell);
    return true;
}

bool jr_node_cells_next_end(void *data, struct jr_agent_cell_end *ret)
{
    struct jr_node_cells *cells = data;
    reap_processes(cells);
    end_orphans(cells);
    if (take_done_cell(cells, ret))
        return true;
    const struct jr_node_cell *next = send_next_cell(cells);
    return next != NULL && next->sent && take_done_cell(cells, ret);
}

void jr_node_cells_signal(void *data, const char *number, int sig)
{
    const struct jr_node_cells *cells = data;
    uint32_t one = 0;
    if (number != NULL && !jr_num_u32(number, &one))
        return;
    for (size_t i = 0; i < cells->count; i++)
        if (cells->cells[i].pid > 0 && (number == NULL || cells->cells[i].number == one))
            (void)kill(cells->cells[i].pid, sig);
}

size_t jr_node_cells_count(void *data)
{
    const struct jr_node_cells *cells = data;
    return cells->count;
}

void jr_node_cells_progress(void *data, struct jr_buf *out)
{
    const struct jr_node_cells *cells = data;
    for (size_t i = 0; cells->own.dir != NULL && i < cells->count; i++) {
        const struct jr_node_cell *cell = &cells->cells[i];
        JR_CLOSE int fd = jr_record_folder_open(cell->cells_dir, cell->folder, NULL);
        json_t *progress = fd < 0 ? NULL : jr_record_folder_progress(fd);
        if (progress == NULL)
            continue;
        json_t *line = json_object();
        (void)json_object_del(progress, "ranks"); /* there may be many */
        jr_json_set_int(line, "cell", cell->number);
        jr_json_set(line, "progress", progress);
        jr_json_print(out, line, 0);
        jr_buf_char(out, '\n');
        json_decref(line);
    }
}

void jr_node_cells_leave(void *data)
{
    struct jr_node_cells *cells = data;
    cells->leaves = true;
    jr_node_cells_signal(cells, NULL, SIGTERM);
    for (size_t i = 0; i < cells->count; i++)
        if (cells->cells[i].sender > 0)
            (void)kill(cells->cells[i].sender, SIGKILL);
}

void jr_node_cells_release(struct jr_node_cells *cells)
{
    struct jr_reap reap;
    struct jr_buf lock JR_BUF_CLEANUP = JR_BUF_INIT;
    if (cells->ready)
        jr_reap(&reap, END_WAIT_NS, NULL);
    while (cells->count > 0)
        drop_cell(cells, &cells->cells[0]);
    if (cells->own.dir != NULL) { /* where no cell has run, nothing is left of it */
        jr_buf_printf(&lock, "%s/" LOCK, cells->own.dir);
        if (!lock.failed && unlink(lock.data) == 0)
            (void)rmdir(cells->own.dir);
    }
    if (cells->own.lock_fd > 0)
        (void)close(cells->own.lock_fd);
    free(cells->own.dir);
    free(cells->cells);
    free(cells->collect);
    free(cells->code);
    cells->own = (struct jr_own_cells){0};
    cells->cells = NULL;
    cells->collect = cells->code = NULL;
}
