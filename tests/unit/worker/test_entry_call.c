/* Ranks of a library, each a fork of the test that calls jr_worker_run: their exit codes, files,
 * and what they say to the runner. */
#include "worker/c/entry_call.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "scratch.h"

enum { WAIT_MS = 60000 };

/* What main.c reads out of the environment, here by hand. */
int jr_worker_rank(struct jr_rank *ret, struct jr_error *err)
{
    if (getenv("NO_RANK") != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "no rank here");
    *ret = (struct jr_rank){
        .rank = 1,
        .world_size = 2,
        .local_rank = 3,
        .local_world_size = 4,
        .node_rank = 5,
        .nodes = 6,
        .attempt = 7,
        .master_port = 8,
        .axes = {{9, 10, 11, 12, 13, "a"}, {14, 15, 16, 17, 18, "b"}, {19, 20, 21, 22, 23, "c"}},
        .master_addr = "d",
        .init_method = "e",
        .run_id = "f",
        .run_dir = "g",
        .rank_dir = "h"};
    return 0;
}

struct desk {
    struct scratch scratch;
    char result[64], error[64], told[64], out[64];
};

static void begin(struct desk *desk)
{
    scratch_start(&desk->scratch);
    (void)snprintf(desk->result, 64, "%s/result.json", desk->scratch.dir);
    (void)snprintf(desk->error, 64, "%s/error.json", desk->scratch.dir);
    (void)snprintf(desk->told, 64, "%s/told", desk->scratch.dir);
    (void)snprintf(desk->out, 64, "%s/out", desk->scratch.dir);
    (void)setenv("JOBRUN_RESULT_FILE", desk->result, 1);
    (void)setenv("JOBRUN_ERROR_FILE", desk->error, 1);
}

static void end(struct desk *desk)
{
    scratch_end(&desk->scratch);
}

/* For the rest of the block. */
#define DESK(name)                                                                                 \
    struct desk name RELEASE(end);                                                                 \
    begin(&name)

/* Static; "" where there is no such file. */
static const char *content(const char *path)
{
    static char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

static void redirect(int to, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)dup2(fd, to);
    (void)close(fd);
}

/* Start a rank, whose output is in the files `out` and `told`, and whose descriptor 3 is `control`
 * (-1: none). */
static pid_t start(const struct desk *desk, struct jr_worker worker, int control)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    redirect(STDOUT_FILENO, desk->out);
    redirect(STDERR_FILENO, desk->told);
    worker.control = -1;
    (void)close(JR_WORKER_CONTROL);
    if (control >= 0) {
        struct stat st;
        (void)dup2(control, JR_WORKER_CONTROL);
        (void)fstat(JR_WORKER_CONTROL, &st);
        worker.control = JR_WORKER_CONTROL;
        worker.control_ino = st.st_ino;
    }
    for (int fd = JR_WORKER_CONTROL + 1; fd < 64; fd++)
        (void)close(fd); /* the runner's end of the socket among them */
    worker.path = worker.path == NULL ? TEST_LIBRARY : worker.path;
    _exit(jr_worker_run(&worker));
}

/* The same with a control socket, of which *runner is the runner's end. */
static pid_t start_told(const struct desk *desk, struct jr_worker worker, int *runner)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = start(desk, worker, ends[1]);
    (void)close(ends[1]);
    *runner = ends[0];
    return pid;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int call(const struct desk *desk, const char *symbol, char *arg)
{
    char *argv[] = {arg, NULL};
    return wait_for(start(
        desk, (struct jr_worker){.symbol = symbol, .argc = arg == NULL ? 0 : 1, .argv = argv}, -1));
}

