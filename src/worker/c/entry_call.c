#include "worker/c/entry_call.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/json.h"
#include "worker/c/worker.h"

#include "base/banned.h"

/* What a library exports, for did-you-mean: its dynamic symbols, as elf(5) has them. dlsym(3) finds
 * a name, but lists none. */

/* A file in memory. */
struct image {
    const char *bytes;
    size_t len;
};

/* `len` bytes of the file, or NULL where it has none there. */
static const void *image_part(const struct image *image, size_t offset, size_t len)
{
    bool inside = offset <= image->len && len <= image->len - offset;
    return inside && offset % alignof(ElfW(Sym)) == 0 ? image->bytes + offset : NULL;
}

/* The functions among the symbols of a section; false where they cannot be read. */
static bool collect_functions(struct jr_arena *arena, const struct image *image,
                              const ElfW(Shdr) * section, const ElfW(Shdr) * strings,
                              const char ***ret)
{
    const ElfW(Sym) *symbols = image_part(image, section->sh_offset, section->sh_size);
    const char *text = image->bytes + strings->sh_offset;
    size_t count = section->sh_size / sizeof *symbols, found = 0;
    bool whole = strings->sh_offset < image->len && strings->sh_size > 0 &&
                 strings->sh_size <= image->len - strings->sh_offset &&
                 text[strings->sh_size - 1] == '\0';
    const char **names = jr_arena_array(arena, count + 1, sizeof *names);
    if (symbols == NULL || !whole || names == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            symbols[i].st_name < strings->sh_size)
            names[found++] = text + symbols[i].st_name;
    *ret = names;
    return true;
}

/* The names of the functions that a library exports, NULL-terminated. */
static bool list_exported_functions(struct jr_arena *arena, const struct image *image,
                                    const char ***ret)
{
    const ElfW(Ehdr) *head = image_part(image, 0, sizeof *head);
    if (head == NULL || head->e_shentsize != sizeof(ElfW(Shdr)))
        return false;
    size_t count = head->e_shnum;
    const ElfW(Shdr) *sections = image_part(image, head->e_shoff, count * sizeof *sections);
    for (size_t i = 0; sections != NULL && i < count; i++)
        if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < count)
            return collect_functions(arena, image, &sections[i], &sections[sections[i].sh_link],
                                     ret);
    return false;
}

/* The name that C++ gives to a function of this name: it holds its length and the name itself. */
static const char *find_mangled(const char *symbol, const char *const *names)
{
    char part_of[256];
    int len = snprintf(part_of, sizeof part_of, "%zu%s", strlen(symbol), symbol);
    if (len < 0 || (size_t)len >= sizeof part_of)
        return NULL;
    for (; *names != NULL; names++)
        if (strncmp(*names, "_Z", 2) == 0 && strstr(*names, part_of) != NULL)
            return *names;
    return NULL;
}

static void suggest_symbol(const struct image *image, const char *symbol, struct jr_buf *ret)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char **names;
    if (list_exported_functions(&arena, image, &names)) {
        const char *foreign = find_mangled(symbol, names);
        const char *near = jr_did_you_mean(symbol, names);
        if (foreign != NULL)
            jr_buf_printf(ret, "; it has C++'s '%s': declare it extern \"C\"", foreign);
        else if (near != NULL)
            jr_buf_printf(ret, ": did you mean '%s'?", near);
    }
}

void jr_worker_suggest(const char *path, const char *symbol, struct jr_buf *ret)
{
    JR_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fstat(fd, &st) != 0) /* nor can -1 be asked */
        return;
    size_t len = (size_t)st.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) /* as of an empty file */
        return;
    suggest_symbol(&(struct image){bytes, len}, symbol, ret);
    (void)munmap(bytes, len);
}

enum { NOTED_MS = 1000 };

typedef int step_function(const struct jr_rank *, struct jr_result *);

/* The jr_result that the user sees, and what is behind it. */
struct result {
    struct jr_result face;
    struct jr_buf text;
};

static int set_json(struct jr_result *face, const char *text, size_t length)
{
    struct result *result = (struct result *)face;
    struct jr_error err = {0};
    json_t *value = jr_json_parse(text, length, &err);
    if (value == NULL) {
        (void)fprintf(stderr, "jobrun: the result is not JSON: %s\n", err.text);
        return -1;
    }
    json_decref(value);
    struct jr_buf copy = JR_BUF_INIT;
    jr_buf_add(&copy, text, length);
    if (copy.failed) {
        jr_buf_release(&copy);
        return -1;
    }
    jr_buf_release(&result->text);
    result->text = copy;
    return 0;
}

