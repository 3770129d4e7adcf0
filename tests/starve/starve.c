/*
 * Have the n-th allocation fail, for n = 1, 2, ... until none does: a spec's way from its text to
 * its plan ends with an error that says so, or with what it ends with where there is memory enough;
 * nothing crashes, and nothing of ours is left behind.
 *
 * usage: starve STRIDE [--facts PROFILE] SPEC...
 *
 * STRIDE 1 tries every n, 7 each seventh. Each n is tried twice: this one fails alone, or all from
 * there on. Trials are made by a child, so that a crash is told with its n, and those behind it are
 * tried as well. In a build with a sanitizer, which has an allocator of its own, it is what our own
 * files ask for that fails, and the sanitizer looks for leaks; else also what the libraries under
 * them ask for, and the blocks are counted.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jobrun/jobrun.h>

/* The allocator that fails. */
static struct {
    unsigned long count; /* of allocations, from its start */
    unsigned long fails; /* the one that does; 0: none */
    bool on;             /* and all behind it */
    long live;           /* blocks */
} heap;

static bool refuses(void)
{
    heap.count++;
    if (heap.fails == 0 || heap.count < heap.fails || (heap.count > heap.fails && !heap.on))
        return false;
    errno = ENOMEM;
    return true;
}

#ifdef JR_SANITIZED
#define OURS(name)   __wrap_##name
#define THEIRS(name) __real_##name
enum { COUNTS = false };
void *OURS(malloc)(size_t size);
void *OURS(calloc)(size_t count, size_t size);
void *OURS(realloc)(void *block, size_t size);
#else
#define OURS(name)   name
#define THEIRS(name) __libc_##name
enum { COUNTS = true };
#pragma GCC visibility push(default) /* the libraries find it here */
void THEIRS(free)(void *block);

void free(void *block)
{
    heap.live -= block != NULL;
    THEIRS(free)(block);
}
#endif

void *THEIRS(malloc)(size_t size);
void *THEIRS(calloc)(size_t count, size_t size);
void *THEIRS(realloc)(void *block, size_t size);

static void *counted(void *block)
{
    heap.live += block != NULL;
    return block;
}

void *OURS(malloc)(size_t size)
{
    return refuses() ? NULL : counted(THEIRS(malloc)(size));
}

void *OURS(calloc)(size_t count, size_t size)
{
    return refuses() ? NULL : counted(THEIRS(calloc)(count, size));
}

void *OURS(realloc)(void *block, size_t size)
{
    if (refuses())
        return NULL;
    void *moved = THEIRS(realloc)(block, size);
    return block == NULL ? counted(moved) : moved;
}

#ifndef JR_SANITIZED
#pragma GCC visibility pop
#else
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    char *copy = __wrap_malloc(strlen(text) + 1);
    return copy == NULL ? NULL : memcpy(copy, text, strlen(text) + 1);
}
#endif

/* What a session told. */
#define ONE(name, word, help) +1
enum { MOST_CRASHES = 50 }; /* of a spec; then no more are looked for */
enum { TEXTS = 6, FORMATS = 0 JR_DIAG_FORMATS(ONE) };
struct told {
    enum jr_status status;
    char error[sizeof(((struct jr_error *)NULL)->text)];
    char *texts[TEXTS + FORMATS];
};

/* Where the child is, and what it found: shared with its parent. */
struct progress {
    unsigned long n;
    bool on;   /* of the trial that is being made */
    bool done; /* with all of them */
    unsigned wrong;
};

struct trial {
    const char *spec, *facts;
    struct told reference;
    struct progress *progress;
};

static enum jr_status go(struct jr_session *session, const struct trial *trial,
                         struct jr_error *err)
{
    const struct jr_spec_source source = {.path = trial->spec};
    enum jr_status status = jr_session_load(session, &source, err);
    if (status == JR_STATUS_OK)
        status = jr_session_facts(session, trial->facts, err);
    if (status == JR_STATUS_OK)
        status = jr_session_make_plan(session, err);
    return status;
}

static void tell(const struct jr_session *session, struct told *ret)
{
    static const enum jr_text texts[TEXTS] = {JR_TEXT_RESOLVED,     JR_TEXT_EXPLAIN,
                                              JR_TEXT_EXPLAIN_JSON, JR_TEXT_PLAN_ENV,
                                              JR_TEXT_PLAN_JSON,    JR_TEXT_HEADLINE};
    for (size_t i = 0; i < TEXTS; i++)
        ret->texts[i] = jr_session_text(session, texts[i]);
    for (size_t i = 0; i < FORMATS; i++)
        ret->texts[TEXTS + i] = jr_session_diags_text(session, (enum jr_diag_format)i, true);
}

