#include "base/did_you_mean.h"

#include "scratch.h"

/* What is typed, and what that finds, "typed>found": below a folder with files. */
static void check_files(const char *files, const char *rows,
                        bool (*find)(struct jr_buf *ret, const char *base, const char *typed))
{
    SCRATCH(scratch);
    scratch_tree(&scratch, files);
    EACH_PART(row, rows) {
        struct jr_buf found JR_BUF_CLEANUP = JR_BUF_INIT;
        char *meant = strchr(row, '>');
        *meant++ = '\0';
        bool any = find(&found, scratch.dir, row);
        CU_ASSERT_EQUAL(any, *meant != '\0');
        JR_ASSERT_TEXT(any ? found.data : "", meant);
    }
}

/* As a path below the folder. */
static bool find_spec(struct jr_buf *ret, const char *base, const char *typed)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", base, typed);
    if (!jr_near_file_find(ret, path))
        return false;
    CU_ASSERT_EQUAL(strncmp(ret->data, base, strlen(base)), 0);
    memmove(ret->data, ret->data + strlen(base) + 1, strlen(ret->data) - strlen(base));
    return true;
}

TEST(finds_the_file_that_was_meant)
{
    check_files("train.jobrun.yaml|abc.yaml|short.yml|a.yaml|notes.txt|other.jobrun.yml|"
                "train2.yaml|longer.yaml",
                /* without the end of its name, or with another */
                "train>train.jobrun.yaml|short>short.yml|train.yaml>train.jobrun.yaml|"
                "other.yaml>other.jobrun.yml|a.yml>a.yaml|"
                /* misspelt */
                "trian.jobrun.yaml>train.jobrun.yaml|shrt>short.yml|abd.yaml>abc.yaml|"
                "longre.yml>longer.yaml|"
                /* nothing like them */
                "b.yaml>|evaluate.yaml>|notes>|notse.txt>|>|no-such-folder/train>",
                find_spec);
}

static bool find_program(struct jr_buf *ret, const char *base, const char *typed)
{
    const char *colon = strchr(typed, ':');
    return colon == NULL ? jr_near_file_any(ret, base, typed)
                         : jr_near_program(ret, base, colon[1] == '-' ? NULL : colon + 1,
                                           strncmp(typed, "eva", 3) == 0 ? "evaluate" : "pyhton3");
}

TEST(finds_the_program_that_was_meant)
{
    check_files("train|bin/python3|sbin/pyhon",
                "./trian>./train|bin/pyhton3>bin/python3|trian>train|./train>|./bni>|no/trian>|"
                "./evaluate>|"
                /* in the folders of a search path */
                "pyhton3:sbin:none:bin>python3|evaluate:bin>|pyhton3:>|pyhton3:->",
                find_program);
}

TEST(finds_the_only_spec)
{
    SCRATCH(scratch);
    struct jr_buf found JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[128], spec[128];
    CU_ASSERT_FALSE(jr_near_file_only(&found, scratch.dir));
    scratch_tree(&scratch, "notes.yaml|train.jobrun.yaml");
    (void)snprintf(folder, sizeof folder, "%s/", scratch.dir);
    (void)snprintf(spec, sizeof spec, "%s/train.jobrun.yaml", scratch.dir);
    CU_ASSERT_TRUE_FATAL(jr_near_file_only(&found, scratch.dir));
    JR_ASSERT_TEXT(found.data, spec);
    CU_ASSERT_TRUE_FATAL(jr_near_file_only(&found, folder));
    JR_ASSERT_TEXT(found.data, spec);
    CU_ASSERT_FALSE(jr_near_file_only(&found, spec));
    scratch_write(&scratch, "b.jobrun.yml", "");
    CU_ASSERT_FALSE(jr_near_file_only(&found, scratch.dir));
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
    /* of a tie the first */
    EACH_PART(row, ">|banana>|gpus>|evn>env|nods>nodes|node>nodes|Nodes>nodes|noodles>nodes|"
                   "paralelism>parallelism|wordl_size>world_size|want>want|waxt>wait") {
        char *nearest = strchr(row, '>');
        *nearest++ = '\0';
        const char *found = jr_did_you_mean(row, names);
        JR_ASSERT_TEXT(found == NULL ? "" : found, nearest);
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
