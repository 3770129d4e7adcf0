#include "plan/text_template.h"

#include "unit.h"

/* A world of 4 on 2 nodes, for the domains that these tests use. */
struct fixture {
    struct jr_arena arena;
    struct jr_template_space space;
    struct jr_scope scope;
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){0};
    f->space.arena = &f->arena;
    for (int i = 0; i < JR_DOMAIN_COUNT; i++)
        f->space.size[i] = 4;
    f->space.size[JR_DOMAIN_JOB] = 1;
    f->scope.text[JR_TEMPLATE_RANK] = "3";
    f->scope.text[JR_TEMPLATE_LOCAL_RANK] = "1";
    f->scope.text[JR_TEMPLATE_NODE_RANK] = "1";
    f->scope.text[JR_TEMPLATE_WORLD_SIZE] = "4";
    f->scope.text[JR_TEMPLATE_RUN_ID] = "run";
    f->scope.text[JR_TEMPLATE_FRAMEWORK_BACKEND] = "gloo";
    f->scope.text[JR_TEMPLATE_MODEL_MEMBERS] = "2,3";
}

TEST(refuses_what_is_no_template)
{
    static const struct {
        const char *text, *error;
    } bad[] = {{"%{", "no closing brace"},
               {"a %{rank", "no closing brace"},
               {"%{rank} %{", "no closing brace"},
               {"%{}", "no word ''"},
               {"%{Rank}", "no word 'Rank'"},
               {"%{rank }", "no word 'rank '"},
               {"%{ran}", "no word 'ran'"},
               {"%{rank%{rank}", "no word 'rank%{rank'"},
               {"%{shard}", "no word 'shard'"},
               {"%{model_members}", "no word 'model_members'"},
               {"%{framework_backend}", "no word 'framework_backend'"}};
    struct fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jr_compiled_template template = {0};
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_compiled_template_compile(&template, &f.space, "", bad[i].text, &err),
                        -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].error));
        CU_ASSERT_EQUAL(err.status, JR_STATUS_INVALID);
        CU_ASSERT_EQUAL(template.count, 0);
    }
    jr_arena_release(&f.arena);
}

TEST(expands)
{
    static const struct {
        const char *prefix, *text, *expected;
        enum jr_domain domain;
    } good[] = {{"", "", "", JR_DOMAIN_JOB},
                {"A=", "", "A=", JR_DOMAIN_JOB},
                {"", "plain", "plain", JR_DOMAIN_JOB},
                {"", "100% {x} $%", "100% {x} $%", JR_DOMAIN_JOB},
                {"", "%%{rank}", "%{rank}", JR_DOMAIN_JOB},
                {"", "%%%{rank}", "%%{rank}", JR_DOMAIN_JOB},
                {"", "%%%%", "%%%%", JR_DOMAIN_JOB},
                {"", "%{rank}", "3", JR_DOMAIN_RANK},
                {"", "a%{rank}b%{rank}", "a3b3", JR_DOMAIN_RANK},
                {"", "%{rank}%{local_rank}", "31", JR_DOMAIN_RANK},
                {"R=", "%{rank}/%{world_size}", "R=3/4", JR_DOMAIN_RANK},
                {"", "%{local_rank} of %{run_id}", "1 of run", JR_DOMAIN_LOCAL},
                {"", "%{world_size}", "4", JR_DOMAIN_JOB},
                {"", "%{node_rank}%{local_rank}", "11", JR_DOMAIN_RANK},
                {"", "[%{device}]", "[]", JR_DOMAIN_LOCAL},
                {"%{rank}", "%{rank}", "%{rank}3", JR_DOMAIN_RANK}};
    struct fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct jr_compiled_template template = {0};
        CU_ASSERT_EQUAL_FATAL(
            jr_compiled_template_compile(&template, &f.space, good[i].prefix, good[i].text, NULL),
            0);
        CU_ASSERT_EQUAL(template.domain, good[i].domain);
        JR_ASSERT_TEXT(jr_compiled_template_expand(&template, &f.arena, &f.scope),
                       good[i].expected);
    }
    jr_arena_release(&f.arena);
}

TEST(knows_the_words_of_tables_where_told)
{
    struct fixture f;
    set_up(&f);
    f.space.internals = true;
    struct jr_compiled_template template = {0};
    CU_ASSERT_EQUAL(jr_compiled_template_compile(
                        &template, &f.space, "M=", "%{model_members} %{framework_backend}", NULL),
                    0);
    JR_ASSERT_TEXT(jr_compiled_template_expand(&template, &f.arena, &f.scope), "M=2,3 gloo");
    jr_arena_release(&f.arena);
}

