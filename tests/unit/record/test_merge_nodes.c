/* The files of a run whose nodes had a jobrun each, out of those of its parts; and the one verdict
 * over them. */
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/strv.h"
#include "quoted.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "record/timeline.h"
#include "scratch.h"

/* A node's part: its run.json, which stands on another host, with `more`, and its results.json;
 * NULL: it has none. */
struct part {
    uint32_t node;
    const char *host, *results, *more;
};

static void write_part(const struct scratch *scratch, const struct part *part)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "node_%u", part->node);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, path, 0700), 0);
    (void)snprintf(text, sizeof text, "{'host': '%s', 'pid': %u, 'started': 100.5%s}", part->host,
                   40 + part->node, part->more == NULL ? "" : part->more);
    (void)snprintf(path, sizeof path, "node_%u/run.json", part->node);
    scratch_write(scratch, path, jq(text));
    (void)snprintf(path, sizeof path, "node_%u/results.json", part->node);
    if (part->results != NULL)
        scratch_write(scratch, path, jq(part->results));
}

static void begin(struct scratch *scratch, const struct part *parts, size_t count)
{
    scratch_start(scratch);
    for (size_t i = 0; i < count; i++)
        write_part(scratch, &parts[i]);
}

/* Values of a joined file of these parts; NULL: there is none. */
static void check_file(const char *name, const struct part *parts, size_t count,
                       const char *expected)
{
    struct scratch scratch;
    begin(&scratch, parts, count);
    JSON *joined = jr_multinode_json(scratch.fd, name, false);
    CU_ASSERT_EQUAL(joined == NULL, expected == NULL);
    if (expected != NULL)
        check_values(joined, expected);
    scratch_end(&scratch);
}

#define CHECK(expected, ...)                                                                       \
    check_file("results.json", (const struct part[]){__VA_ARGS__},                                 \
               sizeof(const struct part[]){__VA_ARGS__} / sizeof(struct part), expected)

#define RESULTS(status, code, cause, finished, more, ranks)                                        \
    "{'run_id': 'exp1', 'status': '" status "', 'exit_code': " code                                \
    ", 'attempt': 0, 'started': 100.5, 'finished': " finished ", 'root_cause': " cause more        \
    ",\n  'ranks': [" ranks "]}"
#define RANK(rank, state)                                                                          \
    "{'rank': " rank ", 'state': '" state "', 'stdout': 'attempt_0/" rank                          \
    "/stdout.log', 'stderr': null, 'error_file': '/abs/error.json'}"
#define CAUSE(rank, message) "{'rank': " rank ", 'message': '" message "'}"
#define GOOD(rank, finished)                                                                       \
    RESULTS("succeeded", "0", "null", finished, "", RANK(rank, "succeeded"))
#define FAILED(rank, code, finished)                                                               \
    RESULTS("failed", code, CAUSE(rank, "exited with " code), finished, "", RANK(rank, "failed"))
#define INCOMPLETE(rank)                                                                           \
    RESULTS("incomplete", "5", CAUSE(rank, "result.json was not written"), "109", "",              \
            RANK(rank, "incomplete"))
#define YIELDED(rank) RESULTS("yielded", "8", "null", "109", "", RANK(rank, "yielded"))
#define RANGE(first)  ", 'nodes': 2, 'world_size': 2, 'ranks': {'first': " first ", 'count': 1}"
#define NODE_0(results)                                                                            \
    {                                                                                              \
        0, "h", results, RANGE("0")                                                                \
    }
#define NODE_1(results)                                                                            \
    {                                                                                              \
        1, "h", results, RANGE("1")                                                                \
    }

TEST(what_is_no_part_is_not_found)
{
    static const char *const names[] = {"node_",  "node_01",  "node_-1", "node_x",      "node_1 ",
                                        "Node_1", "node_1.0", "node",    "node_1048576"};
    struct jr_multinode found;
    SCRATCH(scratch);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
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
}