TEST(refuses_what_it_cannot_call)
{
    static const struct {
        const char *path, *symbol, *parts[2];
    } vectors[] = {
        {"/nonexistent.so", "place", {"could not load", "/nonexistent.so"}},
        {"/dev/null", "place", {"could not load", "/dev/null"}},
        {NULL, "plaec", {"has no symbol 'plaec'", "'place'"}},
        {NULL, "something_else", {"has no symbol", "nm -D"}},
        {NULL, "placarb", {"has no symbol", "nm -D"}}, /* a variable is */
        {NULL, "lost", {"'_Z4lostv'", "extern \"C\""}},
        {NULL, "gone", {"has no symbol", "nm -D"}}, /* _4gonev is no C++ */
        {NULL, "ost", {"has no symbol", "nm -D"}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        DESK(desk);
        const struct jr_worker worker = {.path = vectors[i].path, .symbol = vectors[i].symbol};
        CU_ASSERT_EQUAL(wait_for(start(&desk, worker, -1)), JR_WORKER_UNSTARTED);
        char told[1024];
        (void)snprintf(told, sizeof told, "%s", content(desk.told));
        CU_ASSERT_PTR_NOT_NULL(strstr(told, vectors[i].parts[0]));
        CU_ASSERT_PTR_NOT_NULL(strstr(told, vectors[i].parts[1]));
        const char *text = content(desk.error);
        json_t *error = jr_json_parse(text, strlen(text), NULL);
        CU_ASSERT_TRUE(jr_json_get_bool(error, "start") && jr_json_get_int(error, "pid") > 0);
        const json_t *message = json_object_get(error, "message");
        const char *said = jr_json_get_str(message, "message");
        JR_ASSERT_TEXT(jr_json_get_str(json_object_get(message, "extraInfo"), "py_callstack"), "");
        CU_ASSERT_TRUE(said != NULL && strstr(told, said) != NULL);
        const char *second = jr_json_get_str(json_object_get(message, "extraInfo"), "timestamp");
        json_int_t ns = jr_json_get_int(error, "time_ns");
        CU_ASSERT_PTR_NOT_NULL_FATAL(second); /* a string, as torch has it */
        CU_ASSERT_TRUE(atoll(second) == ns / 1000000000 && atoll(second) > 1000000000);
        json_decref(error);
        JR_ASSERT_TEXT(content(desk.result), "");
    }
}

/* A copy of the library, to be bent. */
struct image {
    struct jr_buf bytes;
    ElfW(Ehdr) * head;
    ElfW(Shdr) * sections, *symbols, *strings;
};

/* Where its parts are, which moves as it grows. */
static void image_find(struct image *image)
{
    image->head = (void *)image->bytes.data;
    image->sections = (void *)(image->bytes.data + image->head->e_shoff);
    for (unsigned i = 0; i < image->head->e_shnum; i++)
        if (image->sections[i].sh_type == SHT_DYNSYM)
            image->symbols = &image->sections[i];
    CU_ASSERT_PTR_NOT_NULL_FATAL(image->symbols);
    image->strings = &image->sections[image->symbols->sh_link];
}

static void image_start(struct image *image)
{
    *image = (struct image){.bytes = JR_BUF_INIT};
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&image->bytes, AT_FDCWD, TEST_LIBRARY, 16 << 20, NULL),
                          0);
    image_find(image);
}

/* Put the names of its symbols last, but for this text. */
static void put_strings_last(struct image *image, const char *behind)
{
    size_t at = image->bytes.len, len = image->strings->sh_size;
    char *strings = malloc(len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strings);
    memcpy(strings, image->bytes.data + image->strings->sh_offset, len);
    jr_buf_add(&image->bytes, strings, len);
    jr_buf_add(&image->bytes, behind, strlen(behind) + (*behind != '\0'));
    free(strings);
    image_find(image);
    image->strings->sh_offset = at;
}

static void check_suggestion(const struct image *image, size_t len, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char path[64];
    SCRATCH(scratch);
    int fd = openat(scratch.fd, "library", O_WRONLY | O_CREAT, 0600);
    CU_ASSERT_EQUAL(jr_io_write_all(fd, image->bytes.data, len), 0);
    (void)close(fd);
    (void)snprintf(path, sizeof path, "%s/library", scratch.dir);
    jr_worker_suggest(path, "plaec", &text);
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, expected);
}

/* Each way in which a file is not the library that it says to be. */
enum bend {
    ENTRY_SIZE,
    SECTIONS_BEYOND,
    SECTIONS_ODD,
    SECTIONS_MANY,
    LINK_BEYOND,
    SYMBOLS_BEYOND,
    SYMBOLS_MANY,
    STRINGS_BEYOND,
    STRINGS_NONE,
    STRINGS_MANY,
    STRINGS_OPEN,
    BENDS
};

