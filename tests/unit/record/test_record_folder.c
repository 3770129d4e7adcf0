/* Whose word a run folder is. Owners other than ours need root: those vectors
 * are left out for other users. */
#include "record/record_folder.h"

#include "scratch.h"

enum { BOB = 64123 }; /* a user without a name */

/* A run in a log_dir, with its two files. */
struct place {
    struct scratch scratch;
    int run_fd;
};

static void place_start(struct place *place)
{
    scratch_start(&place->scratch);
    CU_ASSERT_EQUAL(fchmod(place->scratch.fd, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(mkdirat(place->scratch.fd, "run", 0700), 0);
    place->run_fd = openat(place->scratch.fd, "run", O_RDONLY | O_DIRECTORY);
    scratch_write(&place->scratch, "run/run.json", "{}");
    scratch_write(&place->scratch, "run/resolved.yaml", "{}");
}

static void place_end(struct place *place)
{
    (void)close(place->run_fd);
    scratch_end(&place->scratch);
}

static void change(const struct place *place, const char *name, mode_t mode,
                   uid_t owner)
{
    if (owner != 0)
        CU_ASSERT_EQUAL(fchownat(place->scratch.fd, name, owner, owner, 0), 0);
    if (mode != 0)
        CU_ASSERT_EQUAL(fchmodat(place->scratch.fd, name, mode, 0), 0);
}

/* What is bent: the log_dir ".", the folder "run" or a file in it. A `mode` or
 * an `owner` of 0 stays as it is. */
struct vector {
    const char *name;
    mode_t mode;
    uid_t owner;
    const char *expected; /* "ours", or why it is not */
};

static void check(const struct vector *vector)
{
    struct place place;
    struct jr_buf text = JR_BUF_INIT;
    if (vector->owner != 0 && geteuid() != 0)
        return;
    place_start(&place);
    change(&place, vector->name, vector->mode, vector->owner);
    struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
    if (jr_trust_is_ours(&trust))
        jr_buf_str(&text, "ours");
    else
        jr_trust_explain(&text, &trust);
    JR_ASSERT_TEXT(text.data, vector->expected);
    jr_buf_release(&text);
    place_end(&place);
}

static void what_others_may_change_is_not_ours(void)
{
    static const struct vector vectors[] = {
        {"run", 0707, 0, "is a folder that everybody may write to"},
        {"run", 01777, 0, "is a folder that everybody may write to"},
        {".", 0777, 0, "lies in a log_dir that everybody may write to"},
        {".", 0702, 0, "lies in a log_dir that everybody may write to"},
        {"run/run.json", 0606, 0, "has a run.json that everybody may write to"},
        {"run/resolved.yaml", 0602, 0,
         "has a resolved.yaml that everybody may write to"},
        {"run", 0, BOB, "belongs to user 64123, not to you"},
        {"run", 0777, BOB, "belongs to user 64123, not to you"},
        {".", 0, BOB,
         "lies in a log_dir that belongs to user 64123, not to you"},
        {".", 01777, BOB,
         "lies in a log_dir that belongs to user 64123, not to you"},
        {"run/run.json", 0, BOB,
         "has a run.json that belongs to user 64123, not to you"},
        {"run/resolved.yaml", 0, BOB,
         "has a resolved.yaml that belongs to user 64123, not to you"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i]);
}

static void what_only_we_and_the_group_may_change_is_ours(void)
{
    static const struct vector vectors[] = {
        {"run", 0700, 0, "ours"},
        {"run", 0775, 0, "ours"},
        {"run", 02770, 0, "ours"},
        {".", 01777, 0, "ours"},
        {".", 0770, 0, "ours"},
        {"run/run.json", 0664, 0, "ours"},
        {"run/run.json", 0400, 0, "ours"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i]);
}

/* A file that is not there says nothing, and a link's own mode means nothing:
 * readers follow none. */
static void files_that_are_not_there_are_not_judged(void)
{
    struct place place;
    place_start(&place);
    CU_ASSERT_EQUAL(unlinkat(place.run_fd, "run.json", 0), 0);
    struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_TRUE(jr_trust_is_ours(&trust));
    CU_ASSERT_EQUAL(symlinkat("resolved.yaml", place.run_fd, "run.json"), 0);
    trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_TRUE(jr_trust_is_ours(&trust));
    place_end(&place);
}

/* The folder's own verdict comes before that of what lies in it. */
static void the_first_reason_is_told(void)
{
    struct place place;
    place_start(&place);
    change(&place, ".", 0777, 0);
    change(&place, "run/run.json", 0666, 0);
    struct jr_trust trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_EQUAL(trust.what, JR_TRUST_LOG_DIR);
    change(&place, "run", 0777, 0);
    trust = jr_trust_run(place.scratch.fd, place.run_fd);
    CU_ASSERT_EQUAL(trust.what, JR_TRUST_FOLDER);
    CU_ASSERT_EQUAL(trust.verdict, JR_TRUST_OPEN);
    CU_ASSERT_EQUAL(trust.owner, geteuid());
    place_end(&place);
}

static void one_folder_alone(void)
{
    struct place place;
    place_start(&place);
    struct jr_trust trust = jr_trust_folder(place.run_fd);
    CU_ASSERT_TRUE(jr_trust_is_ours(&trust));
    change(&place, "run", 0702, 0);
    trust = jr_trust_folder(place.run_fd);
    CU_ASSERT_EQUAL(trust.verdict, JR_TRUST_OPEN);
    trust = jr_trust_folder(-1);
    CU_ASSERT_EQUAL(trust.verdict, JR_TRUST_THEIRS);
    CU_ASSERT_FALSE(jr_trust_is_ours(&trust));
    place_end(&place);
}

JR_UNIT_MAIN("record_folder", CASE(what_others_may_change_is_not_ours),
             CASE(what_only_we_and_the_group_may_change_is_ours),
             CASE(files_that_are_not_there_are_not_judged),
             CASE(the_first_reason_is_told), CASE(one_folder_alone))
