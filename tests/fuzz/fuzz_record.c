/*
 * Any bytes as the files of a run folder, separated by a byte 0x1e: results, run.json, error.json;
 * or, where the first is "parts", results and run.json of each of two nodes. Whoever lists, shows
 * or follows old runs reads them, and they may be of another version, or another program.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/run_list.h"
#include "report/show.h"

enum { FILES = 5 };
static const char *const whole[FILES] = {"results.json", "run.json", "error.json"};
static const char *const parts[FILES] = {NULL, "node_0/results.json", "node_0/run.json",
                                         "node_1/results.json", "node_1/run.json"};
static const char *const folders[] = {"node_0", "node_1"};

/* A LOG_DIR of its own, with a run in it. */
struct folder {
    char log_dir[32];
    int dir, run;
    const char *const *names;
};

static void make(struct folder *folder)
{
    static const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    *folder = (struct folder){.log_dir = "/tmp/jr_fuzz_XXXXXX"};
    require(mkdtemp(folder->log_dir) != NULL);
    folder->dir = open(folder->log_dir, flags);
    require(folder->dir >= 0 && mkdirat(folder->dir, "run", 0700) == 0);
    folder->run = openat(folder->dir, "run", flags);
    require(folder->run >= 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        require(mkdirat(folder->run, folders[i], 0700) == 0);
}

static void take_away(const struct folder *folder)
{
    for (size_t i = 0; i < FILES; i++)
        require(folder->names[i] == NULL || unlinkat(folder->run, folder->names[i], 0) == 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        require(unlinkat(folder->run, folders[i], AT_REMOVEDIR) == 0);
    (void)close(folder->run);
    require(unlinkat(folder->dir, "run", AT_REMOVEDIR) == 0);
    (void)close(folder->dir);
    require(rmdir(folder->log_dir) == 0);
}

static void put(const struct folder *folder, const char *name, const char *text)
{
    int fd = openat(folder->run, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    size_t len = strlen(text);
    require(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    (void)close(fd);
}

static void list(const char *log_dir)
{
    struct jr_records records = JR_RECORDS_INIT;
    struct jr_error err = {0};
    if (jr_records_list(&records, log_dir, &err) == 0)
        require(records.count <= 1);
    jr_records_release(&records);
}

static void show(const char *log_dir)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    int got = jr_record_show(&text, log_dir, "run", NULL, true, &err);
    require(got == 0 ? text.len > 0 : err.text[0] != '\0');
}

/* What is joined is JSON, with a status that is consistent. */
static void join(const char *log_dir)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_record_results(&text, log_dir, "run", NULL, &err) != 0) {
        require(err.text[0] != '\0');
        return;
    }
    json_t *results = jr_json_parse(text.data, text.len, NULL);
    const char *status = jr_json_get_str(results, "status");
    require(status != NULL);
    size_t incomplete = 0, i = 0;
    json_t *rank = NULL;
    json_array_foreach(json_object_get(results, "ranks"), i, rank) {
        const char *state = jr_json_get_str(rank, "state");
        incomplete += state != NULL && strcmp(state, "incomplete") == 0;
    }
    bool compared = json_is_object(json_object_get(results, "compared"));
    require(!compared || incomplete == 0 || strcmp(status, "succeeded") != 0);
    json_decref(results);
}

static void follow(const char *log_dir)
{
    struct jr_record_logs logs = JR_RECORD_LOGS_INIT;
    struct jr_error err = {0};
    if (jr_record_logs_load(&logs, log_dir, "run", NULL, &err) != 0)
        require(err.text[0] != '\0');
    jr_record_logs_release(&logs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *texts[FILES];
    struct folder folder;
    make(&folder);
    fuzz_split(texts, FILES, '\x1e', data, size);
    bool joined = strcmp(texts[0], "parts") == 0;
    folder.names = joined ? parts : whole;
    for (size_t i = 0; i < FILES; i++)
        if (folder.names[i] != NULL)
            put(&folder, folder.names[i], texts[i]);
    list(folder.log_dir);
    show(folder.log_dir);
    if (joined)
        join(folder.log_dir);
    follow(folder.log_dir);
    take_away(&folder);
    fuzz_free(texts, FILES);
    return 0;
}
