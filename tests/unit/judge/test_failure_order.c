/* Who was first, by what was noted of each rank. */
#include "judge/internal.h"

#include "fake_run.h"
#include "quoted.h"

#define MS    UINT64_C(1000000)
#define RESET "ConnectionResetError: [Errno 104] Connection reset by peer"

/* Ranks in words, one behind the other with semicolons: the signal that each died of, else the code
 * that it exited with, and times in ms since the start: when it was reaped (ended), last seen
 * alive, first seen exiting, told of its failure with told_code, raised its exception (which may be
 * a reset), told that it goes with 0 (leaving), and when its life line hung up (line). lost_peer:
 * by the runner's account; words: the hash of its last ones; missing: it delivered nothing, and had
 * to. */
struct vector {
    const char *name, *ranks;
    const char *states; /* F(ailed) A(fter the first) T(old to stop) S; E: that early */
    uint32_t cause;
    size_t together; /* how many besides it */
};

/* The place behind a word of a rank; NULL: it has not got it. */
static const char *behind(const char *rank, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = rank; (at = strstr(at, word)) != NULL; at += len)
        if ((at == rank || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return at + len;
    return NULL;
}

static double number(const char *rank, const char *word)
{
    const char *at = behind(rank, word);
    return at == NULL ? 0 : strtod(at, NULL);
}

static uint64_t time_of(const char *rank, const char *word)
{
    double ms = number(rank, word);
    return ms > 0 ? FAKE_SECOND + (uint64_t)(ms * 1e6) : 0;
}

static void set_rank(struct fake *fake, uint32_t i, const char *words)
{
    struct jr_rank_outcome *rank = &fake->ends[i];
    uint64_t raised_ns = time_of(words, "raised");
    if (behind(words, "signal") != NULL)
        fake_signal(fake, i, (int)number(words, "signal"));
    else
        fake_exit(fake, i, (int)number(words, "code"));
    rank->ended_ns = time_of(words, "ended");
    rank->alive_ns = time_of(words, "alive");
    rank->exiting_ns = time_of(words, "exiting");
    rank->told_ns = time_of(words, "told");
    rank->told_code = (int)number(words, "told_code");
    rank->leaving_ns = time_of(words, "leaving");
    rank->lost_peer = behind(words, "lost_peer") != NULL;
    rank->stopped_with = (int)number(words, "stopped_with");
    rank->line_ns = time_of(words, "line");
    rank->words = (uint32_t)number(words, "words");
    fake->ranks[i].node_rank = (uint32_t)number(words, "node");
    fake->policy.results.stated |= behind(words, "missing") != NULL;
    if (raised_ns == 0)
        return;
    char text[256];
    (void)snprintf(text, sizeof text, "{'message': {'message': '%s'}, 'time_ns': %llu}",
                   behind(words, "reset") == NULL ? "ValueError: x" : RESET,
                   (unsigned long long)(raised_ns - FAKE_SECOND + FAKE_WALL));
    fake_write_rank(fake, i, "error.json", jq(text));
}

static void check(const struct vector *vector)
{
    static const char letters[] = "SFIATN";
    char states[FAKE_MOST + 1] = "";
    char *copy = strdup(vector->ranks), *rest = copy, *words[FAKE_MOST];
    uint32_t count = 0;
    while (rest != NULL) {
        words[count] = strsep(&rest, ";");
        words[count] += *words[count] == ' ';
        count++;
    }
    FAKE(fake, count);
    fake.outcome.clock_error_ns = 2 * MS;
    for (uint32_t i = 0; i < count; i++)
        set_rank(&fake, i, words[i]);
    for (uint32_t i = 0; i < count; i++) { /* they were reaped in that order */
        fake.ends[i].order = 1;
        for (uint32_t n = 0; n < count; n++)
            fake.ends[i].order += fake.ends[n].ended_ns < fake.ends[i].ended_ns ||
                                  (n < i && fake.ends[n].ended_ns == fake.ends[i].ended_ns);
    }
    fake_judge(&fake);
    for (uint32_t i = 0; i < count; i++)
        states[i] = fake.report.ranks[i].early ? 'E' : letters[fake.report.ranks[i].state];
    if (strcmp(states, vector->states) != 0 || fake.report.causes_count != vector->together + 1 ||
        fake.report.causes[0] != vector->cause)
        printf("\n    %s", vector->name);
    JR_ASSERT_TEXT(states, vector->states);
    CU_ASSERT_EQUAL(fake.report.causes_count, vector->together + 1);
    if (fake.report.causes_count > 0)
        CU_ASSERT_EQUAL(fake.report.causes[0], vector->cause);
    free(copy);
}

#define CHECK(vectors)                                                                             \
    do                                                                                             \
        for (size_t v = 0; v < sizeof(vectors) / sizeof *(vectors); v++)                           \
            check(&(vectors)[v]);                                                                  \
    while (0)

/* The kernel's order decides between deaths, whatever they are. */
TEST(life_lines)
{
    static const struct vector vectors[] = {
        {"an abort that is reaped after its peers",
         "code 1 ended 10 line 9.2; signal 6 ended 11 line 9.1; code 2 ended 10.1 line 9.3", "AFA",
         1, 0},
        {"a crash, which follows an exit",
         "code 3 ended 10 line 9.1; signal 11 ended 9.5 line 9.2; code 4 ended 11 line 9.3", "FAA",
         0, 0},
        {"a line and an announcement",
         "code 1 ended 20 told 9.2 raised 9.1; signal 9 ended 12 line 9; code 7 ended 10 line 9.3",
         "AFA", 1, 0},
        {"an announcement and lines",
         "code 1 ended 20 told 9.2 raised 9.1; signal 9 ended 12 line 9.3; code 7 ended 10 line "
         "9.4",
         "FAA", 0, 0},
        {"what was raised before a death and told after it",
         "code 1 ended 20 told 9.2 raised 9; signal 9 ended 12 line 9.1; code 7 ended 10 line 9.4",
         "FFA", 1, 1},
        {"what began after the stop is no cause, whatever it is",
         "signal 13 ended 10 line 10 lost_peer; signal 11 ended 511 stopped_with 15 alive 510",
         "FA", 0, 0},
        {"who had told that it exits was stopped on the way",
         "signal 15 stopped_with 15 ended 30 told 5 told_code 3 alive 10.1; code 1 ended 10 line "
         "9.9; code 4 ended 11 line 9.95",
         "FAA", 0, 0}};
    CHECK(vectors);
}

/* Without a line, a rank may have begun to die up to 20 ms before it was seen to. */
TEST(without_life_lines)
{
    static const struct vector vectors[] = {
        {"all within the doubt: who was reaped first",
         "code 1 ended 10.05; code 2 ended 10; code 3 ended 11", "FFF", 1, 2},
        {"but a crash comes before an exit",
         "code 1 ended 10; signal 7 ended 10.05; code 3 ended 10.1", "FFF", 1, 2},
        {"who was seen alive had not begun",
         "signal 11 ended 10.2 alive 10.15; code 1 ended 10; code 4 ended 11 alive 10.15", "AFA", 1,
         0},
        {"who exits at the look may have been before",
         "code 4 ended 11 exiting 10.1; code 1 ended 10 line 9.9; code 3 ended 11 line 10.2", "FFA",
         1, 1},
        {"one that tells and one that does not, 21 ms later",
         "code 1 ended 10 line 9.9; code 2 ended 31; code 3 ended 31.1", "FAA", 0, 0}};
    CHECK(vectors);
}

/* A rank may let go of its peers before its failure can be seen. */
TEST(the_odd_one_out)
{
    static const struct vector vectors[] = {
        {"all but one exited with the same code",
         "code 1 ended 10 line 9; code 3 ended 12 line 11; code 1 ended 10 line 9.1; code 1 ended "
         "10 line 9.2",
         "AFAA", 1, 0},
        {"the same code, and other words",
         "code 1 ended 10 line 9 words 7; code 1 ended 10 line 9.1 words 7; code 1 ended 12 line "
         "11 words 8",
         "AAF", 2, 0},
        {"the last one is seen to fail 21 ms later",
         "code 1 ended 10 line 9; code 1 ended 10 line 9.1; code 3 ended 31 line 30.1", "FAF", 2,
         1},
        {"and after the hold",
         "code 1 ended 10 line 9; code 1 ended 10 line 9.1; code 3 ended 511 line 510", "FAA", 0,
         0},
        {"two are odd",
         "code 1 ended 10 line 9; code 1 ended 10 line 9.1; code 4 ended 10 line 9.2; code 3 ended "
         "10 line 9.3",
         "FAAA", 0, 0},
        {"it lost the others, which have a common cause",
         "code 1 ended 10 line 9; code 1 ended 10 line 9.1; code 1 ended 10 line 9.2 lost_peer",
         "FAA", 0, 0},
        {"it exits since the others were killed",
         "signal 9 ended 10 line 9; signal 9 ended 10 line 9.1; code 1 ended 10 line 9.2", "FAA", 0,
         0},
        {"words of a lost connection of its own, which come first",
         "code 1 ended 10 line 9 lost_peer; code 7 ended 10 line 9.1; code 7 ended 10 line 9.2",
         "FAA", 0, 0},
        {"it left without its result",
         "code 1 ended 10 line 9; code 1 ended 10 line 9.1; ended 12 line 11 missing", "AAF", 2, 0},
    };
    CHECK(vectors);
}

/* Of two, the one that was seen first may have noticed the other. */
TEST(two_ranks)
{
    static const struct vector vectors[] = {
        {"both exit", "code 1 ended 10 line 9.1; code 3 ended 10 line 9", "FF", 1, 1},
        {"21 ms apart", "code 1 ended 40 line 30.1; code 3 ended 10 line 9", "AF", 1, 0},
        {"one was killed", "code 1 ended 10 line 9.1; signal 9 ended 10 line 9", "AF", 1, 0},
        {"one was killed after the other's exit",
         "code 1 ended 10 line 9; signal 11 ended 10 line 9.1", "FF", 0, 1},
        {"one lost the other", "code 3 ended 10 line 9; signal 13 ended 10 line 9.1 lost_peer",
         "FA", 0, 0},
        {"one lost the other, which was seen later",
         "code 3 ended 10 line 9.1; signal 13 ended 10 line 9 lost_peer", "FF", 0, 1},
        {"the same, 21 ms later", "code 3 ended 31 line 30.1; signal 13 ended 10 line 9 lost_peer",
         "AF", 1, 0},
        {"both lost a peer", "code 1 ended 10 line 9.1 lost_peer; code 1 ended 10 line 9 lost_peer",
         "AF", 1, 0},
        {"one left without its result", "ended 10 line 9 missing; code 7 ended 10 line 9.1", "FF",
         0, 1},
        {"and the other one lost it", "ended 10 line 9 missing; code 1 ended 10 line 9.1 lost_peer",
         "FA", 0, 0},
        {"long before, and the other one lost it",
         "ended 10 line 9 missing; code 1 ended 5000 line 5000 lost_peer", "FA", 0, 0},
        {"long before something else went wrong",
         "ended 10 line 9 missing; code 7 ended 5000 line 5000", "EF", 1, 0}};
    CHECK(vectors);
}

/* Several that lost a peer give way to what failed otherwise. */
TEST(words)
{
    static const struct vector vectors[] = {
        {"two of them",
         "code 1 ended 10 line 9 lost_peer; signal 13 ended 10 line 9.1 lost_peer; code 3 ended 12 "
         "line 11; code 4 ended 13 line 12",
         "AAFA", 2, 0},
        {"one of them, which may have been first",
         "code 1 ended 10 line 9 lost_peer; signal 6 ended 10 line 9.1; code 4 ended 13 line 12",
         "FFF", 0, 2}};
    CHECK(vectors);
}

/* Clocks of nodes can be compared to 2 ms here. */
TEST(nodes)
{
    static const struct vector vectors[] = {
        {"who was killed is first, elsewhere",
         "signal 11 ended 10 line 9; code 3 ended 20 line 11.5 node 1", "FA", 0, 0},
        {"within the error of the clocks who was killed is first",
         "code 3 ended 10 line 9; signal 11 ended 20 line 10.5 node 1; code 4 ended 20 line 11.5 "
         "node 1",
         "FFA", 1, 1},
        {"exits within 20 ms are not told apart",
         "code 3 ended 10 line 9; code 4 ended 40 line 28 node 1; code 5 ended 40 line 29.5 node 1",
         "FFA", 0, 1},
        {"the odd one out, elsewhere",
         "code 1 ended 10 line 9; code 3 ended 11 line 10 node 1; code 1 ended 10 line 9.5", "AFA",
         1, 0}};
    CHECK(vectors);
}

/* A rank that leaves early with 0 may be the peer that others lost. */
TEST(who_had_ended_by_then)
{
    static const struct vector vectors[] = {
        {"before a failure", "ended 5 line 5; code 3 ended 10 line 10", "EF", 1, 0},
        {"after it", "ended 10 line 10; code 3 ended 5 line 5", "SF", 1, 0},
        {"too close to tell", "ended 9.95; code 3 ended 10", "SF", 1, 0},
        {"a peer raises before the end can be reaped",
         "ended 10; code 1 ended 20 alive 10.1 raised 9.5 told 9.8 reset", "EF", 1, 0},
        {"the same, and it raises something of its own",
         "ended 10; code 1 ended 20 alive 10.1 raised 9.5 told 9.8", "SF", 1, 0},
        {"a peer that was lost, and one that ended later",
         "ended 5; code 1 ended 10 lost_peer; ended 11", "EFS", 1, 0},
        {"it told that it goes before that, and ended later",
         "ended 20 leaving 5; code 1 ended 10 lost_peer", "EF", 1, 0},
        {"it told so after that", "ended 20 leaving 11; code 1 ended 10 lost_peer", "SF", 1, 0},
        {"on another node, it told so before that",
         "ended 20 leaving 7 node 1; code 1 ended 10 lost_peer", "EF", 1, 0},
        {"on another node, closer than clocks are compared",
         "ended 9 node 1; code 1 ended 10 lost_peer", "SF", 1, 0},
        {"on another node, before that", "ended 7 node 1; code 1 ended 10 lost_peer", "EF", 1, 0}};
    CHECK(vectors);
}

/* What would have been an exit with 3 is told so, and is the run's status. */
TEST(who_was_exiting_is_told_so)
{
    FAKE(fake, 2);
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
}
