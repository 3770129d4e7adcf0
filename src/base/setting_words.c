#include "base/setting_words.h"

#include <string.h>

#include "base/banned.h"

static void add_option(struct jr_buf *out, const char *option, const char *path, size_t len,
                       const char *value, size_t size)
{
    bool quoted = strcspn(value, " {}[]*~#&;\"") < size;
    jr_buf_printf(out, "%s ", option);
    jr_buf_str(out, quoted ? "'" : "");
    if (strncmp(path, "vars.", strlen("vars.")) == 0) /* what is not declared yet is added */
        jr_buf_char(out, '+');
    jr_buf_add(out, path, len);
    jr_buf_char(out, '=');
    jr_buf_add(out, value, size);
    jr_buf_str(out, quoted ? "'" : "");
}

static void add_field(struct jr_buf *out, const char *path, size_t len, const char *value,
                      size_t size)
{
    const char *dot = memchr(path, '.', len);
    size_t head = dot == NULL ? len : (size_t)(dot - path);
    jr_buf_add(out, path, head);
    jr_buf_str(out, dot == NULL ? ": " : ": {");
    if (dot != NULL)
        add_field(out, dot + 1, len - head - 1, value, size);
    else
        jr_buf_add(out, value, size);
    jr_buf_str(out, dot == NULL ? "" : "}");
}

void jr_setting_words(struct jr_buf *out, const char *text, const char *option)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "\001");
        jr_buf_add(out, text, plain);
        text += plain;
        if (*text == '\0')
            return;
        const char *path = text + 1;
        size_t len = strcspn(path, "\002");
        const char *value = path + len + (path[len] != '\0');
        size_t size = strcspn(value, "\003");
        if (option != NULL)
            add_option(out, option, path, len, value, size);
        else
            add_field(out, path, len, value, size);
        text = value + size + (value[size] != '\0');
    }
}