/* Replace a file that the environment names; 0 where it names none. */
static int write_named(const char *name, const struct jr_buf *bytes, struct stat *ret,
                       struct jr_error *err)
{
    const char *path = getenv(name);
    if (path == NULL)
        return 0;
    if (bytes->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    char folder[PATH_MAX] = ".";
    if (len >= sizeof folder)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s is too long", name);
    if (slash != NULL)
        (void)snprintf(folder, sizeof folder, "%.*s/", (int)len, path);
    JR_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    mode_t mask = umask(0);
    (void)umask(mask);
    const char *last = slash == NULL ? path : slash + 1;
    if (jr_io_replace(fd, last, bytes->data, bytes->len, 0666 & ~mask, err) != 0)
        return -1;
    if (fstatat(fd, last, ret, AT_SYMLINK_NOFOLLOW) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", path);
    return 0;
}

int jr_worker_refuse(const struct jr_error *why)
{
    struct jr_error err = {0};
    struct jr_buf bytes = JR_BUF_INIT;
    struct stat st;
    json_t *file = json_object(), *message = json_object(), *extra = json_object();
    uint64_t now = jr_clock_wall_ns();
    char second[32];
    (void)fprintf(stderr, "jobrun: %s\n", why->text);
    jr_json_set_str(extra, "py_callstack", "");
    (void)snprintf(second, sizeof second, "%llu", (unsigned long long)(now / 1000000000));
    jr_json_set_str(extra, "timestamp", second); /* as torch writes it */
    jr_json_set_str(message, "message", why->text);
    jr_json_set(message, "extraInfo", extra);
    jr_json_set(file, "message", message);
    jr_json_set_int(file, "time_ns", (json_int_t)now);
    jr_json_set_int(file, "pid", getpid());
    jr_json_set_bool(file, "start", true);
    jr_json_print(&bytes, file, 0);
    json_decref(file);
    if (write_named("JOBRUN_ERROR_FILE", &bytes, &st, &err) != 0)
        (void)fprintf(stderr, "jobrun: %s\n", err.text);
    jr_buf_release(&bytes);
    return JR_WORKER_UNSTARTED;
}

void *jr_worker_load(const char *path, struct jr_error *err)
{
    /* Global, for the plug-ins that MPI and other libraries load themselves look for the symbols of
     * what is loaded already. */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "could not load the library: %s", dlerror());
    return library;
}

static void refuse_symbol(const struct jr_worker *worker, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_worker_suggest(worker->path, worker->symbol, &text);
    if (text.len == 0)
        jr_buf_str(&text, ": is it exported (not static, not hidden), and in C++ declared extern "
                          "\"C\"? nm -D shows what there is");
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s has no symbol '%s'%s", worker->path,
                       worker->symbol, text.failed ? "" : text.data);
}

static step_function *find_step_function(const struct jr_worker *worker, struct jr_error *err)
{
    void *library = jr_worker_load(worker->path, err);
    if (library == NULL)
        return NULL;
    void *symbol = dlsym(library, worker->symbol);
    if (symbol == NULL)
        refuse_symbol(worker, err);
    step_function *function;
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast */
    return function;
}

/* The file's status goes to *ret, and stays as it is if there is none. */
static int deliver_result(struct result *result, struct stat *ret)
{
    struct jr_error err = {0};
    if (result->text.len == 0)
        jr_buf_str(&result->text, "null");
    jr_buf_char(&result->text, '\n');
    if (write_named("JOBRUN_RESULT_FILE", &result->text, ret, &err) == 0)
        return 0;
    (void)fprintf(stderr, "jobrun: could not deliver the result: %s\n", err.text);
    return 1;
}

static long long file_stamp_ns(const struct timespec *time)
{
    return (long long)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* Whether the runner has noted a failure, which takes no time; one that is stopped must be passed
 * by. */
static bool is_failure_noted(int control)
{
    struct pollfd fd = {.fd = control, .events = POLLIN};
    return poll(&fd, 1, NOTED_MS) > 0;
}

/* Send how it ended; of a return, with what identifies the file that was delivered. Then wait for
 * the byte that comes back once the rank may end. Without a runner there is nothing to wait for. */
static void report_step_end(int control, int code, const struct stat *st)
{
    char word[128];
    if (code != 0)
        (void)snprintf(word, sizeof word, "x %d", code);
    else
        (void)snprintf(word, sizeof word, "r %llu %llu %lld %lld %lld",
                       (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                       (long long)st->st_size, file_stamp_ns(&st->st_mtim),
                       file_stamp_ns(&st->st_ctim));
    if (send(control, word, strlen(word), MSG_NOSIGNAL) < 0 ||
        (code != 0 && !is_failure_noted(control)))
        return;
    while (read(control, word, 1) < 0 && errno == EINTR)
        continue;
}

/* Whether the step has closed the control socket, and what it got under that number since is not to
 * be written to. */
static bool is_control_lost(const struct jr_worker *worker)
{
    struct stat st;
    return fstat(worker->control, &st) != 0 || st.st_ino != worker->control_ino ||
           !S_ISSOCK(st.st_mode);
}

static int finish_step(const struct jr_worker *worker, int code, const struct stat *st)
{
    (void)fflush(NULL); /* a rank that waits may be killed before it exits */
    if (worker->control >= 0 && !is_control_lost(worker)) {
        report_step_end(worker->control, code, st);
        return code;
    }
    if (worker->control < 0 || code != 0)
        return code;
    (void)fprintf(stderr,
                  "jobrun: the step returned, but it had closed descriptor %d, which "
                  "reports to jobrun: do not close descriptors that you did not open\n",
                  worker->control);
    return 1;
}

static int call_step(const struct jr_worker *worker, step_function *function,
                     const struct jr_rank *rank)
{
    struct result result = {.face = {.set_json = set_json}, .text = JR_BUF_INIT};
    struct stat st = {0};
    pid_t self = getpid();
    if (worker->forked && worker->control >= 0)
        (void)send(worker->control, "b", 1, MSG_NOSIGNAL);
    int code = function(rank, &result.face);
    if (code < 0 || code > 255)
        code = 1;
    bool forked = getpid() != self;
    if (code == 0 && !forked)
        code = deliver_result(&result, &st);
    jr_buf_release(&result.text);
    if (!forked)
        code = finish_step(worker, code, &st);
    else
        (void)fprintf(stderr,
                      "jobrun: the step returned in process %d, but the rank "
                      "is process %d: what it returned does not count\n",
                      (int)getpid(), (int)self);
    return code;
}

int jr_worker_run(const struct jr_worker *worker)
{
    struct jr_error err = {0};
    struct jr_rank rank;
    step_function *function = find_step_function(worker, &err);
    if (function == NULL || jr_worker_rank(&rank, &err) != 0)
        return jr_worker_refuse(&err);
    rank.argc = worker->argc;
    rank.argv = worker->argv;
    return call_step(worker, function, &rank);
}
