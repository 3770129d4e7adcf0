/* Whose word a run folder is. Owners other than ours need root: those vectors are left out for
 * other users. */
#include "record/record_folder.h"

#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/proc.h"
#include "run/companion.h"
#include "scratch.h"
#include "quoted.h"

enum { BOB = 64123 }; /* a user without a name */

/* A run in a log_dir, with its two files. */
struct place {
    struct scratch scratch;
    int run_fd;
};

static void place_start(struct place *place)
{
    scratch_start(&place->scratch);
    CU_ASSERT_EQUAL(fchmod(place->scratch.fd, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(mkdirat(place->scratch.fd, "run", 0700), 0);
    place->run_fd = openat(place->scratch.fd, "run", O_RDONLY | O_DIRECTORY);
    scratch_write(&place->scratch, "run/run.json", "{}");
    scratch_write(&place->scratch, "run/resolved.yaml", "{}");
}

static void place_end(struct place *place)
{
    (void)close(place->run_fd);
    scratch_end(&place->scratch);
}

#define PLACE(name)                                                                                \
    struct place name RELEASE(place_end);                                                          \
    place_start(&name)

static void change(const struct place *place, const char *name, mode_t mode, uid_t owner)
{
    if (owner != 0)
        CU_ASSERT_EQUAL(fchownat(place->scratch.fd, name, owner, owner, 0), 0);
    if (mode != 0)
        CU_ASSERT_EQUAL(fchmodat(place->scratch.fd, name, mode, 0), 0);
}

/* What is bent: the log_dir ".", the folder "run" or a file in it. A `mode` or an `owner` of 0
 * stays as it is. */
struct vector {
    const char *name;
    mode_t mode;
    uid_t owner;
    const char *expected; /* "ours", or why it is not */
};

static void check(const struct vector *vector)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (vector->owner != 0 && geteuid() != 0)
        return;
    PLACE(place);
    change(&place, vector->name, vector->mode, vector->owner);
    struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
    if (jr_trust_is_ours(&trust))
        jr_buf_str(&text, "ours");
    else
        jr_trust_explain(&text, &trust);
    JR_ASSERT_TEXT(text.data, vector->expected);
}

TEST(what_others_may_change_is_not_ours)
{
    static const struct vector vectors[] = {
        {"run", 0707, 0, "is a folder that everybody may write to"},
        {"run", 01777, 0, "is a folder that everybody may write to"},
        {".", 0777, 0, "lies in a log_dir that everybody may write to"},
        {".", 0702, 0, "lies in a log_dir that everybody may write to"},
        {"run/run.json", 0606, 0, "has a run.json that everybody may write to"},
        {"run/resolved.yaml", 0602, 0, "has a resolved.yaml that everybody may write to"},
        {"run", 0, BOB, "belongs to user 64123, not to you"},
        {"run", 0777, BOB, "belongs to user 64123, not to you"},
        {".", 0, BOB, "lies in a log_dir that belongs to user 64123, not to you"},
        {".", 01777, BOB, "lies in a log_dir that belongs to user 64123, not to you"},
        {"run/run.json", 0, BOB, "has a run.json that belongs to user 64123, not to you"},
        {"run/resolved.yaml", 0, BOB, "has a resolved.yaml that belongs to user 64123, not to you"},
        {"run", 0700, 0, "ours"},
        {"run", 0775, 0, "ours"},
        {"run", 02770, 0, "ours"},
        {".", 01777, 0, "ours"},
        {".", 0770, 0, "ours"},
        {"run/run.json", 0664, 0, "ours"},
        {"run/run.json", 0400, 0, "ours"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check(&vectors[i]);
}

/* A file that is not there says nothing, and a link's own mode means nothing:
 * readers follow none. */
TEST(files_that_are_not_there_are_not_judged)
{
    PLACE(place);
    CU_ASSERT_EQUAL(unlinkat(place.run_fd, "run.json", 0), 0);
    struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_TRUE(jr_trust_is_ours(&trust));
    CU_ASSERT_EQUAL(symlinkat("resolved.yaml", place.run_fd, "run.json"), 0);
    trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_TRUE(jr_trust_is_ours(&trust));
}

/* The folder's own verdict comes before that of what lies in it. */
TEST(the_first_reason_is_told)
{
    PLACE(place);
    change(&place, ".", 0777, 0);
    change(&place, "run/run.json", 0666, 0);
    struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_EQUAL(trust.what, JR_TRUST_LOG_DIR);
    change(&place, "run", 0777, 0);
    trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_EQUAL(trust.what, JR_TRUST_FOLDER);
    CU_ASSERT_EQUAL(trust.verdict, JR_TRUST_OPEN);
    CU_ASSERT_EQUAL(trust.owner, geteuid());
}

TEST(one_folder_alone)
{
    PLACE(place);
    struct jr_trust trust = jr_trust_folder(place.run_fd);
    CU_ASSERT_TRUE(jr_trust_is_ours(&trust));
    change(&place, "run", 0702, 0);
    trust = jr_trust_folder(place.run_fd);
    CU_ASSERT_EQUAL(trust.verdict, JR_TRUST_OPEN);
    trust = jr_trust_folder(-1);
    CU_ASSERT_EQUAL(trust.verdict, JR_TRUST_THEIRS);
    CU_ASSERT_FALSE(jr_trust_is_ours(&trust));
}

/* Another user's folder above is judged as that user would be, but root may do what it likes
 * anyway. Only root can try it. */
TEST(a_log_dir_of_root_is_as_good_as_ours)
{
    static const struct {
        mode_t mode;
        bool ours;
    } vectors[] = {{0755, true}, {0775, true}, {0757, false}, {01777, true}};
    if (geteuid() != 0)
        return;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        PLACE(place);
        change(&place, "run", 0, BOB);
        change(&place, "run/run.json", 0, BOB);
        change(&place, "run/resolved.yaml", 0, BOB);
        change(&place, ".", vectors[i].mode, 0);
        CU_ASSERT_EQUAL(seteuid(BOB), 0);
        struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
        CU_ASSERT_EQUAL(seteuid(0), 0);
        CU_ASSERT_EQUAL(jr_trust_is_ours(&trust), vectors[i].ours);
        CU_ASSERT_TRUE(vectors[i].ours || trust.what == JR_TRUST_LOG_DIR);
    }
}

TEST(a_run_is_entered_by_its_id)
{
    static const struct {
        const char *id;
        bool there, ours;
    } vectors[] = {
        {"run", true, true},        {"run/node_0", true, true},     {"run/open", true, false},
        {"absent", false, false},   {"link", false, false},         {"run/absent", false, false},
        {"run/link", false, false}, {"run/run.json", false, false}, {"run/node_0/x", false, false}};
    struct jr_trust trust = {.verdict = JR_TRUST_THEIRS};
    char expected[128];
    PLACE(place);
    CU_ASSERT_EQUAL(mkdirat(place.run_fd, "node_0", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(place.run_fd, "open", 0700), 0);
    CU_ASSERT_EQUAL(fchmodat(place.run_fd, "open", 0777, 0), 0);
    CU_ASSERT_EQUAL(symlinkat("run", place.scratch.fd, "link"), 0);
    CU_ASSERT_EQUAL(symlinkat("node_0", place.run_fd, "link"), 0);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_error err = {0};
        int fd = jr_record_folder_enter(&trust, place.scratch.dir, vectors[i].id, &err);
        CU_ASSERT_EQUAL(fd >= 0, vectors[i].there);
        CU_ASSERT_EQUAL(fd >= 0 && jr_trust_is_ours(&trust), vectors[i].ours);
        CU_ASSERT_TRUE(fd < 0 || fcntl(fd, F_GETFD) == FD_CLOEXEC);
        (void)snprintf(expected, sizeof expected, "run '%s' in %s: ", vectors[i].id,
                       place.scratch.dir);
        CU_ASSERT_TRUE(fd >= 0 || strncmp(err.text, expected, strlen(expected)) == 0);
        CU_ASSERT_TRUE(fd >= 0 || err.status == JR_STATUS_USAGE);
        if (fd >= 0)
            (void)close(fd);
    }
    /* The whole run is judged first. */
    change(&place, "run", 0777, 0);
    int fd = jr_record_folder_enter(&trust, place.scratch.dir, "run/node_0", NULL);
    CU_ASSERT_TRUE(fd >= 0 && trust.verdict == JR_TRUST_OPEN);
    (void)close(fd);
    CU_ASSERT_EQUAL(jr_record_folder_open("/no-such-folder", "run", NULL), -1);
}

TEST(a_file_that_cannot_be_read_is_named)
{
    static const struct {
        const char *text, *error;
    } vectors[] = {{NULL, "/run has no run.json"},
                   {"{", "/run/run.json is damaged: line 1, column 1: "},
                   {"", "/run/run.json is damaged: line 1, column 0: "}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_error err = {0};
        PLACE(place);
        CU_ASSERT_EQUAL(unlinkat(place.run_fd, "run.json", 0), 0);
        if (vectors[i].text != NULL)
            scratch_write(&place.scratch, "run/run.json", vectors[i].text);
        CU_ASSERT_PTR_NULL(jr_record_folder_json(place.run_fd, "run.json", &err));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, place.scratch.dir));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, vectors[i].error));
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    }
}

