/* Facts about devices of the user's own kind: a file, or a program. */
#include "resolve/device_profile.h"

#include "scratch.h"

#define FACTS                                                                                      \
    "format_version: 1\nvariable: ACME_VISIBLE\ndevices:\n"                                        \
    "- {index: 0, model: Acme X1, uuid: a}\n"                                                      \
    "- {index: 4, model: Acme X1, uuid: b}\n"

struct desk {
    struct scratch scratch;
    struct jr_arena arena;
    struct jr_diags diags;
    struct jr_host host;
    struct jr_custom custom;
};

static void begin(struct desk *desk)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *environment[] = {path, NULL};
    *desk = (struct desk){0};
    scratch_start(&desk->scratch);
    desk->custom = (struct jr_custom){.folder = desk->scratch.dir,
                                      .device = "custom:acme",
                                      .at = {.line = 7, .column = 9},
                                      .envp = environment,
                                      .limit_ms = 60000};
}

static void write_program(struct desk *desk, const char *text, unsigned mode)
{
    scratch_write(&desk->scratch, "acme.facts", text);
    CU_ASSERT_EQUAL(fchmodat(desk->scratch.fd, "acme.facts", mode, 0), 0);
}

static enum jr_status read_facts(struct desk *desk)
{
    return jr_custom_read(&desk->host, &desk->arena, &desk->custom, &desk->diags);
}

static void end(struct desk *desk)
{
    jr_diags_release(&desk->diags);
    jr_arena_release(&desk->arena);
    scratch_end(&desk->scratch);
}

/* One finding, at the device in the spec, and no devices. */
static void check_refused(struct desk *desk, const char *message, const char *help)
{
    CU_ASSERT_EQUAL(read_facts(desk), JR_STATUS_UNRESOLVED);
    CU_ASSERT_EQUAL(desk->host.devices_count, 0);
    CU_ASSERT_EQUAL_FATAL(desk->diags.count, 1);
    const struct jr_diag *diag = &desk->diags.items[0];
    JR_ASSERT_TEXT(diag->code, "JR0485");
    JR_ASSERT_TEXT(diag->path, "device");
    CU_ASSERT_EQUAL(diag->span.line, 7);
    JR_ASSERT_TEXT(diag->message, message);
    struct jr_buf whole JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_replaced(&whole, help, "SCRATCH", desk->scratch.dir);
    JR_ASSERT_TEXT(diag->help, whole.data);
    CU_ASSERT_EQUAL(faccessat(desk->scratch.fd, "ran", F_OK, 0), -1);
    end(desk);
}

/* Other kinds have no such facts, whatever lies there. */
TEST(looks_only_for_a_custom_device)
{
    static const char *const devices[] = {NULL,           "cuda",          "custom",
                                          "custom:other", "custom:./acme", "Custom:acme"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct desk desk;
        begin(&desk);
        scratch_write(&desk.scratch, "acme.facts.yaml", FACTS);
        desk.custom.device = devices[i];
        CU_ASSERT_EQUAL(read_facts(&desk), JR_STATUS_OK);
        CU_ASSERT_EQUAL(desk.host.devices_count, 0);
        CU_ASSERT_EQUAL(desk.diags.count, 0);
        end(&desk);
    }
}

TEST(refuses_two_sources)
{
    struct desk desk;
    begin(&desk);
    scratch_write(&desk.scratch, "acme.facts.yaml", FACTS);
    write_program(&desk, "#!/bin/sh\ntouch ran\n", 0755);
    check_refused(&desk, "acme.facts exists, and so does .facts.yaml", "remove one of the two");
}

