/*
 * Any text as a per-rank template: the spec and the plan agree on whether it is one, and its
 * expansion is what a naive reader makes of it.
 */
#include "fuzz.h"

#include "doc/doc.h"
#include "plan/text_template.h"
#include "spec/internal.h"

#define WORD(name, word, help) word,
static const char *const words[] = {JR_TEMPLATE_NAMES(WORD) JR_TEMPLATE_INTERNALS(WORD)};

/* Every word stands for its own name in angle brackets. */
static const char *value(struct jr_arena *arena, const char *word, size_t len)
{
    return jr_arena_printf(arena, "<%.*s>", (int)len, word);
}

static void naive(struct jr_buf *out, struct jr_arena *arena, const char *text)
{
    while (*text != '\0') {
        if (strncmp(text, "%%{", 3) == 0) {
            jr_buf_str(out, "%{");
            text += 3;
        } else if (strncmp(text, "%{", 2) == 0) {
            size_t len = strcspn(text + 2, "}");
            jr_buf_str(out, value(arena, text + 2, len));
            text += len + 3;
        } else {
            jr_buf_char(out, *text++);
        }
    }
}

static void check_expansion(const struct jr_compiled_template *template, struct jr_arena *arena,
                            const char *text)
{
    JR_BUF_CLEANUP struct jr_buf expected = JR_BUF_INIT;
    struct jr_scope scope = {0};
    for (size_t i = 0; i < JR_TEMPLATE_COUNT; i++)
        scope.text[i] = value(arena, words[i], strlen(words[i]));
    naive(&expected, arena, text);
    char *got = jr_compiled_template_expand(template, arena, &scope);
    require(strcmp(got, expected.data == NULL ? "" : expected.data) == 0);
    bool shared = template->domain != JR_DOMAIN_RANK;
    require((jr_compiled_template_expand(template, arena, &scope) == got) == shared);
}

static bool compile(struct jr_arena *arena, const char *text, bool internals)
{
    struct jr_template_space space = {.arena = arena, .internals = internals};
    struct jr_compiled_template template = {0};
    struct jr_error err = {0};
    for (size_t i = 0; i < JR_DOMAIN_COUNT; i++)
        space.size[i] = 1;
    if (jr_compiled_template_compile(&template, &space, "", text, &err) != 0) {
        require(err.text[0] != '\0' && template.count == 0);
        return false;
    }
    check_expansion(&template, arena, text);
    return true;
}

static bool spec_takes(struct jr_arena *arena, const char *text)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_lint lint = {.arena = arena, .diags = &diags, .folder = "/", .cell = true};
    struct jr_node *node = jr_node_scalar(arena, text, false);
    bool taken = jr_read_template(&lint, node, NULL);
    require(taken == (diags.errors == 0));
    jr_lint_release(&lint);
    jr_diags_release(&diags);
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    struct jr_arena arena = JR_ARENA_INIT;
    fuzz_split(&text, 1, '\0', data, size);
    bool plain = compile(&arena, text, false);
    bool internal = compile(&arena, text, true);
    require(internal || !plain);
    require(spec_takes(&arena, text) == plain);
    jr_arena_release(&arena);
    fuzz_free(&text, 1);
    return 0;
}
