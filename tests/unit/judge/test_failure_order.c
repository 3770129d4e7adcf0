/* Who was first, by what was noted of each rank. */
#include "judge/failure_order.h"

#include "fake_run.h"

#define MS UINT64_C(1000000)

/* A rank of a vector. Times are in ms since the start. */
struct fail {
    int signal; /* what it died of; else it exited with `code` */
    int code;
    double ended;   /* when it was reaped */
    double alive;   /* when it was last seen so; 0: never */
    double exiting; /* when it was first seen so; 0: never */
    double told;    /* when it told of its failure; 0: it did not */
    int told_code;
    double raised;       /* when its exception was raised; 0: there is none */
    const char *message; /* of that */
    double leaving;      /* when it told that it goes, with 0; 0: never */
    bool lost_peer;      /* by the runner's account */
    int stopped_with;
    uint32_t node;
    bool overtaken;
};

struct vector {
    const char *name;
    struct fail ranks[4];
    size_t count;
    const char *states; /* F(ailed) A(fter the first) T(old to stop) S; E: that
                           early */
    uint32_t cause;
    size_t together; /* how many besides it */
};

static uint64_t ns_at(double ms)
{
    return ms > 0 ? FAKE_SECOND + (uint64_t)(ms * 1e6) : 0;
}

static void raise_at(struct fake *fake, uint32_t i, const struct fail *fail)
{
    char text[256];
    uint64_t ns = FAKE_WALL + (uint64_t)(fail->raised * 1e6);
    (void)snprintf(text, sizeof text,
                   "{\"message\": {\"message\": \"%s\"}, \"time_ns\": %llu}",
                   fail->message == NULL ? "ValueError: x" : fail->message,
                   (unsigned long long)ns);
    fake_write_rank(fake, i, "error.json", text);
}

static void set_rank(struct fake *fake, uint32_t i, const struct fail *fail,
                     uint32_t order)
{
    struct jr_rank_outcome *rank = &fake->ends[i];
    if (fail->signal != 0)
        fake_signal(fake, i, fail->signal);
    else
        fake_exit(fake, i, fail->code);
    rank->order = order;
    rank->ended_ns = ns_at(fail->ended);
    rank->alive_ns = ns_at(fail->alive);
    rank->exiting_ns = ns_at(fail->exiting);
    rank->told_ns = ns_at(fail->told);
    rank->told_code = fail->told_code;
    rank->leaving_ns = ns_at(fail->leaving);
    rank->lost_peer = fail->lost_peer;
    rank->stopped_with = fail->stopped_with;
    rank->overtaken = fail->overtaken;
    fake->ranks[i].node_rank = fail->node;
    if (fail->raised > 0)
        raise_at(fake, i, fail);
}

/* Ranks of a vector stand in the order in which they were reaped, but for
 * `order` where that matters: see `ended`. */
static uint32_t order_of(const struct vector *vector, size_t i)
{
    uint32_t order = 1;
    for (size_t n = 0; n < vector->count; n++)
        order += vector->ranks[n].ended < vector->ranks[i].ended ||
                 (n < i && vector->ranks[n].ended == vector->ranks[i].ended);
    return order;
}

static void check(const struct vector *vector)
{
    static const char letters[] = "SFIATN";
    char states[FAKE_MOST + 1] = "";
    struct fake fake;
    fake_start(&fake, (uint32_t)vector->count);
    fake.outcome.clock_error_ns = 2 * MS;
    for (uint32_t i = 0; i < vector->count; i++)
        set_rank(&fake, i, &vector->ranks[i], order_of(vector, i));
    fake_judge(&fake);
    for (size_t i = 0; i < vector->count; i++)
        states[i] = fake.report.ranks[i].early
                        ? 'E'
                        : letters[fake.report.ranks[i].state];
    if (strcmp(states, vector->states) != 0 ||
        fake.report.causes_count != vector->together + 1 ||
        fake.report.causes[0] != vector->cause)
        printf("\n    %s", vector->name);
    JR_ASSERT_TEXT(states, vector->states);
    CU_ASSERT_EQUAL(fake.report.causes_count, vector->together + 1);
    if (fake.report.causes_count > 0)
        CU_ASSERT_EQUAL(fake.report.causes[0], vector->cause);
    fake_end(&fake);
}

#define RESET "ConnectionResetError: [Errno 104] Connection reset by peer"
#define CHECK(vectors)                                                         \
    do                                                                         \
        for (size_t v = 0; v < sizeof(vectors) / sizeof *(vectors); v++)       \
            check(&(vectors)[v]);                                              \
    while (0)

