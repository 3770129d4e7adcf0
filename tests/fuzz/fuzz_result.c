/*
 * What two ranks leave behind, separated by a byte 0x1e: their results, and what the first one
 * wrote to standard output. Judging it ends in a verdict that can be told to people, and to
 * programs as JSON.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/judgement.h"
#include "record/results_json.h"
#include "report/summary.h"

enum { RANKS = 2, PARTS = 3 };

/* A file of a name of its own. */
struct left {
    char path[32];
};

static struct left leave(const char *text)
{
    struct left left = {"/tmp/jr_fuzz_XXXXXX"};
    size_t len = strlen(text);
    int fd = mkstemp(left.path);
    require(fd >= 0 && write(fd, text, len) == (ssize_t)len && close(fd) == 0);
    return left;
}

/* A field of every type and rule. */
static struct jr_results wanted(enum jr_result_from from)
{
    static char *equal[] = {(char *)"text"}, *distinct[] = {(char *)"count"};
    static char *enums[] = {(char *)"\"a\"", (char *)"1", (char *)"null"};
    static struct jr_result_field fields[] = {
        {.name = (char *)"count", .type = JR_JSON_INTEGER, .max = (char *)"100"},
        {.name = (char *)"loss", .type = JR_JSON_NUMBER, .min = (char *)"-1", .required = true},
        {.name = (char *)"text", .type = JR_JSON_STRING, .pattern = (char *)"^(\\w+)*$"},
        {.name = (char *)"flag", .type = JR_JSON_BOOLEAN},
        {.name = (char *)"list", .type = JR_JSON_ARRAY},
        {.name = (char *)"map", .type = JR_JSON_OBJECT},
        {.name = (char *)"word", .type = JR_JSON_STRING, .enums = enums, .enums_count = 3},
    };
    return (struct jr_results){
        .stated = true,
        .required = (char *)"all",
        .from = from,
        .pattern = (char *)"^loss (?<loss>\\S+)( n (?<count>.*))?"
                           "( (?<flag>true|false))?( (?<list>\\[.*))?$",
        .fields = fields,
        .fields_count = sizeof fields / sizeof *fields,
        .equal = equal,
        .equal_count = 1,
        .distinct = distinct,
        .distinct_count = 1,
    };
}

static void tell(const struct jr_judgement *report, const struct jr_plan *plan,
                 const struct jr_outcome *outcome, int run_fd)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_judgement_print(&text, report, plan, outcome, run_fd, false);
    require(!text.failed && text.len > 0);
    jr_buf_clear(&text);
    jr_judgement_json(&text, report, plan, outcome, NULL);
    json_t *json = jr_json_parse(text.data, text.len, &err);
    require(json != NULL);
    json_decref(json);
}

static void judge(struct jr_plan_rank *ranks, enum jr_result_from from)
{
    static const struct jr_rank_outcome end = {
        .pid = 7, .end = JR_END_EXITED, .order = 1, .ended_ns = 1000000000};
    struct jr_rank_outcome ends[RANKS] = {end, end};
    struct jr_policy policy = {.results = wanted(from)};
    char *hosts[] = {(char *)"here"};
    const struct jr_plan plan = {.name = "fuzz",
                                 .run_id = "run",
                                 .run_dir = "/run",
                                 .fingerprint = "0f",
                                 .world_size = RANKS,
                                 .nodes = 1,
                                 .axis_size = {1, 1, RANKS},
                                 .hosts = hosts,
                                 .ranks = ranks,
                                 .count = RANKS,
                                 .policy = &policy};
    const struct jr_outcome outcome = {.ended_ns = 2000000000, .count = RANKS, .ranks = ends};
    struct jr_judgement report = {0};
    struct jr_error err = {0};
    int run_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(jr_judgement_make(&report, &plan, &outcome, &(struct jr_left){.run_fd = run_fd},
                              &err) == 0);
    bool good = report.status == JR_RUN_SUCCEEDED;
    for (size_t i = 0; i < RANKS; i++)
        require(!good || report.ranks[i].result_error == JR_RESULT_NONE);
    require(good == (report.exit_code == 0));
    tell(&report, &plan, &outcome, run_fd);
    jr_judgement_release(&report);
    (void)close(run_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *parts[PARTS];
    fuzz_split(parts, PARTS, '\x1e', data, size);
    struct left first = leave(parts[0]), second = leave(parts[1]);
    struct left log = leave(parts[2]);
    struct jr_plan_rank ranks[RANKS] = {
        {.workdir = "/", .dir = "0", .result_path = first.path},
        {.rank = 1, .workdir = "/", .dir = "1", .result_path = second.path},
    };
    for (size_t i = 0; i < RANKS; i++)
        ranks[i].out_path = log.path;
    judge(ranks, JR_FROM_FILE);
    judge(ranks, JR_FROM_STDOUT);
    (void)unlink(first.path);
    (void)unlink(second.path);
    (void)unlink(log.path);
    fuzz_free(parts, PARTS);
    return 0;
}
