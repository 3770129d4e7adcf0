/* Locks: what is in one, and what holding a spec to one finds. */
#include "resolve/fingerprint.h"

#include "scratch.h"

#include "case.h"

#define SPEC                                                                                       \
    "version: 1\nname: t\ndevice: cpu\nworld_size: 2\n"                                            \
    "entrypoint: {command: [./train], args: [--lr, \"0.1\"]}\n"                                    \
    "env: {MODE: fast}\n"

/* And what it resolves to. */
#define LOCK                                                                                       \
    "version: 1\n"                                                                                 \
    "entrypoint:\n  command: [./train]\n  args: [--lr, \"0.1\"]\n"                                 \
    "workdir: \".\"\nenv:\n  MODE: fast\n"                                                         \
    "world_size: 2\ndevice: cpu\nbackends:\n  default: gloo\n"

/* A spec in a folder of its own, resolved for a machine that is not there. */
struct desk {
    struct scratch scratch;
    struct jr_arena arena;
    struct jr_host host;
    struct jr_spec_file *file;
    struct jr_resolution resolution;
    struct jr_diags diags;
    struct jr_buf lock, told;
};

static void resolve_named(struct desk *desk, const char *name, const char *text)
{
    const struct jr_spec_source source = {
        .name = name, .folder = desk->scratch.dir, .text = text, .len = strlen(text)};
    const struct jr_spec_options options = {0};
    const struct jr_resolve_options resolve = {.keep_port = true};
    jr_resolution_release(&desk->resolution);
    desk->resolution = JR_RESOLUTION_INIT;
    jr_diags_release(&desk->diags);
    jr_spec_free(desk->file);
    desk->file = NULL;
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&desk->file, &source, &options, &desk->diags), 0);
    CU_ASSERT_EQUAL_FATAL(
        jr_resolve(&desk->resolution, desk->file, &desk->host, &resolve, &desk->diags),
        JR_STATUS_OK);
}

/* The spec as the file t.jobrun.yaml of the folder. */
static void resolve(struct desk *desk, const char *text)
{
    const char *name = jr_arena_printf(&desk->arena, "%s/t.jobrun.yaml", desk->scratch.dir);
    resolve_named(desk, name, text);
}

static void start(struct desk *desk)
{
    *desk = (struct desk){.resolution = JR_RESOLUTION_INIT};
    scratch_start(&desk->scratch);
    CU_ASSERT_EQUAL_FATAL(jr_profile_load(&desk->host, &desk->arena, "1x0,8c", &desk->diags), 0);
}

static void end(struct desk *desk)
{
    jr_resolution_release(&desk->resolution);
    jr_diags_release(&desk->diags);
    jr_spec_free(desk->file);
    jr_buf_release(&desk->lock);
    jr_buf_release(&desk->told);
    jr_arena_release(&desk->arena);
    scratch_end(&desk->scratch);
}

/* Hold what was resolved to the file t.lock.yaml, of this text. Returns what was found: "JR0451
 * path 3:5: message see 7:9", one a line. */
static const char *hold(struct desk *desk, const char *lock, enum jr_status expected)
{
    size_t before = desk->diags.count;
    scratch_write(&desk->scratch, "t.lock.yaml", lock);
    CU_ASSERT_EQUAL(jr_lock_check(&desk->resolution, desk->file, "", &desk->arena, &desk->diags),
                    expected);
    jr_buf_clear(&desk->told);
    jr_buf_str(&desk->told, "");
    for (size_t i = before; i < desk->diags.count; i++) {
        const struct jr_diag *diag = &desk->diags.items[i];
        jr_buf_printf(&desk->told, "%s%s %s %u:%u: %s", i == before ? "" : "\n", diag->code,
                      diag->path == NULL ? "-" : diag->path, diag->span.line, diag->span.column,
                      diag->message);
        if (diag->related != NULL)
            jr_buf_printf(&desk->told, "; %s at %u:%u", diag->related->message,
                          diag->related->span.line, diag->related->span.column);
    }
    return desk->told.data == NULL ? "" : desk->told.data;
}

#define DESK(name)                                                                                 \
    struct desk name RELEASE(end);                                                                 \
    start(&name)