/* They come in the order of their numbers, and are none where the run has a record of its own. */
TEST(parts_are_found_by_their_records)
{
    static const struct part parts[] = {{.node = 10, .host = "h"},
                                        {.node = 0, .host = "h"},
                                        {.node = 9, .host = "h"},
                                        {.node = 2, .host = "h"}};
    struct scratch scratch;
    struct jr_multinode found;
    begin(&scratch, parts, 4);
    jr_multinode_find(&found, scratch.fd);
    CU_ASSERT_EQUAL_FATAL(found.count, 4);
    CU_ASSERT_EQUAL(memcmp(found.nodes, (uint32_t[]){0, 2, 9, 10}, 4 * sizeof *found.nodes), 0);
    jr_multinode_release(&found);
    scratch_write(&scratch, "run.json", "{}");
    CU_ASSERT_FALSE(jr_multinode_exists(scratch.fd));
    scratch_end(&scratch);
}

TEST(ids_are_those_of_the_parts)
{
    struct jr_arena arena = JR_ARENA_INIT;
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "exp1", 0700), 0);
    struct scratch run = {.fd = openat(scratch.fd, "exp1", O_RDONLY)};
    struct jr_strv ids = jr_multinode_ids(&arena, scratch.dir, "exp1");
    CU_ASSERT_EQUAL_FATAL(ids.count, 1);
    JR_ASSERT_TEXT(ids.items[0], "exp1");
    write_part(&run, &(struct part){1, "h", NULL, NULL});
    write_part(&run, &(struct part){0, "h", NULL, NULL});
    ids = jr_multinode_ids(&arena, scratch.dir, "exp1");
    CU_ASSERT_EQUAL_FATAL(ids.count, 2);
    JR_ASSERT_TEXT(ids.items[0], "exp1/node_0");
    JR_ASSERT_TEXT(ids.items[1], "exp1/node_1");
    jr_arena_release(&arena);
    (void)close(run.fd);
}

TEST(the_first_failure_decides)
{
#define DECIDED(status, code, cause, first, second)                                                \
    "status '" status "' | exit_code " code " | root_cause.message '" cause                        \
    "' | ranks.0.state '" first "' | ranks.1.state '" second "'"
#define WITH(code, first, second) DECIDED("failed", code, "exited with " code, first, second)
#define WITHOUT(first)                                                                             \
    DECIDED("incomplete", "5", "result.json was not written", first, "incomplete")
    CHECK(WITH("3", "succeeded", "failed"), NODE_0(GOOD("0", "103")),
          NODE_1(FAILED("1", "3", "104")));
    CHECK(WITH("2", "failed", "succeeded"), NODE_0(FAILED("0", "2", "105")),
          NODE_1(GOOD("1", "103")));
    CHECK(WITH("3", "after_first_failure", "failed"), NODE_0(FAILED("0", "2", "105")),
          NODE_1(FAILED("1", "3", "104")));
    CHECK(WITH("2", "failed", "after_first_failure"), NODE_0(FAILED("0", "2", "104")),
          NODE_1(FAILED("1", "3", "105")));
    CHECK(WITH("2", "failed", "after_first_failure"), NODE_0(FAILED("0", "2", "104")),
          NODE_1(FAILED("1", "3", "104")));
    CHECK(WITH("3", "incomplete", "failed"), NODE_0(INCOMPLETE("0")),
          NODE_1(FAILED("1", "3", "110")));
    CHECK(WITHOUT("succeeded"), NODE_0(GOOD("0", "103")), NODE_1(INCOMPLETE("1")));
    CHECK(WITHOUT("incomplete"), NODE_0(INCOMPLETE("0")), NODE_1(INCOMPLETE("1")));
    /* Of three that failed, the second was the first to. */
    CHECK("root_cause.rank 1 | ranks.0.state 'after_first_failure' | ranks.1.state 'failed' | "
          "ranks.2.state 'after_first_failure' | ranks.3.state 'incomplete'",
          {0, "h", FAILED("0", "2", "105"), ""}, {1, "h", FAILED("1", "3", "103"), ""},
          {2, "h", FAILED("2", "4", "104"), ""}, {3, "h", INCOMPLETE("3"), ""});
}

TEST(a_good_run_is_joined)
{
    CHECK(
        "status 'succeeded' | exit_code 0 | root_cause null | run_id 'exp1' | fingerprint 'aa' | "
        "world_size 2 | started 100.5 | finished 103.25 | seconds 2.75 | attempts [] | "
        "ranks.1.stdout 'node_1/attempt_0/1/stdout.log' | ranks.1.stderr null | ranks.1.error_file "
        "'/abs/error.json' | ranks.1.folder 'node_1/attempt_0/1' | nodes.0.node_rank 0 | "
        "nodes.1.host 'gpu01' | nodes.1.pid 41 | nodes.1.part 'node_1' | nodes.1.status "
        "'succeeded' | nodes.1.exit_code 0 | nodes.1.cause null | nodes.1.ranks.first 1",
        {0, "gpu00", GOOD("0", "103.25"), ", 'fingerprint': 'aa'" RANGE("0")},
        {1, "gpu01", GOOD("1", "102"), ", 'fingerprint': 'aa'" RANGE("1")});
}

