/* The files of a run whose nodes had a jobrun each, out of those of its parts; and the one verdict
 * over them. */
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/json.h"
#include "base/proc.h"
#include "base/strv.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "record/timeline.h"
#include "scratch.h"

/* A node's part: its run.json, which stands on another host, and its results.json; NULL: it has
 * none. */
struct part {
    uint32_t node;
    const char *host, *results;
};

static void write_part(const struct scratch *scratch, const struct part *part, const char *more)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "node_%u", part->node);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, path, 0700), 0);
    (void)snprintf(text, sizeof text, "{\"host\": \"%s\", \"pid\": %u, \"started\": 100.5%s}",
                   part->host, 40 + part->node, more);
    (void)snprintf(path, sizeof path, "node_%u/run.json", part->node);
    scratch_write(scratch, path, text);
    (void)snprintf(path, sizeof path, "node_%u/results.json", part->node);
    if (part->results != NULL)
        scratch_write(scratch, path, part->results);
}

static json_t *at_path(json_t *json, const char *path)
{
    char copy[128];
    char *rest = copy, *key = NULL;
    (void)snprintf(copy, sizeof copy, "%s", path);
    while (json != NULL && (key = strsep(&rest, ".")) != NULL)
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
                                   : json_object_get(json, key);
    return json;
}

/* Hold the value at `path` of the joined file to the JSON expected there. */
static void check_at(json_t *json, const char *path, const char *expected)
{
    struct jr_buf text = JR_BUF_INIT;
    json_t *found = at_path(json, path);
    if (found != NULL)
        jr_json_print(&text, found, 0);
    if (text.data == NULL || strcmp(text.data, expected) != 0)
        printf("\n    %s:", path);
    JR_ASSERT_TEXT(text.data == NULL ? "(nothing)" : text.data, expected);
    jr_buf_release(&text);
}

#define RESULTS(status, code, cause, finished, more, ranks)                                        \
    "{\"run_id\": \"exp1\", \"status\": \"" status "\", \"exit_code\": " code                      \
    ", \"attempt\": 0, \"started\": 100.5, \"finished\": " finished                                \
    ", \"root_cause\": " cause more ",\n  \"ranks\": [" ranks "]}"
#define RANK(rank, state)                                                                          \
    "{\"rank\": " rank ", \"state\": \"" state "\", \"stdout\": \"attempt_0/" rank                 \
    "/stdout.log\", \"stderr\": null, \"error_file\": \"/abs/error.json\"}"
#define CAUSE(rank, message) "{\"rank\": " rank ", \"message\": \"" message "\"}"
#define GOOD(rank, finished)                                                                       \
    RESULTS("succeeded", "0", "null", finished, "", RANK(rank, "succeeded"))
#define FAILED(rank, code, finished)                                                               \
    RESULTS("failed", code, CAUSE(rank, "exited with " code), finished, "", RANK(rank, "failed"))
#define RANGE(first)                                                                               \
    ", \"nodes\": 2, \"world_size\": 2, \"ranks\": {\"first\": " first ", \"count\": 1}"

static void what_is_no_part_is_not_found(void)
{
    static const char *const names[] = {"node_",  "node_01",  "node_-1", "node_x",      "node_1 ",
                                        "Node_1", "node_1.0", "node",    "node_1048576"};
    struct scratch scratch;
    struct jr_multinode found;
    scratch_start(&scratch);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        CU_ASSERT_EQUAL(mkdirat(scratch.fd, names[i], 0700), 0);
        (void)snprintf(path, sizeof path, "%s/run.json", names[i]);
        scratch_write(&scratch, path, "{}");
    }
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "node_3", 0700), 0);
    jr_multinode_find(&found, scratch.fd);
    CU_ASSERT_EQUAL(found.count, 0);
    CU_ASSERT_FALSE(jr_multinode_exists(scratch.fd));
    CU_ASSERT_PTR_NULL(jr_multinode_json(scratch.fd, "results.json", false));
    jr_multinode_release(&found);
    scratch_end(&scratch);
}

/* They come in the order of their numbers, and are none where the run has a record of its own. */
static void parts_are_found_by_their_records(void)
{
    static const uint32_t nodes[] = {10, 0, 9, 2};
    static const uint32_t sorted[] = {0, 2, 9, 10};
    struct scratch scratch;
    struct jr_multinode found;
    scratch_start(&scratch);
    for (size_t i = 0; i < 4; i++)
        write_part(&scratch, &(struct part){nodes[i], "h", NULL}, "");
    jr_multinode_find(&found, scratch.fd);
    CU_ASSERT_EQUAL_FATAL(found.count, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(found.nodes[i], sorted[i]);
    jr_multinode_release(&found);
    scratch_write(&scratch, "run.json", "{}");
    CU_ASSERT_FALSE(jr_multinode_exists(scratch.fd));
    scratch_end(&scratch);
}

static void ids_are_those_of_the_parts(void)
{
    struct scratch scratch;
    struct jr_arena arena = JR_ARENA_INIT;
    scratch_start(&scratch);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "exp1", 0700), 0);
    struct scratch run = {.fd = openat(scratch.fd, "exp1", O_RDONLY)};
    struct jr_strv ids = jr_multinode_ids(&arena, scratch.dir, "exp1");
    CU_ASSERT_EQUAL_FATAL(ids.count, 1);
    JR_ASSERT_TEXT(ids.items[0], "exp1");
    write_part(&run, &(struct part){1, "h", NULL}, "");
    write_part(&run, &(struct part){0, "h", NULL}, "");
    ids = jr_multinode_ids(&arena, scratch.dir, "exp1");
    CU_ASSERT_EQUAL_FATAL(ids.count, 2);
    JR_ASSERT_TEXT(ids.items[0], "exp1/node_0");
    JR_ASSERT_TEXT(ids.items[1], "exp1/node_1");
    jr_arena_release(&arena);
    (void)close(run.fd);
    scratch_end(&scratch);
}

