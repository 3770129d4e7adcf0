#include "output/collapse.h"
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/rank_set.h"

struct shown {
    struct jr_buf text;
    struct jr_loop loop;
    struct jr_collapse *collapse;
    uint64_t places[2][64];
    bool blocked[2];          /* whether the console takes nothing of a stream */
    struct jr_collapsed last; /* what was shown last; its texts are gone */
};

static const char *const around[] = {"[", "] "};

static void take(void *owner, const struct jr_collapsed *line)
{
    struct shown *shown = owner;
    shown->last = *line;
    jr_set_print(&shown->text, line->ranks, line->count);
    jr_buf_char(&shown->text, line->number == 0 ? '=' : '!');
    jr_buf_add(&shown->text, line->text, line->len);
    jr_buf_char(&shown->text, ' ');
}

static void begin(struct shown *shown, uint32_t ranks)
{
    *shown = (struct shown){0};
    CU_ASSERT_EQUAL(jr_loop_open(&shown->loop), 0);
    shown->collapse = jr_collapse_new(ranks, &shown->loop, take, shown);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shown->collapse);
    jr_buf_str(&shown->text, "");
}

static void add(struct shown *shown, uint32_t most, const char *text)
{
    uint32_t rank = (uint32_t)(text[0] - '0');
    int number = text[1] == '!';
    jr_collapse_add(shown->collapse,
                    &(struct jr_collapse_input){.text = text + 2,
                                                .len = strlen(text + 2),
                                                .around = around,
                                                .number = number,
                                                .rank = rank,
                                                .most = most,
                                                .place = &shown->places[number][rank]});
}

static void end(struct shown *shown)
{
    jr_collapse_free(shown->collapse);
    (void)close(shown->loop.epoll_fd);
    jr_buf_release(&shown->text);
}

/* Lines as RANK=TEXT, ! for standard error. */
static void folds_and_keeps_order(void)
{
    static const struct {
        const char *lines[8], *want;
    } vectors[] = {
        {{"0=a", "1=a", "2=a"}, "0-2=a "},
        {{"0=a", "1=b", "2=a"}, "0,2=a 1=b "},
        {{"0=a", "0=a", "1=a"}, "0-1=a 0=a "},
        {{"0=a", "0=b", "1=b", "1=a"}, "0=a 0-1=b 1=a "},
        {{"0=a", "1=b", "1=a", "0=b"}, "0=a 0-1=b 1=a "},
        {{"0=a", "1!a", "2=a"}, "0,2=a 1!a "},
        {{"0=a", "0=b", "0=c", "1=a", "1=c"}, "0-1=a 0=b 0-1=c "},
        {{"0=", "1=", "0=aaaaaaaab", "1=aaaaaaaac"}, "0-1= 0=aaaaaaaab 1=aaaaaaaac "},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct shown shown;
        begin(&shown, 8);
        for (int n = 0; n < 8 && vectors[i].lines[n] != NULL; n++)
            add(&shown, 9, vectors[i].lines[n]);
        JR_ASSERT_TEXT(shown.text.data, "");
        jr_collapse_flush(shown.collapse);
        JR_ASSERT_TEXT(shown.text.data, vectors[i].want);
        end(&shown);
    }
}

static void lets_go_when_all_have_joined(void)
{
    struct shown shown;
    begin(&shown, 3);
    add(&shown, 3, "0=a");
    add(&shown, 3, "1=a");
    JR_ASSERT_TEXT(shown.text.data, "");
    CU_ASSERT_TRUE(shown.collapse->timer.at != 0);
    add(&shown, 3, "2=a");
    JR_ASSERT_TEXT(shown.text.data, "0-2=a ");
    CU_ASSERT_EQUAL(shown.collapse->timer.at, 0);
    end(&shown);
}

static void lets_go_in_time(void)
{
    struct shown shown;
    begin(&shown, 3);
    add(&shown, 3, "0=a");
    add(&shown, 3, "1=b");
    for (int i = 0; i < 100 && shown.collapse->timer.at != 0; i++)
        (void)jr_loop_turn(&shown.loop, false);
    JR_ASSERT_TEXT(shown.text.data, "0=a 1=b ");
    end(&shown);
}

