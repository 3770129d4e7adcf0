/* The facts of recorded machines: tests/machines/NAME holds the files that a probe reads, the
 * environment in `env`, and the facts in `expected.yaml`. UPDATE=1 in the environment writes that
 * file. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/strv.h"
#include "resolve/device_profile.h"

#define MACHINES TEST_SOURCE_DIR "/machines"

enum { MACHINES_LEAST = 40 };

/* A file of a machine, NULL where there is none. */
static char *text_of(struct jr_arena *arena, const char *machine, const char *file)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    char path[512];
    (void)snprintf(path, sizeof path, MACHINES "/%s/%s", machine, file);
    if (jr_io_read_file(&text, AT_FDCWD, path, 1 << 16, NULL) != 0)
        return NULL;
    return jr_arena_strndup(arena, text.len == 0 ? "" : text.data, text.len);
}

static char **environment(struct jr_arena *arena, const char *machine)
{
    struct jr_strv env = {0};
    char *text = text_of(arena, machine, "env");
    jr_strv_push(&env, arena, jr_arena_strdup(arena, "HOME=/root"));
    for (char *line; (line = strsep(&text, "\n")) != NULL;)
        if (*line != '\0')
            jr_strv_push(&env, arena, line);
    return env.items;
}

static void emit(struct jr_arena *arena, const char **ret, const struct jr_host *hw)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_profile_emit(&text, hw);
    CU_ASSERT_FALSE(text.failed);
    *ret = jr_arena_strndup(arena, text.data, text.len);
}

static void write_expected(const char *machine, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, MACHINES "/%s/expected.yaml", machine);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* The probe gives the expected facts, and a file of them gives them again. */
static void check(const char *machine)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_host probed = {0}, loaded = {0};
    const char *before, *after;
    char path[512];
    int failures = (int)CU_get_number_of_failures();
    const char *expected;
    (void)snprintf(path, sizeof path, MACHINES "/%s", machine);
    CU_ASSERT_EQUAL(jr_host_probe(&probed, &arena, path, environment(&arena, machine), NULL), 0);
    jr_host_probe_more(&probed, &arena, path);
    emit(&arena, &before, &probed);
    if (getenv("UPDATE") != NULL)
        write_expected(machine, before);
    expected = text_of(&arena, machine, "expected.yaml");
    JR_ASSERT_TEXT(before, expected == NULL ? "no file" : expected);
    CU_ASSERT_FALSE(probed.real);

    (void)snprintf(path, sizeof path, MACHINES "/%s/expected.yaml", machine);
    CU_ASSERT_EQUAL(jr_profile_load(&loaded, &arena, path, &diags), 0);
    emit(&arena, &after, &loaded);
    JR_ASSERT_TEXT(after, before);
    if ((int)CU_get_number_of_failures() != failures)
        printf("\n    in machine %s\n", machine);
}

/* What is no folder was made by hand, and has no files to probe. */
static int is_recorded(const struct dirent *entry)
{
    return strchr(entry->d_name, '.') == NULL;
}

TEST(recorded_machines)
{
    struct dirent **entries;
    int count = scandir(MACHINES, &entries, is_recorded, alphasort);
    CU_ASSERT_TRUE_FATAL(count >= MACHINES_LEAST);
    for (int i = 0; i < count; i++) {
        check(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}