static void bend_image(struct image *image, enum bend bend)
{
    size_t len = image->bytes.len;
    switch (bend) {
    case ENTRY_SIZE:
        image->head->e_shentsize++;
        break;
    case SECTIONS_BEYOND:
        image->head->e_shoff = len + 8;
        break;
    case SECTIONS_ODD:
        image->head->e_shoff += 4;
        break;
    case SECTIONS_MANY:
        image->head->e_shnum = 65535;
        break;
    case LINK_BEYOND:
        image->head->e_shnum = (ElfW(Half))image->symbols->sh_link;
        break;
    case SYMBOLS_BEYOND:
        image->symbols->sh_offset = (len & ~(size_t)7) + 4096;
        break;
    case SYMBOLS_MANY:
        image->symbols->sh_size = len;
        break;
    case STRINGS_BEYOND:
        image->strings->sh_offset = len + 4096;
        break;
    case STRINGS_NONE:
        image->strings->sh_size = 0;
        break;
    case STRINGS_MANY:
        image->strings->sh_size = SIZE_MAX - 1;
        break;
    case STRINGS_OPEN:
        image->bytes.data[image->strings->sh_offset + image->strings->sh_size - 1] = 'x';
        break;
    case BENDS:
        break;
    }
}

TEST(suggests_nothing_from_a_broken_library)
{
    for (int bend = 0; bend < BENDS; bend++) {
        struct image image;
        image_start(&image);
        bend_image(&image, (enum bend)bend);
        check_suggestion(&image, image.bytes.len, "");
        jr_buf_release(&image.bytes);
    }
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_worker_suggest("/nonexistent.so", "plaec", &text);
    jr_worker_suggest("/tmp", "plaec", &text);
    CU_ASSERT_EQUAL(text.len, 0);
}

/* Cut anywhere, as by a full disk: its sections come last. */
TEST(suggests_nothing_from_a_torn_library)
{
    struct image image;
    image_start(&image);
    check_suggestion(&image, image.bytes.len, ": did you mean 'place'?");
    for (size_t len = 0; len < image.bytes.len; len += 1 + len / 2)
        check_suggestion(&image, len, "");
    check_suggestion(&image, image.head->e_shoff, "");
    check_suggestion(&image, image.bytes.len - 1, "");
    jr_buf_release(&image.bytes);
}

/* Of all that a library names, only functions that it has itself are meant. */
TEST(suggests_functions_that_are_there)
{
    for (int kind = 0; kind < 3; kind++) {
        struct image image;
        image_start(&image);
        put_strings_last(&image, "place");
        ElfW(Sym) *all = (void *)(image.bytes.data + image.symbols->sh_offset);
        size_t count = image.symbols->sh_size / sizeof *all;
        for (size_t i = 0; i < count; i++) {
            if (kind == 0)
                all[i].st_shndx = SHN_UNDEF;
            else if (kind == 1)
                all[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
            else
                all[i].st_name = (ElfW(Word))image.strings->sh_size;
        }
        check_suggestion(&image, image.bytes.len, "");
        jr_buf_release(&image.bytes);
    }
}

/* The strings may end with the file, as any other part may. */
TEST(suggests_by_strings_that_come_last)
{
    struct image image;
    image_start(&image);
    put_strings_last(&image, "");
    check_suggestion(&image, image.bytes.len, ": did you mean 'place'?");
    check_suggestion(&image, image.bytes.len - 1, "");
    jr_buf_release(&image.bytes);
}

TEST(says_that_it_cannot_write_why)
{
    DESK(desk);
    (void)setenv("JOBRUN_ERROR_FILE", "/nonexistent/error.json", 1);
    CU_ASSERT_EQUAL(call(&desk, "absent", NULL), JR_WORKER_UNSTARTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "has no symbol"));
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "/nonexistent"));
}

