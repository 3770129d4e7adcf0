#include <ctype.h>
#include <fcntl.h>

#include "base/io.h"
#include "diag/diag.h"

#include "unit.h"

static void refuses_what_is_no_code(void)
{
    static const char *const bad[] = {"",       "JR",      "JR203", "JR9999",
                                      "JR0000", "JR02033", "0203x", "JRJR0203",
                                      "203",    "-203",    "JR 203"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_PTR_NULL(jr_code_find(bad[i]));
}

static void finds_codes(void)
{
    static const char *const good[] = {"JR0203", "jr0203", "Jr0203", "0203"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const struct jr_code *code = jr_code_find(good[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(code);
        CU_ASSERT_EQUAL(code->number, 203);
        JR_ASSERT_TEXT(code->title, "unknown field");
    }
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        longest = len > longest ? len : longest;
        text += len + (text[len] == '\n');
    }
    return longest;
}

/* "The file", but not "LOCAL_RANK". */
static bool is_capitalised(const char *title)
{
    return isupper((unsigned char)title[0]) && islower((unsigned char)title[1]);
}

/* Every row reads the same: a title in a few words, a paragraph, an example. */
static void keeps_its_table_in_order(void)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    CU_ASSERT_TRUE(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct jr_code *code = &codes[i];
        size_t len = strlen(code->title), text = strlen(code->text);
        bool good = code->number >= 100 && code->number < 600 && len > 0 &&
                    len <= 60 && !is_capitalised(code->title) &&
                    code->title[len - 1] != '.' && text > 100 &&
                    code->text[text - 1] == '\n' &&
                    longest_line(code->text) <= 80 &&
                    strstr(code->text, "\n  before ") != NULL &&
                    strstr(code->text, "\n  after  ") != NULL;
        if (i > 0)
            good = good && code->number > codes[i - 1].number;
        if (!good)
            printf("\n    the row of JR%04u breaks the table's form\n",
                   code->number);
        CU_ASSERT_TRUE(good);
    }
}

static void tells_the_code_of_a_finding(void)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    const struct jr_diag none = {0};
    const struct jr_diag *diag = jr_diags_error(
        &diags, JR_CODE_UNKNOWN_FIELD, (struct jr_span){0}, NULL, "unknown");
    JR_ASSERT_TEXT(diag->code, "JR0203");
    CU_ASSERT_TRUE(jr_diag_is(diag, JR_CODE_UNKNOWN_FIELD));
    CU_ASSERT_FALSE(jr_diag_is(diag, JR_CODE_FOREIGN_FIELD));
    CU_ASSERT_FALSE(jr_diag_is(diag, JR_CODE_INTERNAL));
    CU_ASSERT_FALSE(jr_diag_is(&none, JR_CODE_UNKNOWN_FIELD));
    jr_diags_release(&diags);
}

/* The table is made of the file of that name, not of any other. */
static void takes_its_text_from_its_file(void)
{
    const struct jr_code *code = jr_code_find("JR0203");
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err;
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&text, AT_FDCWD,
                                          TEST_SOURCE_DIR
                                          "/../docs/diagnostics/JR0203.txt",
                                          1 << 16, &err),
                          0);
    JR_ASSERT_TEXT(code->text, text.data);
}

JR_UNIT_MAIN("codes", CASE(refuses_what_is_no_code), CASE(finds_codes),
             CASE(keeps_its_table_in_order), CASE(tells_the_code_of_a_finding),
             CASE(takes_its_text_from_its_file))