/* A run.json is read up to 1 MiB, whoever wrote it. */
TEST(a_record_that_is_too_large_is_not_read)
{
    struct jr_error err = {0};
    PLACE(place);
    int fd = openat(place.run_fd, "run.json", O_WRONLY);
    CU_ASSERT_EQUAL(ftruncate(fd, (1 << 20) + 1), 0);
    (void)close(fd);
    CU_ASSERT_PTR_NULL(jr_record_folder_json(place.run_fd, "run.json", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "run.json: "));
    CU_ASSERT_EQUAL(jr_record_folder_most(place.run_fd, "run.json"), 1 << 20);
    CU_ASSERT_EQUAL(jr_record_folder_most(place.run_fd, "node_0/run.json"), 1 << 20);
    CU_ASSERT_EQUAL(jr_record_folder_most(place.run_fd, "results.json"), (size_t)4 << 30);
    change(&place, "run", 0777, 0);
    CU_ASSERT_EQUAL(jr_record_folder_most(place.run_fd, "results.json"), 64 << 20);
}

/* Zeros that take no space are refused before they are read. */
TEST(what_has_a_hole_is_not_read)
{
    struct jr_error err = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    PLACE(place);
    int fd = openat(place.run_fd, "results.json", O_WRONLY | O_CREAT, 0600);
    CU_ASSERT_EQUAL(write(fd, "{}", 2), 2);
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)3 << 30), 0);
    bool sparse = lseek(fd, 0, SEEK_HOLE) < (off_t)3 << 30;
    (void)close(fd);
    if (sparse)
        CU_ASSERT_EQUAL(jr_record_folder_read(&text, place.run_fd, "results.json", &err), -1);
    CU_ASSERT_TRUE(!sparse || strstr(err.text, "results.json is damaged: there is a hole in it"));
    CU_ASSERT_PTR_NULL(jr_record_folder_head(place.run_fd, "results.json"));
}