/* As one line, which tells the process. */
TEST(writes_why_as_torch_does)
{
    struct jr_error why = {0};
    DESK(desk);
    (void)jr_error_set(&why, JR_STATUS_LAUNCH, "there is no \"step\"");
    CU_ASSERT_EQUAL(jr_worker_refuse(&why), JR_WORKER_UNSTARTED);
    const char *text = content(desk.error);
    CU_ASSERT_PTR_NULL(strchr(text, '\n'));
    json_t *error = jr_json_parse(text, strlen(text), NULL);
    CU_ASSERT_EQUAL(jr_json_get_int(error, "pid"), getpid());
    JR_ASSERT_TEXT(jr_json_get_str(json_object_get(error, "message"), "message"),
                   "there is no \"step\"");
    json_decref(error);
}

/* A process may call one that is not started, and one that is: what it had is freed. */
TEST(calls_in_the_same_process)
{
    struct jr_worker worker = {.path = TEST_LIBRARY, .symbol = "thrice", .control = -1};
    DESK(desk);
    CU_ASSERT_EQUAL(jr_worker_run(&worker), 0);
    JR_ASSERT_TEXT(content(desk.result), "{\"n\":1}\n");
    worker.symbol = "plaec";
    CU_ASSERT_EQUAL(jr_worker_run(&worker), JR_WORKER_UNSTARTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.error), "did you mean 'place'"));
}

TEST(refuses_to_run_without_a_rank)
{
    DESK(desk);
    (void)setenv("NO_RANK", "1", 1);
    CU_ASSERT_EQUAL(call(&desk, "place", NULL), JR_WORKER_UNSTARTED);
    (void)unsetenv("NO_RANK");
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "no rank here"));
    JR_ASSERT_TEXT(content(desk.result), "");
}

TEST(delivers_what_the_step_set)
{
    struct stat st;
    DESK(desk);
    (void)umask(026);
    CU_ASSERT_EQUAL(call(&desk, "place", (char[]){"x"}), 0);
    JR_ASSERT_TEXT(content(desk.result),
                   "[1,2,3,4,5,6,7,8,[9,10,11,12,13,\"a\"],[14,15,16,17,18,\"b\"],[19,20,21,22,23,"
                   "\"c\"],\"d\",\"e\",\"f\",\"g\",\"h\",\"x\"]\n");
    CU_ASSERT_EQUAL(stat(desk.result, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0640);
    CU_ASSERT_EQUAL(call(&desk, "thrice", NULL), 0);
    JR_ASSERT_TEXT(content(desk.result), "{\"n\":1}\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "not JSON"));
    CU_ASSERT_EQUAL(call(&desk, "code", (char[]){"0"}), 0);
    JR_ASSERT_TEXT(content(desk.result), "null\n");
    JR_ASSERT_TEXT(content(desk.error), "");
}

TEST(says_how_a_step_ended)
{
    static const struct {
        const char *arg;
        int code;
    } vectors[] = {{"1", 1}, {"255", 255}, {"256", 1}, {"-1", 1}, {"7", 7}};
    DESK(desk);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char arg[8];
        (void)snprintf(arg, sizeof arg, "%s", vectors[i].arg);
        CU_ASSERT_EQUAL(call(&desk, "code", arg), vectors[i].code);
        JR_ASSERT_TEXT(content(desk.result), "");
        JR_ASSERT_TEXT(content(desk.error), "");
    }
}

/* Where the environment names no file, and where it cannot be written. */
TEST(delivers_where_it_is_told_to)
{
    char path[96];
    DESK(desk);
    (void)unsetenv("JOBRUN_RESULT_FILE");
    CU_ASSERT_EQUAL(call(&desk, "thrice", NULL), 0);
    (void)snprintf(path, sizeof path, "%s/none/result.json", desk.scratch.dir);
    (void)setenv("JOBRUN_RESULT_FILE", path, 1);
    CU_ASSERT_EQUAL(call(&desk, "thrice", NULL), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "could not deliver"));
    (void)setenv("JOBRUN_RESULT_FILE", desk.scratch.dir, 1); /* a folder */
    CU_ASSERT_EQUAL(call(&desk, "thrice", NULL), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "could not deliver"));
    (void)setenv("JOBRUN_RESULT_FILE", "here.json", 1); /* of this folder */
    char *before = getcwd(NULL, 0);
    CU_ASSERT_TRUE(chdir(desk.scratch.dir) == 0 && call(&desk, "thrice", NULL) == 0);
    JR_ASSERT_TEXT(content("here.json"), "{\"n\":1}\n");
    CU_ASSERT_EQUAL(chdir(before), 0);
    free(before);
}

