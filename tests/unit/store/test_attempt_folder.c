#include "store/attempt_folder.h"
#include "descriptors.h"
#include "scratch.h"

#include <errno.h>

static struct scratch scratch;

/* The run "r", as it is made, and as another node joins it. */
static struct jr_run_folder made, joined;

static void start(enum jr_log_mode mode)
{
    scratch_start(&scratch);
    CU_ASSERT_EQUAL_FATAL(jr_run_folder_create(&made, scratch.dir, "r", true, mode, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(jr_run_folder_join(&joined, scratch.dir, "r", mode, NULL), 0);
}

static void end(void)
{
    jr_run_folder_close(&made);
    jr_run_folder_close(&joined);
    scratch_end(&scratch);
}

/* 0: there is no such thing in the folder of the run. */
static mode_t mode_of(const char *name)
{
    struct stat st;
    int failed = fstatat(made.fd, name, &st, AT_SYMLINK_NOFOLLOW);
    return failed ? 0 : st.st_mode;
}

static void makes_folders_by_mode(void)
{
    static const struct {
        enum jr_log_mode mode;
        mode_t umask, dir;
    } vectors[] = {{JR_LOG_PRIVATE, 0, 0700},
                   {JR_LOG_PRIVATE, 0777, 0700},
                   {JR_LOG_GROUP, 077, 0750},
                   {JR_LOG_UMASK, 027, 0750}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        mode_t before = umask(vectors[i].umask), wanted;
        start(vectors[i].mode);
        CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, NULL), 0);
        CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 3, 12, NULL), 0);
        CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 7, NULL), 0);
        CU_ASSERT_EQUAL(umask(before), vectors[i].umask); /* as it was */
        wanted = S_IFDIR | vectors[i].dir;
        CU_ASSERT_EQUAL(mode_of("attempt_0"), wanted);
        CU_ASSERT_EQUAL(mode_of("node_3"), wanted);
        CU_ASSERT_EQUAL(mode_of("node_3/attempt_12"), wanted);
        CU_ASSERT_EQUAL(mode_of("attempt_7"), wanted);
        end();
    }
}

/* A rank of an earlier attempt can have put anything there. */
static void takes_no_attempt_that_stands_there(void)
{
    struct jr_error err;
    start(JR_LOG_PRIVATE);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, &err), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, &err), -1);
    JR_ASSERT_TEXT(err.text,
                   "the run folder already has attempt_0, which this attempt was to write: "
                   "jobrun did not create it, but a rank of an earlier attempt may have");
    CU_ASSERT_EQUAL(symlinkat("/tmp", made.fd, "attempt_1"), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 1, &err), -1);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 0, &err), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 1, &err), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "already has node_1/attempt_1,"));
    CU_ASSERT_EQUAL(symlinkat("/tmp", made.fd, "node_2"), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 2, 0, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "already has node_2, which"));
    CU_ASSERT_EQUAL(access("/tmp/attempt_0", F_OK), -1);
    end();
}

static void takes_no_node_of_another_user(void)
{
    struct jr_error err;
    start(JR_LOG_PRIVATE);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 3, 0, &err), 0);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(fchownat(made.fd, "node_3", 65534, 65534, 0), 0);
        CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 3, 1, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "already has node_3, which"));
        CU_ASSERT_EQUAL(mode_of("node_3/attempt_1"), 0);
    }
    end();
}

/* Where nothing can be made at all, by the reason that the system gives. */
static void says_what_could_not_be_made(void)
{
    struct jr_error err;
    start(JR_LOG_PRIVATE);
    jr_run_folder_discard(&made);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    JR_ASSERT_TEXT(err.text, "the run folder's attempt_0: No such file or directory");
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&made, 4, 0, &err), -1);
    JR_ASSERT_TEXT(err.text, "the run folder's node_4: No such file or directory");
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 5, &err), -1);
    JR_ASSERT_TEXT(err.text, "the run folder's attempt_5: No such file or directory");
    CU_ASSERT_EQUAL(made.claimed, 0);
    end();
}

/* Of two that want to continue the run, one gets the attempt; it is made with it, and every other
 * attempt is still to be made. */
static void one_claims_an_attempt(void)
{
    start(JR_LOG_PRIVATE);
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&joined, 3, NULL), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_of("attempt_3")));
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 3, NULL), 1);
    CU_ASSERT_EQUAL(made.claimed, 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 3, NULL), -1);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&joined, 3, NULL), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&joined, 4, NULL), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_of("attempt_4")));
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&joined, 4, NULL), -1);
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 0, NULL), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, NULL), 0);
    end();
}

static void leaves_no_descriptor_open(void)
{
    start(JR_LOG_PRIVATE);
    unsigned before = count_descriptors();
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 0, NULL), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 0, NULL), -1);
    CU_ASSERT_EQUAL(count_descriptors(), before);
    end();
}

JR_UNIT_MAIN("attempt_folder", CASE(makes_folders_by_mode),
             CASE(takes_no_attempt_that_stands_there), CASE(takes_no_node_of_another_user),
             CASE(says_what_could_not_be_made), CASE(one_claims_an_attempt),
             CASE(leaves_no_descriptor_open))