/* What was told wrongly before the spans were known. */
static void peers_that_were_reaped_first(void)
{
    static const struct vector vectors[] = {
        {"a peer raises before the death can be reaped",
         {{.signal = 11, .ended = 10},
          {.code = 1,
           .ended = 20,
           .alive = 10.1,
           .raised = 9.5,
           .told = 12,
           .message = RESET}},
         2,
         "FF",
         0,
         1},
        {"the same, and it raises something of its own",
         {{.signal = 9, .ended = 10},
          {.code = 1, .ended = 20, .alive = 10.1, .raised = 9.5, .told = 12}},
         2,
         "FF",
         0,
         1},
        {"a peer tells while the other one exits",
         {{.code = 3, .ended = 10.2, .exiting = 10},
          {.code = 1, .ended = 20, .alive = 10, .raised = 9.5, .told = 10}},
         2,
         "FF",
         0,
         1},
        {"a peer aborts and is reaped while the other one exits",
         {{.code = 3, .ended = 10.9, .exiting = 10.1},
          {.signal = 6, .ended = 10}},
         2,
         "FF",
         0,
         1},
        {"a peer exits and is reaped while the other one, with no files, exits",
         {{.code = 3, .ended = 10.9, .exiting = 10.1, .overtaken = true},
          {.code = 1, .ended = 10}},
         2,
         "FF",
         0,
         1},
        {"the same, and the other one has its files",
         {{.code = 3, .ended = 10.9, .exiting = 10.1},
          {.code = 1, .ended = 10}},
         2,
         "FF",
         1,
         1},
        {"who was overtaken on another node",
         {{.code = 3,
           .ended = 10.05,
           .exiting = 10.01,
           .overtaken = true,
           .node = 1},
          {.code = 1, .ended = 10}},
         2,
         "FF",
         1,
         1},
        {"a peer dies by SIGPIPE",
         {{.code = 3, .ended = 60, .alive = 10.1},
          {.signal = 13, .ended = 10, .lost_peer = true}},
         2,
         "FF",
         0,
         1},
        {"a peer exits with words of a lost peer, long before",
         {{.code = 3, .ended = 410, .alive = 10.1},
          {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "FF",
         0,
         1},
        {"the culprit had told that it exits",
         {{.code = 3, .ended = 30, .told = 5, .told_code = 3, .alive = 5},
          {.code = 1, .ended = 10, .alive = 5.1, .raised = 6, .told = 7}},
         2,
         "FA",
         0,
         0},
        {"the same, and it was stopped on the way",
         {{.signal = 15,
           .stopped_with = 15,
           .ended = 30,
           .told = 5,
           .told_code = 3,
           .alive = 10.1},
          {.code = 1, .ended = 10, .alive = 5.1}},
         2,
         "FA",
         0,
         0},
        {"three peers, of which one had to be stopped",
         {{.code = 1, .ended = 10, .raised = 8, .told = 9, .message = RESET},
          {.signal = 15,
           .stopped_with = 15,
           .ended = 30,
           .alive = 12,
           .raised = 8.5,
           .told = 10.5,
           .message = RESET},
          {.signal = 15, .stopped_with = 15, .ended = 30, .alive = 12},
          {.code = 3, .ended = 12, .alive = 9}},
         4,
         "FFTF",
         3,
         2},
    };
    CHECK(vectors);
}

static void what_can_be_told(void)
{
    static const struct vector vectors[] = {
        {"a peer that raises after the death follows it",
         {{.signal = 11, .ended = 10},
          {.code = 1,
           .ended = 20,
           .alive = 10.1,
           .raised = 10.5,
           .told = 12,
           .message = RESET}},
         2,
         "FA",
         0,
         0},
        {"an exception that was told comes before deaths that follow",
         {{.code = 1, .ended = 30, .alive = 5, .raised = 4, .told = 5},
          {.signal = 11, .ended = 10, .alive = 5.1},
          {.code = 4, .ended = 10.1, .alive = 5.1}},
         3,
         "FAA",
         0,
         0},
        {"who exits at the look may have been before",
         {{.signal = 11, .ended = 11, .exiting = 10.1},
          {.code = 1, .ended = 10}},
         2,
         "FF",
         0,
         1},
        {"who did not exit at the look was not",
         {{.signal = 11, .ended = 10.2, .alive = 10.15},
          {.code = 1, .ended = 10}},
         2,
         "AF",
         1,
         0},
        {"what began after the stop is no cause, whatever it is",
         {{.signal = 13, .ended = 10, .lost_peer = true},
          {.signal = 11, .ended = 511, .stopped_with = 15, .alive = 510}},
         2,
         "FA",
         0,
         0},
        {"a lost peer gives way for a second only",
         {{.code = 1, .ended = 10, .lost_peer = true},
          {.code = 3, .ended = 1011, .alive = 600}},
         2,
         "FA",
         0,
         0},
        {"of lost peers the first that was raised is first",
         {{.code = 1, .ended = 10, .raised = 8, .told = 9, .message = RESET},
          {.code = 1,
           .ended = 11,
           .alive = 10,
           .raised = 7,
           .told = 7.5,
           .message = RESET}},
         2,
         "AF",
         1,
         0},
        {"of deaths at once the kernel's order counts",
         {{.code = 1, .ended = 10.05}, {.code = 2, .ended = 10}},
         2,
         "FF",
         1,
         1},
        {"but a crash comes before an exit",
         {{.code = 1, .ended = 10}, {.signal = 7, .ended = 10.05}},
         2,
         "FF",
         1,
         1},
        {"an exit before an abort, and that before a lost peer",
         {{.signal = 13, .ended = 10, .lost_peer = true},
          {.signal = 6, .ended = 10.01},
          {.code = 9, .ended = 10.02}},
         3,
         "FFF",
         2,
         2},
        {"exceptions by their own time",
         {{.code = 1, .ended = 10, .raised = 8},
          {.code = 1, .ended = 9, .raised = 8.2}},
         2,
         "FA",
         0,
         0},
    };
    CHECK(vectors);
}

/* Clocks of nodes can be compared to 2 ms here. */
static void nodes(void)
{
    static const struct vector vectors[] = {
        {"a death elsewhere that follows from an exception",
         {{.code = 1, .ended = 40, .raised = 10, .told = 11},
          {.code = 3, .ended = 20, .node = 1}},
         2,
         "FA",
         0,
         0},
        {"within the blur the kind decides",
         {{.signal = 6, .ended = 10}, {.signal = 11, .ended = 11.5, .node = 1}},
         2,
         "FF",
         1,
         1},
        {"a lost peer elsewhere gives way",
         {{.code = 1, .ended = 10, .raised = 9, .message = RESET},
          {.signal = 9, .ended = 300, .node = 1}},
         2,
         "FF",
         1,
         1},
    };
    CHECK(vectors);
}

/* The cause is chosen by time, and then by kind among what is close to that. */
static void what_is_together_is_held_to_the_cause_again(void)
{
    static const struct vector vectors[] = {
        {"exceptions go by their time, not by who was reaped first",
         {{.code = 1, .ended = 20, .raised = 9, .told = 10},
          {.code = 1, .ended = 12, .raised = 9.5, .told = 10.5}},
         2,
         "FF",
         0,
         1},
        {"an abort is close to another node's, and after a third one's "
         "exception",
         {{.signal = 6, .ended = 9.9},
          {.code = 1, .ended = 13, .raised = 8, .told = 12, .node = 1},
          {.signal = 6, .ended = 11.5, .node = 2}},
         3,
         "FFA",
         1,
         1},
    };
    CHECK(vectors);
}

/* A rank that leaves early with 0 may be the peer that others lost. */
static void who_had_ended_by_then(void)
{
    static const struct vector vectors[] = {
        {"before a failure",
         {{.ended = 5}, {.code = 3, .ended = 10}},
         2,
         "EF",
         1,
         0},
        {"after it", {{.ended = 10}, {.code = 3, .ended = 5}}, 2, "SF", 1, 0},
        {"too close to tell",
         {{.ended = 9.95}, {.code = 3, .ended = 10}},
         2,
         "SF",
         1,
         0},
        {"a peer raises before the end can be reaped",
         {{.ended = 10},
          {.code = 1,
           .ended = 20,
           .alive = 10.1,
           .raised = 9.5,
           .told = 9.8,
           .message = RESET}},
         2,
         "EF",
         1,
         0},
        {"the same, and it raises something of its own",
         {{.ended = 10},
          {.code = 1, .ended = 20, .alive = 10.1, .raised = 9.5, .told = 9.8}},
         2,
         "SF",
         1,
         0},
        {"a peer that was lost, and one that ended later",
         {{.ended = 5},
          {.code = 1, .ended = 10, .lost_peer = true},
          {.ended = 11}},
         3,
         "EFS",
         1,
         0},
        {"it told that it goes before that, and ended later",
         {{.ended = 20, .leaving = 5},
          {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "EF",
         1,
         0},
        {"it told so after that",
         {{.ended = 20, .leaving = 11},
          {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "SF",
         1,
         0},
        {"on another node, it told so before that",
         {{.ended = 20, .leaving = 7, .node = 1},
          {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "EF",
         1,
         0},
        {"on another node, closer than clocks are compared",
         {{.ended = 9, .node = 1}, {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "SF",
         1,
         0},
        {"on another node, before that",
         {{.ended = 7, .node = 1}, {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "EF",
         1,
         0},
    };
    CHECK(vectors);
}

/* What would have been an exit with 3 is told so, and is the run's status. */
static void who_was_exiting_is_told_so(void)
{
    struct fake fake;
    fake_start(&fake, 2);
    fake.policy.exit_status = JR_EXIT_STATUS_RANK;
    fake_stopped(&fake, 0);
    fake.ends[0].told_ns = fake.ends[0].alive_ns = 5 * FAKE_SECOND;
    fake.ends[0].told_code = 3;
    fake_exit(&fake, 1, 1);
    fake.ends[1].ended_ns = fake.ends[1].alive_ns = 6 * FAKE_SECOND;
    fake_judge(&fake);
    CU_ASSERT_EQUAL_FATAL(fake.report.causes_count, 1);
    CU_ASSERT_EQUAL(fake.report.causes[0], 0);
    CU_ASSERT_EQUAL(fake.report.exit_code, 3);
    fake_end(&fake);
}

JR_UNIT_MAIN("order", CASE(peers_that_were_reaped_first),
             CASE(what_can_be_told), CASE(nodes),
             CASE(what_is_together_is_held_to_the_cause_again),
             CASE(who_had_ended_by_then), CASE(who_was_exiting_is_told_so))
