#include "doc/other_file.h"

#include <string.h>

#include "doc/node_path.h"

#include "base/banned.h"

#define BYTES(text) text, sizeof text - 1

/* The first bytes of files, what they are, and what to do. */
static const struct {
    const char *bytes;
    size_t len;
    const char *message, *help;
} rows[] = {
    {BYTES("\xff\xfe"), "this is UTF-16, not UTF-8",
     "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW"},
    {BYTES("\xfe\xff"), "this is UTF-16, not UTF-8",
     "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW"},
    {BYTES("\x7f"
           "ELF"),
     "this is a program, not YAML",
     "start 2 ranks of it: jobrun -n 2 -- ./PROGRAM"},
    {BYTES("\x1f\x8b"), "this is compressed (gzip), not YAML",
     "unpack it: gunzip -c OLD > NEW"},
    {BYTES("PK\x03\x04"), "this is an archive (zip), not YAML",
     "unpack it: unzip FILE"},
    {BYTES("\x28\xb5\x2f\xfd"), "this is compressed (zstd), not YAML",
     "unpack it: zstd -dc OLD > NEW"},
    {BYTES("\xfd"
           "7zXZ"),
     "this is compressed (xz), not YAML", "unpack it: xz -dc OLD > NEW"},
    {BYTES("\x89PNG"), "this is a picture (PNG), not YAML", NULL},
    {BYTES("<!DOCTYPE"), "this is a web page, not YAML",
     "download the file itself, not the page that shows it"},
    {BYTES("<html"), "this is a web page, not YAML",
     "download the file itself, not the page that shows it"},
    {BYTES("<?xml"), "this is XML, not YAML",
     "begin a spec: jobrun new -o NAME.jobrun.yaml"},
};

/* UTF-16 without a mark: each other byte is 0. */
static bool is_wide(const char *text, size_t len)
{
    return len >= 4 && ((text[0] == '\0' && text[1] != '\0' &&
                         text[2] == '\0' && text[3] != '\0') ||
                        (text[0] != '\0' && text[1] == '\0' &&
                         text[2] != '\0' && text[3] == '\0'));
}

/* A script of a shell or of Python; a spec may begin with #! too. */
static bool is_script(const char *text)
{
    size_t line = strcspn(text, "\n");
    return strncmp(text, "#!", 2) == 0 &&
           memmem(text, line, "jobrun", 6) == NULL &&
           (memmem(text, line, "sh", 2) != NULL ||
            memmem(text, line, "python", 6) != NULL) &&
           strstr(text, "version:") == NULL;
}

static void report_file(struct jr_diags *diags, const struct jr_source *source,
                        const char *message, const char *help)
{
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_NOT_YAML,
                       (struct jr_span){.source = source}, NULL, "%s", message);
    if (help != NULL)
        jr_diag_help(diags, diag, "%s", help);
}

/* The mark of a conflict, at the start of a line; NULL: there is none. */
static const char *find_conflict(const char *text)
{
    static const char mark[] = "<<<<<<< ";
    const char *at = strstr(text, mark);
    while (at != NULL && at > text && at[-1] != '\n')
        at = strstr(at + 1, mark);
    return at;
}

bool jr_other_file_report(struct jr_diags *diags,
                          const struct jr_source *source)
{
    const char *text = source->text;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (source->len >= rows[i].len &&
            memcmp(text, rows[i].bytes, rows[i].len) == 0) {
            report_file(diags, source, rows[i].message, rows[i].help);
            return true;
        }
    if (is_wide(text, source->len)) {
        report_file(diags, source, rows[0].message, rows[0].help);
        return true;
    }
    if (is_script(text)) {
        report_file(diags, source, "this is a script, not YAML",
                    "start 2 ranks of it: jobrun -n 2 -- ./SCRIPT");
        return true;
    }
    const char *conflict = find_conflict(text);
    if (conflict == NULL)
        return false;
    size_t at = (size_t)(conflict - text);
    struct jr_diag *diag = jr_diags_error(
        diags, JR_CODE_NOT_YAML,
        jr_point_bytes(source, at, at + strcspn(conflict, "\r\n")), NULL,
        "a conflict of a merge begins here");
    jr_diag_help(diags, diag,
                 "keep one of the two sides, and delete the lines that begin "
                 "with <<<<<<<, ======= and >>>>>>>");
    return true;
}
