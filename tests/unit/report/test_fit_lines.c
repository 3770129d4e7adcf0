/* Where the lines of a report are broken on a narrow terminal. */
#include "report/fit_lines.h"

#include "quoted.h"

TEST(breaks_lines_as_people_do)
{
    static const struct {
        const char *text, *fitted; /* to 40 columns */
    } rows[] = {
        {"", ""},
        {"short\n", "short\n"},
        {"0123456789012345678901234567890123456789\n",
         "0123456789012345678901234567890123456789\n"},
        /* what stands at the right goes below, whole */
        {"  runs/2026-train/0/stderr.log      (jobrun logs latest --rank 0)\n",
         "  runs/2026-train/0/stderr.log\n        (jobrun logs latest --rank 0)\n"},
        {"jobrun: FAILED after 2 ms: rank 0 died by SIGSEGV   exit status 1\n",
         "jobrun: FAILED after 2 ms: rank 0 died\n        by SIGSEGV   exit status 1\n"},
        {"  rank 3   node 0 (gpu07)   local 3   data 1   pid 51234\n",
         "  rank 3   node 0 (gpu07)   local 3\n        data 1   pid 51234\n"},
        /* a label is not left alone */
        {"  try:        df -h lists the full file system; prune\n",
         "  try:        df -h lists the full file\n        system; prune\n"},
        /* what is to be typed is not broken */
        {"lost, and the others are (jobrun stop 2026 --now) stopped\n",
         "lost, and the others are\n        (jobrun stop 2026 --now) stopped\n"},
        /* behind it lines are broken as before */
        {"(jobrun stop x) and then there is more than fits here\n",
         "(jobrun stop x) and then there is more\n        than fits here\n"},
        /* nor what a rank wrote, nor what has no blank */
        {"    | ValueError: loss is NaN at step 120 in this\n",
         "    | ValueError: loss is NaN at step 120 in this\n"},
        {"  runs/a-name-that-is-longer-than-the-terminal/stderr.log\n",
         "  runs/a-name-that-is-longer-than-the-terminal/stderr.log\n"},
        /* colours and characters of two bytes take what is seen of them */
        {"jobrun: \033[1;31mFAILED\033[0m after 2.4 s: rank \xc3\xbc done\n",
         "jobrun: \033[1;31mFAILED\033[0m after 2.4 s: rank \xc3\xbc done\n"},
        {"no newline", "no newline"},
        /* what continues a line has the rest of the columns */
        {"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
         "0123456789 0123456789\n",
         "0123456789 0123456789 0123456789\n        0123456789 0123456789 0123456789\n        "
         "0123456789 0123456789 0123456789\n        0123456789\n"},
        /* a label is 14 columns, and what is shorter is one */
        {"01234567890123   then words that go on to be long enough\n",
         "01234567890123\n        then words that go on to be long\n        enough\n"},
        {"0123456789012   then words that go on to be long enough\n",
         "0123456789012   then words that go on to\n        be long enough\n"},
        /* another word than jobrun's is broken anywhere */
        {"and so (jobrunner has it that) words go on\n", "and so (jobrunner has it that) words go\n"
                                                         "        on\n"},
        {"lines may be broken (jobrunner has it in there)\n",
         "lines may be broken (jobrunner has it in\n        there)\n"},
        /* an escape that is no colour, and a colour that is all there is */
        {"\033 \033[ is none of both, and goes on like that for long\n",
         "\033 \033[ is none of both, and goes on like\n        that for long\n"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_fit_lines(&out, rows[i].text, 40);
        JR_ASSERT_TEXT(out.len == 0 ? "" : out.data, rows[i].fitted);
        jr_buf_clear(&out);
        jr_fit_lines(&out, rows[i].text, 0);
        JR_ASSERT_TEXT(out.len == 0 ? "" : out.data, rows[i].text);
    }
}

/* Where hanging lines would have half of it, none is broken. */
TEST(leaves_a_very_narrow_terminal_alone)
{
    static const char text[] = "0123456 0123456 0123456\n";
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_fit_lines(&out, text, 16);
    JR_ASSERT_TEXT(out.data, text);
    jr_buf_clear(&out);
    jr_fit_lines(&out, text, 17);
    JR_ASSERT_TEXT(out.data, "0123456 0123456\n        0123456\n");
}

TEST(ends_at_any_width)
{
    static const char text[] =
        "jobrun: FAILED after 3 s: rank 0 (jobrun show latest)   exit status 1\n    \n   (jobrun ";
    for (size_t width = 1; width < 80; width++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_fit_lines(&out, text, width);
        CU_ASSERT_TRUE(!out.failed && out.len > 0);
    }
}