/* Two nodes, and what the run comes to. */
struct vector {
    const char *results[2];
    const char *status, *code, *cause, *states;
};

static void check_verdict(const struct vector *vector)
{
    static const char *const ranges[] = {RANGE("0"), RANGE("1")};
    struct scratch scratch;
    scratch_start(&scratch);
    for (uint32_t i = 0; i < 2; i++)
        write_part(&scratch, &(struct part){i, "h", vector->results[i]}, ranges[i]);
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
    check_at(joined, "status", vector->status);
    check_at(joined, "exit_code", vector->code);
    check_at(joined, "root_cause.message", vector->cause);
    struct jr_buf states = JR_BUF_INIT;
    json_t *ranks = json_object_get(joined, "ranks");
    for (size_t i = 0; i < json_array_size(ranks); i++)
        jr_buf_printf(&states, "%s%s", i == 0 ? "" : " ",
                      jr_json_get_str(json_array_get(ranks, i), "state"));
    JR_ASSERT_TEXT(states.data, vector->states);
    jr_buf_release(&states);
    json_decref(joined);
    scratch_end(&scratch);
}

#define INCOMPLETE(rank)                                                                           \
    RESULTS("incomplete", "5", CAUSE(rank, "result.json was not written"), "109", "",              \
            RANK(rank, "incomplete"))

static void the_first_failure_decides(void)
{
    static const struct vector vectors[] = {
        {{GOOD("0", "103"), FAILED("1", "3", "104")},
         "\"failed\"",
         "3",
         "\"exited with 3\"",
         "succeeded failed"},
        {{FAILED("0", "2", "105"), GOOD("1", "103")},
         "\"failed\"",
         "2",
         "\"exited with 2\"",
         "failed succeeded"},
        {{FAILED("0", "2", "105"), FAILED("1", "3", "104")},
         "\"failed\"",
         "3",
         "\"exited with 3\"",
         "after_first_failure failed"},
        {{FAILED("0", "2", "104"), FAILED("1", "3", "105")},
         "\"failed\"",
         "2",
         "\"exited with 2\"",
         "failed after_first_failure"},
        {{FAILED("0", "2", "104"), FAILED("1", "3", "104")},
         "\"failed\"",
         "2",
         "\"exited with 2\"",
         "failed after_first_failure"},
        {{INCOMPLETE("0"), FAILED("1", "3", "110")},
         "\"failed\"",
         "3",
         "\"exited with 3\"",
         "incomplete failed"},
        {{GOOD("0", "103"), INCOMPLETE("1")},
         "\"incomplete\"",
         "5",
         "\"result.json was not written\"",
         "succeeded incomplete"},
        {{INCOMPLETE("0"), INCOMPLETE("1")},
         "\"incomplete\"",
         "5",
         "\"result.json was not written\"",
         "incomplete incomplete"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_verdict(&vectors[i]);
}

/* When a rank ended is told by its node's events; only else by the end. */
static void events_tell_who_failed_first(void)
{
    static const char early[] = "{\"time\":\"1970-01-01T00:01:41.000Z\",\"ns\":5,\"event\":\"rank_"
                                "started\",\"rank\":1,\"pid\":7}\n"
                                "{\"time\":\"1970-01-01T00:01:42.000Z\",\"ns\":6,\"event\":\"rank_"
                                "ended\",\"rank\":1,\"pid\":7,\"exit_code\":3,\"signal\":null}\n";
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", FAILED("0", "2", "104")}, RANGE("0"));
    write_part(&scratch, &(struct part){1, "h", FAILED("1", "3", "199")}, RANGE("1"));
    scratch_write(&scratch, "node_1/events.jsonl", early);
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
    check_at(joined, "root_cause.rank", "1");
    check_at(joined, "exit_code", "3");
    json_decref(joined);
    scratch_end(&scratch);
}

static void a_good_run_is_joined(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "gpu00", GOOD("0", "103.25")},
               ", \"fingerprint\": \"aa\"" RANGE("0"));
    write_part(&scratch, &(struct part){1, "gpu01", GOOD("1", "102")},
               ", \"fingerprint\": \"aa\"" RANGE("1"));
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
    check_at(joined, "status", "\"succeeded\"");
    check_at(joined, "exit_code", "0");
    check_at(joined, "root_cause", "null");
    check_at(joined, "run_id", "\"exp1\"");
    check_at(joined, "fingerprint", "\"aa\"");
    check_at(joined, "world_size", "2");
    check_at(joined, "started", "100.5");
    check_at(joined, "finished", "103.25");
    check_at(joined, "seconds", "2.75");
    check_at(joined, "attempts", "[]");
    check_at(joined, "ranks.1.stdout", "\"node_1/attempt_0/1/stdout.log\"");
    check_at(joined, "ranks.1.stderr", "null");
    check_at(joined, "ranks.1.error_file", "\"/abs/error.json\"");
    check_at(joined, "ranks.1.folder", "\"node_1/attempt_0/1\"");
    check_at(joined, "nodes.0.node_rank", "0");
    check_at(joined, "nodes.1.host", "\"gpu01\"");
    check_at(joined, "nodes.1.pid", "41");
    check_at(joined, "nodes.1.part", "\"node_1\"");
    check_at(joined, "nodes.1.status", "\"succeeded\"");
    check_at(joined, "nodes.1.exit_code", "0");
    check_at(joined, "nodes.1.cause", "null");
    check_at(joined, "nodes.1.ranks.first", "1");
    json_decref(joined);
    scratch_end(&scratch);
}