TEST(a_failed_node_says_its_cause)
{
    CHECK("nodes.1.cause 'rank 1: exited with 3' | nodes.1.status 'failed' | nodes.1.exit_code 3 | "
          "fingerprint null | nodes.1.fingerprint 'bb'",
          {0, "h", GOOD("0", "103"), ", 'fingerprint': 'aa'" RANGE("0")},
          {1, "h", FAILED("1", "3", "104"), ", 'fingerprint': 'bb'" RANGE("1")});
}

TEST(nodes_that_are_not_here_leave_it_incomplete)
{
    CHECK("status 'incomplete' | exit_code 5 | world_size 8 | root_cause {'rank': null, 'host': "
          "null, 'kind': 'result', 'exit_code': null, 'signal': null, 'message': 'the nodes that "
          "are here succeeded, but 3 of 4 are not here', 'together': []} | nodes.0.status 'absent' "
          "| nodes.0.part null | nodes.1.status 'succeeded' | nodes.3.status 'absent'",
          {1, "h", GOOD("2", "103"),
           ", 'nodes': 4, 'world_size': 8, 'ranks': {'first': 2, 'count': 2}"});
    CHECK("root_cause.message 'the nodes that are here succeeded, but 1 of 2 is not here'",
          NODE_0(GOOD("0", "103")));
    CHECK("status 'incomplete' | root_cause.message 'the nodes are not of one run: more than one "
          "has rank 0; none has rank 1'",
          NODE_0(GOOD("0", "103")), {1, "h", GOOD("0", "103"), RANGE("0")});
}

/* A node that is to be continued gives way to one that failed or did not deliver, and to one that
 * is not here. */
TEST(what_is_to_continue_decides_last)
{
    CHECK("status 'yielded' | exit_code 8", NODE_0(YIELDED("0")), NODE_1(GOOD("1", "103")));
    CHECK("status 'yielded' | exit_code 8", NODE_0(YIELDED("0")), NODE_1(YIELDED("1")));
    CHECK("status 'incomplete' | exit_code 5", NODE_0(YIELDED("0")), NODE_1(INCOMPLETE("1")));
    CHECK("status 'failed' | exit_code 3", NODE_0(YIELDED("0")), NODE_1(FAILED("1", "3", "110")));
    CHECK("status 'incomplete' | exit_code 5", NODE_0(YIELDED("0")));
}

/* Results that another program wrote may lack their times: the run has begun when its record says
 * so. */
TEST(a_run_without_times_has_begun)
{
    CHECK("status 'failed' | root_cause null | started 100.5 | finished 100.5 | seconds 0.0",
          NODE_0("{'status': 'failed', 'exit_code': 3, 'ranks': []}"));
}

/* On another host it goes on, as far as anybody here knows. */
TEST(a_run_that_goes_on_has_no_results)
{
    static const struct part parts[] = {NODE_0(GOOD("0", "103")),
                                        {1, "no-such-host", NULL, RANGE("1")}};
    check_file("results.json", parts, 2, NULL);
    check_file("run.json", parts, 2, "part 'node_1'");
}

/* On this host, but before it was started again, it is lost. */
TEST(a_lost_node_decides_where_none_failed)
{
#define LOST(first) ", 'boot_id': 'another'" RANGE(first)
    static const char lost[] =
        "status 'launch_failed' | exit_code 7 | root_cause.kind 'lost_node' | nodes.1.status "
        "'lost' | run_id 'exp1' | root_cause.message 'the jobrun of node 1 (pid 41 on %s) is gone "
        "and left no results' | root_cause.host '%s'";
    char host[256], expected[1024];
    CU_ASSERT_EQUAL_FATAL(gethostname(host, sizeof host), 0);
    (void)snprintf(expected, sizeof expected, lost, host, host);
    CHECK(expected, NODE_0(GOOD("0", "103")), {1, host, NULL, LOST("1")});
    CHECK(expected, NODE_0(INCOMPLETE("0")), {1, host, NULL, LOST("1")});
    CHECK("status 'failed' | exit_code 3 | root_cause.kind - | nodes.1.status 'lost'",
          NODE_0(FAILED("0", "3", "103")), {1, host, NULL, LOST("1")});
    /* What any node can say, the first that has results says. */
    CHECK("run_id 'exp1' | nodes.0.status 'lost'", {0, host, NULL, LOST("0")},
          NODE_1(GOOD("1", "103")));
    /* Nodes without a result, all of which are lost, come to none. */
    CHECK(NULL, {0, host, NULL, ", 'boot_id': 'another'"},
          {1, host, NULL, ", 'boot_id': 'another'"});
}