TEST(tells_each_value_that_differs)
{
    DESK(desk);
    resolve(&desk, "version: 1\nname: t\ndevice: cpu\nworld_size: 4\nentrypoint: {command: "
                   "[./train], args: [--lr, \"0.2\"]}\nenv: {MODE: fast}\n");
    JR_ASSERT_TEXT(hold(&desk, LOCK, JR_STATUS_INVALID),
                   "JR0451 entrypoint.args[1] 5:47: 'entrypoint.args[1]' resolves to \"0.2\", but "
                   "the lock has \"0.1\"; locked here at 4:16\nJR0451 world_size 4:13: "
                   "'world_size' resolves to 4, but the lock has 2; locked here at 8:13");
}

/* Of what only one of them has, the other has nothing. */
TEST(tells_what_one_of_them_lacks)
{
    DESK(desk);
    resolve(&desk, "version: 1\nname: t\ndevice: cpu\nworld_size: 2\nentrypoint: {command: "
                   "[./train], args: [--lr, \"0.1\"]}\nenv: {MORE: 1}\n");
    JR_ASSERT_TEXT(hold(&desk, LOCK, JR_STATUS_INVALID),
                   "JR0451 env.MODE 6:6: 'env.MODE' resolves to nothing, but the lock has fast; "
                   "locked here at 7:9\n"
                   "JR0451 env.MORE 6:13: 'env.MORE' resolves to \"1\", but the lock has nothing");
}

TEST(cuts_long_values_and_shows_no_control)
{
    static const char sixty[] = "012345678901234567890123456789012345678901234567890123456789";
    struct jr_buf text = JR_BUF_INIT, want = JR_BUF_INIT;
    DESK(desk);
    jr_buf_printf(&text,
                  "version: 1\nname: t\ndevice: cpu\nworld_size: 2\nentrypoint: {command: "
                  "[./train], args: [--lr, \"0.1\"]}\nenv: {MODE: x%sy}\n",
                  sixty);
    resolve(&desk, text.data);
    jr_buf_printf(&want,
                  "JR0451 env.MODE 6:13: 'env.MODE' resolves to x%.59s..., but "
                  "the lock has fast; locked here at 7:9",
                  sixty);
    JR_ASSERT_TEXT(hold(&desk, LOCK, JR_STATUS_INVALID), want.data);
    jr_buf_clear(&text);
    jr_buf_clear(&want);
    jr_buf_printf(&text,
                  "version: 1\nname: t\ndevice: cpu\nworld_size: 2\nentrypoint: {command: "
                  "[./train], args: [--lr, \"0.1\"]}\nenv: {MODE: x%.59s}\n",
                  sixty);
    resolve(&desk, text.data);
    jr_buf_printf(&want,
                  "JR0451 env.MODE 6:13: 'env.MODE' resolves to x%.59s, but "
                  "the lock has fast; locked here at 7:9",
                  sixty);
    JR_ASSERT_TEXT(hold(&desk, LOCK, JR_STATUS_INVALID), want.data);
    jr_buf_release(&text);
    jr_buf_release(&want);
}

/* An earlier finding is none of the lock's. */
TEST(counts_its_own_findings_only)
{
    DESK(desk);
    resolve(&desk, SPEC);
    (void)jr_diags_error(&desk.diags, JR_CODE_LOCK_DIFFERS, (struct jr_span){0}, "x", "before");
    JR_ASSERT_TEXT(hold(&desk, LOCK, JR_STATUS_OK), "");
}

TEST(refuses_what_is_no_lock)
{
    DESK(desk);
    resolve(&desk, SPEC);
    CU_ASSERT_PTR_NOT_NULL(strstr(hold(&desk, "a: [1\n", JR_STATUS_INVALID), "JR0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(hold(&desk, "", JR_STATUS_INVALID), "JR0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(hold(&desk, "\xff\xfe\n", JR_STATUS_INVALID), "JR0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(hold(&desk, "- a\n", JR_STATUS_INVALID), "JR0"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(hold(&desk, LOCK "world_size: 2\n", JR_STATUS_INVALID), "JR0106"));
    /* where the spec says nothing, the lock is what is pointed at */
    JR_ASSERT_TEXT(hold(&desk, LOCK "more: 2\n", JR_STATUS_INVALID),
                   "JR0451 more 12:7: 'more' resolves to nothing, but the lock has 2");
}