static void a_failed_node_says_its_cause(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", GOOD("0", "103")},
               ", \"fingerprint\": \"aa\"" RANGE("0"));
    write_part(&scratch, &(struct part){1, "h", FAILED("1", "3", "104")},
               ", \"fingerprint\": \"bb\"" RANGE("1"));
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "nodes.1.cause", "\"rank 1: exited with 3\"");
    check_at(joined, "nodes.1.status", "\"failed\"");
    check_at(joined, "nodes.1.exit_code", "3");
    check_at(joined, "fingerprint", "null");
    check_at(joined, "nodes.1.fingerprint", "\"bb\"");
    json_decref(joined);
    scratch_end(&scratch);
}

static void nodes_that_are_not_here_leave_it_incomplete(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){1, "h", GOOD("2", "103")},
               ", \"nodes\": 4, \"world_size\": 8, \"ranks\": {\"first\": 2, \"count\": 2}");
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "status", "\"incomplete\"");
    check_at(joined, "exit_code", "5");
    check_at(joined, "world_size", "8");
    check_at(joined, "root_cause",
             "{\"rank\": null, \"host\": null, \"kind\": \"result\", \"exit_code\": null, "
             "\"signal\": null, \"message\": \"the nodes that are here succeeded, but 3 of 4 are "
             "not here\", \"together\": []}");
    check_at(joined, "nodes.0.status", "\"absent\"");
    check_at(joined, "nodes.0.part", "null");
    check_at(joined, "nodes.1.status", "\"succeeded\"");
    check_at(joined, "nodes.3.status", "\"absent\"");
    json_decref(joined);
    scratch_end(&scratch);
}

static void one_node_may_be_not_here(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", GOOD("0", "103")}, RANGE("0"));
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "root_cause.message",
             "\"the nodes that are here succeeded, but 1 of 2 is not here\"");
    json_decref(joined);
    scratch_end(&scratch);
}

#define YIELDED(rank) RESULTS("yielded", "8", "null", "109", "", RANK(rank, "yielded"))

/* A node that is to be continued gives way to one that failed or did not deliver, and to one that
 * is not here. */
static void what_is_to_continue_decides_last(void)
{
    static const struct {
        const char *other, *status, *code;
    } vectors[] = {
        {GOOD("1", "103"), "\"yielded\"", "8"},
        {YIELDED("1"), "\"yielded\"", "8"},
        {INCOMPLETE("1"), "\"incomplete\"", "5"},
        {FAILED("1", "3", "110"), "\"failed\"", "3"},
        {NULL, "\"incomplete\"", "5"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        write_part(&scratch, &(struct part){0, "h", YIELDED("0")}, RANGE("0"));
        if (vectors[i].other != NULL)
            write_part(&scratch, &(struct part){1, "g", vectors[i].other}, RANGE("1"));
        json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
        check_at(joined, "status", vectors[i].status);
        check_at(joined, "exit_code", vectors[i].code);
        json_decref(joined);
        scratch_end(&scratch);
    }
}

/* Results that another program wrote may lack their times: the run has begun when its record says
 * so. */
static void a_run_without_times_has_begun(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch,
               &(struct part){0, "h", "{\"status\": \"failed\", \"exit_code\": 3, \"ranks\": []}"},
               RANGE("0"));
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "status", "\"failed\"");
    check_at(joined, "root_cause", "null");
    check_at(joined, "started", "100.5");
    check_at(joined, "finished", "100.5");
    check_at(joined, "seconds", "0.0");
    json_decref(joined);
    scratch_end(&scratch);
}

static void nodes_of_several_runs_leave_it_incomplete(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", GOOD("0", "103")}, RANGE("0"));
    write_part(&scratch, &(struct part){1, "h", GOOD("0", "103")}, RANGE("0"));
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "status", "\"incomplete\"");
    check_at(joined, "root_cause.message",
             "\"the nodes are not of one run: more than one has rank 0; none has rank 1\"");
    json_decref(joined);
    scratch_end(&scratch);
}

/* On another host it goes on, as far as anybody here knows. */
static void a_run_that_goes_on_has_no_results(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", GOOD("0", "103")}, RANGE("0"));
    write_part(&scratch, &(struct part){1, "no-such-host", NULL}, RANGE("1"));
    CU_ASSERT_PTR_NULL(jr_multinode_json(scratch.fd, "results.json", false));
    json_t *run = jr_multinode_json(scratch.fd, "run.json", false);
    check_at(run, "part", "\"node_1\"");
    json_decref(run);
    scratch_end(&scratch);
}

/* On this host, but before it was started again, it is lost. */
static void a_lost_node_decides_where_none_failed(void)
{
    static const struct {
        const char *results, *status, *code, *kind;
    } vectors[] = {
        {GOOD("0", "103"), "\"launch_failed\"", "7", "\"lost_node\""},
        {INCOMPLETE("0"), "\"launch_failed\"", "7", "\"lost_node\""},
        {FAILED("0", "3", "103"), "\"failed\"", "3", "(nothing)"},
    };
    char host[256], expected[512];
    CU_ASSERT_EQUAL_FATAL(gethostname(host, sizeof host), 0);
    (void)snprintf(expected, sizeof expected,
                   "\"the jobrun of node 1 (pid 41 on %s) is gone and left no results\"", host);
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        struct scratch scratch;
        scratch_start(&scratch);
        write_part(&scratch, &(struct part){0, "h", vectors[v].results}, RANGE("0"));
        write_part(&scratch, &(struct part){1, host, NULL},
                   ", \"boot_id\": \"another\"" RANGE("1"));
        json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
        CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
        check_at(joined, "status", vectors[v].status);
        check_at(joined, "exit_code", vectors[v].code);
        check_at(joined, "root_cause.kind", vectors[v].kind);
        check_at(joined, "nodes.1.status", "\"lost\"");
        check_at(joined, "run_id", "\"exp1\"");
        if (v < 2) {
            check_at(joined, "root_cause.message", expected);
            JR_ASSERT_TEXT(json_string_value(at_path(joined, "root_cause.host")), host);
        }
        json_decref(joined);
        scratch_end(&scratch);
    }
}

