#include "spec/help_options.h"

#include <string.h>

#include "base/shell_words.h"
#include "spec/field.h"

#include "base/banned.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyz_"
#define WORD_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Bytes of the value at `text`, 0 where it is none that can be told from the sentence around it:
 * {...}, [...] or a word. */
static size_t value_len(const char *text)
{
    size_t depth = 0, len = 0;
    if (*text != '{' && *text != '[')
        return strspn(text, WORD_BYTES);
    do {
        depth += text[len] == '{' || text[len] == '[';
        depth -= text[len] == '}' || text[len] == ']';
    } while (text[++len] != '\0' && depth > 0);
    return depth == 0 ? len : 0;
}

/* Append PATH=VALUE, where a mapping of one entry is one more step of the path. */
static void add_setting(struct jr_buf *out, const char *value, size_t len)
{
    while (len > 2 && value[0] == '{') {
        size_t name = strspn(value + 1, WORD_BYTES "-");
        const char *inner = value + 1 + name + strlen(": ");
        if (name == 0 || strncmp(value + 1 + name, ": ", 2) != 0)
            break;
        size_t rest = value_len(inner);
        if (inner + rest + 1 != value + len)
            break;
        jr_buf_printf(out, ".%.*s", (int)name, value + 1);
        value = inner;
        len = rest;
    }
    jr_buf_printf(out, "=%.*s", (int)len, value);
}

/* Append the option for the field that is stated at `text`. Returns the bytes that it takes there,
 * 0 where none is stated. */
static size_t add_option(struct jr_buf *out, const char *text, const char *option)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, word = JR_BUF_INIT;
    size_t key = strspn(text, NAME_BYTES);
    if (key == 0 || strncmp(text + key, ": ", 2) != 0)
        return 0;
    jr_buf_add(&name, text, key);
    const char *value = text + key + strlen(": ");
    size_t len = value_len(value);
    const struct jr_spec_field *field = name.failed ? NULL : jr_field_find(name.data);
    /* a text of several words has no end that could be seen; parents are read before the options */
    if (field == NULL || len == 0 || strcmp(name.data, "setup") == 0 ||
        strcmp(name.data, "description") == 0 || strcmp(name.data, "extends") == 0)
        return 0;
    /* what `vars` does not declare yet is added */
    jr_buf_printf(&word, "%s%s", strcmp(name.data, "vars") == 0 ? "+" : "", name.data);
    add_setting(&word, value, len);
    if (word.failed || strstr(word.data, "...") != NULL)
        return 0;
    jr_buf_printf(out, "%s ", option);
    jr_shell_quote(out, word.data);
    return key + strlen(": ") + len;
}

static void say_options(struct jr_diags *diags, struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    const char *option = strcmp(diag->span.source->name, "--set") == 0 ? "--set" : "-s";
    const char *at = diag->help;
    while (*at != '\0') {
        bool begins = at == diag->help || at[-1] == ' ' || at[-1] == '(';
        size_t len = begins ? add_option(&out, at, option) : 0;
        if (len == 0)
            jr_buf_char(&out, *at);
        at += len == 0 ? 1 : len;
    }
    const char *help = jr_buf_keep(&out, &diags->arena);
    if (help != NULL)
        diag->help = help;
}

void jr_help_options(struct jr_diags *diags, size_t first)
{
    for (size_t i = first; i < diags->count; i++) {
        struct jr_diag *diag = &diags->items[i];
        if (diag->help != NULL && diag->span.source != NULL && diag->span.source->option)
            say_options(diags, diag);
    }
}
