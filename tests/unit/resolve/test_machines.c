/*
 * Specs on machines: what every spec of the table comes to on every machine of tests/machines, held
 * against tests/machines/resolved.txt. UPDATE=1 in the environment writes that file.
 */
#include <dirent.h>
#include <fcntl.h>

#include "base/io.h"
#include "case.h"

#define MACHINES TEST_SOURCE_DIR "/machines"
#define GOLDEN   MACHINES "/resolved.txt"

enum { MACHINES_COUNT = 73 };

static const char *const specs[] = {
    "",
    "device: cpu\n",
    "device: cuda\n",
    "world_size: 8\n",
    "parallelism: {model: 4}\n",
    "parallelism: {pipeline: 2, data: 3}\nthreads: 3\n",
    "nodes: 2\nlocal_world_size: 4\n",
    "local_world_size: [3, 1]\nbackends: gloo\n",
    "devices: [1, 0]\n",
    "backends: nccl\n",
    "local_world_size: 16\noversubscribe: true\n",
    "device: cpu\nlocal_world_size: 3\nbind: core\n",
};

/* A recorded machine is a folder with its facts in it, another one a file. */
static const char *facts_of(struct jr_arena *arena, const char *name)
{
    bool file = strchr(name, '.') != NULL;
    return jr_arena_printf(arena, MACHINES "/%s%s", name, file ? "" : "/expected.yaml");
}

static int is_machine(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot == NULL || (dot != entry->d_name && strcmp(dot, ".yaml") == 0);
}

static void add_codes(struct jr_buf *out, const struct jr_diags *diags)
{
    for (size_t i = 0; i < diags->count; i++)
        jr_buf_printf(out, "  %s", diags->items[i].code);
    jr_buf_char(out, '\n');
}

static void add_job(struct jr_buf *out, const struct jr_job *job)
{
    uint32_t sum = 0, mesh = 1;
    for (uint32_t node = 0; node < job->nodes; node++)
        sum += job->local_world_sizes[node];
    for (unsigned axis = 0; axis < JR_AXIS_COUNT; axis++)
        mesh *= job->axis_size[axis];
    CU_ASSERT_EQUAL(sum, job->world_size);
    CU_ASSERT_EQUAL(mesh, job->world_size);
    CU_ASSERT_TRUE(job->own.threads >= 1);
    jr_buf_printf(out, "%5u = %2u x %-4u  %-4s  %-4s  %3u threads", job->world_size, job->nodes,
                  job->local_world_sizes[0], job->device_name, job->backend, job->own.threads);
}

/* One line: the machine, and the job or why there is none. */
static void add_line(struct jr_buf *out, const char *spec, const char *machine)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct facts facts = {.recorded = facts_of(&arena, machine)};
    SCENE(scene, spec, &facts);
    jr_buf_printf(out, "%-20.*s", (int)strcspn(machine, "."), machine);
    if (scene.status == JR_STATUS_OK)
        add_job(out, &scene.resolution.job);
    add_codes(out, &scene.diags);
    CU_ASSERT_EQUAL(scene.status == JR_STATUS_OK, scene.diags.errors == 0);
}

static void resolve_all(struct jr_buf *out)
{
    struct dirent **entries;
    int count = scandir(MACHINES, &entries, is_machine, alphasort);
    CU_ASSERT_EQUAL(count, MACHINES_COUNT);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        jr_buf_printf(out, "%s--- %s", i == 0 ? "" : "\n",
                      specs[i][0] == '\0' ? "nothing stated\n" : specs[i]);
        for (int j = 0; j < count; j++)
            add_line(out, specs[i], entries[j]->d_name);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* Both texts line by line, so that a failure shows what has changed. */
static void compare(char *got, char *expected)
{
    char *line, *other;
    do {
        line = strsep(&got, "\n");
        other = strsep(&expected, "\n");
        JR_ASSERT_TEXT(line == NULL ? "" : line, other == NULL ? "" : other);
    } while (line != NULL || other != NULL);
}

static void write_golden(const struct jr_buf *text)
{
    FILE *file = fopen(GOLDEN, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text->data, text->len, 1, file), 1);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

TEST(holds_the_table)
{
    struct jr_buf JR_BUF_CLEANUP got = JR_BUF_INIT, expected = JR_BUF_INIT;
    resolve_all(&got);
    if (getenv("UPDATE") != NULL)
        write_golden(&got);
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&expected, AT_FDCWD, GOLDEN, 1 << 20, NULL), 0);
    compare(got.data, expected.data);
}
