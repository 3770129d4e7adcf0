/* Who was first, by what was noted of each rank. */
#include "judge/internal.h"

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
    double line;    /* when its life line hung up; 0: it tells nothing */
    uint32_t words; /* the hash of its last words */
    bool missing;   /* it delivered nothing, and had to */
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
    (void)snprintf(text, sizeof text, "{\"message\": {\"message\": \"%s\"}, \"time_ns\": %llu}",
                   fail->message == NULL ? "ValueError: x" : fail->message, (unsigned long long)ns);
    fake_write_rank(fake, i, "error.json", text);
}

static void set_rank(struct fake *fake, uint32_t i, const struct fail *fail, uint32_t order)
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
    rank->line_ns = ns_at(fail->line);
    rank->words = fail->words;
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
    for (size_t i = 0; i < vector->count; i++)
        fake.policy.results.stated |= vector->ranks[i].missing;
    for (uint32_t i = 0; i < vector->count; i++)
        set_rank(&fake, i, &vector->ranks[i], order_of(vector, i));
    fake_judge(&fake);
    for (size_t i = 0; i < vector->count; i++)
        states[i] = fake.report.ranks[i].early ? 'E' : letters[fake.report.ranks[i].state];
    if (strcmp(states, vector->states) != 0 || fake.report.causes_count != vector->together + 1 ||
        fake.report.causes[0] != vector->cause)
        printf("\n    %s", vector->name);
    JR_ASSERT_TEXT(states, vector->states);
    CU_ASSERT_EQUAL(fake.report.causes_count, vector->together + 1);
    if (fake.report.causes_count > 0)
        CU_ASSERT_EQUAL(fake.report.causes[0], vector->cause);
    fake_end(&fake);
}

#define RESET "ConnectionResetError: [Errno 104] Connection reset by peer"
#define CHECK(vectors)                                                                             \
    do                                                                                             \
        for (size_t v = 0; v < sizeof(vectors) / sizeof *(vectors); v++)                           \
            check(&(vectors)[v]);                                                                  \
    while (0)

/* The kernel's order decides between deaths, whatever they are. */
static void life_lines(void)
{
    static const struct vector vectors[] = {
        {"an abort that is reaped after its peers",
         {{.code = 1, .ended = 10, .line = 9.2},
          {.signal = 6, .ended = 11, .line = 9.1},
          {.code = 2, .ended = 10.1, .line = 9.3}},
         3,
         "AFA",
         1,
         0},
        {"a crash, which follows an exit",
         {{.code = 3, .ended = 10, .line = 9.1},
          {.signal = 11, .ended = 9.5, .line = 9.2},
          {.code = 4, .ended = 11, .line = 9.3}},
         3,
         "FAA",
         0,
         0},
        {"a line and an announcement",
         {{.code = 1, .ended = 20, .told = 9.2, .raised = 9.1},
          {.signal = 9, .ended = 12, .line = 9},
          {.code = 7, .ended = 10, .line = 9.3}},
         3,
         "AFA",
         1,
         0},
        {"an announcement and lines",
         {{.code = 1, .ended = 20, .told = 9.2, .raised = 9.1},
          {.signal = 9, .ended = 12, .line = 9.3},
          {.code = 7, .ended = 10, .line = 9.4}},
         3,
         "FAA",
         0,
         0},
        {"what was raised before a death and told after it",
         {{.code = 1, .ended = 20, .told = 9.2, .raised = 9},
          {.signal = 9, .ended = 12, .line = 9.1},
          {.code = 7, .ended = 10, .line = 9.4}},
         3,
         "FFA",
         1,
         1},
        {"what began after the stop is no cause, whatever it is",
         {{.signal = 13, .ended = 10, .line = 10, .lost_peer = true},
          {.signal = 11, .ended = 511, .stopped_with = 15, .alive = 510}},
         2,
         "FA",
         0,
         0},
        {"who had told that it exits was stopped on the way",
         {{.signal = 15, .stopped_with = 15, .ended = 30, .told = 5, .told_code = 3, .alive = 10.1},
          {.code = 1, .ended = 10, .line = 9.9},
          {.code = 4, .ended = 11, .line = 9.95}},
         3,
         "FAA",
         0,
         0},
    };
    CHECK(vectors);
}