/* What others could have written is not run. */
TEST(trusts_not_every_program)
{
    static const struct {
        unsigned mode;
        const char *message, *help;
    } rows[] = {{0644, "acme.facts is not executable",
                 "chmod +x SCRATCH/acme.facts, or name it .facts.yaml if it is facts itself"},
                {0757, "acme.facts is a program that everybody may write to",
                 "chmod o-w SCRATCH/acme.facts"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct desk desk;
        begin(&desk);
        write_program(&desk, "#!/bin/sh\ntouch ran\n", rows[i].mode);
        check_refused(&desk, rows[i].message, rows[i].help);
    }
    struct desk desk;
    begin(&desk);
    CU_ASSERT_EQUAL(mkdirat(desk.scratch.fd, "acme.facts", 0755), 0);
    check_refused(&desk, "acme.facts is not a regular file", "put a program there");
    if (geteuid() != 0) {
        printf("SKIPPED: only root can give a file away ");
        return;
    }
    begin(&desk);
    write_program(&desk, "#!/bin/sh\ntouch ran\n", 0755);
    CU_ASSERT_EQUAL(fchownat(desk.scratch.fd, "acme.facts", 12345, -1U, 0), 0);
    check_refused(&desk, "acme.facts is a program that belongs to another user",
                  "copy it, or let root own it");
}

/* Why a program told nothing, and its last words. */
TEST(tells_what_a_program_said)
{
    static const struct {
        const char *program, *message, *help;
    } rows[] = {
        {"#!/bin/sh\nexit 3\n", "acme.facts exited with code 3",
         "run it by hand: it must print facts and exit with 0"},
        {"#!/bin/sh\necho no driver >&2\nexit 1\n", "acme.facts exited with code 1",
         "its last output: no driver"},
        {"#!/bin/sh\nprintf 'first\\nlast \\r\\n\\n' >&2\nexit 1\n",
         "acme.facts exited with code 1", "its last output: last"},
        {"#!/bin/sh\nprintf '\\n \\n' >&2\nexit 1\n", "acme.facts exited with code 1",
         "run it by hand: it must print facts and exit with 0"},
        {"#!/bin/sh\necho x >&2\nkill -9 $$\n", "acme.facts died by SIGKILL", "its last output: x"},
        {"#!/bin/sh\nhead -c 5000 /dev/zero | tr '\\0' a >&2\necho >&2\necho end >&2\nexit 1\n",
         "acme.facts exited with code 1", "its last output: end"},
        {"#!/no/such/interpreter\n", "acme.facts exited with code 127",
         "its last output: No such file or directory"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct desk desk;
        begin(&desk);
        write_program(&desk, rows[i].program, 0755);
        check_refused(&desk, rows[i].message, rows[i].help);
    }
}

/* Mistakes in what it printed are told where they are. */
TEST(points_into_the_output)
{
    static const struct {
        const char *program, *code, *source;
        unsigned line;
    } rows[] = {{"#!/bin/sh\n", "JR0116", "output of acme.facts", 1},
                {"#!/bin/sh\necho '- a'\n", "JR0483", "output of acme.facts", 1},
                {"#!/bin/sh\nprintf 'format_version: 1\\nvarible: X\\n'\n", "JR0482",
                 "output of acme.facts", 2},
                {"#!/bin/sh\necho 'a: [1'\n", "JR0102", "output of acme.facts", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct desk desk;
        begin(&desk);
        write_program(&desk, rows[i].program, 0755);
        CU_ASSERT_EQUAL(read_facts(&desk), JR_STATUS_UNRESOLVED);
        CU_ASSERT_TRUE_FATAL(desk.diags.count > 0);
        const struct jr_diag *diag = &desk.diags.items[0];
        JR_ASSERT_TEXT(diag->code, rows[i].code);
        CU_ASSERT_EQUAL(diag->span.line, rows[i].line);
        CU_ASSERT_PTR_NOT_NULL_FATAL(diag->span.source);
        JR_ASSERT_TEXT(diag->span.source->name, rows[i].source);
        CU_ASSERT_EQUAL(desk.host.devices_count, 0);
        end(&desk);
    }
}

/* What is wrong with the facts themselves, in a file. */
TEST(explains_wrong_facts)
{
    static const struct {
        const char *text, *message, *help;
        unsigned line;
    } rows[] = {{"format_versoin: 1\n", "unknown fact 'format_versoin'",
                 "did you mean 'format_version'?", 1},
                {"format_version: 1\nvarible: X\n", "unknown fact 'varible'",
                 "did you mean 'variable'?", 2},
                {"format_version: 1\ndevises: []\n", "unknown fact 'devises'",
                 "did you mean 'devices'?", 2},
                {"format_version: 1\nother: 1\n", "unknown fact 'other'", NULL, 2},
                {"format_version: 1\ndevices: 2\n", "'devices' wants a list, not '2'", NULL, 2},
                {"format_version: 1\ndevices: {a: 1}\n", "'devices' wants a list", NULL, 2},
                {"format_version: 1\ndevices:\n- 0\n",
                 "'devices' wants a mapping for each item, not '0'", NULL, 3},
                {"format_version: 1\ndevices:\n- {index: 0}\n- {model: X}\n", "'index' is missing",
                 NULL, 4},
                {"format_version: 1\ndevices:\n- {index: 0, modell: X}\n", "unknown fact 'modell'",
                 "did you mean 'model'?", 3},
                {"format_version: 1\ndevices:\n- {index: one}\n", NULL, NULL, 3},
                {"[]\n", "the facts about devices must be a mapping", NULL, 1},
                {"format_version: 1\nformat_version: 1\ndevices: [{index: 0}]\n",
                 "duplicate key 'format_version'", NULL, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct desk desk;
        begin(&desk);
        scratch_write(&desk.scratch, "acme.facts.yaml", rows[i].text);
        CU_ASSERT_EQUAL(read_facts(&desk), JR_STATUS_UNRESOLVED);
        CU_ASSERT_EQUAL(desk.host.devices_count, 0);
        CU_ASSERT_TRUE_FATAL(desk.diags.count > 0);
        const struct jr_diag *diag = &desk.diags.items[0];
        if (rows[i].message != NULL)
            JR_ASSERT_TEXT(diag->message, rows[i].message);
        CU_ASSERT_EQUAL(diag->help == NULL, rows[i].help == NULL);
        if (rows[i].help != NULL)
            JR_ASSERT_TEXT(diag->help, rows[i].help);
        CU_ASSERT_EQUAL(diag->span.line, rows[i].line);
        end(&desk);
    }
}