/* A folder that no path can name. */
TEST(says_that_a_path_is_too_long)
{
    static const size_t lengths[] = {4096, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char path[6000];
        DESK(desk);
        memset(path, 'x', sizeof path);
        (void)snprintf(path + lengths[i], 16, "/result.json");
        (void)setenv("JOBRUN_RESULT_FILE", path, 1);
        CU_ASSERT_EQUAL(call(&desk, "thrice", NULL), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "could not deliver the result: "
                                                          "JOBRUN_RESULT_FILE is too long\n"));
    }
}

/* The runner's end of a rank's control socket. */
static ssize_t hear(int control, char text[static 128])
{
    struct pollfd wait = {.fd = control, .events = POLLIN};
    memset(text, 0, 128);
    CU_ASSERT_EQUAL(poll(&wait, 1, WAIT_MS), 1);
    return recv(control, text, 127, 0);
}

TEST(tells_the_runner_and_waits)
{
    struct stat st;
    int runner;
    char text[128], want[128];
    DESK(desk);
    const struct jr_worker worker = {.symbol = "thrice", .forked = true};
    pid_t pid = start_told(&desk, worker, &runner);
    CU_ASSERT_EQUAL(hear(runner, text), 1);
    JR_ASSERT_TEXT(text, "b");
    CU_ASSERT_TRUE(hear(runner, text) > 0);
    CU_ASSERT_EQUAL(stat(desk.result, &st), 0);
    (void)snprintf(want, sizeof want, "r %llu %llu %lld %lld %lld", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino, (long long)st.st_size,
                   (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
                   (long long)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec);
    JR_ASSERT_TEXT(text, want);
    struct pollfd wait = {.fd = runner, .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&wait, 1, 50), 0); /* it stays until it may go */
    CU_ASSERT_EQUAL(waitpid(pid, NULL, WNOHANG), 0);
    CU_ASSERT_EQUAL(send(runner, "!", 1, 0), 1);
    CU_ASSERT_EQUAL(wait_for(pid), 0);
    (void)close(runner);
}

/* A rank that waits may be killed: what it printed is not lost with it. */
TEST(prints_before_it_waits)
{
    int runner;
    char text[128];
    DESK(desk);
    pid_t pid = start_told(&desk, (struct jr_worker){.symbol = "print"}, &runner);
    CU_ASSERT_TRUE(hear(runner, text) > 0);
    CU_ASSERT_EQUAL(text[0], 'r');
    JR_ASSERT_TEXT(content(desk.out), "printed");
    CU_ASSERT_TRUE(kill(pid, SIGKILL) == 0 && wait_for(pid) == -SIGKILL);
    (void)close(runner);
}

/* A signal that the step takes does not end the wait for the runner; its word does, or its end. */
TEST(waits_on_when_a_signal_comes)
{
    for (int lives = 0; lives < 2; lives++) {
        int runner;
        char text[128];
        DESK(desk);
        pid_t pid = start_told(&desk, (struct jr_worker){.symbol = "take_signals"}, &runner);
        CU_ASSERT_TRUE(hear(runner, text) > 0);
        CU_ASSERT_EQUAL(text[0], 'r');
        CU_ASSERT_EQUAL(kill(pid, SIGUSR1), 0);
        CU_ASSERT_EQUAL(hear(runner, text), 7);
        JR_ASSERT_TEXT(text, "handled");
        struct pollfd wait = {.fd = runner, .events = POLLIN};
        CU_ASSERT_EQUAL(poll(&wait, 1, 50), 0);
        CU_ASSERT_EQUAL(waitpid(pid, NULL, WNOHANG), 0);
        if (lives)
            CU_ASSERT_EQUAL(send(runner, "!", 1, 0), 1);
        (void)close(runner);
        CU_ASSERT_EQUAL(wait_for(pid), 0);
    }
}

