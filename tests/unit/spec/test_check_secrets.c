/* Secrets that a spec gives away: told, and never quoted. */
#include "case.h"

#define HIDDEN "hf_8fK2"

/* What is found in a spec of this text, and that its line is not quoted. */
static void check(const char *text, const char *expected)
{
    struct jr_buf shown JR_BUF_CLEANUP = JR_BUF_INIT;
    SPEC_CASE(c, text);
    const char *found = c.found.data == NULL ? "" : c.found.data;
    if (strcmp(found, expected) != 0)
        printf("\n  in: %s\n", text);
    JR_ASSERT_TEXT(found, expected);
    CU_ASSERT_EQUAL(c.diags.errors, 0);
    CU_ASSERT_PTR_NOT_NULL(case_spec(&c));
    jr_diags_render(&shown, &c.diags, JR_DIAG_HUMAN, false);
    jr_diags_render(&shown, &c.diags, JR_DIAG_JSON, false);
    CU_ASSERT_PTR_NULL(strstr(shown.data, HIDDEN));
}

TEST(warns_of_variables)
{
    static const struct vector vectors[] = {
        {"env: {HF_TOKEN: " HIDDEN "}", "JR0320@3:7 env.HF_TOKEN"},
        {"env: {A: b, MY_PASSWDS: " HIDDEN "}", "JR0320@3:13 env.MY_PASSWDS"},
        {"env: {AN_ACCESS_KEY_ID: " HIDDEN "}", "JR0320@3:7 env.AN_ACCESS_KEY_ID"},
        {"env: {SSH_PRIVATE_KEY: " HIDDEN "}", "JR0320@3:7 env.SSH_PRIVATE_KEY"},
        {"env: {PASSWORD: 123456789}", "JR0320@3:7 env.PASSWORD"},
        {"env: {TOKEN: \"-" HIDDEN "\"}", "JR0320@3:7 env.TOKEN"},
        {"env: {API_KEY: 0x}\nsecrets: [API_*]", "JR0320@3:7 env.API_KEY"},
        /* given by somebody else, or nothing that one could use */
        {"env: {HF_TOKEN: \"???\", A_TOKEN: null}", ""},
        {"env: {TOKENIZERS_PARALLELISM: \"false\", A_TOKEN: TRUE}", ""},
        {"env: {MAX_TOKENS: 4096, TOKEN_RATE: 1.5, TOKEN: ''}", ""},
        {"env: {AWS_CREDENTIALS: /etc/c, A_SECRET: ~/c, TOKEN: ../t}", ""},
        {"env: {TOKEN_FILE: \"%{run_dir}/t\"}", ""},
        {"env: {LR: " HIDDEN "}", ""},
        {"env: {MYTOKENS: " HIDDEN ", TOKENIZER: " HIDDEN "}", ""},
        {"env: {HF_TOKEN: " HIDDEN "}\nsecrets: []", ""},
        {"env: {HF_TOKEN: " HIDDEN "}\nsecrets: [WANDB_*]", ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text, HEAD "%s", vectors[i].body);
        check(text.data, vectors[i].found);
    }
}

TEST(warns_of_arguments)
{
    static const struct vector vectors[] = {
        {"[t, --hf-token, " HIDDEN "]", "JR0320@2:17 entrypoint.command"},
        {"[t, -token, " HIDDEN "]", "JR0320@2:17 entrypoint.command"},
        {"[t, --hf_token=" HIDDEN "]", "JR0320@2:17 entrypoint.command"},
        {"[env, HF_TOKEN=" HIDDEN ", t]", "JR0320@2:19 entrypoint.command"},
        {"{command: [t], args: [--token, " HIDDEN "]}", "JR0320@2:35 entrypoint.args"},
        {"{shell: 'HF_TOKEN=" HIDDEN " ./t'}", "JR0320@2:21 entrypoint.shell"},
        {"{shell: \"./t --password '" HIDDEN "' | tee\"}", "JR0320@2:21 entrypoint.shell"},
        {"[t, --api-key, a, --a-secret-key, b]",
         "JR0320@2:17 entrypoint.command\nJR0320@2:31 entrypoint.command"},
        /* words that only look like it */
        {"[t, --tokenizer, gpt2, --max-tokens, 4096, --tokens=all]", ""},
        {"[t, --token]", ""},
        {"[t, --token, --other]", ""},
        {"[t, --token, \"\", --token=, --password, /etc/p]", ""},
        {"[t, TOKEN, " HIDDEN ", --, --=, -, \"=\", --a.token, x]", ""},
        {"{shell: './t --token $HF_TOKEN --token \"$(cat t)\" -t TOKEN= '}", ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text, "version: 1\nentrypoint: %s\n", vectors[i].body);
        check(text.data, vectors[i].found);
    }
}

/* Where a value comes from counts, not what it came to. */
TEST(follows_references)
{
    static const struct vector vectors[] = {
        {"env: {A_TOKEN: \"${vars.v}\"}\nvars: {v: " HIDDEN "}", "JR0320@3:7 env.A_TOKEN"},
        {"env: {A_TOKEN: \"${vars.v}\"}\nvars: {v: /etc/t}", ""},
        {"env: {A_TOKEN: \"${env:PATH:-" HIDDEN "}\"}", ""},
        {"per_rank: {0: {env: {A_TOKEN: " HIDDEN "}}}", "JR0320@3:22 per_rank.A_TOKEN"},
        {"per_rank: {0: {args: [--token, " HIDDEN "]}}", "JR0320@3:23 per_rank"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text, HEAD "%s", vectors[i].body);
        check(text.data, vectors[i].found);
    }
    check("version: 1\nentrypoint: [t, --token, \"${vars.v}\"]\n"
          "vars: {v: " HIDDEN "}\n",
          "JR0320@2:17 entrypoint.command");
    check("version: 1\nentrypoint: [t, \"${env:A_TOKEN:-x}\", "
          "\"$${env:A_TOKEN}\", \"${env:OTHER:-x}\"]\n",
          "JR0320@2:17 entrypoint.command");
}

/* Globs match whole words of an argument's name. */
TEST(matches_words)
{
    static const struct vector vectors[] = {
        {"HF_*", "--hf-key"}, {"*_KEY", "--hf-key"}, {"HF_KEY", "--hf-key"},
        {"*", NULL},          {"HF", NULL},          {"*F_KEY", NULL},
        {"KEY*", NULL},       {"*hf*", "--hf-key"},  {"[A-H]F_*", "--hf-key"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text,
                      "version: 1\nentrypoint: [t, --hf-key, " HIDDEN "]\n"
                      "secrets: [\"%s\"]\n",
                      vectors[i].body);
        check(text.data, vectors[i].found == NULL ? "" : "JR0320@2:17 entrypoint.command");
    }
}

/* Names without end are cut, not copied beyond. */
TEST(survives_long_names)
{
    static const size_t lengths[] = {95, 96, 97, 200, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&text, "version: 1\nentrypoint: [t, --");
        jr_buf_fill(&text, 'a', lengths[i]);
        jr_buf_str(&text, ", x]\nsecrets: [\"*");
        jr_buf_fill(&text, 'A', lengths[i]);
        jr_buf_str(&text, "*\"]\n");
        check(text.data, lengths[i] <= 96 ? "JR0320@2:17 entrypoint.command" : "");
    }
}
