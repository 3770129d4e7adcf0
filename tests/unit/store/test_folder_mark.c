/* Marks in run folders: they say which folder it is, and nothing else is one.
 */
#include "store/folder_mark.h"

#include "scratch.h"

static struct jr_run_folder folder_of(const struct scratch *scratch)
{
    return (struct jr_run_folder){.fd = scratch->fd, .file_mode = 0600};
}

static void tells_folders_apart(void)
{
    struct scratch one, other;
    struct jr_error err = {0};
    char token[JR_TOKEN_SIZE] = "", second[JR_TOKEN_SIZE] = "";
    scratch_start(&one);
    scratch_start(&other);
    const struct jr_run_folder here = folder_of(&one);
    const struct jr_run_folder there = folder_of(&other);
    CU_ASSERT_EQUAL(jr_folder_mark_make(&here, token, &err), 0);
    CU_ASSERT_EQUAL(jr_folder_mark_make(&here, second, &err), 0);
    CU_ASSERT_EQUAL(strlen(token), 32);
    CU_ASSERT_NOT_EQUAL(strcmp(token, second), 0);
    CU_ASSERT_TRUE(jr_folder_mark_is(&here, token));
    CU_ASSERT_FALSE(jr_folder_mark_is(&there, token));
    jr_folder_mark_remove(&here, token);
    CU_ASSERT_FALSE(jr_folder_mark_is(&here, token));
    CU_ASSERT_TRUE(jr_folder_mark_is(&here, second));
    jr_folder_mark_remove(&here, second);
    jr_folder_mark_remove(&here, second);
    CU_ASSERT_EQUAL(rmdir(one.dir), 0); /* nothing is left in it */
    CU_ASSERT_EQUAL(mkdir(one.dir, 0700), 0);
    scratch_end(&one);
    scratch_end(&other);
}

static void takes_no_other_word_for_a_token(void)
{
    static const char *const words[] = {
        "",
        "0",
        "../../../../etc/passwd",
        "0123456789abcdef0123456789abcde/",
        "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123456789ABCDEF",
    };
    struct scratch scratch;
    scratch_start(&scratch);
    const struct jr_run_folder here = folder_of(&scratch);
    scratch_write(&scratch, ".mark-", "");
    scratch_write(&scratch, ".mark-0", "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        jr_folder_mark_remove(&here, words[i]);
        CU_ASSERT_FALSE(jr_folder_mark_is(&here, words[i]));
    }
    CU_ASSERT_EQUAL(faccessat(scratch.fd, ".mark-", F_OK, 0), 0);
    CU_ASSERT_EQUAL(faccessat(scratch.fd, ".mark-0", F_OK, 0), 0);
    scratch_end(&scratch);
}

static void says_where_it_cannot_be_made(void)
{
    struct jr_error err = {0};
    char token[JR_TOKEN_SIZE] = "as it was";
    const struct jr_run_folder none = {.fd = -1, .file_mode = 0600};
    CU_ASSERT_EQUAL(jr_folder_mark_make(&none, token, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the run folder's .mark-"));
    JR_ASSERT_TEXT(token, "as it was");
}

JR_UNIT_MAIN("folder_mark", CASE(tells_folders_apart), CASE(takes_no_other_word_for_a_token),
             CASE(says_where_it_cannot_be_made))
