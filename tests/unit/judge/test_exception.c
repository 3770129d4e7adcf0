#include "fake_run.h"
#include "quoted.h"
#include "judge/exception.h"

static bool read_text(struct fake *fake, struct jr_exception *ret, const char *text)
{
    fake_write(fake, "error.json", text);
    return jr_exception_read(ret, &fake->arena, fake->fd, "error.json") == JR_EXCEPTION_READ;
}

TEST(torn_and_foreign_files_are_ignored)
{
    static const char *const texts[] = {
        "",
        "{\"message\": {\"mess",
        "[]",
        "{}",
        "{\"message\": 3}",
        "{\"message\": \"\"}",
        "{\"message\": {\"text\": \"x\"}}",
        "{\"error\": \"x\"}",
        "Traceback (most recent call last)",
    };
    struct jr_exception exception;
    FAKE(fake, 1);
    CU_ASSERT_EQUAL(jr_exception_read(&exception, &fake.arena, fake.fd, "none.json"),
                    JR_EXCEPTION_NONE);
    CU_ASSERT_EQUAL(jr_exception_read(&exception, &fake.arena, fake.fd, NULL), JR_EXCEPTION_NONE);
    fake_write(&fake, "error.json", jq("{'message': {'mess"));
    CU_ASSERT_EQUAL(jr_exception_read(&exception, &fake.arena, fake.fd, "error.json"),
                    JR_EXCEPTION_FOREIGN);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CU_ASSERT_FALSE(read_text(&fake, &exception, texts[i]));
}

TEST(torchs_form)
{
    struct jr_exception exception;
    FAKE(fake, 1);
    CU_ASSERT_TRUE_FATAL(read_text(
        &fake, &exception,
        "{\"message\": {\"message\": \"ValueError: loss is NaN\\nat 120\", \"extraInfo\": "
        "{\"py_callstack\": \"Traceback (most recent call last):\\n  File \\\"/x/run.py\\\", line "
        "7, in wrapper\\n    f()\\n  File \\\"/x/train.py\\\", line 88, in step\\n    raise\\n\", "
        "\"timestamp\": \"1700000000\"}}, \"time_ns\": 1700000000123456789}"));
    JR_ASSERT_TEXT(exception.what, "ValueError: loss is NaN");
    JR_ASSERT_TEXT(exception.where, "train.py:88 in step");
    CU_ASSERT_EQUAL(exception.wall_ns, 1700000000123456789);
}

#define TRACE "Traceback (most recent call last):\\n  File \\\"a.py\\\", line 1\\n"
#define CAUSE                                                                                      \
    "\\n\\nThe above exception was the direct cause of the following "                             \
    "exception:\\n\\n"
#define CONTEXT                                                                                    \
    "\\n\\nDuring handling of the above exception, another exception "                             \
    "occurred:\\n\\n"

/* As torch's `record` leaves it: format_exc() of the whole chain. */
TEST(causes_of_a_traceback)
{
    static const struct {
        const char *stack, *behind;
    } vectors[] = {
        {"", NULL},
        {TRACE "V: bad", NULL},
        {CAUSE, NULL},
        {"x" CAUSE CAUSE, NULL},
        {TRACE CAUSE TRACE "V: bad", NULL},
        {TRACE "K: 'lr'" CAUSE TRACE "V: bad\\n", "K: 'lr'"},
        {TRACE "O: gone\\nfar" CONTEXT TRACE "K" CAUSE TRACE "V: bad\\n", "K, from O: gone"}};
    struct jr_exception exception;
    char text[1024];
    FAKE(fake, 1);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        (void)snprintf(
            text, sizeof text,
            "{\"message\": {\"message\": \"V: bad\", \"extraInfo\": {\"py_callstack\": \"%s\"}}}",
            vectors[i].stack);
        CU_ASSERT_TRUE_FATAL(read_text(&fake, &exception, text));
        if (vectors[i].behind == NULL)
            CU_ASSERT_PTR_NULL(exception.behind)
        else
            JR_ASSERT_TEXT(exception.behind, vectors[i].behind);
    }
}

