#include "vcs/secret_lines.h"

#include "unit.h"

static char *globs[] = {(char *)"TOKEN", (char *)"*_TOKEN", (char *)"*SECRET*",
                        (char *)"*PASSWORD*", (char *)"*API_KEY*"};
static char *values[] = {(char *)"s3cr3t-value", NULL};
static const struct jr_secrets secrets = {globs, 5, values};

static void expect(const char *line, const char *redacted)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, line);
    bool differs = strcmp(line, redacted) != 0;
    CU_ASSERT_EQUAL(jr_secret_lines_redact(&secrets, &text), differs);
    JR_ASSERT_TEXT(text.data, redacted);
    jr_buf_release(&text);
}

TEST(what_is_assigned_is_replaced)
{
    static const char *const cases[][2] = {
        {"API_TOKEN=abc", "API_TOKEN=<redacted>"},
        {"API_TOKEN=a b c", "API_TOKEN=<redacted>"},
        {"+export API_TOKEN=1234\n", "+export API_TOKEN=<redacted>\n"},
        {"API_TOKEN='ab'; next", "API_TOKEN='<redacted>'; next"},
        {"-API_TOKEN = \"abc\"\n+API_TOKEN = \"abd\"\n",
         "-API_TOKEN = \"<redacted>\"\n+API_TOKEN = \"<redacted>\"\n"},
        {"a = f(api_token=\"abcd1234x\", b=2)", "a = f(api_token=\"<redacted>\", b=2)"},
        {"{\"db_password\": \"correct horse\", \"n\": 1}",
         "{\"db_password\": \"<redacted>\", \"n\": 1}"},
        {"  db_password: correcthorse", "  db_password: <redacted>"},
        {"- API_KEY: x", "- API_KEY: <redacted>"},
        {"aws_secret_key = wJalrXUtn/K7", "aws_secret_key = <redacted>"},
        {"token: str = \"abcd1234x\"", "token: str = \"<redacted>\""},
        {"my-token: abcd1234x", "my-token: <redacted>"},
        {"PASSWORD=a\\\"b", "PASSWORD=<redacted>"},
        {"x = \"s3cr3t-value\"", "x = \"<redacted>\""},
        {"TOKEN=r'abc'", "TOKEN=r'<redacted>'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(cases[i][0], cases[i][1]);
}

TEST(code_is_left_alone)
{
    static const char *const cases[] = {
        "MAX_TOKENS=100",
        "MAX_TOKENS = \"abcd1234x\"",
        "token = tokenizer.next()",
        "token = next_token",
        "    token=self.token,",
        "if API_TOKEN == \"abcd1234x\":",
        "API_TOKEN=$HF_TOKEN",
        "API_TOKEN=${HF_TOKEN}",
        "API_TOKEN=",
        "API_TOKEN = os.environ[\"API_TOKEN\"]",
        "token = \"<eos>\"",
        "api_key: SecretStr",
        "def f(token: Optional[str] = None):",
        "std::token::value",
        "password: true",
        "the token: it is new",
        "= = : TOKEN",
        "TOKEN",
        "TOKEN:",
        "",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(cases[i], cases[i]);
        CU_ASSERT_FALSE(jr_secret_lines_assign(&secrets, cases[i], strlen(cases[i])));
    }
}

TEST(files_of_secrets_are_told)
{
    static const char env[] = "A=1\nAPI_TOKEN=x\n";
    static const char key[] = "-----BEGIN RSA PRIVATE KEY-----\nMII\n";
    CU_ASSERT_TRUE(jr_secret_lines_assign(&secrets, env, sizeof env - 1));
    CU_ASSERT_TRUE(jr_secret_lines_assign(&secrets, key, sizeof key - 1));
    CU_ASSERT_FALSE(jr_secret_lines_assign(&secrets, env, 4));
}

/* A file of one line, of which each name asks for its begin or its end: as long as a patch may be,
 * and read in no time that grows faster than that. */
TEST(a_long_line_is_read_once)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_fill(&text, '-', 1 << 19);
    while (text.len < 1 << 20)
        jr_buf_str(&text, "a ");
    CU_ASSERT_FALSE(jr_secret_lines_assign(&secrets, text.data, text.len));
    jr_buf_clear(&text);
    while (text.len < 1 << 19)
        jr_buf_str(&text, "x_token: ");
    jr_buf_fill(&text, ' ', 1 << 19);
    CU_ASSERT_FALSE(jr_secret_lines_assign(&secrets, text.data, text.len));
    jr_buf_release(&text);
}