/* What any node can say, the first that has results says. */
static void the_first_node_may_be_lost(void)
{
    struct scratch scratch;
    char host[256];
    CU_ASSERT_EQUAL_FATAL(gethostname(host, sizeof host), 0);
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, host, NULL}, ", \"boot_id\": \"another\"" RANGE("0"));
    write_part(&scratch, &(struct part){1, "h", GOOD("1", "103")}, RANGE("1"));
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "run_id", "\"exp1\"");
    check_at(joined, "nodes.0.status", "\"lost\"");
    json_decref(joined);
    scratch_end(&scratch);
}

#define COUNTS(left, alike, status, killed)                                                        \
    RESULTS(status, "0", "null", "103",                                                            \
            ", \"processes_left\": " left ", \"failed_alike\": " alike                             \
            ", \"jobrun_killed\": " killed,                                                        \
            "")

/* Processes are counted together; of the rest one node's word is taken. */
static void numbers_are_joined_by_what_they_count(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", COUNTS("2", "1", "succeeded", "null")}, RANGE("0"));
    write_part(&scratch, &(struct part){1, "h", COUNTS("3", "4", "succeeded", "{\"pid\": 9}")},
               RANGE("1"));
    write_part(&scratch, &(struct part){2, "h", COUNTS("5", "\"9\"", "succeeded", "{\"pid\": 8}")},
               ", \"nodes\": 3, \"world_size\": 2");
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "processes_left", "10");
    check_at(joined, "failed_alike", "4");
    check_at(joined, "jobrun_killed", "null");
    check_at(joined, "timed_out_by", "null");
    json_decref(joined);
    scratch_end(&scratch);
}

/* Whose jobrun was killed is said of the run only where that decides: else the report would name it
 * as the cause. */
static void a_jobrun_that_was_killed_later_is_not_the_cause(void)
{
    static const char killed[] =
        RESULTS("launch_failed", "7", "null", "104",
                ", \"jobrun_killed\": {\"process\": \"runner\", \"pid\": null, "
                "\"signal\": \"SIGKILL\"}",
                RANK("0", "stopped"));
    static const struct {
        const char *other, *status, *killed;
    } vectors[] = {
        {FAILED("1", "3", "103"), "\"failed\"", "null"},
        {FAILED("1", "3", "105"), "\"launch_failed\"",
         "{\"process\": \"runner\", \"pid\": null, \"signal\": \"SIGKILL\"}"},
        {GOOD("1", "103"), "\"launch_failed\"",
         "{\"process\": \"runner\", \"pid\": null, \"signal\": \"SIGKILL\"}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        write_part(&scratch, &(struct part){0, "h", killed}, RANGE("0"));
        write_part(&scratch, &(struct part){1, "h", vectors[i].other}, RANGE("1"));
        json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
        check_at(joined, "status", vectors[i].status);
        check_at(joined, "jobrun_killed", vectors[i].killed);
        json_decref(joined);
        scratch_end(&scratch);
    }
}

#define DELIVERED(rank, result)                                                                    \
    "{\"rank\": " rank ", \"state\": \"succeeded\", \"result\": " result "}"
#define COMPARED(status, code, rank)                                                               \
    RESULTS(status, code, "null", "103",                                                           \
            ", \"compared\": {\"source\": \"result.json\", \"equal\": "                            \
            "[\"sha\"], \"distinct\": [\"port\"]}",                                                \
            rank)

static void check_rank(json_t *json, const char *path, const char *expected)
{
    json_t *rank = at_path(json, path);
    const char *error = jr_json_get_str(rank, "result_error");
    char text[128];
    (void)snprintf(text, sizeof text, "%s, %s, %s", jr_json_get_str(rank, "state"),
                   error == NULL ? "-" : error,
                   jr_json_get_bool(rank, "differs") ? "differs" : "same");
    JR_ASSERT_TEXT(text, expected);
}

/* Each node has compared its own ranks only: what differs between nodes is found here, in the words
 * of a run on one node. */
static void ranks_of_all_nodes_are_compared(void)
{
    static const struct {
        const char *results[2];
        const char *status, *code, *message;
        const char *ranks[2]; /* state, result_error, differs */
        const char *other;    /* the error of rank 1 */
    } vectors[] = {
        {{"{\"sha\": \"a\", \"port\": 1}", "{\"sha\": \"a\", \"port\": 2}"},
         "\"succeeded\"",
         "0",
         "(nothing)",
         {"succeeded, -, same", "succeeded, -, same"},
         "null"},
        {{"{\"sha\": \"a\", \"port\": 1}", "{\"sha\": \"b\", \"port\": 2}"},
         "\"incomplete\"",
         "5",
         "\"result.json: 'sha' is \\\"a\\\", but \\\"b\\\" on rank 1\"",
         {"incomplete, unequal, differs", "incomplete, unequal, differs"},
         "\"result.json: 'sha' is \\\"b\\\", but \\\"a\\\" on rank 0\""},
        {{"{\"sha\": \"a\", \"port\": 1}", "{\"sha\": \"a\", \"port\": 1.0}"},
         "\"incomplete\"",
         "5",
         "\"result.json: 'port' is 1 on ranks 0-1, not distinct\"",
         {"incomplete, field, differs", "incomplete, field, differs"},
         "\"result.json: 'port' is 1 on ranks 0-1, not distinct\""},
        {{"{\"sha\": \"a\", \"port\": 1}", "{\"port\": 2}"},
         "\"incomplete\"",
         "5",
         "\"result.json has no 'sha' to compare\"",
         {"succeeded, -, same", "incomplete, field, differs"},
         "\"result.json has no 'sha' to compare\""},
    };
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        static const char *const ranges[] = {RANGE("0"), RANGE("1")};
        struct scratch scratch;
        char text[2][1024];
        scratch_start(&scratch);
        (void)snprintf(text[0], sizeof text[0], COMPARED("succeeded", "0", DELIVERED("0", "%s")),
                       vectors[v].results[0]);
        (void)snprintf(text[1], sizeof text[1], COMPARED("succeeded", "0", DELIVERED("1", "%s")),
                       vectors[v].results[1]);
        for (uint32_t i = 0; i < 2; i++)
            write_part(&scratch, &(struct part){i, "h", text[i]}, ranges[i]);
        json_t *whole = jr_multinode_json(scratch.fd, "results.json", false);
        json_t *head = jr_multinode_json(scratch.fd, "results.json", true);
        check_at(whole, "status", vectors[v].status);
        check_at(whole, "exit_code", vectors[v].code);
        check_at(head, "status", vectors[v].status);
        check_rank(whole, "ranks.0", vectors[v].ranks[0]);
        check_rank(whole, "ranks.1", vectors[v].ranks[1]);
        check_at(whole, "ranks.1.error", vectors[v].other);
        if (v > 0)
            check_at(whole, "root_cause.message", vectors[v].message);
        json_decref(head);
        json_decref(whole);
        scratch_end(&scratch);
    }
}