/* Ranks beyond the first word of bits, from a rank that is not 0 on. */
static void knows_many_ranks(void)
{
    struct shown shown;
    static uint64_t places[200];
    begin(&shown, 200);
    shown.collapse->base = 1000;
    for (uint32_t rank = 0; rank < 200; rank += 67)
        for (int line = 0; line < 2; line++)
            jr_collapse_add(shown.collapse,
                            &(struct jr_collapse_input){.text = line == 0 ? "a" : "b",
                                                        .len = 1,
                                                        .around = around,
                                                        .rank = 1000 + rank,
                                                        .most = 200,
                                                        .place = &places[rank]});
    jr_collapse_flush(shown.collapse);
    JR_ASSERT_TEXT(shown.text.data, "1000,1067,1134=a 1000,1067,1134=b ");
    end(&shown);
}

/* However much comes, no more than so much waits. */
static void is_bounded(void)
{
    struct shown shown;
    static char line[70000];
    begin(&shown, 64);
    for (int i = 0; i < 3 * JR_COLLAPSE_LINES_MOST; i++)
        add(&shown, 65, "0=");
    CU_ASSERT_TRUE(shown.collapse->end - shown.collapse->first < JR_COLLAPSE_LINES_MOST);
    memset(line, 'x', sizeof line - 1);
    line[0] = '1';
    line[1] = '=';
    for (int i = 0; i < 100; i++)
        add(&shown, 65, line);
    CU_ASSERT_TRUE(shown.collapse->bytes <= JR_COLLAPSE_BYTES_MOST);
    jr_collapse_flush(shown.collapse);
    size_t zeros = 0;
    for (const char *at = shown.text.data; (at = strchr(at, '=')) != NULL;)
        zeros += *++at != '\0';
    CU_ASSERT_EQUAL(zeros, 3 * JR_COLLAPSE_LINES_MOST + 100);
    end(&shown);
}

/* The last line for which there is room waits with the others; with one more the first one leaves,
 * and no other. */
static void is_bounded_to_the_line(void)
{
    struct shown shown;
    begin(&shown, 8);
    for (int i = 0; i < JR_COLLAPSE_LINES_MOST - 1; i++)
        add(&shown, 9, i == 0 ? "0=first" : "0=");
    JR_ASSERT_TEXT(shown.text.data, "");
    add(&shown, 9, "1=");
    JR_ASSERT_TEXT(shown.text.data, "");
    add(&shown, 9, "2=last");
    JR_ASSERT_TEXT(shown.text.data, "0=first ");
    CU_ASSERT_EQUAL(shown.collapse->end - shown.collapse->first, JR_COLLAPSE_LINES_MOST - 1);
    end(&shown);
}

static void is_bounded_to_the_byte(void)
{
    struct shown shown;
    char *line = malloc(JR_COLLAPSE_BYTES_MOST + 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    memset(line, 'x', JR_COLLAPSE_BYTES_MOST + 2);
    line[0] = '0';
    line[1] = '=';
    line[JR_COLLAPSE_BYTES_MOST + 1] = '\0';
    begin(&shown, 8);
    add(&shown, 9, line);
    add(&shown, 9, "1=b");
    CU_ASSERT_EQUAL(shown.text.len, 0);
    CU_ASSERT_EQUAL(shown.collapse->bytes, JR_COLLAPSE_BYTES_MOST);
    add(&shown, 9, "2=b"); /* which is another rank of the same line */
    CU_ASSERT_EQUAL(shown.text.len, 0);
    add(&shown, 9, "2=c");
    CU_ASSERT_EQUAL(shown.text.len, JR_COLLAPSE_BYTES_MOST - 1 + 3);
    CU_ASSERT_EQUAL(shown.collapse->bytes, 2);
    end(&shown);
    free(line);
}

/* When the first of it came, by the clock, and what stands around its ranks. */
static void tells_all_of_a_line(void)
{
    struct shown shown;
    begin(&shown, 8);
    for (uint32_t rank = 0; rank < 2; rank++)
        jr_collapse_add(shown.collapse,
                        &(struct jr_collapse_input){.text = "a",
                                                    .len = 1,
                                                    .around = around,
                                                    .number = 1,
                                                    .rank = rank,
                                                    .most = 2,
                                                    .wall_ns = 700 + rank,
                                                    .place = &shown.places[1][rank]});
    CU_ASSERT_EQUAL(shown.last.wall_ns, 700);
    CU_ASSERT_PTR_EQUAL(shown.last.around, around);
    CU_ASSERT_EQUAL(shown.last.number, 1);
    CU_ASSERT_EQUAL(shown.last.count, 2);
    end(&shown);
}

/* Without a loop nobody turns, and no line leaves for the time that it waits.
 */
static void waits_for_others_without_a_loop(void)
{
    struct shown shown = {0};
    jr_buf_str(&shown.text, "");
    shown.collapse = jr_collapse_new(3, NULL, take, &shown);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shown.collapse);
    add(&shown, 3, "0=a");
    JR_ASSERT_TEXT(shown.text.data, "");
    add(&shown, 1, "1=a"); /* the others have ended */
    JR_ASSERT_TEXT(shown.text.data, "0-1=a ");
    add(&shown, 3, "2=b");
    jr_collapse_free(shown.collapse); /* what waits is shown */
    JR_ASSERT_TEXT(shown.text.data, "0-1=a 2=b ");
    jr_buf_release(&shown.text);
}

