/*
 * Schedulers and launchers: tests/schedulers/NAME holds an environment (`env`)
 * and the files that it names, perhaps a few lines of a spec (`spec`), and in
 * `expected.txt` what is made of them. UPDATE=1 in the environment writes that
 * file.
 */
#include <dirent.h>
#include <fcntl.h>

#include "base/io.h"
#include "base/strv.h"
#include "case.h"

#define SCHEDULERS TEST_SOURCE_DIR "/schedulers"

enum { SCHEDULERS_COUNT = 73 };

static char *path_of(struct jr_arena *arena, const char *name, const char *file)
{
    return jr_arena_printf(arena, SCHEDULERS "/%s/%s", name, file);
}

/* A file of a case; NULL where there is none. */
static char *text_of(struct jr_arena *arena, const char *name, const char *file)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_io_read_file(&text, AT_FDCWD, path_of(arena, name, file), 1 << 16, NULL) != 0)
        return NULL;
    return jr_arena_strndup(arena, text.data, text.len);
}

static char **environment(struct jr_arena *arena, const char *name)
{
    struct jr_strv env = {0};
    char *text = text_of(arena, name, "env");
    for (char *line; (line = strsep(&text, "\n")) != NULL;)
        if (*line != '\0')
            jr_strv_push(&env, arena, line);
    return env.items;
}

/* The scheduler's part of the facts, without what is not known. */
static void add_facts(struct jr_buf *out, const struct jr_host *hw)
{
    JR_BUF_CLEANUP struct jr_buf facts = JR_BUF_INIT;
    jr_profile_emit(&facts, hw);
    char *text = strstr(facts.data, "\nscheduler:\n");
    char *end = text == NULL ? NULL : strstr(text + 1, "\nenvironment:");
    if (end == NULL) {
        jr_buf_str(out, "no scheduler\n");
        return;
    }
    *end = '\0';
    text++;
    for (char *line; (line = strsep(&text, "\n")) != NULL;)
        if (strstr(line, ": null") == NULL)
            jr_buf_printf(out, "%s\n", line);
}

static void add_rows(struct jr_buf *out, const struct jr_resolution *resolution)
{
    for (size_t i = 0; i < resolution->provenance_count; i++) {
        const struct jr_provenance *row = &resolution->provenance[i];
        bool placed = row->origin == JR_ORIGIN_SCHEDULER || strcmp(row->field, "world_size") == 0 ||
                      strcmp(row->field, "nodes") == 0 || strcmp(row->field, "node_rank") == 0;
        if (placed)
            jr_buf_printf(out, "%s %s (%s%s)\n", row->field, row->value,
                          row->detail != NULL ? row->detail : "",
                          row->detail == NULL && row->rule != NULL ? row->rule : "");
    }
}

/* What the run will obey, where the scheduler could have changed it. */
static void add_bounds(struct jr_buf *out, const struct scene *scene)
{
    const struct jr_policy *policy = scene->resolution.job.policy;
    if (policy == NULL || scene->hw.scheduler.kill_wait == 0)
        return;
    jr_buf_printf(out, "obeyed: run %llu ms, stop_grace %llu ms\n",
                  (unsigned long long)policy->timeouts.run_ms,
                  (unsigned long long)policy->timeouts.stop_grace_ms);
}

static void add_case(struct jr_buf *out, struct jr_arena *arena, const char *name)
{
    struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
    const struct jr_resolve_options options = {0};
    const char *spec = text_of(arena, name, "spec");
    char root[512];
    (void)snprintf(root, sizeof root, SCHEDULERS "/%s", name);
    CU_ASSERT_EQUAL(jr_host_probe(&scene.hw, &scene.arena, root, environment(arena, name), NULL),
                    0);
    add_facts(out, &scene.hw);
    scene_load(&scene, spec == NULL ? "" : spec);
    scene.status = jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags);
    jr_buf_printf(out, "--- exit status %d\n", (int)scene.status);
    add_rows(out, &scene.resolution);
    add_bounds(out, &scene);
    jr_buf_str(out, scene_told(&scene));
}

static void write_expected(const char *path, const struct jr_buf *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text->data, text->len, 1, file), 1);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void check(const char *name)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf got = JR_BUF_INIT;
    add_case(&got, &arena, name);
    if (getenv("UPDATE") != NULL)
        write_expected(path_of(&arena, name, "expected.txt"), &got);
    const char *expected = text_of(&arena, name, "expected.txt");
    if (expected == NULL || strcmp(got.data, expected) != 0)
        printf("\n    of scheduler %s", name);
    JR_ASSERT_TEXT(got.data, expected == NULL ? "no file" : expected);
}

static int is_case(const struct dirent *entry)
{
    return strchr(entry->d_name, '.') == NULL;
}

TEST(holds_every_case)
{
    struct dirent **entries;
    int count = scandir(SCHEDULERS, &entries, is_case, alphasort);
    CU_ASSERT_EQUAL_FATAL(count, SCHEDULERS_COUNT);
    for (int i = 0; i < count; i++) {
        check(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}