#define STEPPED(rank, progress)                                                                    \
    RESULTS("succeeded", "0", "null", "103", ", \"progress\": " progress, RANK(rank, "succeeded"))
#define AT_STEP(step, rank, behind, warning)                                                       \
    "{\"step\": " step ", \"total\": 90, \"slowest\": {\"rank\": " rank ", \"behind\": " behind    \
    "}, \"warnings\": [" warning "]}"

/* The job is where its slowest rank is, which is behind the furthest of all. */
static void the_slowest_node_says_how_far_the_job_is(void)
{
    static const struct {
        const char *results[2], *progress;
    } vectors[] = {
        {{STEPPED("0", AT_STEP("7", "0", "1", "\"a\"")),
          STEPPED("1", AT_STEP("5", "1", "9", "\"b\""))},
         "{\"step\": 5, \"total\": 90, \"slowest\": {\"rank\": 1, "
         "\"behind\": 9}, \"warnings\": [\"a\", \"b\"]}"},
        {{STEPPED("0", AT_STEP("5", "0", "1", "")), STEPPED("1", AT_STEP("7", "1", "9", ""))},
         "{\"step\": 5, \"total\": 90, \"slowest\": {\"rank\": 0, "
         "\"behind\": 11}, \"warnings\": []}"},
        {{STEPPED("0", "{\"step\": 5, \"slowest\": null, \"warnings\": []}"),
          STEPPED("1", "{\"step\": 4, \"slowest\": null, \"warnings\": []}")},
         "{\"step\": 4, \"slowest\": null, \"warnings\": []}"},
        {{STEPPED("0", "null"), STEPPED("1", AT_STEP("7", "1", "0", "\"b\""))},
         "{\"step\": 7, \"total\": 90, \"slowest\": {\"rank\": 1, "
         "\"behind\": 0}, \"warnings\": [\"b\"]}"},
        {{STEPPED("0", "null"), STEPPED("1", "null")}, "null"},
    };
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        static const char *const ranges[] = {RANGE("0"), RANGE("1")};
        struct scratch scratch;
        scratch_start(&scratch);
        for (uint32_t i = 0; i < 2; i++)
            write_part(&scratch, &(struct part){i, "h", vectors[v].results[i]}, ranges[i]);
        json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
        check_at(joined, "progress", vectors[v].progress);
        json_decref(joined);
        scratch_end(&scratch);
    }
}

#define PLAN(name)                                                                                 \
    "{\"name\": \"" name "\", \"ranks\": [{\"rank\": 0, \"node_rank\": 0, "                        \
    "\"stdout\": {\"file\": \"attempt_0/0/o\"}}, {\"rank\": 1, "                                   \
    "\"node_rank\": 1, \"stdout\": {\"file\": \"attempt_0/1/o\"}, "                                \
    "\"stderr\": {\"file\": \"attempt_0/1/e\"}}]}"

static void plans_are_joined_by_node(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", NULL}, RANGE("0"));
    write_part(&scratch, &(struct part){1, "h", NULL}, RANGE("1"));
    scratch_write(&scratch, "node_0/plan.json", PLAN("a"));
    scratch_write(&scratch, "node_1/plan.json", PLAN("b"));
    json_t *joined = jr_multinode_json(scratch.fd, "plan.json", false);
    check_at(joined, "name", "\"a\"");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(joined, "ranks")), 2);
    check_at(joined, "ranks.0.stdout.file", "\"node_0/attempt_0/0/o\"");
    check_at(joined, "ranks.1.stdout.file", "\"node_1/attempt_0/1/o\"");
    check_at(joined, "ranks.1.stderr.file", "\"node_1/attempt_0/1/e\"");
    json_decref(joined);
    /* Without ranks, one node's is enough. */
    joined = jr_multinode_json(scratch.fd, "plan.json", true);
    check_at(joined, "name", "\"a\"");
    json_decref(joined);
    scratch_end(&scratch);
}

/* Of three that failed, the second was the first to. */
static void the_first_of_many_failures_decides(void)
{
    static const char *const results[] = {FAILED("0", "2", "105"), FAILED("1", "3", "103"),
                                          FAILED("2", "4", "104"), INCOMPLETE("3")};
    struct scratch scratch;
    scratch_start(&scratch);
    for (uint32_t i = 0; i < 4; i++)
        write_part(&scratch, &(struct part){i, "h", results[i]}, "");
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "root_cause.rank", "1");
    check_at(joined, "ranks.0.state", "\"after_first_failure\"");
    check_at(joined, "ranks.1.state", "\"failed\"");
    check_at(joined, "ranks.2.state", "\"after_first_failure\"");
    check_at(joined, "ranks.3.state", "\"incomplete\"");
    json_decref(joined);
    scratch_end(&scratch);
}