/* Processes are counted together; of the rest one node's word is taken. */
TEST(numbers_are_joined_by_what_they_count)
{
#define COUNTS(left, alike, killed)                                                                \
    RESULTS("succeeded", "0", "null", "103",                                                       \
            ", 'processes_left': " left ", 'failed_alike': " alike ", 'jobrun_killed': " killed,   \
            "")
    CHECK("processes_left 10 | failed_alike 4 | jobrun_killed null | timed_out_by null",
          NODE_0(COUNTS("2", "1", "null")), NODE_1(COUNTS("3", "4", "{'pid': 9}")),
          {2, "h", COUNTS("5", "'9'", "{'pid': 8}"), ", 'nodes': 3, 'world_size': 2"});
}

/* Whose jobrun was killed is said of the run only where that decides: else the report would name it
 * as the cause. */
TEST(a_jobrun_that_was_killed_later_is_not_the_cause)
{
#define KILLER "{'process': 'runner', 'pid': null, 'signal': 'SIGKILL'}"
#define KILLED                                                                                     \
    RESULTS("launch_failed", "7", "null", "104", ", 'jobrun_killed': " KILLER, RANK("0", "stopped"))
    CHECK("status 'failed' | jobrun_killed null", NODE_0(KILLED), NODE_1(FAILED("1", "3", "103")));
    CHECK("status 'launch_failed' | jobrun_killed " KILLER, NODE_0(KILLED),
          NODE_1(FAILED("1", "3", "105")));
    CHECK("status 'launch_failed' | jobrun_killed " KILLER, NODE_0(KILLED),
          NODE_1(GOOD("1", "103")));
}

/* Each node has compared its own ranks only: what differs between nodes is found here, in the words
 * of a run on one node; and in the head as well. */
TEST(ranks_of_all_nodes_are_compared)
{
#define DELIVERED(rank, result)                                                                    \
    RESULTS("succeeded", "0", "null", "103",                                                       \
            ", 'compared': {'source': 'result.json', 'equal': ['sha'], 'distinct': ['port']}",     \
            "{'rank': " rank ", 'state': 'succeeded', 'result': " result "}")
#define RANK_IS(rank, state, error, differs)                                                       \
    " | ranks." rank ".state '" state "' | ranks." rank ".result_error " error " | ranks." rank    \
    ".differs " differs
    static const struct {
        struct part parts[2];
        const char *status, *whole;
    } vectors[] = {
        {{NODE_0(DELIVERED("0", "{'sha': 'a', 'port': 1}")),
          NODE_1(DELIVERED("1", "{'sha': 'a', 'port': 2}"))},
         "status 'succeeded' | exit_code 0",
         "ranks.1.error null" RANK_IS("0", "succeeded", "null", "false")
             RANK_IS("1", "succeeded", "null", "false")},
        {{NODE_0(DELIVERED("0", "{'sha': 'a', 'port': 1}")),
          NODE_1(DELIVERED("1", "{'sha': 'b', 'port': 2}"))},
         "status 'incomplete' | exit_code 5",
         "root_cause.message 'result.json: \\'sha\\' is \\\"a\\\", but \\\"b\\\" on rank 1' | "
         "ranks.1.error 'result.json: \\'sha\\' is \\\"b\\\", but \\\"a\\\" on rank 0'" RANK_IS(
             "0", "incomplete", "'unequal'", "true")
             RANK_IS("1", "incomplete", "'unequal'", "true")},
        {{NODE_0(DELIVERED("0", "{'sha': 'a', 'port': 1}")),
          NODE_1(DELIVERED("1", "{'sha': 'a', 'port': 1.0}"))},
         "status 'incomplete' | exit_code 5",
         "root_cause.message 'result.json: \\'port\\' is 1 on ranks 0-1, not distinct' | "
         "ranks.1.error 'result.json: \\'port\\' is 1 on ranks 0-1, not distinct'" RANK_IS(
             "0", "incomplete", "'field'", "true") RANK_IS("1", "incomplete", "'field'", "true")},
        {{NODE_0(DELIVERED("0", "{'sha': 'a', 'port': 1}")), NODE_1(DELIVERED("1", "{'port': 2}"))},
         "status 'incomplete' | exit_code 5",
         "root_cause.message 'result.json has no \\'sha\\' to compare' | ranks.1.error "
         "'result.json has no \\'sha\\' to compare'" RANK_IS("0", "succeeded", "null", "false")
             RANK_IS("1", "incomplete", "'field'", "true")}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        struct scratch scratch;
        begin(&scratch, vectors[v].parts, 2);
        JSON *whole = jr_multinode_json(scratch.fd, "results.json", false);
        JSON *head = jr_multinode_json(scratch.fd, "results.json", true);
        check_values(whole, vectors[v].status);
        check_values(head, vectors[v].status);
        check_values(whole, vectors[v].whole);
        scratch_end(&scratch);
    }
}

