/* The HTML report of a run folder: its head, its facts, and what its other files say.
 * test_page_parts.c has the parts that are drawn. */
#include "report/page.h"
#include "report/show.h"

#include "fake_record.h"
#include "quoted.h"

/* A run of two ranks, whose folder is its record. */
static void begin(struct fake *fake)
{
    fake_start(fake, 2);
    fake->plan.backend = "gloo";
    fake->plan.master_addr = "gpu07";
}

/* The report in a form. Returns what jr_record_report does. */
static int print(struct fake *fake, struct jr_buf *out, bool html, struct jr_error *err)
{
    const struct jr_record_report_view view = {.html = html, .base = "a b/runs/x", .name = "exp"};
    return jr_record_report(out, FAKE_LOG_DIR, fake_id(fake), &view, err);
}

static void print_html(struct fake *fake, struct jr_buf *out)
{
    struct jr_error err = {0};
    fake_results(fake, "results.json");
    CU_ASSERT_EQUAL(print(fake, out, true, &err), 0);
    JR_ASSERT_TEXT(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out->data);
}

static void check_holds(const struct jr_buf *out, const char *part)
{
    const char *body = strstr(out->data, "<body>");
    if (strstr(out->data, part) == NULL)
        printf("\n    no %s in\n%s\n", part, body == NULL ? "" : body);
    CU_ASSERT_PTR_NOT_NULL(strstr(out->data, part));
}

static void check_lacks(const struct jr_buf *out, const char *part)
{
    CU_ASSERT_PTR_NULL(strstr(out->data, part));
}

TEST(begins_with_the_verdict)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    begin(&fake);
    fake.plan.name = "a<b";
    fake.ranks[1].at[JR_AXIS_MODEL] = 1;
    fake.ranks[1].at[JR_AXIS_DATA] = 0;
    fake_exit(&fake, 1, 3);
    print_html(&fake, &out);
    check_holds(&out, jq("<!DOCTYPE html>\n<html lang='en'>"));
    check_holds(&out, "<title>a&lt;b: failed</title>\n<style>\n");
    check_holds(&out, jq("<h1>a&lt;b</h1>\n<p class='verdict failed'>"));
    check_holds(&out, jq("<dl class='facts'>\n"
                         "<div><dt>run</dt><dd>20261121-063012-digits-3f9c</dd></div>\n"
                         "<div><dt>exit status</dt><dd>1</dd></div>\n"
                         "<div><dt>ranks</dt><dd>2 = model 2 on 1 node</dd></div>\n"
                         "<div><dt>began</dt><dd>2027-01-15T08:00:00.000Z</dd></div>\n"
                         "<div><dt>took</dt><dd>10.0 s</dd></div>\n</dl>\n"));
    check_holds(&out, jq("</header>\n<main>\n<section id='cause'"));
    check_holds(&out, jq("<h2 id='cause-title'>Cause</h2>\n<pre "));
    check_holds(&out, "</main>\n</body>\n</html>\n");
}

TEST(tells_of_the_shape)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    begin(&fake);
    fake.plan.nodes = 2;
    fake.policy.results.required = NULL;
    fake.ranks[1].node_rank = 1;
    fake.hosts[1] = (char *)"gpu08";
    fake.ranks[1].at[JR_AXIS_MODEL] = 2;
    fake.ranks[1].at[JR_AXIS_PIPELINE] = 1;
    fake.ranks[1].at[JR_AXIS_DATA] = 3;
    fake.plan.world_size = 24;
    fake_write_rank(&fake, 0, "stderr.log", "words\n");
    print_html(&fake, &out);
    check_lacks(&out, "</pre>\n<p><a"); /* no rank has failed */
    check_holds(&out, "<dd>24 = data 4 × pipeline 2 × model 3 on 2 nodes</dd>");
    check_holds(&out, jq("<h2 id='cause-title'>Outcome</h2>"));
    check_lacks(&out, jq("id='origin'"));
    check_lacks(&out, jq("id='place'"));
}

#define ROW(name, text) "<tr><th scope=\"row\">" name "</th><td>" text "</td></tr>\n"