/* Of a file of jobrun's the ranks are left out; one that another program wrote is read as a
 * whole. */
TEST(the_head_is_without_ranks)
{
    static const struct {
        const char *text;
        int64_t status, ranks; /* -1: nothing is read */
    } vectors[] = {{"{'status': 3,\n  'ranks': [{}, {}, {}]}", 3, 0},
                   {"{'status': 3,\n  'ranks': [{}, {}, this is not read", 3, 0},
                   {"{'status': 3, 'ranks': [{}, {}, {}]}", 3, 3},
                   {"{'status': 3,\n'ranks': []}", 3, 0},
                   {"{'status': 3}", 3, 0},
                   {"{'status': 3", -1, 0},
                   {"", -1, 0}};
    PLACE(place);
    CU_ASSERT_PTR_NULL(jr_record_folder_head(place.run_fd, "results.json"));
    CU_ASSERT_PTR_NULL(jr_record_folder_head(place.run_fd, "attempt_0/results.json"));
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        scratch_write(&place.scratch, "run/results.json", jq(vectors[i].text));
        JSON *json = jr_record_folder_head(place.run_fd, "results.json");
        CU_ASSERT_EQUAL(json == NULL ? -1 : jr_json_get_int(json, "status"), vectors[i].status);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "ranks")), (size_t)vectors[i].ranks);
    }
}

TEST(each_attempt_has_its_results)
{
    static const struct {
        int attempt; /* -1: the one that decided */
        const char *expected;
    } vectors[] = {{-1, "results.json"},
                   {0, "attempt_0/results.json"},
                   {2, "results.json"},
                   {1, "run 'exp1' has no attempt 1: the last one is 2"},
                   {3, "run 'exp1' has no attempt 3: the last one is 2"}};
    PLACE(place);
    scratch_write(&place.scratch, "run/run.json", jq("{'attempt': 2}"));
    CU_ASSERT_EQUAL(mkdirat(place.run_fd, "attempt_0", 0700), 0);
    scratch_write(&place.scratch, "run/attempt_0/results.json", "{}");
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_error err = {0};
        uint32_t attempt = (uint32_t)vectors[i].attempt;
        int result = jr_record_folder_results(&name, place.run_fd, "exp1",
                                              vectors[i].attempt < 0 ? NULL : &attempt, &err);
        CU_ASSERT_EQUAL(err.status, result == 0 ? 0 : JR_STATUS_USAGE);
        JR_ASSERT_TEXT(result == 0 ? name.data : err.text, vectors[i].expected);
    }
}

/* The record of this process, with one value bent. */
static json_t *own_record(void)
{
    struct utsname here;
    struct jr_buf boot JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *run = json_object();
    CU_ASSERT_EQUAL(uname(&here), 0);
    (void)jr_io_fact(&boot, "", "/proc/sys/kernel/random/boot_id");
    jr_json_set_str(run, "host", here.nodename);
    jr_json_set_str(run, "boot_id", boot.data);
    jr_json_set_int(run, "pid", getpid());
    jr_json_set_int(run, "start_ticks", (int64_t)jr_record_folder_ticks(getpid()));
    jr_json_set_int(run, "pid_namespace", (int64_t)jr_proc_namespace());
    return run;
}

