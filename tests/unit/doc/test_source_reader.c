/* Files below a root. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doc/source_reader.h"
#include "unit.h"

TEST(names_files)
{
    static const struct {
        const char *from, *path, *name;
    } vectors[] = {{"a.yaml", "b.yaml", "b.yaml"},
                   {"jobs/a.yaml", "b.yaml", "jobs/b.yaml"},
                   {"jobs/a.yaml", "../b.yaml", "b.yaml"},
                   {"jobs/a.yaml", "../../b.yaml", "../b.yaml"},
                   {"../jobs/a.yaml", "../b.yaml", "../b.yaml"},
                   {"../jobs/a.yaml", "../../b.yaml", "../../b.yaml"},
                   {"./a.yaml", "./x/.././b.yaml", "b.yaml"},
                   {"/srv/jobs/a.yaml", "../b.yaml", "/srv/b.yaml"},
                   {"/a.yaml", "../../b.yaml", "/b.yaml"},
                   {"/a.yaml", "b.yaml", "/b.yaml"},
                   {"jobs/a.yaml", "/etc//x/../b.yaml", "/etc/b.yaml"},
                   {"stdin", "x/b.yaml", "x/b.yaml"},
                   {"jobs//a.yaml", "sub//b.yaml", "jobs/sub/b.yaml"}};
    struct jr_arena arena = JR_ARENA_INIT;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        JR_ASSERT_TEXT(jr_reader_name(&arena, vectors[i].from, vectors[i].path), vectors[i].name);
    jr_arena_release(&arena);
}

/* ROOT/in/{a.yaml,dir,fifo,link,out,loop}, ROOT/secret */
struct place {
    char top[PATH_MAX], root[PATH_MAX + 8];
};

static void make_file(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_TRUE(fputs("k: v\n", stream) >= 0 && fclose(stream) == 0);
}

static void make_link(const char *folder, const char *name, const char *to)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(symlink(to, path), 0);
}

static void make_place(struct place *place)
{
    char name[] = "/tmp/jobrun-reader-XXXXXX", path[PATH_MAX + 64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(name));
    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(name, place->top));
    (void)snprintf(place->root, sizeof place->root, "%s/in", place->top);
    CU_ASSERT_EQUAL_FATAL(mkdir(place->root, 0700), 0);
    make_file(place->top, "secret");
    make_file(place->root, "a.yaml");
    (void)snprintf(path, sizeof path, "%s/dir", place->root);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/fifo", place->root);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    make_link(place->root, "link", "a.yaml");
    make_link(place->root, "out", "../secret");
    make_link(place->root, "updir", "..");
    make_link(place->root, "loop", "loop");
}

static void remove_place(const struct place *place)
{
    static const char *const names[] = {"in/a.yaml", "in/fifo", "in/link", "in/out",
                                        "in/updir",  "in/loop", "secret"};
    char path[PATH_MAX + 64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", place->top, names[i]);
        CU_ASSERT_EQUAL(unlink(path), 0);
    }
    (void)snprintf(path, sizeof path, "%s/dir", place->root);
    CU_ASSERT_EQUAL(rmdir(path), 0);
    CU_ASSERT_EQUAL(rmdir(place->root), 0);
    CU_ASSERT_EQUAL(rmdir(place->top), 0);
}

enum answer { READ, OUTSIDE, FAILED };

static enum answer ask(const struct place *place, const char *path, struct jr_arena *arena,
                       struct jr_reading *reading)
{
    const struct jr_reader reader = jr_reader_of_files(place->root);
    const struct jr_file from = {.name = "jobs/top", .folder = place->root};
    struct jr_error err = {0};
    *reading = (struct jr_reading){.path = path, .from = &from, .arena = arena};
    int failed = reader.read(&reader, reading, &err);
    jr_buf_release(&reading->text);
    CU_ASSERT_EQUAL(failed != 0, err.text[0] != '\0');
    CU_ASSERT_PTR_NULL(strstr(err.text, path));
    return !failed ? READ : reading->outside ? OUTSIDE : FAILED;
}

TEST(stays_below)
{
    static const struct {
        const char *path;
        enum answer answer;
    } vectors[] = {{"a.yaml", READ},
                   {"./dir/../a.yaml", READ},
                   {"link", READ},
                   {"out", OUTSIDE},
                   {"../secret", OUTSIDE},
                   {"../none", OUTSIDE},
                   {"/etc/passwd", OUTSIDE},
                   {"/no/such", OUTSIDE},
                   {"updir/secret", OUTSIDE},
                   {"updir/in/a.yaml", READ},
                   {"dir/../../secret", OUTSIDE},
                   {"none", FAILED},
                   {"dir", FAILED},
                   {"fifo", FAILED},
                   {"loop", FAILED},
                   {"a.yaml/x", FAILED},
                   {"..", OUTSIDE},
                   {".", OUTSIDE}};
    struct place place;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_reading reading, other;
    make_place(&place);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        enum answer got = ask(&place, vectors[i].path, &arena, &reading);
        if (got != vectors[i].answer)
            printf("\n  %s: %d", vectors[i].path, (int)got);
        CU_ASSERT_EQUAL(got, vectors[i].answer);
    }
    CU_ASSERT_EQUAL(ask(&place, "dir/../a.yaml", &arena, &reading), READ);
    CU_ASSERT_EQUAL(ask(&place, "link", &arena, &other), READ);
    JR_ASSERT_TEXT(other.file.id, reading.file.id);
    JR_ASSERT_TEXT(reading.file.name, "jobs/a.yaml");
    JR_ASSERT_TEXT(other.file.name, "jobs/link");
    JR_ASSERT_TEXT(reading.file.folder, place.root);
    jr_arena_release(&arena);
    remove_place(&place);
}