/* What the other files of its folder say. */
TEST(tells_where_it_came_from)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    begin(&fake);
    fake_write(&fake, "run.json",
               "{\"argv\": [\"jobrun\", \"run\", \"a&b.yaml\", 7], \"spec\": \"a.yaml\", \"cwd\": "
               "\"/home\", \"host\": \"gpu07\", \"user\": \"me\", \"rerun_of\": \"r0\", \"os\": "
               "\"Debian\", \"kernel\": \"6.1\", \"arch\": \"x86_64\", \"version\": \"0.2\", "
               "\"fingerprint\": \"abc\", \"code\": {\"problem\": \"odd\"}, \"git\": {\"commit\": "
               "\"c0ffee\", \"dirty\": true}}");
    fake_write(
        &fake, "explain.json",
        "{\"fields\": [{\"field\": \"nodes\", \"value\": \"2\", \"origin\": \"spec\", \"file\": "
        "\"a.yaml\", \"line\": 3, \"column\": 8, \"rule\": \"stated\"}, {\"field\": \"device\", "
        "\"value\": \"c<d\", \"origin\": \"default\", \"detail\": \"none here\"}]}");
    print_html(&fake, &out);
    check_holds(&out, ROW("command", "jobrun run a&amp;b.yaml ") ROW("spec", "a.yaml")
                          ROW("repeats", "r0") ROW("folder", "/home")
                              ROW("git commit", "c0ffee, with changes that were not committed"));
    check_holds(&out, ROW("fingerprint", "abc") ROW("host", "gpu07") ROW("user", "me")
                          ROW("system", "Debian") ROW("kernel", "6.1") ROW("architecture", "x86_64")
                              ROW("jobrun", "0.2"));
    check_holds(&out, "<div><dt>host</dt><dd>gpu07</dd></div>");
    check_holds(&out, ROW("code", "not recorded: odd"));
    check_holds(&out, jq("<section id='origin' aria-labelledby='origin-title'>\n<h2 "
                         "id='origin-title'>Where each value came from</h2>\n"));
    check_holds(&out,
                "</table></div>\n</section>\n<section id=\"place\" "
                "aria-labelledby=\"place-title\">\n<h2 id=\"place-title\">Environment</h2>\n");
    check_holds(&out, jq("</table></div>\n</section>\n<section id='files' "));
    check_holds(&out, jq("<tbody>\n<tr><th "
                         "scope='row'>nodes</th><td>2</td><td>a.yaml:3:8</td><td>stated</td></tr>\n"
                         "<tr><th scope='row'>device</th><td>c&lt;d</td><td>default: none "
                         "here</td><td></td></tr>\n</tbody>"));
}

TEST(leaves_out_what_is_not_known)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    begin(&fake);
    fake_write(&fake, "run.json", jq("{'git': {'commit': 'c0ffee'}}"));
    fake_write(&fake, "explain.json", jq("{'fields': []}"));
    print_html(&fake, &out);
    check_holds(&out, ROW("git commit", "c0ffee"));
    check_lacks(&out, jq("<th scope='row'>command</th>"));
    check_lacks(&out, jq("<th scope='row'>code</th>"));
    check_lacks(&out, "<dt>host</dt>");
    check_lacks(&out, jq("id='origin'"));
}

TEST(links_to_its_files)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    begin(&fake);
    fake_exit(&fake, 0, 3);
    fake_write_rank(&fake, 0, "stderr.log", "words\n");
    fake_write(&fake, "spec.yaml", "");
    fake_write(&fake, "on_end.log", "");
    print_html(&fake, &out);
    check_holds(
        &out,
        jq("<h2 id='files-title'>Files</h2>\n<ul>\n<li><a "
           "href='a%20b/runs/x/spec.yaml'>spec.yaml</a>: the spec as it was read</li>\n<li><a "
           "href='a%20b/runs/x/results.json'>results.json</a>: the outcome and the result of each "
           "rank</li>\n<li><a href='a%20b/runs/x/on_end.log'>on_end.log</a>: the output of "
           "on_end</li>\n</ul>\n"));
    check_holds(&out,
                "</pre>\n<p><a "
                "href=\"a%20b/runs/x/attempt_0/0/stderr.log\">attempt_0/0/stderr.log</a></p>\n");
}

/* Each node of a run in parts has a folder of its own, and a host. */
TEST(links_to_its_parts)
{
    static const char nodes[] = "[{\"part\": \"node_0\", \"host\": \"n<0\", \"status\": "
                                "\"succeeded\"}, {\"status\": \"absent\"}]";
    struct fake fake RELEASE(fake_end) = {0};
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, text = JR_BUF_INIT;
    struct jr_error err = {0};
    begin(&fake);
    fake_record(&fake, false, "");
    fake_results(&fake, "results.json");
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&text, fake.fd, "results.json", 1 << 20, NULL), 0);
    json_t *results = jr_json_parse(text.data, text.len, &err);
    jr_json_set(results, "nodes", json_loads(nodes, 0, NULL));
    jr_buf_clear(&text);
    jr_json_print(&text, results, 0);
    json_decref(results);
    fake_write(&fake, "results.json", text.data);
    CU_ASSERT_EQUAL(print(&fake, &out, true, &err), 0);
    check_holds(&out, "<li><a href=\"a%20b/runs/x/node_0\">node_0</a>: the part of this node's "
                      "jobrun, on n&lt;0</li>\n</ul>");
    check_lacks(&out, "<dt>host</dt>"); /* there are several */
}

TEST(is_lines_for_people)
{
    struct fake fake RELEASE(fake_end) = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    begin(&fake);
    fake_exit(&fake, 1, 3);
    fake_results(&fake, "results.json");
    CU_ASSERT_EQUAL(print(&fake, &out, false, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
    CU_ASSERT_EQUAL(strncmp(out.data, "jobrun: ", 8), 0);
    check_lacks(&out, "<html");
    check_lacks(&out, "\033");
}

TEST(wants_results)
{
    struct fake fake;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    begin(&fake);
    CU_ASSERT_EQUAL(print(&fake, &out, true, &err), -1);
    JR_ASSERT_TEXT(err.text, "exp has no results (jobrun show exp shows its state)");
    fake_write(&fake, "results.json", "{");
    CU_ASSERT_EQUAL(print(&fake, &out, true, &err), -1);
    CU_ASSERT_PTR_NULL(strstr(err.text, "has no results"));
    CU_ASSERT_EQUAL(out.len, 0);
    fake_end(&fake);
    CU_ASSERT_EQUAL(print(&fake, &out, true, &err), -1); /* it is gone */
}