static double read_clock_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How long a rank that failed lives on, once the runner has noted it. */
static double time_noted_failure(const struct desk *desk)
{
    int runner;
    char text[128], *argv[] = {(char[]){"1"}, NULL};
    pid_t pid =
        start_told(desk, (struct jr_worker){.symbol = "code", .argc = 1, .argv = argv}, &runner);
    CU_ASSERT_EQUAL(hear(runner, text), 3);
    JR_ASSERT_TEXT(text, "x 1");
    double noted = read_clock_s();
    CU_ASSERT_EQUAL(send(runner, "!", 1, 0), 1);
    CU_ASSERT_EQUAL(wait_for(pid), 1);
    (void)close(runner);
    return read_clock_s() - noted;
}

/* It ends at once, unless the machine is busy, and not at the end of the second that a stopped
 * runner gets. */
TEST(ends_as_soon_as_its_failure_is_noted)
{
    double took = 1;
    DESK(desk);
    for (int i = 0; i < 20 && took > 0.5; i++)
        took = time_noted_failure(&desk);
    CU_ASSERT_TRUE(took <= 0.5);
}

/* Of a failure the runner hears at once; one that is gone is not waited for. */
TEST(tells_of_a_failure)
{
    int ends[2];
    char text[128], *argv[] = {(char[]){"9"}, NULL};
    DESK(desk);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        if (i == 1) {
            (void)close(ends[0]);
            ends[0] = -1;
        }
        pid_t pid =
            start(&desk, (struct jr_worker){.symbol = "code", .argc = 1, .argv = argv}, ends[1]);
        (void)close(ends[1]);
        if (i == 0) {
            CU_ASSERT_EQUAL(hear(ends[0], text), 3);
            JR_ASSERT_TEXT(text, "x 9");
            CU_ASSERT_EQUAL(send(ends[0], "!", 1, 0), 1);
            (void)close(ends[0]);
        }
        CU_ASSERT_EQUAL(wait_for(pid), 9);
    }
}

/* A runner that is stopped notes nothing: a rank that failed does not wait for it for long. */
TEST(passes_by_a_runner_that_is_stopped)
{
    int runner;
    char text[128], *argv[] = {(char[]){"1"}, NULL};
    DESK(desk);
    pid_t pid =
        start_told(&desk, (struct jr_worker){.symbol = "code", .argc = 1, .argv = argv}, &runner);
    CU_ASSERT_EQUAL(hear(runner, text), 3);
    CU_ASSERT_EQUAL(wait_for(pid), 1);
    (void)close(runner);
}

/* A step that closed the descriptor, or has put another in its place. */
TEST(says_that_the_runner_cannot_be_told)
{
    static const struct {
        const char *symbol;
        int code;
        bool told;
    } vectors[] = {{"close_control", 1, true},
                   {"take_control", 1, true},
                   {"take_control_by_a_socket", 1, true},
                   {"close_control_and_fail", 9, false}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        int ends[2];
        DESK(desk);
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        CU_ASSERT_EQUAL(
            wait_for(start(&desk, (struct jr_worker){.symbol = vectors[i].symbol}, ends[1])),
            vectors[i].code);
        CU_ASSERT_EQUAL(strstr(content(desk.told), "descriptor 3") != NULL, vectors[i].told);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

/* A fork of the rank that returns, too, is told so, and delivers nothing: the runner hears of one
 * return. */
TEST(does_not_count_a_fork)
{
    struct desk desk;
    int runner;
    char text[128];
    begin(&desk);
    pid_t pid = start_told(&desk, (struct jr_worker){.symbol = "fork_and_return"}, &runner);
    CU_ASSERT_TRUE(hear(runner, text) > 0);
    CU_ASSERT_EQUAL(text[0], 'r');
    CU_ASSERT_EQUAL(send(runner, "!", 1, 0), 1);
    CU_ASSERT_EQUAL(wait_for(pid), 0);
    CU_ASSERT_EQUAL(hear(runner, text), 0); /* both have ended */
    (void)close(runner);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(desk.told), "does not count"));
    JR_ASSERT_TEXT(content(desk.result), "null\n");
    end(&desk);
}
