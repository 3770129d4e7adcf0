#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/did_you_mean.h"

#include "scratch.h"
#include "unit.h"

TEST(finds_the_file_that_was_meant)
{
    static const char *const files[] = {
        "train.jobrun.yaml", "abc.yaml",         "short.yml",   "a.yaml",
        "notes.txt",         "other.jobrun.yml", "train2.yaml", "longer.yaml"};
    static const struct {
        const char *typed, *meant;
    } rows[] = {
        /* without the end of its name, or with another */
        {"train", "train.jobrun.yaml"},
        {"short", "short.yml"},
        {"train.yaml", "train.jobrun.yaml"},
        {"other.yaml", "other.jobrun.yml"},
        {"a.yml", "a.yaml"},
        /* misspelt */
        {"trian.jobrun.yaml", "train.jobrun.yaml"},
        {"shrt", "short.yml"},
        {"abd.yaml", "abc.yaml"},
        {"longre.yml", "longer.yaml"},
        /* nothing like them */
        {"b.yaml", NULL},
        {"evaluate.yaml", NULL},
        {"notes", NULL},
        {"notse.txt", NULL},
        {"", NULL},
        {"no-such-folder/train", NULL},
    };
    struct scratch scratch;
    scratch_start(&scratch);
    JR_EACH(row, files)
        scratch_write(&scratch, *row, "");
    JR_EACH(row, rows) {
        char typed[128], meant[128];
        struct jr_buf found JR_BUF_CLEANUP = JR_BUF_INIT;
        (void)snprintf(typed, sizeof typed, "%s/%s", scratch.dir, row->typed);
        (void)snprintf(meant, sizeof meant, "%s/%s", scratch.dir,
                       row->meant == NULL ? "" : row->meant);
        bool any = jr_near_file_find(&found, typed);
        CU_ASSERT_EQUAL(any, row->meant != NULL);
        JR_ASSERT_TEXT(any ? found.data : meant, meant);
    }
    scratch_end(&scratch);
}

TEST(finds_the_program_that_was_meant)
{
    static const struct {
        const char *typed, *meant; /* below the scratch folder */
    } rows[] = {
        {"./trian", "./train"}, {"bin/pyhton3", "bin/python3"},
        {"trian", "train"},     {"./train", NULL},
        {"./bni", NULL}, /* a folder */
        {"no/trian", NULL},     {"./evaluate", NULL},
    };
    struct scratch scratch;
    struct jr_buf found JR_BUF_CLEANUP = JR_BUF_INIT;
    scratch_start(&scratch);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch.fd, "bin", 0700), 0);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch.fd, "sbin", 0700), 0);
    scratch_write(&scratch, "train", "");
    scratch_write(&scratch, "bin/python3", "");
    scratch_write(&scratch, "sbin/pyhon", "");
    JR_EACH(row, rows) {
        bool any = jr_near_file_any(&found, scratch.dir, row->typed);
        CU_ASSERT_EQUAL(any, row->meant != NULL);
        JR_ASSERT_TEXT(any ? found.data : "", row->meant == NULL ? "" : row->meant);
    }
    CU_ASSERT_TRUE_FATAL(jr_near_program(&found, scratch.dir, "sbin:none:bin", "pyhton3"));
    JR_ASSERT_TEXT(found.data, "python3");
    CU_ASSERT_FALSE(jr_near_program(&found, scratch.dir, "bin", "evaluate"));
    CU_ASSERT_FALSE(jr_near_program(&found, scratch.dir, "", "pyhton3"));
    CU_ASSERT_FALSE(jr_near_program(&found, scratch.dir, NULL, "pyhton3"));
    scratch_end(&scratch);
}

TEST(finds_the_only_spec)
{
    struct scratch scratch;
    struct jr_buf found JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[128], spec[128];
    scratch_start(&scratch);
    CU_ASSERT_FALSE(jr_near_file_only(&found, scratch.dir));
    scratch_write(&scratch, "notes.yaml", "");
    scratch_write(&scratch, "train.jobrun.yaml", "");
    (void)snprintf(folder, sizeof folder, "%s/", scratch.dir);
    (void)snprintf(spec, sizeof spec, "%s/train.jobrun.yaml", scratch.dir);
    CU_ASSERT_TRUE_FATAL(jr_near_file_only(&found, scratch.dir));
    JR_ASSERT_TEXT(found.data, spec);
    CU_ASSERT_TRUE_FATAL(jr_near_file_only(&found, folder));
    JR_ASSERT_TEXT(found.data, spec);
    CU_ASSERT_FALSE(jr_near_file_only(&found, spec));
    scratch_write(&scratch, "b.jobrun.yml", "");
    CU_ASSERT_FALSE(jr_near_file_only(&found, scratch.dir));
    scratch_end(&scratch);
}

