#include "base/near_file.h"

#include <stdio.h>

#include "scratch.h"
#include "unit.h"

static void finds_the_file_that_was_meant(void)
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
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        scratch_write(&scratch, files[i], "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char typed[128], meant[128];
        struct jr_buf found JR_BUF_CLEANUP = JR_BUF_INIT;
        (void)snprintf(typed, sizeof typed, "%s/%s", scratch.dir,
                       rows[i].typed);
        (void)snprintf(meant, sizeof meant, "%s/%s", scratch.dir,
                       rows[i].meant == NULL ? "" : rows[i].meant);
        bool any = jr_near_file_find(&found, typed);
        CU_ASSERT_EQUAL(any, rows[i].meant != NULL);
        JR_ASSERT_TEXT(any ? found.data : meant, meant);
    }
    scratch_end(&scratch);
}

static void tells_names_of_yaml_files(void)
{
    static const char *const yes[] = {"a.yaml", "b/a.yml", "a.jobrun.yml"};
    static const char *const no[] = {"", "a", ".yaml", "yaml", "a.yaml.gz"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        CU_ASSERT_TRUE(jr_near_file_is_yaml(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        CU_ASSERT_FALSE(jr_near_file_is_yaml(no[i]));
}

JR_UNIT_MAIN("base.near_file", CASE(finds_the_file_that_was_meant),
             CASE(tells_names_of_yaml_files))
