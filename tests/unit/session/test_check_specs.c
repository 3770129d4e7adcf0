/* Specs checked and fixed without being run: what is found, and what is written back. */
#include "session/specs/check_specs.h"

#include "base/io.h"
#include "base/strv.h"
#include "scratch.h"

#define GOOD "version: 1\nname: t\nentrypoint: [a]\nworld_size: 2\n"
#define TYPO "version: 1\nname: t\nentrypoint: [a]\nworld_sise: 2\n"

static const struct jr_check_options plain = {0};

/* Check files of a folder, by their names. */
static void check(struct jr_spec_checks *checks, const struct scratch *scratch,
                  const struct jr_check_options *options, const char *const *names)
{
    CU_ASSERT_EQUAL(jr_spec_checks_open(checks, options), JR_STATUS_OK);
    struct jr_strv words = {0};
    for (; *names != NULL; names++)
        jr_strv_push(&words, &checks->arena,
                     jr_arena_printf(&checks->arena, "%s/%s", scratch->dir, *names));
    jr_find_specs(&checks->finds, &checks->arena, words.items, (int)words.count, NULL);
    jr_spec_checks_run(checks);
}

TEST(refuses_a_machine_that_is_none)
{
    const struct jr_check_options options = {.on = "2x"};
    struct jr_spec_checks checks;
    CU_ASSERT_EQUAL(jr_spec_checks_open(&checks, &options), JR_STATUS_USAGE);
    CU_ASSERT_EQUAL(checks.diags.errors, 1);
    jr_spec_checks_release(&checks);
}

TEST(tells_what_cannot_be_read)
{
    static const char *const names[] = {"none.jobrun.yaml", "empty", NULL};
    struct jr_spec_checks checks;
    SCRATCH(scratch);
    (void)mkdirat(scratch.fd, "empty", 0700);
    check(&checks, &scratch, &plain, names);
    CU_ASSERT_EQUAL(checks.status, JR_STATUS_INVALID);
    CU_ASSERT_EQUAL_FATAL(checks.files_count, 2);
    CU_ASSERT_EQUAL(checks.files[0].errors, 1);
    CU_ASSERT_EQUAL(checks.files[1].errors, 1);
    CU_ASSERT_EQUAL_FATAL(checks.diags.count, 2);
    const struct jr_diag *empty = &checks.diags.items[checks.files[1].first];
    CU_ASSERT_STRING_EQUAL(empty->span.source->name, checks.files[1].name);
    jr_spec_checks_release(&checks);
}

TEST(each_file_has_its_own_findings)
{
    static const char *const names[] = {"good", "typo", "good", NULL};
    struct jr_spec_checks checks;
    SCRATCH(scratch);
    scratch_write(&scratch, "good", GOOD);
    scratch_write(&scratch, "typo", TYPO);
    check(&checks, &scratch, &plain, names);
    CU_ASSERT_EQUAL(checks.status, JR_STATUS_INVALID);
    CU_ASSERT_EQUAL_FATAL(checks.files_count, 3);
    CU_ASSERT_EQUAL(checks.files[0].errors, 0);
    CU_ASSERT_TRUE(checks.files[1].errors > 0);
    CU_ASSERT_EQUAL(checks.files[1].count, checks.files[1].errors);
    CU_ASSERT_EQUAL(checks.files[2].errors, 0);
    CU_ASSERT_EQUAL(checks.files[2].count, 0);
    jr_spec_checks_release(&checks);
}

TEST(a_base_is_told_of_once)
{
    static const char *const names[] = {"a", "b", NULL};
    struct jr_spec_checks checks;
    SCRATCH(scratch);
    scratch_write(&scratch, "base", TYPO);
    scratch_write(&scratch, "a", "extends: base\n");
    scratch_write(&scratch, "b", "extends: base\n");
    check(&checks, &scratch, &plain, names);
    CU_ASSERT_EQUAL_FATAL(checks.files_count, 2);
    CU_ASSERT_EQUAL(checks.files[0].folded, 0);
    CU_ASSERT_TRUE(checks.files[1].errors > 0);
    CU_ASSERT_EQUAL(checks.files[1].folded, checks.files[1].errors);
    CU_ASSERT_EQUAL(checks.files[1].count, 0);
    jr_spec_checks_release(&checks);
}

/* A spec that no machine can run is wrong; one that this machine cannot is not resolved there. */
TEST(resolves_for_a_machine)
{
    static const char *const names[] = {"gpus", NULL};
    const struct jr_check_options small = {.on = "1x2:H100"}, large = {.on = "1x8:H100"};
    struct jr_spec_checks checks;
    SCRATCH(scratch);
    scratch_write(&scratch, "gpus",
                  "version: 1\nname: t\nentrypoint: [a]\nworld_size: 4\ndevice: cuda\n");
    check(&checks, &scratch, &large, names);
    CU_ASSERT_EQUAL(checks.status, JR_STATUS_OK);
    jr_spec_checks_release(&checks);
    check(&checks, &scratch, &small, names);
    CU_ASSERT_EQUAL(checks.status, JR_STATUS_UNRESOLVED);
    jr_spec_checks_release(&checks);
    check(&checks, &scratch, &plain, names);
    CU_ASSERT_EQUAL(checks.status, JR_STATUS_OK);
    jr_spec_checks_release(&checks);
}

