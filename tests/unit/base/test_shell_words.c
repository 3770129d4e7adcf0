#include "base/shell_words.h"

#include "scratch.h"

static struct jr_arena arena;

/* The words of a line as "[a][b]"; those that a shell would change as "<c>", and those with globs
 * as "{d}". */
static const char *split(const char *line, const char **ret_tail)
{
    static char text[512];
    struct jr_shell_words words;
    struct jr_error err;
    size_t used = 0;
    text[0] = '\0';
    if (jr_shell_split(&words, &arena, line, &err) != 0)
        return NULL;
    for (size_t i = 0; i < words.count; i++) {
        unsigned how = words.items[i].expands + 2u * words.items[i].globs;
        used += (size_t)snprintf(text + used, sizeof text - used, "%c%s%c", "[<{"[how],
                                 words.items[i].text, "]>}"[how]);
    }
    *ret_tail = words.tail;
    return text;
}

TEST(refuses_open_quotes)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"a 'b", "the line has an open single quote"},
        {"a \"b\\\"", "the line has an open double quote"},
        {"a \"$(b\"", "the line has an open $("},
        {"a $(b (c)", "the line has an open $("},
        {"a ${b", "the line has an open ${"},
        {"a \"`b\"", "the line has an open `"},
    };
    JR_EACH(row, rows) {
        struct jr_shell_words words;
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_shell_split(&words, &arena, row->line, &err), -1);
        JR_ASSERT_TEXT(err.text, row->said);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
    }
    jr_arena_release(&arena);
}

TEST(says_when_memory_runs_out)
{
    struct jr_shell_words words;
    struct jr_error err = {0};
    JR_ARENA_CLEANUP struct jr_arena small = {.limit = 16};
    CU_ASSERT_EQUAL(jr_shell_split(&words, &small, "a b c d e f g h i j", &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
}

TEST(splits)
{
    static const struct {
        const char *line, *words;
    } rows[] = {
        {"", ""},
        {" \t\n ", ""},
        {"# a", ""},
        {"a b\tc\rd", "[a][b][c][d]"},
        {"a#b #c", "[a#b]"},
        {"'a b'\"c d\"e", "[a bc de]"},
        {"'' \"\"", "[][]"},
        {"a\\ b \\' \\", "[a b]['][\\]"},
        {"\"a\\b\\\"\\\\\\$\\`\"", "[a\\b\"\\$`]"},
        {"'a\\b$c`d*'", "[a\\b$c`d*]"},
        {"a\\\nb \\\n c", "[ab][c]"},
        {"\"a\\\nb\"", "[ab]"},
        {"'a\nb'", "[a\nb]"},
        {"$a \"$b\" ${c d} $(e f) `g h`", "<$a><$b><${c d}><$(e f)><`g h`>"},
        {"\"$(a (b) c) d\"", "<$(a (b) c) d>"},
        {"$ a$ $. \"$\" \"a$ b\"", "[$][a$][$.][$][a$ b]"},
        {"* a? [b] '*'", "{*}{a?}{[b]}[*]"},
        {"~ ~/a a~ --b=~/c", "<~><~/a>[a~]<--b=~/c>"},
        {"1 2", "[1][2]"},
    };
    JR_EACH(row, rows) {
        const char *tail = NULL;
        JR_ASSERT_TEXT(split(row->line, &tail), row->words);
        CU_ASSERT_PTR_NULL(tail);
    }
    jr_arena_release(&arena);
}

TEST(ends_at_operators)
{
    static const struct {
        const char *line, *words, *tail;
    } rows[] = {
        {"a|b", "[a]", "|b"},        {"a > b c", "[a]", "> b c"}, {"a 2>&1", "[a]", "2>&1"},
        {"a b2>c", "[a][b2]", ">c"}, {"a '2'>c", "[a][2]", ">c"}, {"a & ", "[a]", "& "},
        {"a; b", "[a]", "; b"},      {"a\nb", "[a]", "\nb"},      {"a # b\nc", "[a]", "\nc"},
        {"(a)", "", "(a)"},
    };
    JR_EACH(row, rows) {
        const char *tail = NULL;
        JR_ASSERT_TEXT(split(row->line, &tail), row->words);
        JR_ASSERT_TEXT(tail, row->tail);
    }
    jr_arena_release(&arena);
}

TEST(knows_where_words_stand)
{
    struct jr_shell_words words;
    CU_ASSERT_EQUAL_FATAL(jr_shell_split(&words, &arena, " a 'b c'd", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(words.count, 2);
    CU_ASSERT_EQUAL(words.items[0].start, 1);
    CU_ASSERT_EQUAL(words.items[0].end, 2);
    CU_ASSERT_EQUAL(words.items[1].start, 3);
    CU_ASSERT_EQUAL(words.items[1].end, 9);
    jr_arena_release(&arena);
}

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

TEST(reads_the_first_line)
{
    static const struct {
        const char *text, *interpreter, *program, *help;
    } rows[] = {
        {"#!/bin/sh\necho\n", "/bin/sh", NULL, NULL},
        {"#! /bin/sh -x\n", "/bin/sh", NULL, NULL},
        {"#!/usr/bin/env python3\n", "/usr/bin/env", "python3", NULL},
        {"#!/usr/bin/env\tpython3 -u\n", "/usr/bin/env", "python3", NULL},
        {"#!/usr/bin/env -S python3 -u\r\n", "/usr/bin/env", NULL, NULL},
        {"#!/usr/bin/env A=1 python3\n", "/usr/bin/env", NULL, NULL},
        {"#!/usr/bin/env", "/usr/bin/env", NULL, NULL},
        {"#!/bin/sh\r\necho\r\n", "/bin/sh\r", NULL,
         "its lines end as on Windows: sed -i 's/\\r$//' './a b'"},
        {"#!/usr/bin/env python3\r\n", "/usr/bin/env", "python3\r",
         "its lines end as on Windows: sed -i 's/\\r$//' './a b'"},
        {"#!\n", "", NULL, NULL},
        {"#", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
        {"\177ELF", NULL, NULL, NULL},
        {"echo\n#!/bin/sh\n", NULL, NULL, NULL},
    };
    SCRATCH(scratch);
    JR_EACH(row, rows) {
        struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
        scratch_write(&scratch, "a b", row->text);
        struct jr_shebang got = jr_shebang_read(&arena, scratch.fd, "a b");
        JR_ASSERT_TEXT(text_of(got.interpreter), text_of(row->interpreter));
        JR_ASSERT_TEXT(text_of(got.program), text_of(row->program));
        CU_ASSERT_EQUAL(jr_shebang_help_windows(&help, &got, "./a b"), row->help != NULL);
        JR_ASSERT_TEXT(text_of(help.data), text_of(row->help));
    }
    struct jr_shebang none = jr_shebang_read(&arena, scratch.fd, "nowhere");
    CU_ASSERT_PTR_NULL(none.interpreter);
    jr_arena_release(&arena);
}
