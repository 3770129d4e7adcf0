#include "render/render.h"

#include "unit.h"

TEST(writes_words_as_shells_and_sbatch_read_them)
{
    static const char *const vectors[][2] = {
        {"", "''"},
        {"a b", "'a b'"},
        {"it's", "it\\'s"},
        {"a\\b", "a\\\\b"},
        {"'\\' #", "\\'\\\\\\'\\ \\#"},
        {"$HOME `id` $(id)", "'$HOME `id` $(id)'"},
        {"\"", "'\"'"},
        {"#", "'#'"},
        {"~", "'~'"},
        {"*", "'*'"},
        {"a\tb", "'a\tb'"},
        {"a\nb", "'a\nb'"},
        {"it's\n", "'it'\\''s\n'"},
        {"caf\xc3\xa9", "'caf\xc3\xa9'"},
        {"caf\xc3\xa9's", "caf\xc3\xa9\\'s"},
        {"--gres=gpu:a100:8", "--gres=gpu:a100:8"},
        {"a_B-9./,%+@", "a_B-9./,%+@"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_engine_word(&out, vectors[i][0]);
        JR_ASSERT_TEXT(out.data, vectors[i][1]);
    }
}

TEST(finds_engines)
{
    CU_ASSERT_EQUAL(jr_engine_find(""), JR_ENGINE_COUNT);
    CU_ASSERT_EQUAL(jr_engine_find("Slurm"), JR_ENGINE_COUNT);
    CU_ASSERT_EQUAL(jr_engine_find("slurm"), JR_ENGINE_SLURM);
    CU_ASSERT_EQUAL(jr_engine_find("kubernetes"), JR_ENGINE_KUBERNETES);
    CU_ASSERT_EQUAL(jr_engine_find("mpi"), JR_ENGINE_MPI);
}