#define AT(second, event)                                                                          \
    "{\"time\":\"1970-01-01T00:01:" second ".000Z\",\"ns\":" second "000000000,\"event\":" event   \
    "}\n"
#define STARTED(rank) "\"rank_started\",\"rank\":" rank ",\"pid\":7"
#define ENDED(rank)                                                                                \
    "\"rank_ended\",\"rank\":" rank ",\"pid\":7,\"exit_code\":3,\"signal\":"                       \
    "null"

/* What node 1 says of its end, whose results came 95 s after those of node 0:
 * that is at 1 min 44 s. */
static void the_end_of_a_node_is_that_of_its_cause(void)
{
    static const struct {
        const char *events;
        bool first; /* it was before node 0's */
    } vectors[] = {
        {"", false},
        {"junk\n", false},
        {AT("41", STARTED("1")) AT("42", ENDED("1")), true},
        {AT("41", STARTED("1")) AT("45", ENDED("1")), false},
        /* Another rank ended, or another life of it. */
        {AT("41", STARTED("5")) AT("41", STARTED("1")) AT("42", ENDED("5")) AT("59", ENDED("1")),
         false},
        {AT("41", STARTED("1")) AT("42", ENDED("1")) AT("43", STARTED("1")) AT("59", ENDED("1")),
         false},
        /* Its end is not told, but that of the run is. */
        {AT("41", STARTED("1")) AT("42", "\"signal\",\"signal\":\"SIGTERM\""), true},
        {AT("41", STARTED("1")) AT("42", "\"kill\",\"running\":1"), false},
        {AT("41", "\"kill\",\"running\":1") AT("43", "\"timeout\",\"timeout\":\"run\""), true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        write_part(&scratch, &(struct part){0, "h", FAILED("0", "2", "104")}, RANGE("0"));
        write_part(&scratch, &(struct part){1, "h", FAILED("1", "3", "199")}, RANGE("1"));
        scratch_write(&scratch, "node_1/events.jsonl", vectors[i].events);
        json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
        check_at(joined, "exit_code", vectors[i].first ? "3" : "2");
        json_decref(joined);
        scratch_end(&scratch);
    }
}

/* What a node says of its cause: with the rank, where it is one. */
static void nodes_are_told_with_their_causes(void)
{
    static const struct {
        const char *cause, *expected;
    } vectors[] = {
        {"null", "null"},
        {"{\"rank\": 3}", "null"},
        {"{\"rank\": null, \"message\": \"jobrun was stopped\"}", "\"jobrun was stopped\""},
        {"{\"rank\": 0, \"message\": \"x\"}", "\"rank 0: x\""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        struct jr_multinode found;
        char text[512];
        scratch_start(&scratch);
        (void)snprintf(text, sizeof text, RESULTS("failed", "1", "%s", "104", "", ""),
                       vectors[i].cause);
        write_part(&scratch, &(struct part){2, "h", text}, "");
        write_part(&scratch, &(struct part){1, "no-such-host", NULL}, "");
        jr_multinode_find(&found, scratch.fd);
        json_t *nodes = jr_multinode_nodes(scratch.fd, &found);
        CU_ASSERT_EQUAL(json_array_size(nodes), 3);
        check_at(nodes, "0.status", "\"absent\"");
        check_at(nodes, "1.status", "\"elsewhere\"");
        check_at(nodes, "1.exit_code", "null");
        check_at(nodes, "2.status", "\"failed\"");
        check_at(nodes, "2.cause", vectors[i].expected);
        json_decref(nodes);
        jr_multinode_release(&found);
        CU_ASSERT_TRUE(found.nodes == NULL && found.count == 0);
        scratch_end(&scratch);
    }
}

/* How many nodes and ranks there are is what the largest of them says, and not more than a run can
 * have. */
static void the_size_is_the_largest_that_can_be(void)
{
    static const struct {
        const char *said[2];
        size_t nodes;
        const char *world;
    } vectors[] = {
        {{"", ""}, 2, "0"},
        {{", \"nodes\": 4, \"world_size\": 8", ", \"nodes\": 2"}, 4, "8"},
        {{", \"nodes\": 2", ", \"nodes\": 5, \"world_size\": 9"}, 5, "9"},
        {{", \"nodes\": 1048577, \"world_size\": 1048577", ""}, 2, "0"},
        {{", \"nodes\": 65538", ""}, 65538, "0"},
        {{", \"nodes\": 65539", ""}, 65538, "0"},
        {{", \"nodes\": 1048576", ""}, 65538, "0"},
        {{", \"world_size\": 1048576", ", \"nodes\": -1"}, 2, "1048576"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        write_part(&scratch, &(struct part){0, "h", GOOD("0", "103")}, vectors[i].said[0]);
        write_part(&scratch, &(struct part){1, "h", GOOD("1", "103")}, vectors[i].said[1]);
        json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(joined, "nodes")), vectors[i].nodes);
        check_at(joined, "world_size", vectors[i].world);
        json_decref(joined);
        scratch_end(&scratch);
    }
}

/* A part that leaves out more nodes than can be missing is nobody's. */
static void a_part_far_from_the_others_is_passed_over(void)
{
    static const struct {
        uint32_t node;
        size_t count;
    } vectors[] = {{2, 2}, {65537, 2}, {65538, 1}, {1048575, 1}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        struct jr_multinode found;
        scratch_start(&scratch);
        write_part(&scratch, &(struct part){0, "h", GOOD("0", "103")}, "");
        write_part(&scratch, &(struct part){vectors[i].node, "h", GOOD("1", "103")}, "");
        jr_multinode_find(&found, scratch.fd);
        CU_ASSERT_EQUAL(found.count, vectors[i].count);
        jr_multinode_release(&found);
        scratch_end(&scratch);
    }
}

/* Nodes without a result, all of which are lost, come to none. */
static void lost_nodes_alone_have_no_results(void)
{
    struct scratch scratch;
    struct utsname here;
    CU_ASSERT_EQUAL(uname(&here), 0);
    scratch_start(&scratch);
    for (uint32_t i = 0; i < 2; i++)
        write_part(&scratch, &(struct part){i, here.nodename, NULL}, ", \"boot_id\": \"another\"");
    CU_ASSERT_PTR_NULL(jr_multinode_json(scratch.fd, "results.json", false));
    scratch_end(&scratch);
}

/* How a node stands, as its record says: R runs, E is elsewhere, L is lost, F has finished. */
static void write_standing(const struct scratch *scratch, uint32_t node, char standing,
                           const char *fingerprint)
{
    struct utsname here;
    struct jr_buf boot JR_BUF_CLEANUP = JR_BUF_INIT;
    char more[512];
    CU_ASSERT_EQUAL(uname(&here), 0);
    (void)jr_io_fact(&boot, "", "/proc/sys/kernel/random/boot_id");
    (void)snprintf(
        more, sizeof more, ", \"boot_id\": \"%s\", \"start_ticks\": %lld, \"fingerprint\": %s",
        standing == 'R' ? boot.data : "another", (long long)jr_record_folder_ticks(1), fingerprint);
    struct part part = {node, standing == 'E' ? "no-such-host" : here.nodename,
                        standing == 'F' ? GOOD("0", "103") : NULL};
    write_part(scratch, &part, more);
    if (standing != 'R')
        return;
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "node_%u/run.json", node);
    (void)snprintf(text, sizeof text,
                   "{\"host\": \"%s\", \"pid\": %d, \"start_ticks\": %lld, "
                   "\"boot_id\": \"%s\", \"fingerprint\": %s}",
                   here.nodename, getpid(), (long long)jr_record_folder_ticks(getpid()), boot.data,
                   fingerprint);
    scratch_write(scratch, path, text);
}