/* The job is where its slowest rank is, which is behind the furthest of all. */
TEST(the_slowest_node_says_how_far_the_job_is)
{
#define STEPPED(rank, progress)                                                                    \
    RESULTS("succeeded", "0", "null", "103", ", 'progress': " progress, RANK(rank, "succeeded"))
#define AT_STEP(step, rank, behind, warnings)                                                      \
    "{'step': " step ", 'total': 90, 'slowest': {'rank': " rank ", 'behind': " behind              \
    "}, 'warnings': [" warnings "]}"
#define ALONE(step) "{'step': " step ", 'slowest': null, 'warnings': []}"
    CHECK("progress " AT_STEP("5", "1", "9", "'a', 'b'"),
          NODE_0(STEPPED("0", AT_STEP("7", "0", "1", "'a'"))),
          NODE_1(STEPPED("1", AT_STEP("5", "1", "9", "'b'"))));
    CHECK("progress " AT_STEP("5", "0", "11", ""), NODE_0(STEPPED("0", AT_STEP("5", "0", "1", ""))),
          NODE_1(STEPPED("1", AT_STEP("7", "1", "9", ""))));
    CHECK("progress " ALONE("4"), NODE_0(STEPPED("0", ALONE("5"))),
          NODE_1(STEPPED("1", ALONE("4"))));
    CHECK("progress " AT_STEP("7", "1", "0", "'b'"), NODE_0(STEPPED("0", "null")),
          NODE_1(STEPPED("1", AT_STEP("7", "1", "0", "'b'"))));
    CHECK("progress null", NODE_0(STEPPED("0", "null")), NODE_1(STEPPED("1", "null")));
}

TEST(plans_are_joined_by_node)
{
    static const char plan[] = "{'name': '%s', 'ranks': [{'rank': 0, 'node_rank': 0, 'stdout': "
                               "{'file': 'attempt_0/0/o'}}, {'rank': 1, 'node_rank': 1, 'stdout': "
                               "{'file': 'attempt_0/1/o'}, 'stderr': {'file': 'attempt_0/1/e'}}]}";
    static const struct part parts[] = {NODE_0(NULL), NODE_1(NULL)};
    struct scratch scratch;
    char text[512];
    begin(&scratch, parts, 2);
    (void)snprintf(text, sizeof text, plan, "a");
    scratch_write(&scratch, "node_0/plan.json", jq(text));
    (void)snprintf(text, sizeof text, plan, "b");
    scratch_write(&scratch, "node_1/plan.json", jq(text));
    json_t *joined = jr_multinode_json(scratch.fd, "plan.json", false);
    check_values(joined,
                 "name 'a' | ranks.0.stdout.file 'node_0/attempt_0/0/o' | ranks.1.stdout.file "
                 "'node_1/attempt_0/1/o' | ranks.1.stderr.file 'node_1/attempt_0/1/e' | ranks.2 -");
    json_decref(joined);
    /* Without ranks, one node's is enough. */
    joined = jr_multinode_json(scratch.fd, "plan.json", true);
    check_values(joined, "name 'a'");
    json_decref(joined);
    scratch_end(&scratch);
}