TEST(tells_names_of_yaml_files)
{
    const char *yes = "a.yaml|b/a.yml|a.jobrun.yml", *no = "|a|.yaml|yaml|a.yaml.gz";
    EACH_PART(name, yes)
        CU_ASSERT_TRUE(jr_near_file_is_yaml(name));
    EACH_PART(name, no)
        CU_ASSERT_FALSE(jr_near_file_is_yaml(name));
}

TEST(counts_edits)
{
    static const struct {
        const char *a, *b;
        unsigned edits;
    } vectors[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"nodes", "nodes", 0},
        {"node", "nodes", 1},   /* insert */
        {"nodess", "nodes", 1}, /* delete */
        {"nodez", "nodes", 1},  /* replace */
        {"ndoes", "nodes", 1},  /* transpose */
        {"paralelism", "parallelism", 1},
        {"ca", "abc", 3}, /* restricted: no edit between swapped */
        {"kitten", "sitting", 3},
        {"world_size", "word_sise", 2},
    };
    JR_EACH(row, vectors) {
        CU_ASSERT_EQUAL(jr_edit_distance(row->a, row->b, 9), row->edits);
        CU_ASSERT_EQUAL(jr_edit_distance(row->b, row->a, 9), row->edits);
    }
}

TEST(caps_edits)
{
    char word[200];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    CU_ASSERT_EQUAL(jr_edit_distance("abcdef", "uvwxyz", 2), 3);
    CU_ASSERT_EQUAL(jr_edit_distance(word, word, 2), 3);
    CU_ASSERT_EQUAL(jr_edit_distance("a", word, 0), 1);
    word[63] = '\0';
    CU_ASSERT_EQUAL(jr_edit_distance(word, word, 2), 0);
}

TEST(finds_the_nearest)
{
    static const char *const names[] = {"env",        "name", "nodes", "model", "parallelism",
                                        "world_size", "wait", "want",  NULL};
    static const struct {
        const char *word, *nearest;
    } vectors[] = {
        {"", NULL},
        {"banana", NULL},
        {"gpus", NULL},
        {"evn", "env"},
        {"nods", "nodes"},
        {"node", "nodes"},
        {"Nodes", "nodes"},
        {"noodles", "nodes"},
        {"paralelism", "parallelism"},
        {"wordl_size", "world_size"},
        {"want", "want"},
        {"waxt", "wait"}, /* a tie: the first */
    };
    JR_EACH(row, vectors) {
        const char *nearest = jr_did_you_mean(row->word, names);
        if (row->nearest == NULL)
            CU_ASSERT_PTR_NULL(nearest)
        else
            JR_ASSERT_TEXT(nearest, row->nearest);
    }
}

TEST(takes_a_beginning_for_the_whole)
{
    static const char *const names[] = {"succeeded", "failed", "fuse", NULL};
    JR_ASSERT_TEXT(jr_did_you_mean_longer("fail", names), "failed");
    JR_ASSERT_TEXT(jr_did_you_mean_longer("succ", names), "succeeded");
    JR_ASSERT_TEXT(jr_did_you_mean_longer("fusc", names), "fuse");
    for (int i = 0; i < 3; i++)
        CU_ASSERT_PTR_NULL(
            jr_did_you_mean_longer((const char *[]){"su", "", "failedly-so"}[i], names));
}

TEST(doubts_where_two_are_near)
{
    static const char *const names[] = {"nccl",       "rccl",  "cncl",       "node_rank",
                                        "model_rank", "nodes", "world_size", NULL};
    static const struct {
        const char *word;
        bool sure;
    } vectors[] = {
        {"", false},          {"toaster", false},   {"ncl", false}, {"ccl", false},
        {"mode_rank", false}, {"node-rank", true},  {"nvcl", true}, {"nodse", true},
        {"wrold_size", true}, {"world_size", true},
    };
    JR_EACH(row, vectors)
        CU_ASSERT_EQUAL(jr_did_you_mean_near(row->word, names), row->sure);
}