/* The record of a run in parts is that of the node that goes on most surely, and of the first of
 * those. */
static void a_node_that_goes_on_stands_for_all(void)
{
    static const struct {
        const char *standings, *part;
    } vectors[] = {{"F", "\"node_0\""},    {"L", "\"node_0\""},   {"FF", "\"node_0\""},
                   {"FL", "\"node_1\""},   {"LL", "\"node_0\""},  {"LE", "\"node_1\""},
                   {"ER", "\"node_1\""},   {"RE", "\"node_0\""},  {"RR", "\"node_0\""},
                   {"FLER", "\"node_3\""}, {"FLEE", "\"node_2\""}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        for (uint32_t n = 0; vectors[i].standings[n] != '\0'; n++)
            write_standing(&scratch, n, vectors[i].standings[n], "\"f\"");
        CU_ASSERT_TRUE(jr_multinode_exists(scratch.fd));
        json_t *run = jr_multinode_json(scratch.fd, "run.json", false);
        check_at(run, "part", vectors[i].part);
        check_at(run, "fingerprint", "\"f\"");
        json_decref(run);
        scratch_end(&scratch);
    }
}

/* There is one fingerprint where all nodes that have any have that. */
static void a_fingerprint_is_that_of_all(void)
{
    static const char *const vectors[][3] = {{"\"a\"", "\"a\"", "\"a\""},
                                             {"\"a\"", "null", "\"a\""},
                                             {"null", "\"a\"", "null"},
                                             {"\"a\"", "\"b\"", "null"},
                                             {"\"b\"", "\"a\"", "null"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        write_standing(&scratch, 0, 'L', vectors[i][0]);
        write_standing(&scratch, 1, 'L', vectors[i][1]);
        json_t *run = jr_multinode_json(scratch.fd, "run.json", false);
        check_at(run, "fingerprint", vectors[i][2]);
        json_decref(run);
        scratch_end(&scratch);
    }
}

#define CODE(tree) ", \"code\": {\"tree\": " tree "}"

/* There is one code where all nodes that know theirs have that; else the first of those are told
 * apart. */
static void nodes_may_have_run_different_code(void)
{
    static const struct {
        const char *codes[6], *problem;
    } vectors[] = {
        {{CODE("\"0123456789abcdef\""), "", CODE("\"0123456789abcdef\"")}, "(nothing)"},
        {{CODE("\"0123456789abcdef\""), CODE("null"), CODE("\"3f2a1b0c9d8e7766\"")},
         "\"the nodes ran different code: node 0 tree 0123456789ab, node 2 tree 3f2a1b0c9d8e\""},
        {{CODE("\"a\""), CODE("\"b\""), CODE("\"c\""), CODE("\"d\"")},
         "\"the nodes ran different code: node 0 tree a, node 1 tree b, node 2 "
         "tree c, node 3 tree d\""},
        {{CODE("\"a\""), CODE("\"b\""), CODE("\"c\""), CODE("\"d\""), CODE("\"e\"")},
         "\"the nodes ran different code: node 0 tree a, node 1 tree b, node 2 "
         "tree c, node 3 tree d ...\""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        for (uint32_t n = 0; vectors[i].codes[n] != NULL; n++)
            write_part(&scratch, &(struct part){n, "h", NULL}, vectors[i].codes[n]);
        json_t *run = jr_multinode_json(scratch.fd, "run.json", false);
        check_at(run, "code.problem", vectors[i].problem);
        json_decref(run);
        scratch_end(&scratch);
    }
}

static void any_other_file_is_the_first_nodes(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    CU_ASSERT_PTR_NULL(jr_multinode_json(scratch.fd, "other.json", false));
    write_part(&scratch, &(struct part){5, "h", NULL}, "");
    write_part(&scratch, &(struct part){2, "h", NULL}, "");
    scratch_write(&scratch, "node_2/other.json", "{\"n\": 2}");
    scratch_write(&scratch, "node_5/other.json", "{\"n\": 5}");
    json_t *other = jr_multinode_json(scratch.fd, "other.json", false);
    check_at(other, "n", "2");
    json_decref(other);
    scratch_end(&scratch);
}

static void write_events(const struct scratch *scratch, uint32_t node, const char *started,
                         const char *events)
{
    char path[64], text[128];
    (void)snprintf(path, sizeof path, "node_%u", node);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, path, 0700), 0);
    (void)snprintf(path, sizeof path, "node_%u/run.json", node);
    (void)snprintf(text, sizeof text, "{\"started\": %s}", started);
    scratch_write(scratch, path, text);
    (void)snprintf(path, sizeof path, "node_%u/events.jsonl", node);
    scratch_write(scratch, path, events);
}

