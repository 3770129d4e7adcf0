/* A plan that does not keep all of its ranks prints the same as one whose ranks are all in memory,
 * and has of the ranks what it says. */
#include "sample.h"
#include "plan/plan_print.h"

/* What a drain was given, and how often. */
struct got {
    struct jr_buf text;
    unsigned pieces, most;
};

static int take(void *data, struct jr_buf *text)
{
    struct got *got = data;
    jr_buf_add(&got->text, text->data, text->len);
    jr_buf_clear(text);
    return ++got->pieces == got->most;
}

static char *print(const struct jr_plan *plan, unsigned form, const struct jr_drain *drain)
{
    struct jr_buf out = JR_BUF_INIT;
    if (form == 0)
        jr_plan_json(&out, plan, drain);
    else
        jr_plan_print(&out, plan, form == 1, drain);
    return jr_buf_detach(&out);
}

/* Three samples of one job, which differ in what is kept of the ranks: all told as JSON, as text
 * with variables, and without. */
static void compare(struct sample s[static 3], unsigned forms)
{
    for (int keeps = JR_PLAN_KEEPS_ALL; keeps <= JR_PLAN_KEEPS_NONE; keeps++) {
        s[keeps].options.keeps = (unsigned)keeps;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s[keeps]), JR_STATUS_OK);
        CU_ASSERT_EQUAL(s[0].diags.warnings, s[keeps].diags.warnings);
        for (unsigned form = 0; form < forms; form++) {
            char *expected = print(&s[0].plan, form, NULL);
            char *told = print(&s[keeps].plan, form, NULL);
            JR_ASSERT_TEXT(told, expected);
            free(expected);
            free(told);
        }
    }
    CU_ASSERT_PTR_NULL(s[JR_PLAN_KEEPS_NONE].plan.ranks);
    for (uint32_t i = 0; i < s[0].plan.world_size; i++) {
        const struct jr_plan_rank *whole = &s[JR_PLAN_KEEPS_ALL].plan.ranks[i];
        const struct jr_plan_rank *place = &s[JR_PLAN_KEEPS_NO_ENV].plan.ranks[i];
        CU_ASSERT_PTR_NULL(place->env);
        JR_ASSERT_TEXT(place->argv[0], whole->argv[0]);
        CU_ASSERT_EQUAL(place->env_own, whole->env_own);
        CU_ASSERT_EQUAL(place->node_rank, whole->node_rank);
        JR_ASSERT_TEXT(place->result_path, whole->result_path);
    }
    for (int keeps = JR_PLAN_KEEPS_ALL; keeps <= JR_PLAN_KEEPS_NONE; keeps++)
        sample_release(&s[keeps]);
}

TEST(is_told_as_the_plan)
{
    static const uint32_t meshes[][3] = {{1, 1, 1}, {2, 3, 4}, {8, 1, 150}};
    char *outer[] = {TEXT("HOME=/home/u"), TEXT("RANK=7"), NULL};
    for (size_t i = 0; i < LENGTH(meshes); i++) {
        struct sample s[3];
        for (int j = 0; j < 3; j++) {
            sample_init(&s[j], meshes[i][0], meshes[i][1], meshes[i][2]);
            if (i > 0)
                sample_nodes(&s[j], i == 1 ? 3 : 8);
            s[j].options.environ = outer;
            s[j].job.workdir = "/home/u/%{node_rank}";
        }
        compare(s, 3);
    }
}

/* Ranks that differ in arguments and variables, on ragged nodes. */
TEST(has_what_is_for_some_ranks)
{
    char *args[] = {TEXT("--verbose"), TEXT("%{rank}")};
    struct jr_env_entry env[] = {{.name = TEXT("DEBUG"), .value = TEXT("%{rank}")},
                                 {.name = TEXT("WORLD_SIZE_OF"), .value = NULL},
                                 {.name = TEXT("OMP_NUM_THREADS"), .value = NULL},
                                 {.name = TEXT("RANK_OWN"), .value = TEXT("own")},
                                 {.name = TEXT("HOME"), .value = NULL}};
    struct jr_rank_entry entries[] = {{.ranks = TEXT("1,5-6"),
                                       .args = args,
                                       .args_count = 2,
                                       .env = env,
                                       .env_count = LENGTH(env)}};
    char *outer[] = {TEXT("HOME=/home/u"), NULL};
    struct sample s[3];
    for (int j = 0; j < 3; j++) {
        sample_init(&s[j], 1, 1, 9);
        s[j].job.nodes = 3;
        s[j].sizes[0] = 4;
        s[j].sizes[1] = 1;
        s[j].sizes[2] = 4;
        s[j].job.per_rank = entries;
        s[j].job.per_rank_count = 1;
        s[j].options.environ = outer;
    }
    compare(s, 3);
}

/* More values than are kept for several ranks. */
TEST(is_told_beyond_what_ranks_share)
{
    struct sample s[3];
    for (int j = 0; j < 3; j++)
        sample_init(&s[j], 2, 130, 130);
    compare(s, 1);
}

TEST(is_told_in_pieces)
{
    for (unsigned form = 0; form < 2; form++) {
        struct sample SAMPLE_CLEANUP s;
        struct got all = {.text = JR_BUF_INIT}, part = {.most = 2};
        sample_init(&s, 1, 1, 600);
        s.options.keeps = JR_PLAN_KEEPS_NONE;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        char *expected = print(&s.plan, form, NULL);
        free(print(&s.plan, form, &(struct jr_drain){take, &all}));
        JR_ASSERT_TEXT(all.text.data, expected);
        CU_ASSERT_TRUE(all.pieces > 2);
        free(print(&s.plan, form, &(struct jr_drain){take, &part}));
        CU_ASSERT_EQUAL(part.pieces, 2);
        CU_ASSERT_TRUE(part.text.len < all.text.len);
        free(expected);
        jr_buf_release(&all.text);
        jr_buf_release(&part.text);
    }
}

/* What is refused needs no ranks in memory either. */
TEST(refuses_what_the_plan_refuses)
{
    const struct {
        char *file;
        bool good;
    } files[] = {{TEXT("out.json"), false},
                 {TEXT("%{local_rank}.json"), true},
                 {TEXT("%{rank}.json"), true},
                 {TEXT("%{rank}/../out.json"), false},
                 {TEXT("%{rank_dir}/out.json"), true},
                 {TEXT("%{node_rank}.json"), false}};
    for (size_t i = 0; i < LENGTH(files); i++)
        for (int lazy = 0; lazy < 2; lazy++) {
            struct sample SAMPLE_CLEANUP s;
            sample_init(&s, 1, 1, 8);
            sample_nodes(&s, 2);
            s.policy.results =
                (struct jr_results){.stated = true, .required = TEXT("all"), .file = files[i].file};
            s.options.keeps = lazy ? JR_PLAN_KEEPS_NONE : JR_PLAN_KEEPS_ALL;
            CU_ASSERT_EQUAL(sample_build(&s), files[i].good ? JR_STATUS_OK : JR_STATUS_INVALID);
            if (!files[i].good)
                CU_ASSERT_TRUE(sample_found(&s, "JR0507", "ranks 0 and 1"));
        }
}