TEST(a_run_stands_by_its_record)
{
    int64_t own = (int64_t)jr_proc_namespace();
    const struct {
        const char *key, *text; /* text NULL: the number */
        int64_t number;
        const char *expected;
        bool contained;
    } vectors[] = {{"spec", "x", 0, "running", false},
                   {"host", "another", 0, "elsewhere", false},
                   {"host", NULL, 7, "elsewhere", false},
                   {"boot_id", "another", 0, "lost", false},
                   {"boot_id", NULL, 7, "lost", false},
                   {"pid_namespace", NULL, own + 1, "elsewhere", true},
                   {"pid_namespace", NULL, 1, "elsewhere", true},
                   {"pid_namespace", "another", 0, "running", false},
                   {"pid", NULL, 0, "lost", false},
                   {"pid", NULL, -1, "lost", false},
                   {"pid", NULL, INT64_C(4294967296) + getpid(), "lost", false},
                   {"start_ticks", NULL, 0, "lost", false},
                   {"start_ticks", NULL, 1, "lost", false}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        JSON *run = own_record();
        if (vectors[i].text != NULL)
            jr_json_set_str(run, vectors[i].key, vectors[i].text);
        else
            jr_json_set_int(run, vectors[i].key, vectors[i].number);
        JR_ASSERT_TEXT(jr_record_folder_standing(run), vectors[i].expected);
        CU_ASSERT_EQUAL(jr_record_folder_is_contained(run), vectors[i].contained);
    }
    /* Where there is no such process, no time is the right one. */
    JSON *run = own_record();
    jr_json_set_int(run, "pid", 2000000000);
    jr_json_set_int(run, "start_ticks", 0);
    JR_ASSERT_TEXT(jr_record_folder_standing(run), "lost");
    CU_ASSERT_EQUAL(jr_record_folder_ticks(0), 0);
    CU_ASSERT_EQUAL(jr_record_folder_ticks(-1), 0);
    CU_ASSERT_EQUAL(jr_record_folder_ticks(INT64_MAX), 0);
}

/* What states no exit status that a process can have is no success. */
TEST(an_exit_status_that_is_none_is_a_failure)
{
    static const struct {
        const char *value;
        int code;
    } vectors[] = {{"0", 0},    {"143", 143}, {"255", 255}, {"256", 7},       {"-1", 7},
                   {"null", 7}, {"'0'", 7},   {"0.0", 7},   {"4294967296", 7}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        JSON *results = json_pack("{s:o}", "exit_code", json_of(vectors[i].value));
        CU_ASSERT_EQUAL(jr_record_folder_exit_code(results), vectors[i].code);
    }
    JSON *none = json_object();
    CU_ASSERT_EQUAL(jr_record_folder_exit_code(none), 7);
    CU_ASSERT_EQUAL(jr_record_folder_exit_code(NULL), 7);
}

/* What is told by the word of somebody else is told as that. */
TEST(says_whose_word_it_is)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    PLACE(place);
    CU_ASSERT_FALSE(jr_record_folder_doubt(&text, place.scratch.dir, "run"));
    CU_ASSERT_FALSE(jr_record_folder_doubt(&text, place.scratch.dir, "absent"));
    CU_ASSERT_EQUAL(text.len, 0);
    change(&place, "run", 0777, 0);
    CU_ASSERT_TRUE(jr_record_folder_doubt(&text, place.scratch.dir, "run"));
    JR_ASSERT_TEXT(text.data,
                   "run is a folder that everybody may write to, so what follows need not be true");
}

/* Where the jobrun that began a run is gone, who completes its record is known by that one's boot,
 * number and start. */
TEST(knows_who_completes_the_record)
{
    static const char *const others[] = {"{'boot_id': 'c', 'pid': 70, 'start_ticks': 500}",
                                         "{'boot_id': 'b', 'pid': 71, 'start_ticks': 500}",
                                         "{'boot_id': 'b', 'pid': 70, 'start_ticks': 501}"};
    int ready[2];
    char byte;
    SCRATCH(scratch);
    scratch_write(&scratch, ".results.json", "");
    JSON *run = json_of("{'boot_id': 'b', 'pid': 70, 'start_ticks': 500}");
    CU_ASSERT_EQUAL(jr_record_folder_companion(scratch.fd, run), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        jr_companion_hold(scratch.fd, jr_companion_key("b", 70, 500));
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(jr_record_folder_companion(scratch.fd, run), child);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        JSON *other = json_of(others[i]);
        CU_ASSERT_EQUAL(jr_record_folder_companion(scratch.fd, other), 0);
    }
    CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    CU_ASSERT_EQUAL(jr_record_folder_companion(scratch.fd, run), 0);
    (void)close(ready[0]);
}