/* Each node has a monotonic clock of its own: what they tell is put in order by when their runs
 * began. */
static void events_of_all_nodes_are_in_order(void)
{
    struct scratch scratch;
    struct jr_timeline timeline;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    scratch_start(&scratch);
    jr_multinode_timeline(&timeline, scratch.fd);
    CU_ASSERT_EQUAL(timeline.span_count + timeline.moment_count, 0);
    jr_timeline_release(&timeline);
    write_events(&scratch, 0, "100.5",
                 AT("15", STARTED("0")) AT("17", ENDED("0")) AT("18", "\"kill\",\"running\":1"));
    write_events(&scratch, 1, "99.5",
                 AT("50", STARTED("1")) AT("51", ENDED("1"))
                     AT("52", "\"forward\",\"signal\":\"SIGHUP\""));
    write_events(&scratch, 2, "100",
                 AT("30", STARTED("2")) AT("31", "\"guard_lost\"") AT("32", ENDED("2")));
    jr_multinode_timeline(&timeline, scratch.fd);
    for (size_t i = 0; i < timeline.span_count; i++)
        jr_buf_printf(&text, "%u %g-%g, ", timeline.spans[i].rank, timeline.spans[i].started,
                      timeline.spans[i].ended);
    for (size_t i = 0; i < timeline.moment_count; i++)
        jr_buf_printf(&text, "%g %s, ", timeline.moments[i].at,
                      jr_event_word(timeline.moments[i].name));
    JR_ASSERT_TEXT(text.data, "1 0-1, 2 0.5-2.5, 0 1-3, 1.5 guard_lost, 2 forward, 4 kill, ");
    jr_timeline_release(&timeline);
    scratch_end(&scratch);
    scratch_start(&scratch);
    write_events(&scratch, 0, "100", AT("15", STARTED("0")));
    write_events(&scratch, 1, "102.5", AT("50", STARTED("1")));
    jr_multinode_timeline(&timeline, scratch.fd);
    CU_ASSERT_EQUAL_FATAL(timeline.span_count, 2);
    CU_ASSERT_EQUAL(timeline.spans[0].started, 0);
    CU_ASSERT_EQUAL(timeline.spans[1].started, 2.5);
    jr_timeline_release(&timeline);
    scratch_end(&scratch);
}

/* Only what failed elsewhere is after the first failure: a node that did not deliver, or is lost,
 * says nothing of when. */
static void ranks_of_nodes_without_a_failure_keep_their_states(void)
{
    static const char odd[] =
        RESULTS("incomplete", "5", CAUSE("0", "x"), "109", "", RANK("0", "failed"));
    struct scratch scratch;
    scratch_start(&scratch);
    write_part(&scratch, &(struct part){0, "h", INCOMPLETE("1")}, "");
    write_part(&scratch, &(struct part){1, "h", odd}, "");
    json_t *joined = jr_multinode_json(scratch.fd, "results.json", false);
    check_at(joined, "ranks.0.state", "\"incomplete\"");
    check_at(joined, "ranks.1.state", "\"failed\"");
    json_decref(joined);
    scratch_end(&scratch);
}

JR_UNIT_MAIN("merge_nodes", CASE(what_is_no_part_is_not_found),
             CASE(parts_are_found_by_their_records), CASE(ids_are_those_of_the_parts),
             CASE(a_node_that_goes_on_stands_for_all), CASE(a_fingerprint_is_that_of_all),
             CASE(any_other_file_is_the_first_nodes), CASE(nodes_may_have_run_different_code),
             CASE(the_first_node_may_be_lost), CASE(the_first_failure_decides),
             CASE(the_first_of_many_failures_decides), CASE(events_tell_who_failed_first),
             CASE(the_end_of_a_node_is_that_of_its_cause), CASE(a_good_run_is_joined),
             CASE(a_failed_node_says_its_cause), CASE(nodes_are_told_with_their_causes),
             CASE(the_size_is_the_largest_that_can_be),
             CASE(a_part_far_from_the_others_is_passed_over),
             CASE(nodes_that_are_not_here_leave_it_incomplete), CASE(one_node_may_be_not_here),
             CASE(what_is_to_continue_decides_last), CASE(a_run_without_times_has_begun),
             CASE(nodes_of_several_runs_leave_it_incomplete),
             CASE(a_run_that_goes_on_has_no_results), CASE(lost_nodes_alone_have_no_results),
             CASE(a_lost_node_decides_where_none_failed),
             CASE(ranks_of_nodes_without_a_failure_keep_their_states),
             CASE(numbers_are_joined_by_what_they_count),
             CASE(a_jobrun_that_was_killed_later_is_not_the_cause),
             CASE(ranks_of_all_nodes_are_compared), CASE(the_slowest_node_says_how_far_the_job_is),
             CASE(plans_are_joined_by_node), CASE(events_of_all_nodes_are_in_order))
