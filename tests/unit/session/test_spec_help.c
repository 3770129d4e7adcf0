/* What helps to write a spec: what is said of a word that is no field, what a command line may
 * continue with, and the specs to begin with. */
#include "session/specs/spec_help.h"

#include "spec/field.h"
#include "spec/jsonschema.h"
#include "unit.h"

TEST(says_what_was_meant_by_a_word)
{
    static const struct {
        const char *word, *told;
    } vectors[] = {
        {"nodess", "there is no field 'nodess'; did you mean 'nodes'?"},
        {"world", "there is no field 'world'; did you mean 'world_size' or 'local_world_size'?"},
        {"stop_grace", "there is no field 'stop_grace'; did you mean 'timeouts.stop_grace'?"},
        {"restart.retries", "there is no field 'restart.retries'; did you mean 'restart.max'?"},
        {"zq", "there is no field or code 'zq'; jobrun explain lists the fields"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_spec_help_field(&out, vectors[i].word, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        JR_ASSERT_TEXT(err.text, vectors[i].told);
        CU_ASSERT_EQUAL(out.len, 0);
    }
}

/* Not all of a word that is nothing is repeated. */
TEST(a_word_may_be_long)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    char word[200], told[256];
    memset(word, 'q', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    CU_ASSERT_EQUAL(jr_spec_help_field(&out, word, &err), -1);
    (void)snprintf(told, sizeof told,
                   "there is no field or code '%.64s'; jobrun explain lists the fields", word);
    JR_ASSERT_TEXT(err.text, told);
}

TEST(explains_fields_and_their_items)
{
    JR_BUF_CLEANUP struct jr_buf field = JR_BUF_INIT, item = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_spec_help_field(&field, "hosts", NULL), 0);
    CU_ASSERT_EQUAL(jr_spec_help_field(&item, "hosts[2]", NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(field.data, "hosts"));
    JR_ASSERT_TEXT(item.data, field.data);
}

/* What was offered, a line each: "nodes=", with "!" where it has no help. */
static void note_offer(void *data, const char *text, const char *help)
{
    jr_buf_printf(data, "%s%s\n", text, help == NULL ? "!" : "");
}

static bool is_offered(const char *word, const char *line)
{
    struct jr_buf offers JR_BUF_CLEANUP = JR_BUF_INIT;
    char whole[128];
    jr_buf_char(&offers, '\n');
    jr_spec_help_settings(word, note_offer, &offers);
    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    return strstr(offers.data, whole) != NULL;
}

TEST(offers_settings)
{
    static const struct {
        const char *word, *line;
        bool offered;
    } vectors[] = {{"", "nodes=", true},
                   {"", "timeouts.stop_grace=", true},
                   {"", "results.fields.*.min=", false}, /* nobody sets that */
                   {"", "results.fields=", true},
                   {"", "oversubscribe=true", false},
                   {"oversubscribe=", "oversubscribe=true!", true},
                   {"oversubscribe=", "oversubscribe=false!", true},
                   {"oversubscribe=", "oversubscribe=", false},
                   {"oversubscribe=", "nodes=", true},
                   {"oversubscribe", "oversubscribe=true!", false},
                   {"device=", "device=cuda", true},
                   {"device=", "device=auto", true},
                   {"device=", "device=custom", false}, /* a name is to follow */
                   {"world_size=", "world_size=auto", true},
                   {"on_failure=", "on_failure=continue", true},
                   {"on_failure=", "on_failure=auto", false}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        CU_ASSERT_EQUAL(is_offered(vectors[i].word, vectors[i].line), vectors[i].offered);
}

TEST(offers_every_path)
{
    struct jr_buf offers JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_char(&offers, '\n');
    jr_spec_help_paths(note_offer, &offers);
    CU_ASSERT_PTR_NOT_NULL(strstr(offers.data, "\nnodes\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(offers.data, "\nresults.fields.*.min\n"));
    CU_ASSERT_PTR_NULL(strchr(offers.data, '!')); /* each has its help */
}

TEST(knows_the_starters)
{
    JR_ASSERT_TEXT(jr_starter_spec_find(NULL)->word, "minimal");
    JR_ASSERT_TEXT(jr_starter_spec_find("mesh")->word, "mesh");
    CU_ASSERT_PTR_NULL(jr_starter_spec_find("mes"));
}

static void check_starter(const char *text, const char *expected)
{
    const struct jr_starter_spec starter = {.word = "x", .text = text};
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, whole = JR_BUF_INIT;
    jr_buf_printf(&whole, "%s#\n%s", JR_MODELINE, expected);
    jr_starter_spec_print(&out, &starter);
    JR_ASSERT_TEXT(out.data, whole.data);
}

static const char *help_of(const char *path)
{
    return jr_field_find(path)->help;
}

/* A mark becomes the help of its field, behind the line where there is room, else above it; what a
 * field that is left out becomes stands there too. */
TEST(starters_are_commented)
{
    struct jr_buf expected JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&expected, "name: hello             # %s\n", help_of("name"));
    check_starter("name: hello  #?\n", expected.data);
    jr_buf_clear(&expected);
    jr_buf_printf(&expected, "# name: hello           # %s\n", help_of("name"));
    check_starter("# name: hello  #?", expected.data);
    jr_buf_clear(&expected);
    jr_buf_printf(&expected, "# %s\n# auto: %s\nworld_size: auto\n", help_of("world_size"),
                  jr_field_find("world_size")->missing);
    check_starter("world_size: auto  #?\n", expected.data);
    jr_buf_clear(&expected);
    jr_buf_printf(&expected, "# console:\n#   # %s\n#   ranks: %080d\n", help_of("console.ranks"),
                  0);
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "# console:\n#   ranks: %080d  #?\n", 0);
    check_starter(line.data, expected.data);
    check_starter("name: x\n\nno: field  #?\nwords\n", "name: x\n\nno: field  #?\nwords\n");
}

/* None has a mark left, and none is wider than a screen. */
TEST(all_starters_are_complete)
{
    for (const struct jr_starter_spec *row = jr_starter_specs; row->word != NULL; row++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_starter_spec_print(&out, row);
        CU_ASSERT_PTR_NULL(strstr(out.data, "#?"));
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\nversion: 1 "));
    }
}

TEST(knows_its_schema)
{
    struct jr_buf schema JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_spec_schema(&schema);
    CU_ASSERT_TRUE(jr_spec_is_schema(schema.data, schema.len));
    CU_ASSERT_FALSE(jr_spec_is_schema("{}", 2));
}
