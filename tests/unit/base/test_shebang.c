#include "base/shebang.h"

#include "scratch.h"
#include "unit.h"

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

static void reads_the_first_line(void)
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
    struct scratch scratch;
    struct jr_arena arena = JR_ARENA_INIT;
    scratch_start(&scratch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
        scratch_write(&scratch, "a b", rows[i].text);
        struct jr_shebang got = jr_shebang_read(&arena, scratch.fd, "a b");
        JR_ASSERT_TEXT(text_of(got.interpreter), text_of(rows[i].interpreter));
        JR_ASSERT_TEXT(text_of(got.program), text_of(rows[i].program));
        CU_ASSERT_EQUAL(jr_shebang_help_windows(&help, &got, "./a b"), rows[i].help != NULL);
        JR_ASSERT_TEXT(text_of(help.data), text_of(rows[i].help));
    }
    struct jr_shebang none = jr_shebang_read(&arena, scratch.fd, "nowhere");
    CU_ASSERT_PTR_NULL(none.interpreter);
    jr_arena_release(&arena);
    scratch_end(&scratch);
}

JR_UNIT_MAIN("shebang", CASE(reads_the_first_line))