/* Without a line, a rank may have begun to die up to 20 ms before it was seen to. */
static void without_life_lines(void)
{
    static const struct vector vectors[] = {
        {"all within the doubt: who was reaped first",
         {{.code = 1, .ended = 10.05}, {.code = 2, .ended = 10}, {.code = 3, .ended = 11}},
         3,
         "FFF",
         1,
         2},
        {"but a crash comes before an exit",
         {{.code = 1, .ended = 10}, {.signal = 7, .ended = 10.05}, {.code = 3, .ended = 10.1}},
         3,
         "FFF",
         1,
         2},
        {"who was seen alive had not begun",
         {{.signal = 11, .ended = 10.2, .alive = 10.15},
          {.code = 1, .ended = 10},
          {.code = 4, .ended = 11, .alive = 10.15}},
         3,
         "AFA",
         1,
         0},
        {"who exits at the look may have been before",
         {{.code = 4, .ended = 11, .exiting = 10.1},
          {.code = 1, .ended = 10, .line = 9.9},
          {.code = 3, .ended = 11, .line = 10.2}},
         3,
         "FFA",
         1,
         1},
        {"one that tells and one that does not, 21 ms later",
         {{.code = 1, .ended = 10, .line = 9.9},
          {.code = 2, .ended = 31},
          {.code = 3, .ended = 31.1}},
         3,
         "FAA",
         0,
         0},
    };
    CHECK(vectors);
}

/* A rank may let go of its peers before its failure can be seen. */
static void the_odd_one_out(void)
{
    static const struct vector vectors[] = {
        {"all but one exited with the same code",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 3, .ended = 12, .line = 11},
          {.code = 1, .ended = 10, .line = 9.1},
          {.code = 1, .ended = 10, .line = 9.2}},
         4,
         "AFAA",
         1,
         0},
        {"the same code, and other words",
         {{.code = 1, .ended = 10, .line = 9, .words = 7},
          {.code = 1, .ended = 10, .line = 9.1, .words = 7},
          {.code = 1, .ended = 12, .line = 11, .words = 8}},
         3,
         "AAF",
         2,
         0},
        {"the last one is seen to fail 21 ms later",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 1, .ended = 10, .line = 9.1},
          {.code = 3, .ended = 31, .line = 30.1}},
         3,
         "FAF",
         2,
         1},
        {"and after the hold",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 1, .ended = 10, .line = 9.1},
          {.code = 3, .ended = 511, .line = 510}},
         3,
         "FAA",
         0,
         0},
        {"two are odd",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 1, .ended = 10, .line = 9.1},
          {.code = 4, .ended = 10, .line = 9.2},
          {.code = 3, .ended = 10, .line = 9.3}},
         4,
         "FAAA",
         0,
         0},
        {"it lost the others, which have a common cause",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 1, .ended = 10, .line = 9.1},
          {.code = 1, .ended = 10, .line = 9.2, .lost_peer = true}},
         3,
         "FAA",
         0,
         0},
        {"it exits since the others were killed",
         {{.signal = 9, .ended = 10, .line = 9},
          {.signal = 9, .ended = 10, .line = 9.1},
          {.code = 1, .ended = 10, .line = 9.2}},
         3,
         "FAA",
         0,
         0},
        {"words of a lost connection of its own, which come first",
         {{.code = 1, .ended = 10, .line = 9, .lost_peer = true},
          {.code = 7, .ended = 10, .line = 9.1},
          {.code = 7, .ended = 10, .line = 9.2}},
         3,
         "FAA",
         0,
         0},
        {"it left without its result",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 1, .ended = 10, .line = 9.1},
          {.ended = 12, .line = 11, .missing = true}},
         3,
         "AAF",
         2,
         0},
    };
    CHECK(vectors);
}

/* Of two, the one that was seen first may have noticed the other. */
static void two_ranks(void)
{
    static const struct vector vectors[] = {
        {"both exit",
         {{.code = 1, .ended = 10, .line = 9.1}, {.code = 3, .ended = 10, .line = 9}},
         2,
         "FF",
         1,
         1},
        {"21 ms apart",
         {{.code = 1, .ended = 40, .line = 30.1}, {.code = 3, .ended = 10, .line = 9}},
         2,
         "AF",
         1,
         0},
        {"one was killed",
         {{.code = 1, .ended = 10, .line = 9.1}, {.signal = 9, .ended = 10, .line = 9}},
         2,
         "AF",
         1,
         0},
        {"one was killed after the other's exit",
         {{.code = 1, .ended = 10, .line = 9}, {.signal = 11, .ended = 10, .line = 9.1}},
         2,
         "FF",
         0,
         1},
        {"one lost the other",
         {{.code = 3, .ended = 10, .line = 9},
          {.signal = 13, .ended = 10, .line = 9.1, .lost_peer = true}},
         2,
         "FA",
         0,
         0},
        {"one lost the other, which was seen later",
         {{.code = 3, .ended = 10, .line = 9.1},
          {.signal = 13, .ended = 10, .line = 9, .lost_peer = true}},
         2,
         "FF",
         0,
         1},
        {"the same, 21 ms later",
         {{.code = 3, .ended = 31, .line = 30.1},
          {.signal = 13, .ended = 10, .line = 9, .lost_peer = true}},
         2,
         "AF",
         1,
         0},
        {"both lost a peer",
         {{.code = 1, .ended = 10, .line = 9.1, .lost_peer = true},
          {.code = 1, .ended = 10, .line = 9, .lost_peer = true}},
         2,
         "AF",
         1,
         0},
        {"one left without its result",
         {{.ended = 10, .line = 9, .missing = true}, {.code = 7, .ended = 10, .line = 9.1}},
         2,
         "FF",
         0,
         1},
        {"and the other one lost it",
         {{.ended = 10, .line = 9, .missing = true},
          {.code = 1, .ended = 10, .line = 9.1, .lost_peer = true}},
         2,
         "FA",
         0,
         0},
        {"long before, and the other one lost it",
         {{.ended = 10, .line = 9, .missing = true},
          {.code = 1, .ended = 5000, .line = 5000, .lost_peer = true}},
         2,
         "FA",
         0,
         0},
        {"long before something else went wrong",
         {{.ended = 10, .line = 9, .missing = true}, {.code = 7, .ended = 5000, .line = 5000}},
         2,
         "EF",
         1,
         0},
    };
    CHECK(vectors);
}