/* Each target is a machine of its own; what is none is a mistake, which counts for more than that
 * another one cannot be had. */
TEST(resolves_for_each_target)
{
    static const struct {
        const char *targets;
        enum jr_status status;
        size_t errors;
    } rows[] = {{"[1x4:H100, 1x8:H100]", JR_STATUS_OK, 0},
                {"[1x8:H100, 1x2:H100]", JR_STATUS_UNRESOLVED, 1},
                {"[1x2:H100, 1x8:H100]", JR_STATUS_UNRESOLVED, 1},
                {"[none.yaml, 1x8:H100, 1x2:H100]", JR_STATUS_INVALID, 2},
                {"[1x2:H100, none.yaml, gone.yaml]", JR_STATUS_INVALID, 3}};
    static const char *const names[] = {"gpus", NULL};
    struct jr_spec_checks checks;
    char text[256];
    SCRATCH(scratch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(text, sizeof text,
                       "version: 1\nname: t\nentrypoint: [a]\nworld_size: 4\n"
                       "device: cuda\ntargets: %s\n",
                       rows[i].targets);
        scratch_write(&scratch, "gpus", text);
        check(&checks, &scratch, &plain, names);
        CU_ASSERT_EQUAL(checks.status, rows[i].status);
        CU_ASSERT_EQUAL(checks.diags.errors, rows[i].errors);
        jr_spec_checks_release(&checks);
    }
}

/* The text of a file, and its mode. */
static void expect_file(const struct scratch *scratch, const char *name, const char *text,
                        mode_t mode)
{
    struct jr_buf got JR_BUF_CLEANUP = JR_BUF_INIT;
    struct stat st;
    CU_ASSERT_EQUAL(jr_io_read_file(&got, scratch->fd, name, 1 << 20, NULL), 0);
    CU_ASSERT_STRING_EQUAL(got.data == NULL ? "" : got.data, text);
    CU_ASSERT_EQUAL(fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, mode);
}

static int fix(const struct scratch *scratch, const char *name,
               const struct jr_check_options *options, struct jr_buf *told)
{
    char path[64];
    struct jr_error err = {0};
    (void)snprintf(path, sizeof path, "%s/%s", scratch->dir, name);
    return jr_fix_file(told, path, options, &err);
}

TEST(leaves_what_has_no_fix)
{
    struct jr_buf told = JR_BUF_INIT;
    SCRATCH(scratch);
    scratch_write(&scratch, "good", GOOD);
    scratch_write(&scratch, "broken", "version: [1\n");
    CU_ASSERT_EQUAL(fix(&scratch, "good", &plain, &told), 0);
    CU_ASSERT_EQUAL(fix(&scratch, "broken", &plain, &told), 0);
    CU_ASSERT_EQUAL(fix(&scratch, "none", &plain, &told), 0);
    CU_ASSERT_EQUAL(told.len, 0);
    expect_file(&scratch, "good", GOOD, 0600);
    expect_file(&scratch, "broken", "version: [1\n", 0600);
}

TEST(writes_a_fix_through_a_link)
{
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    struct stat st;
    SCRATCH(scratch);
    scratch_write(&scratch, "typo", TYPO);
    (void)fchmodat(scratch.fd, "typo", 0640, 0);
    CU_ASSERT_EQUAL(symlinkat("typo", scratch.fd, "link"), 0);
    CU_ASSERT_EQUAL(fix(&scratch, "link", &plain, &told), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told.data);
    CU_ASSERT_PTR_NOT_NULL(strstr(told.data, "'world_sise' -> 'world_size'"));
    expect_file(&scratch, "typo", GOOD, 0640);
    CU_ASSERT_EQUAL(fstatat(scratch.fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
    CU_ASSERT_TRUE(S_ISLNK(st.st_mode));
}

TEST(fixes_what_it_is_handed)
{
    struct jr_buf text = JR_BUF_INIT, told = JR_BUF_INIT;
    struct jr_error err = {0};
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(jr_fix_input(&text, &told, -1, &plain, &err), -1);
    jr_buf_release(&text);
    text = JR_BUF_INIT;
    scratch_write(&scratch, "typo", TYPO);
    int fd = openat(scratch.fd, "typo", O_RDONLY);
    CU_ASSERT_EQUAL(jr_fix_input(&text, &told, fd, &plain, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text.data);
    CU_ASSERT_STRING_EQUAL(text.data, GOOD);
    CU_ASSERT_TRUE(told.len > 0);
    expect_file(&scratch, "typo", TYPO, 0600);
    (void)close(fd);
    jr_buf_release(&text);
    jr_buf_release(&told);
}
