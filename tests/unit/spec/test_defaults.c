/* What is taken to be said where a spec, or nobody, says it. */
#include "case.h"
#include "spec/defaults.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void names_a_job_after_its_file(void)
{
    static const char *const rows[][2] = {
        {"", "job"},
        {"/", "job"},
        {".yaml", "xyaml"},
        {".jobrun.yaml", "xjobrun"},
        {"dir/.yml", "xyml"},
        {"train.yaml", "train"},
        {"train.yml", "train"},
        {"train.jobrun.yaml", "train"},
        {"train.jobrun.yml", "train"},
        {"train.jobrun", "train"},
        {"train.json", "train.json"},
        {"train.yaml.bak", "train.yaml.bak"},
        {"train.yml.yaml", "train"},
        {"train.yaml.yml", "train.yaml"},
        {"a/b.c/train.v2.yaml", "train.v2"},
        {"/abs/olute", "olute"},
        {"dir/", "job"},
        /* stand-ins for what no name may hold */
        {"my job.yaml", "my-job"},
        {"a+b,c.yaml", "a-b-c"},
        {"_x.yaml", "xx"},
        {"-x", "xx"},
        {".hidden", "xhidden"},
        {"a.b_c-d.yaml", "a.b_c-d"},
        {"9a", "9a"},
        {"\xc3\xa9t\xc3\xa9.yaml", "x-t--"},
        {"a\nb", "a-b"},
        /* at most 63 bytes */
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123.yaml",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        JR_ASSERT_TEXT(jr_spec_stem(&arena, rows[i][0]), rows[i][1]);
        jr_arena_release(&arena);
    }
}

static void writes_the_spec_of_a_command(void)
{
    static const struct {
        uint32_t ranks;
        const char *words[5], *expected;
    } rows[] = {
        {0, {"./train"}, "version: 1\nname: train\nentrypoint: [./train]\n"},
        {4,
         {"/bin/echo", "a b", "", "5"},
         "version: 1\nname: echo\nentrypoint: [/bin/echo, a b, \"\", \"5\"]\n"
         "world_size: 4\n"},
        /* words that a reader of specs would fill in are kept from it */
        {1,
         {"a", "${vars.x}", "%{rank}", "$$", "%%"},
         "version: 1\nname: a\nentrypoint: [a, \"$${vars.x}\", \"%{rank}\", "
         "$$, "
         "\"%%\"]\nworld_size: 1\n"},
        {4294967295u,
         {"sh", "-c", "exit 1"},
         "version: 1\nname: sh\nentrypoint: [sh, -c, exit 1]\n"
         "world_size: 4294967295\n"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        char *argv[LENGTH(rows[i].words) + 1] = {NULL};
        for (size_t k = 0; k < 5 && rows[i].words[k] != NULL; k++)
            argv[k] = jr_arena_strdup(&arena, rows[i].words[k]);
        jr_spec_write_command(&out, &arena, rows[i].ranks, argv);
        JR_ASSERT_TEXT(out.data, rows[i].expected);
        jr_arena_release(&arena);
    }
}

JR_UNIT_MAIN("spec.defaults", CASE(names_a_job_after_its_file),
             CASE(writes_the_spec_of_a_command))