TEST(causes_and_starts)
{
    struct jr_exception exception;
    FAKE(fake, 1);
    CU_ASSERT_TRUE_FATAL(
        read_text(&fake, &exception,
                  "{\"message\": \"E: x\", \"causes\": [{\"message\": \"K: 'lr'\"}, 3, {}, "
                  "{\"message\": \"\"}, {\"message\": \"O: gone\\nfar\"}], \"start\": true}"));
    JR_ASSERT_TEXT(exception.behind, "K: 'lr', from O: gone");
    CU_ASSERT_TRUE(exception.start);
    CU_ASSERT_TRUE_FATAL(read_text(
        &fake, &exception, "{\"message\": \"E\", \"causes\": {\"a\": 1}, \"start\": \"no\"}"));
    CU_ASSERT_PTR_NULL(exception.behind);
    CU_ASSERT_FALSE(exception.start);
}

/* However long the chain is: the nearest ones, in time and memory that grow with its length
 * alone. */
TEST(endless_chains)
{
    enum { MANY = 5000 };
    struct jr_exception exception;
    JR_BUF_CLEANUP struct jr_buf stack = JR_BUF_INIT, causes = JR_BUF_INIT;
    jr_buf_str(&stack, "{\"message\": {\"message\": \"V\", \"extraInfo\": {\"py_callstack\": \"");
    jr_buf_str(&causes, "{\"message\": \"V\", \"causes\": [");
    for (int i = 0; i < MANY; i++) {
        jr_buf_printf(&stack, "T\\nE%d" CAUSE, i);
        jr_buf_printf(&causes, "{\"message\": \"E%d\"},", MANY - 1 - i);
    }
    jr_buf_str(&stack, "T\\nV\"}}}");
    jr_buf_str(&causes, "3]}");
    const char *const texts[] = {stack.data, causes.data};
    FAKE(fake, 1);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_TRUE_FATAL(read_text(&fake, &exception, texts[i]));
        JR_ASSERT_TEXT(exception.behind,
                       "E4999, from E4998, from E4997, from E4996, from E4995, from E4994, from "
                       "E4993, from E4992, and 4992 more causes");
    }
    CU_ASSERT_TRUE(fake.arena.used < (size_t)16 << 20);
}

TEST(less_than_torchs_form)
{
    static const struct {
        const char *text, *where; /* NULL: none */
    } cases[] = {
        {"{\"message\": \"E: x\", \"timestamp\": 17}", NULL},
        {"{\"message\": {\"message\": \"E: x\"}}", NULL},
        {"{\"message\": {\"message\": \"E: x\", \"extraInfo\": {\"py_callstack\": \"  File "
         "\\\"a.py\\\", line 3\\n\"}}}",
         "a.py:3"},
        {"{\"message\": {\"message\": \"E: x\", \"extraInfo\": {\"py_callstack\": \"  File "
         "\\\"a.py\"}}}",
         NULL},
        {"{\"message\": {\"message\": \"E: x\"}, \"time_ns\": -5}", NULL}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct jr_exception exception;
        FAKE(fake, 1);
        CU_ASSERT_TRUE_FATAL(read_text(&fake, &exception, cases[c].text));
        JR_ASSERT_TEXT(exception.what, "E: x");
        CU_ASSERT_EQUAL(exception.wall_ns, 0);
        CU_ASSERT_EQUAL(exception.where == NULL, cases[c].where == NULL);
        if (cases[c].where != NULL)
            JR_ASSERT_TEXT(exception.where, cases[c].where);
    }
}

/* Ours states the process; torch's own does not, and a function has ours. */
TEST(whose_it_is)
{
    static const struct {
        const char *pid;
        int32_t own_pid;
        bool returns, own;
    } cases[] = {
        {"", 7, false, true},
        {"", 7, true, false},
        {", \"pid\": 7", 7, false, true},
        {", \"pid\": 7", 7, true, true},
        {", \"pid\": 8", 7, false, false},
        {", \"pid\": 8", 7, true, false},
        {", \"pid\": 4294967303", 7, false, false},
        {", \"pid\": 8", 0, true, true}, /* of a run of the past */
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct jr_rank_outcome rank = {.pid = 70, .own_pid = cases[c].own_pid};
        struct jr_exception exception;
        FAKE(fake, 1);
        const char *text = jr_arena_printf(&fake.arena, "{\"message\": \"E: x\"%s}", cases[c].pid);
        CU_ASSERT_TRUE_FATAL(read_text(&fake, &exception, text));
        CU_ASSERT_EQUAL(jr_exception_is_own(&exception, &rank, cases[c].returns), cases[c].own);
    }
}
