/* A part of the HTML report: where values came from, where it ran, and its
 * files. page.h declares it. */
#include "report/page.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/banned.h"

static void add_place_number(const struct jr_html_page *web,
                             const json_t *number)
{
    if (json_is_integer(number))
        jr_buf_printf(web->out, ":%lld", (long long)json_integer_value(number));
}

/* "train.yaml:3:12", "--set:7", or where else the value is from. */
static void add_source(const struct jr_html_page *web, const json_t *row)
{
    const char *file = jr_json_get_str(row, "file");
    const char *detail = jr_json_get_str(row, "detail");
    jr_buf_str(web->out, "<td>");
    jr_html_text(web->out,
                 file != NULL ? file : jr_json_get_str(row, "origin"));
    add_place_number(web, json_object_get(row, "line"));
    add_place_number(web, json_object_get(row, "column"));
    if (detail != NULL)
        jr_buf_str(web->out, ": ");
    jr_html_text(web->out, detail);
    jr_buf_str(web->out, "</td>");
}

void jr_html_page_origin(const struct jr_html_page *web)
{
    const json_t *rows = json_object_get(web->explain, "fields");
    if (json_array_size(rows) == 0)
        return;
    jr_html_page_open(web, "origin", "Where each value came from");
    jr_buf_str(web->out,
               "<div class=\"wide\"><table>\n<caption>The spec as it was "
               "resolved</caption>\n<thead><tr><th scope=\"col\">field</th>"
               "<th scope=\"col\">value</th><th scope=\"col\">from</th>"
               "<th scope=\"col\">rule</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        jr_buf_str(web->out, "<tr><th scope=\"row\">");
        jr_html_text(web->out, jr_json_get_str(row, "field"));
        jr_buf_str(web->out, "</th>");
        jr_html_page_cell(web, jr_json_get_str(row, "value"));
        add_source(web, row);
        jr_html_page_cell(web, jr_json_get_str(row, "rule"));
        jr_buf_str(web->out, "</tr>\n");
    }
    jr_buf_str(web->out, "</tbody>\n</table></div>\n");
    jr_html_page_close(web);
}

static void add_origin_row(const struct jr_html_page *web, const char *name,
                           const char *text)
{
    if (text == NULL)
        return;
    jr_buf_printf(web->out, "<tr><th scope=\"row\">%s</th>", name);
    jr_html_page_cell(web, text);
    jr_buf_str(web->out, "</tr>\n");
}

static void add_key(const struct jr_html_page *web, const char *name,
                    const char *key)
{
    add_origin_row(web, name, jr_json_get_str(web->run, key));
}

static void add_commit_row(const struct jr_html_page *web)
{
    const json_t *git = json_object_get(web->run, "git");
    const char *commit = jr_json_get_str(git, "commit");
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (commit == NULL)
        return;
    jr_buf_str(&text, commit);
    if (jr_json_get_bool(git, "dirty"))
        jr_buf_str(&text, ", with changes that were not committed");
    add_origin_row(web, "git commit", text.data);
}

static void add_command_row(const struct jr_html_page *web)
{
    const json_t *argv = json_object_get(web->run, "argv");
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        jr_buf_printf(&text, "%s%s", i == 0 ? "" : " ",
                      word == NULL ? "" : word);
    }
    add_origin_row(web, "command", text.data);
}

void jr_html_page_place(const struct jr_html_page *web)
{
    if (web->run == NULL)
        return;
    jr_html_page_open(web, "place", "Environment");
    jr_buf_str(web->out, "<div class=\"wide\"><table>\n<caption>What ran, "
                         "where and with what</caption>\n<tbody>\n");
    add_command_row(web);
    add_key(web, "spec", "spec");
    add_key(web, "repeats", "rerun_of");
    add_key(web, "folder", "cwd");
    add_commit_row(web);
    add_key(web, "fingerprint", "fingerprint");
    add_key(web, "host", "host");
    add_key(web, "user", "user");
    add_key(web, "system", "os");
    add_key(web, "kernel", "kernel");
    add_key(web, "architecture", "arch");
    add_key(web, "jobrun", "version");
    jr_buf_str(web->out, "</tbody>\n</table></div>\n");
    jr_html_page_close(web);
}

/* The folders of a run in parts. */
static void add_part_links(const struct jr_html_page *web)
{
    size_t i = 0;
    const json_t *node = NULL;
    json_array_foreach(json_object_get(web->past->json, "nodes"), i, node) {
        const char *part = jr_json_get_str(node, "part");
        if (part == NULL)
            continue;
        jr_buf_str(web->out, "<li>");
        jr_html_link(web->out, web->base, part, part);
        jr_buf_str(web->out, ": the part of this node's jobrun, on ");
        jr_html_text(web->out, jr_json_get_str(node, "host"));
        jr_buf_str(web->out, "</li>\n");
    }
}

void jr_html_page_files(const struct jr_html_page *web)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"spec.yaml", "the spec as it was read"},
        {"resolved.yaml", "the spec as it was run"},
        {"explain.json", "where each of its values came from"},
        {"plan.json",
         "what jobrun planned to start, with the environment of each rank"},
        {"events.jsonl", "the events of the run, one per line"},
        {"results.json", "the outcome and the result of each rank"},
        {"run.json", "the record of the run"},
        {"console.log", "the console output of a detached run"},
    };
    jr_html_page_open(web, "files", "Files");
    jr_buf_str(web->out, "<ul>\n");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (faccessat(web->fd, files[i].name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        jr_buf_str(web->out, "<li>");
        jr_html_link(web->out, web->base, files[i].name, files[i].name);
        jr_buf_printf(web->out, ": %s</li>\n", files[i].text);
    }
    add_part_links(web);
    jr_buf_str(web->out, "</ul>\n");
    jr_html_page_close(web);
}