#define AT(second, event)                                                                          \
    "{'time':'1970-01-01T00:01:" second ".000Z','ns':" second "000000000,'event':" event "}\n"
#define STARTED(rank) "'rank_started','rank':" rank ",'pid':7"
#define ENDED(rank)   "'rank_ended','rank':" rank ",'pid':7,'exit_code':3,'signal':null"

/* What node 1 says of its end, whose results came 95 s after those of node 0: that is at 1 min
 * 44 s. When a rank ended is told by its node's events; only else by the end. */
TEST(the_end_of_a_node_is_that_of_its_cause)
{
    static const struct part parts[] = {NODE_0(FAILED("0", "2", "104")),
                                        NODE_1(FAILED("1", "3", "199"))};
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
        {AT("41", STARTED("1")) AT("42", "'signal','signal':'SIGTERM'"), true},
        {AT("41", STARTED("1")) AT("42", "'kill','running':1"), false},
        {AT("41", "'kill','running':1") AT("43", "'timeout','timeout':'run'"), true}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct scratch scratch;
        begin(&scratch, parts, 2);
        scratch_write(&scratch, "node_1/events.jsonl", jq(vectors[i].events));
        JSON *joined = jr_multinode_json(scratch.fd, "results.json", false);
        check_values(joined, vectors[i].first ? "exit_code 3 | root_cause.rank 1"
                                              : "exit_code 2 | root_cause.rank 0");
        scratch_end(&scratch);
    }
}