/* What stands around the ranks is part of the line. */
static void keeps_other_prefixes_apart(void)
{
    static const char *const arounds[][2] = {{"[", "] "}, {"[x", "] "}, {"[", "]: "}, {"[", "] "}};
    struct shown shown;
    begin(&shown, 8);
    for (uint32_t rank = 0; rank < 4; rank++)
        jr_collapse_add(shown.collapse,
                        &(struct jr_collapse_input){.text = "a",
                                                    .len = 1,
                                                    .around = arounds[rank],
                                                    .rank = rank,
                                                    .most = 8,
                                                    .place = &shown.places[0][rank]});
    jr_collapse_flush(shown.collapse);
    JR_ASSERT_TEXT(shown.text.data, "0,3=a 1=a 2=a ");
    end(&shown);
}

/* A line that came later waits longer. */
static void lets_go_one_after_the_other(void)
{
    struct shown shown;
    begin(&shown, 3);
    add(&shown, 3, "0=a");
    uint64_t until = jr_clock_ns() + JR_COLLAPSE_WAIT_NS * 9 / 10;
    while (jr_clock_ns() < until)
        continue;
    uint64_t second = jr_clock_ns();
    add(&shown, 3, "1=b");
    while (strcmp(shown.text.data, "") == 0)
        (void)jr_loop_turn(&shown.loop, false);
    bool both = strcmp(shown.text.data, "0=a ") != 0;
    CU_ASSERT_TRUE(!both || jr_clock_ns() >= second + JR_COLLAPSE_WAIT_NS);
    CU_ASSERT_EQUAL(both, shown.collapse->timer.at == 0);
    CU_ASSERT_TRUE(both || shown.collapse->timer.at >= second + JR_COLLAPSE_WAIT_NS);
    while (shown.collapse->timer.at != 0)
        (void)jr_loop_turn(&shown.loop, false);
    JR_ASSERT_TEXT(shown.text.data, "0=a 1=b ");
    end(&shown);
}

static bool is_blocked(void *owner, int number)
{
    const struct shown *shown = owner;
    return shown->blocked[number];
}

/* While the console takes nothing, equal lines may still come. */
static void waits_for_the_console(void)
{
    struct shown shown;
    begin(&shown, 3);
    shown.collapse->is_blocked = is_blocked;
    shown.blocked[1] = true;
    add(&shown, 3, "0!a");
    while (shown.collapse->timer.at != 0)
        (void)jr_loop_turn(&shown.loop, false);
    JR_ASSERT_TEXT(shown.text.data, "");
    uint64_t before = jr_clock_ns();
    shown.blocked[1] = false;
    jr_collapse_resume(shown.collapse);
    uint64_t at = shown.collapse->timer.at;
    CU_ASSERT_TRUE(at >= before + JR_COLLAPSE_WAIT_NS);
    CU_ASSERT_TRUE(at <= jr_clock_ns() + JR_COLLAPSE_WAIT_NS);
    jr_collapse_resume(shown.collapse); /* which it has done */
    CU_ASSERT_EQUAL(shown.collapse->timer.at, at);
    add(&shown, 3, "1!a");
    CU_ASSERT_EQUAL(shown.collapse->timer.at, at);
    while (shown.collapse->timer.at != 0)
        (void)jr_loop_turn(&shown.loop, false);
    JR_ASSERT_TEXT(shown.text.data, "0-1!a ");
    jr_collapse_resume(shown.collapse); /* of which there is nothing */
    CU_ASSERT_EQUAL(shown.collapse->timer.at, 0);
    end(&shown);
}

JR_UNIT_MAIN("collapse", CASE(keeps_other_prefixes_apart), CASE(lets_go_one_after_the_other),
             CASE(waits_for_the_console), CASE(folds_and_keeps_order),
             CASE(lets_go_when_all_have_joined), CASE(lets_go_in_time), CASE(knows_many_ranks),
             CASE(is_bounded), CASE(is_bounded_to_the_line), CASE(is_bounded_to_the_byte),
             CASE(tells_all_of_a_line), CASE(waits_for_others_without_a_loop))
