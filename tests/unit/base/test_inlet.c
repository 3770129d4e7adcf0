/* Lines of messages, however their bytes are cut. */
#include "base/inlet.h"

#include "unit.h"

static void finds_lines_in_pieces(void)
{
    static const char text[] = "one\n\ntwo\nrest";
    struct jr_inlet inlet = {0};
    char lines[3][8] = {"", "?", ""};
    size_t count = 0, len;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        const char *line;
        jr_inlet_add(&inlet, text + i, 1);
        while ((line = jr_inlet_line(&inlet, &len)) != NULL && count < 3)
            (void)snprintf(lines[count++], 8, "%.*s", (int)len, line);
    }
    CU_ASSERT_EQUAL(count, 3);
    JR_ASSERT_TEXT(lines[0], "one");
    JR_ASSERT_TEXT(lines[1], "");
    JR_ASSERT_TEXT(lines[2], "two");
    CU_ASSERT_TRUE(memcmp(jr_inlet_rest(&inlet, &len), "rest", 4) == 0);
    CU_ASSERT_EQUAL(len, 4);
    jr_inlet_release(&inlet);
    CU_ASSERT_PTR_NULL(jr_inlet_line(&inlet, &len));
    jr_inlet_add(&inlet, "new\n", 4); /* nothing of before is left */
    const char *line = jr_inlet_line(&inlet, &len);
    CU_ASSERT_TRUE(line != NULL && len == 3 && memcmp(line, "new", 3) == 0);
    jr_inlet_release(&inlet);
}

/* What is left of bytes that came with a line begins the next one. */
static void finds_lines_across_pieces(void)
{
    static const char *const pieces[] = {"one\ntw", "o\nthr", "ee", "\nf"};
    static const char *const lines[] = {"one", "two", "three"};
    struct jr_inlet inlet = {0};
    size_t count = 0, len;
    for (size_t i = 0; i < 4; i++) {
        const char *line;
        jr_inlet_add(&inlet, pieces[i], strlen(pieces[i]));
        while ((line = jr_inlet_line(&inlet, &len)) != NULL) {
            CU_ASSERT_EQUAL_FATAL(count < 3, true);
            CU_ASSERT_EQUAL(len, strlen(lines[count]));
            CU_ASSERT_EQUAL(memcmp(line, lines[count], len), 0);
            count++;
        }
    }
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_EQUAL(jr_inlet_rest(&inlet, &len)[0], 'f');
    CU_ASSERT_EQUAL(len, 1);
    jr_inlet_release(&inlet);
}

JR_UNIT_MAIN("inlet", CASE(finds_lines_in_pieces), CASE(finds_lines_across_pieces))