/* What a node says of its cause: with the rank, where it is one. */
TEST(nodes_are_told_with_their_causes)
{
    static const char *const vectors[][2] = {
        {RESULTS("failed", "1", "null", "104", "", ""), "2.cause null"},
        {RESULTS("failed", "1", "{'rank': 3}", "104", "", ""), "2.cause null"},
        {RESULTS("failed", "1", CAUSE("null", "jobrun was stopped"), "104", "", ""),
         "2.cause 'jobrun was stopped'"},
        {RESULTS("failed", "1", CAUSE("0", "x"), "104", "", ""), "2.cause 'rank 0: x'"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct part parts[] = {{2, "h", vectors[i][0], NULL},
                                     {1, "no-such-host", NULL, NULL}};
        struct scratch scratch;
        struct jr_multinode found;
        begin(&scratch, parts, 2);
        jr_multinode_find(&found, scratch.fd);
        json_t *nodes = jr_multinode_nodes(scratch.fd, &found);
        check_values(nodes, "0.status 'absent' | 1.status 'elsewhere' | 1.exit_code null | "
                            "2.status 'failed' | 3 -");
        check_values(nodes, vectors[i][1]);
        json_decref(nodes);
        jr_multinode_release(&found);
        CU_ASSERT_TRUE(found.nodes == NULL && found.count == 0);
        scratch_end(&scratch);
    }
}

/* How many nodes and ranks there are is what the largest of them says, and not more than a run can
 * have. */
TEST(the_size_is_the_largest_that_can_be)
{
#define SAID(first, second, expected)                                                              \
    CHECK(expected, {0, "h", GOOD("0", "103"), first}, {1, "h", GOOD("1", "103"), second})
    SAID("", "", "nodes.2 - | world_size 0");
    SAID(", 'nodes': 4, 'world_size': 8", ", 'nodes': 2",
         "nodes.3.node_rank 3 | nodes.4 - | world_size 8");
    SAID(", 'nodes': 2", ", 'nodes': 5, 'world_size': 9",
         "nodes.4.node_rank 4 | nodes.5 - | world_size 9");
    SAID(", 'nodes': 1048577, 'world_size': 1048577", "", "nodes.2 - | world_size 0");
    SAID(", 'nodes': 65538", "", "nodes.65537.status 'absent' | nodes.65538 -");
    SAID(", 'nodes': 65539", "", "nodes.65537.status 'absent' | nodes.65538 -");
    SAID(", 'nodes': 1048576", "", "nodes.65537.status 'absent' | nodes.65538 -");
    SAID(", 'world_size': 1048576", ", 'nodes': -1", "nodes.2 - | world_size 1048576");
}

/* A part that leaves out more nodes than can be missing is nobody's. */
TEST(a_part_far_from_the_others_is_passed_over)
{
    static const uint32_t vectors[][2] = {{2, 2}, {65537, 2}, {65538, 1}, {1048575, 1}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct part parts[] = {{0, "h", GOOD("0", "103"), ""},
                                     {vectors[i][0], "h", GOOD("1", "103"), ""}};
        struct scratch scratch;
        struct jr_multinode found;
        begin(&scratch, parts, 2);
        jr_multinode_find(&found, scratch.fd);
        CU_ASSERT_EQUAL(found.count, vectors[i][1]);
        jr_multinode_release(&found);
        scratch_end(&scratch);
    }
}

/* How a node stands, as its record says: R runs, E is elsewhere, L is lost, F has finished. */
static void write_standing(const struct scratch *scratch, uint32_t node, char standing,
                           const char *fingerprint)
{
    struct utsname here;
    struct jr_buf boot JR_BUF_CLEANUP = JR_BUF_INIT;
    char path[64], text[1024];
    CU_ASSERT_EQUAL(uname(&here), 0);
    (void)jr_io_fact(&boot, "", "/proc/sys/kernel/random/boot_id");
    (void)snprintf(text, sizeof text,
                   ", 'boot_id': 'another', 'start_ticks': %lld, 'fingerprint': %s",
                   (long long)jr_record_folder_ticks(1), fingerprint);
    write_part(scratch, &(struct part){node, standing == 'E' ? "no-such-host" : here.nodename,
                                       standing == 'F' ? GOOD("0", "103") : NULL, text});
    if (standing != 'R')
        return;
    (void)snprintf(path, sizeof path, "node_%u/run.json", node);
    (void)snprintf(
        text, sizeof text,
        "{'host': '%s', 'pid': %d, 'start_ticks': %lld, 'boot_id': '%s', 'fingerprint': %s}",
        here.nodename, getpid(), (long long)jr_record_folder_ticks(getpid()), boot.data,
        fingerprint);
    scratch_write(scratch, path, jq(text));
}

/* The record of a run in parts is that of the node that goes on most surely, and of the first of
 * those. */
TEST(a_node_that_goes_on_stands_for_all)
{
    static const char *const vectors[][2] = {
        {"F", "part 'node_0'"},    {"L", "part 'node_0'"},   {"FF", "part 'node_0'"},
        {"FL", "part 'node_1'"},   {"LL", "part 'node_0'"},  {"LE", "part 'node_1'"},
        {"ER", "part 'node_1'"},   {"RE", "part 'node_0'"},  {"RR", "part 'node_0'"},
        {"FLER", "part 'node_3'"}, {"FLEE", "part 'node_2'"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        SCRATCH(scratch);
        for (uint32_t n = 0; vectors[i][0][n] != '\0'; n++)
            write_standing(&scratch, n, vectors[i][0][n], "'f'");
        CU_ASSERT_TRUE(jr_multinode_exists(scratch.fd));
        JSON *run = jr_multinode_json(scratch.fd, "run.json", false);
        check_values(run, vectors[i][1]);
        check_values(run, "fingerprint 'f'");
    }
}

/* There is one fingerprint where all nodes that have any have that. */
TEST(a_fingerprint_is_that_of_all)
{
    static const char *const vectors[][3] = {{"'a'", "'a'", "fingerprint 'a'"},
                                             {"'a'", "null", "fingerprint 'a'"},
                                             {"null", "'a'", "fingerprint null"},
                                             {"'a'", "'b'", "fingerprint null"},
                                             {"'b'", "'a'", "fingerprint null"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        SCRATCH(scratch);
        write_standing(&scratch, 0, 'L', vectors[i][0]);
        write_standing(&scratch, 1, 'L', vectors[i][1]);
        JSON *run = jr_multinode_json(scratch.fd, "run.json", false);
        check_values(run, vectors[i][2]);
    }
}

/* There is one code where all nodes that know theirs have that; else the first of those are told
 * apart. */
TEST(nodes_may_have_run_different_code)
{
#define CODE(node, tree)                                                                           \
    {                                                                                              \
        node, "h", NULL, ", 'code': {'tree': " tree "}"                                            \
    }
#define OTHERS "code.problem 'the nodes ran different code: node 0 tree "
    static const struct part parts[] = {CODE(0, "'a'"), CODE(1, "'b'"), CODE(2, "'c'"),
                                        CODE(3, "'d'"), CODE(4, "'e'")};
    static const struct part same[] = {
        CODE(0, "'0123456789abcdef'"), {1, "h", NULL, ""}, CODE(2, "'0123456789abcdef'")};
    static const struct part other[] = {CODE(0, "'0123456789abcdef'"), CODE(1, "null"),
                                        CODE(2, "'3f2a1b0c9d8e7766'")};
    check_file("run.json", same, 3, "code.problem -");
    check_file("run.json", other, 3, OTHERS "0123456789ab, node 2 tree 3f2a1b0c9d8e'");
    check_file("run.json", parts, 4, OTHERS "a, node 1 tree b, node 2 tree c, node 3 tree d'");
    check_file("run.json", parts, 5, OTHERS "a, node 1 tree b, node 2 tree c, node 3 tree d ...'");
}

TEST(any_other_file_is_the_first_nodes)
{
    static const struct part parts[] = {{5, "h", NULL, ""}, {2, "h", NULL, ""}};
    struct scratch scratch;
    check_file("other.json", NULL, 0, NULL);
    begin(&scratch, parts, 2);
    scratch_write(&scratch, "node_2/other.json", jq("{'n': 2}"));
    scratch_write(&scratch, "node_5/other.json", jq("{'n': 5}"));
    JSON *other = jr_multinode_json(scratch.fd, "other.json", false);
    check_values(other, "n 2");
    scratch_end(&scratch);
}

static void write_events(const struct scratch *scratch, uint32_t node, const char *started,
                         const char *events)
{
    char path[64], text[128];
    (void)snprintf(path, sizeof path, "node_%u", node);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, path, 0700), 0);
    (void)snprintf(path, sizeof path, "node_%u/run.json", node);
    (void)snprintf(text, sizeof text, "{'started': %s}", started);
    scratch_write(scratch, path, jq(text));
    (void)snprintf(path, sizeof path, "node_%u/events.jsonl", node);
    scratch_write(scratch, path, jq(events));
}

static void check_timeline(const struct scratch *scratch, const char *expected)
{
    struct jr_timeline timeline;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_multinode_timeline(&timeline, scratch->fd);
    for (size_t i = 0; i < timeline.span_count; i++)
        jr_buf_printf(&text, "%u %g-%g, ", timeline.spans[i].rank, timeline.spans[i].started,
                      timeline.spans[i].ended);
    for (size_t i = 0; i < timeline.moment_count; i++)
        jr_buf_printf(&text, "%g %s, ", timeline.moments[i].at,
                      jr_event_word(timeline.moments[i].name));
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
    jr_timeline_release(&timeline);
}

/* Each node has a monotonic clock of its own: what they tell is put in order by when their runs
 * began. */
TEST(events_of_all_nodes_are_in_order)
{
    struct scratch scratch;
    scratch_start(&scratch);
    check_timeline(&scratch, "");
    write_events(&scratch, 0, "100.5",
                 AT("15", STARTED("0")) AT("17", ENDED("0")) AT("18", "'kill','running':1"));
    write_events(&scratch, 1, "99.5",
                 AT("50", STARTED("1")) AT("51", ENDED("1"))
                     AT("52", "'forward','signal':'SIGHUP'"));
    write_events(&scratch, 2, "100",
                 AT("30", STARTED("2")) AT("31", "'guard_lost'") AT("32", ENDED("2")));
    check_timeline(&scratch, "1 0-1, 2 0.5-2.5, 0 1-3, 1.5 guard_lost, 2 forward, 4 kill, ");
    scratch_end(&scratch);
    scratch_start(&scratch);
    write_events(&scratch, 0, "100", AT("15", STARTED("0")));
    write_events(&scratch, 1, "102.5", AT("50", STARTED("1")));
    check_timeline(&scratch, "0 0--1, 1 2.5--1, ");
    scratch_end(&scratch);
}

/* Only what failed elsewhere is after the first failure: a node that did not deliver, or is lost,
 * says nothing of when. */
TEST(ranks_of_nodes_without_a_failure_keep_their_states)
{
    CHECK(
        "ranks.0.state 'incomplete' | ranks.1.state 'failed'", {0, "h", INCOMPLETE("1"), ""},
        {1, "h", RESULTS("incomplete", "5", CAUSE("0", "x"), "109", "", RANK("0", "failed")), ""});
}