static void run(const struct trial *trial, struct told *ret)
{
    static char path[] = "PATH=/usr/bin:/bin", home[] = "HOME=/";
    static char *const nothing[] = {path, home, NULL};
    const struct jr_session_options options = {
        .envp = nothing, .dry_run = true, .support = "/nowhere"};
    struct jr_error err = {0};
    *ret = (struct told){.status = JR_STATUS_LAUNCH};
    struct jr_session *session = jr_session_open(&options);
    if (session == NULL) {
        (void)stpcpy(ret->error, "out of memory");
        return;
    }
    ret->status = go(session, trial, &err);
    (void)stpcpy(ret->error, err.text);
    tell(session, ret);
    jr_session_close(session);
}

static void forget(struct told *told)
{
    for (size_t i = 0; i < TEXTS + FORMATS; i++)
        free(told->texts[i]);
}

/* What is wrong with what was told where one allocation failed; "": nothing. A text is missing, or
 * it is as it should be. Where the spec is wrong anyway, findings may lack what there was no memory
 * for. */
static void judge(const struct trial *trial, const struct told *told, char ret[static 64])
{
    const struct told *reference = &trial->reference;
    ret[0] = '\0';
    if (told->status != JR_STATUS_OK) {
        bool says = strstr(told->error, "out of memory") != NULL ||
                    strstr(told->error, "Cannot allocate memory") != NULL;
        if (reference->status == JR_STATUS_OK && (told->status != JR_STATUS_LAUNCH || !says))
            (void)stpcpy(ret, "it does not say that there was no memory");
        return;
    }
    if (reference->status != JR_STATUS_OK)
        (void)stpcpy(ret, "what is wrong with the spec is not told");
    for (size_t i = 0; i < TEXTS + FORMATS; i++)
        if (told->texts[i] != NULL &&
            (reference->texts[i] == NULL || strcmp(told->texts[i], reference->texts[i]) != 0))
            (void)snprintf(ret, 64, "text %zu is not as with memory", i);
}

static const char *what_failed(bool on)
{
    return on ? " and the next" : "";
}

/* False once nothing failed. */
static bool try(const struct trial *trial, unsigned long n, bool on)
{
    struct told told;
    long before = heap.live;
    trial->progress->n = n;
    trial->progress->on = on;
    heap.count = 0;
    heap.on = on;
    heap.fails = n;
    run(trial, &told);
    heap.fails = 0;
    bool failed = heap.count >= n;
    char why[64];
    judge(trial, &told, why);
    forget(&told);
    long left = heap.live - before;
    if (why[0] == '\0' && COUNTS && left != 0)
        (void)stpcpy(why, "blocks are left");
    if (why[0] != '\0') {
        trial->progress->wrong++;
        (void)fprintf(stderr, "%s: allocation %lu%s failed: %s (status %d, '%s', %ld blocks)\n",
                      trial->spec, n, what_failed(on), why, told.status, told.error, left);
    }
    return failed;
}

/* Both trials of n and of each one behind it; `on` says which is the first. */
static void try_all(const struct trial *trial, unsigned long n, bool on, unsigned long stride)
{
    bool failed = true;
    for (; failed; on = false, n += stride) {
        bool alone = !on && try(trial, n, false);
        failed = try(trial, n, true) || alone;
    }
}

/* Let a child go on with the trials from n on. Returns whether it came to their end; it crashed
 * else, which is told. */
static bool try_in_child(const struct trial *trial, unsigned long n, bool on, unsigned long stride)
{
    struct progress *progress = trial->progress;
    int status = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        try_all(trial, n, on, stride);
        progress->done = true;
        exit(0); /* where a sanitizer looks for leaks */
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        progress->wrong++;
        (void)fprintf(stderr, "%s: allocation %lu%s failed: ended with %#x\n", trial->spec,
                      progress->n, what_failed(progress->on), (unsigned)status);
    }
    return child < 0 || progress->done;
}

static unsigned step(const char *spec, const char *facts, unsigned long stride)
{
    struct trial trial = {.spec = spec, .facts = facts};
    struct told first;
    trial.progress = mmap(NULL, sizeof *trial.progress, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    run(&trial, &first); /* what is kept for good is there then */
    forget(&first);
    run(&trial, &trial.reference);
    unsigned long n = 1;
    bool on = false;
    for (int i = 0; i < MOST_CRASHES && !try_in_child(&trial, n, on, stride); i++) {
        n = trial.progress->n + (trial.progress->on ? stride : 0);
        on = !trial.progress->on;
    }
    unsigned wrong = trial.progress->wrong;
    (void)printf("%s: %lu allocations, status %d, %u wrong\n", spec, trial.progress->n - 1,
                 trial.reference.status, wrong);
    forget(&trial.reference);
    (void)munmap(trial.progress, sizeof *trial.progress);
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned wrong = 0;
    const char *facts = NULL;
    unsigned long stride = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    int i = 2;
    if (argc > i + 1 && strcmp(argv[i], "--facts") == 0) {
        facts = argv[i + 1];
        i += 2;
    }
    if (stride == 0 || i >= argc) {
        (void)fprintf(stderr, "usage: starve STRIDE [--facts P] SPEC...\n");
        return 2;
    }
    for (; i < argc; i++)
        wrong += step(argv[i], facts, stride);
    return wrong != 0;
}