/* Several that lost a peer give way to what failed otherwise. */
static void words(void)
{
    static const struct vector vectors[] = {
        {"two of them",
         {{.code = 1, .ended = 10, .line = 9, .lost_peer = true},
          {.signal = 13, .ended = 10, .line = 9.1, .lost_peer = true},
          {.code = 3, .ended = 12, .line = 11},
          {.code = 4, .ended = 13, .line = 12}},
         4,
         "AAFA",
         2,
         0},
        {"one of them, which may have been first",
         {{.code = 1, .ended = 10, .line = 9, .lost_peer = true},
          {.signal = 6, .ended = 10, .line = 9.1},
          {.code = 4, .ended = 13, .line = 12}},
         3,
         "FFF",
         0,
         2},
    };
    CHECK(vectors);
}

/* Clocks of nodes can be compared to 2 ms here. */
static void nodes(void)
{
    static const struct vector vectors[] = {
        {"who was killed is first, elsewhere",
         {{.signal = 11, .ended = 10, .line = 9},
          {.code = 3, .ended = 20, .line = 11.5, .node = 1}},
         2,
         "FA",
         0,
         0},
        {"within the error of the clocks who was killed is first",
         {{.code = 3, .ended = 10, .line = 9},
          {.signal = 11, .ended = 20, .line = 10.5, .node = 1},
          {.code = 4, .ended = 20, .line = 11.5, .node = 1}},
         3,
         "FFA",
         1,
         1},
        {"exits within 20 ms are not told apart",
         {{.code = 3, .ended = 10, .line = 9},
          {.code = 4, .ended = 40, .line = 28, .node = 1},
          {.code = 5, .ended = 40, .line = 29.5, .node = 1}},
         3,
         "FFA",
         0,
         1},
        {"the odd one out, elsewhere",
         {{.code = 1, .ended = 10, .line = 9},
          {.code = 3, .ended = 11, .line = 10, .node = 1},
          {.code = 1, .ended = 10, .line = 9.5}},
         3,
         "AFA",
         1,
         0},
    };
    CHECK(vectors);
}

/* A rank that leaves early with 0 may be the peer that others lost. */
static void who_had_ended_by_then(void)
{
    static const struct vector vectors[] = {
        {"before a failure",
         {{.ended = 5, .line = 5}, {.code = 3, .ended = 10, .line = 10}},
         2,
         "EF",
         1,
         0},
        {"after it",
         {{.ended = 10, .line = 10}, {.code = 3, .ended = 5, .line = 5}},
         2,
         "SF",
         1,
         0},
        {"too close to tell", {{.ended = 9.95}, {.code = 3, .ended = 10}}, 2, "SF", 1, 0},
        {"a peer raises before the end can be reaped",
         {{.ended = 10},
          {.code = 1, .ended = 20, .alive = 10.1, .raised = 9.5, .told = 9.8, .message = RESET}},
         2,
         "EF",
         1,
         0},
        {"the same, and it raises something of its own",
         {{.ended = 10}, {.code = 1, .ended = 20, .alive = 10.1, .raised = 9.5, .told = 9.8}},
         2,
         "SF",
         1,
         0},
        {"a peer that was lost, and one that ended later",
         {{.ended = 5}, {.code = 1, .ended = 10, .lost_peer = true}, {.ended = 11}},
         3,
         "EFS",
         1,
         0},
        {"it told that it goes before that, and ended later",
         {{.ended = 20, .leaving = 5}, {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "EF",
         1,
         0},
        {"it told so after that",
         {{.ended = 20, .leaving = 11}, {.code = 1, .ended = 10, .lost_peer = true}},
         2,
         "SF",
         1,
         0},
        {"on another node, it told so before that",
         {{.ended = 20, .leaving = 7, .node = 1}, {.code = 1, .ended = 10, .lost_peer = true}},
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

JR_UNIT_MAIN("order", CASE(life_lines), CASE(without_life_lines), CASE(the_odd_one_out),
             CASE(two_ranks), CASE(words), CASE(nodes), CASE(who_had_ended_by_then),
             CASE(who_was_exiting_is_told_so))