TEST(takes_a_literal_as_it_is)
{
    struct fixture f;
    set_up(&f);
    struct jr_compiled_template template;
    jr_compiled_template_literal(&template, &f.space, "A=%{rank} %%{ %{");
    JR_ASSERT_TEXT(jr_compiled_template_expand(&template, &f.arena, &f.scope), "A=%{rank} %%{ %{");
    jr_arena_release(&f.arena);
}

/* Ranks with the same value of the domain get the same pointer; others do not; and what depends on
 * the rank is never shared. */
TEST(shares_within_a_domain)
{
    struct fixture f;
    set_up(&f);
    f.space.internals = true;
    struct jr_compiled_template members = {0}, rank = {0};
    CU_ASSERT_EQUAL(
        jr_compiled_template_compile(&members, &f.space, "M=", "%{model_members}", NULL), 0);
    CU_ASSERT_EQUAL(jr_compiled_template_compile(&rank, &f.space, "R=", "%{rank}", NULL), 0);
    CU_ASSERT_EQUAL(members.domain, JR_DOMAIN_GROUP + JR_AXIS_MODEL);
    f.scope.index[members.domain] = 1;
    const char *first = jr_compiled_template_expand(&members, &f.arena, &f.scope);
    const char *again = jr_compiled_template_expand(&members, &f.arena, &f.scope);
    f.scope.index[members.domain] = 0;
    f.scope.text[JR_TEMPLATE_MODEL_MEMBERS] = "0,1";
    const char *other = jr_compiled_template_expand(&members, &f.arena, &f.scope);
    CU_ASSERT_PTR_EQUAL(first, again);
    JR_ASSERT_TEXT(first, "M=2,3");
    JR_ASSERT_TEXT(other, "M=0,1");
    CU_ASSERT_PTR_NOT_EQUAL(jr_compiled_template_expand(&rank, &f.arena, &f.scope),
                            jr_compiled_template_expand(&rank, &f.arena, &f.scope));
    jr_arena_release(&f.arena);
}

TEST(shares_a_vector_that_no_rank_changes)
{
    static char train[] = "./train", rank[] = "%{rank}";
    static char *same[] = {train}, *varying[] = {train, rank};
    struct fixture f;
    set_up(&f);
    struct jr_compiled_templates a = {0}, b = {0}, none = {0};
    CU_ASSERT_EQUAL(jr_compiled_templates_compile(&a, &f.space, same, 1, NULL), 0);
    CU_ASSERT_EQUAL(jr_compiled_templates_compile(&b, &f.space, varying, 2, NULL), 0);
    CU_ASSERT_EQUAL(jr_compiled_templates_compile(&none, &f.space, NULL, 0, NULL), 0);
    char **vector = jr_compiled_templates_expand(&a, &f.arena, &f.scope);
    CU_ASSERT_PTR_EQUAL(vector, jr_compiled_templates_expand(&a, &f.arena, &f.scope));
    JR_ASSERT_TEXT(vector[0], "./train");
    CU_ASSERT_PTR_NULL(vector[1]);
    vector = jr_compiled_templates_expand(&b, &f.arena, &f.scope);
    CU_ASSERT_PTR_NOT_EQUAL(vector, jr_compiled_templates_expand(&b, &f.arena, &f.scope));
    JR_ASSERT_TEXT(vector[1], "3");
    CU_ASSERT_PTR_NULL(vector[2]);
    vector = jr_compiled_templates_expand(&none, &f.arena, &f.scope);
    CU_ASSERT_PTR_NULL(vector[0]);
    jr_arena_release(&f.arena);
}

/* At every size of memory: NULL and a failed arena, or the right text. */
TEST(survives_without_memory)
{
    struct fixture f;
    bool done = false;
    for (size_t limit = 1; !done && limit < 4096; limit += 8) {
        set_up(&f);
        f.arena.limit = limit;
        struct jr_compiled_template template = {0};
        CU_ASSERT_EQUAL(
            jr_compiled_template_compile(&template, &f.space, "A=", "%{world_size}", NULL), 0);
        const char *text = jr_compiled_template_expand(&template, &f.arena, &f.scope);
        done = !f.arena.failed;
        if (done)
            JR_ASSERT_TEXT(text, "A=4");
        jr_arena_release(&f.arena);
    }
    CU_ASSERT_TRUE(done);
}
