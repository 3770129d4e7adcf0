/* Parts of the HTML report, of runs that are made by hand: the mesh, the ranks, when they ran, what
 * they delivered and used. */
#include "report/page.h"
#include "report/internal.h"

#include "judge/words.h"
#include "scratch.h"
#include "quoted.h"
#include "store/progress.h"

enum { MOST = 600 };

/* A run of so many ranks, to be bent. */
struct run {
    struct scratch scratch;
    struct jr_loaded_run loaded;
    struct jr_html_page html;
    struct jr_buf out;
    struct jr_plan_rank ranks[MOST];
    struct jr_rank_outcome ends[MOST];
    struct jr_rank_judgement judged[MOST];
};

static struct run run;

/* What the last case has left goes with the next, or with the program. */
static void __attribute__((destructor)) end(void)
{
    for (size_t i = 0; i < run.loaded.report.count; i++)
        json_decref(run.judged[i].result);
    jr_buf_release(&run.out);
    if (run.scratch.fd > 0)
        scratch_end(&run.scratch);
}

static void begin(uint32_t count)
{
    end();
    run = (struct run){.out = JR_BUF_INIT};
    scratch_start(&run.scratch);
    for (uint32_t i = 0; i < count; i++) {
        run.ranks[i].rank = i;
        run.ends[i].pid = 1;
        run.ends[i].end = JR_END_EXITED;
    }
    run.loaded.plan = (struct jr_plan){
        .ranks = run.ranks, .count = count, .world_size = count, .axis_size = {1, 1, count}};
    run.loaded.outcome = (struct jr_outcome){.ranks = run.ends, .count = count};
    run.loaded.report = (struct jr_judgement){.ranks = run.judged, .count = count};
    run.html = (struct jr_html_page){
        .out = &run.out, .loaded = &run.loaded, .fd = run.scratch.fd, .base = "runs/x"};
}

static const char *text(void)
{
    CU_ASSERT_FALSE(run.out.failed);
    return run.out.data == NULL ? "" : run.out.data;
}

static void check_holds(const char *quoted)
{
    const char *part = jq(quoted);
    if (strstr(text(), part) == NULL)
        printf("\n    no %s in\n%s\n", part, text());
    CU_ASSERT_PTR_NOT_NULL(strstr(text(), part));
}

static void check_lacks(const char *quoted)
{
    const char *part = jq(quoted);
    if (strstr(text(), part) != NULL)
        printf("\n    %s in\n%s\n", part, text());
    CU_ASSERT_PTR_NULL(strstr(text(), part));
}

static size_t count_of(const char *quoted)
{
    const char *word = jq(quoted);
    size_t count = 0;
    for (const char *at = text(); (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

TEST(nothing_is_said_of_no_rank)
{
    begin(0);
    jr_html_page_time(&run.html);
    jr_html_page_mesh(&run.html);
    jr_html_page_ranks(&run.html);
    jr_html_page_results(&run.html);
    jr_html_page_usage(&run.html);
    jr_html_page_hang(&run.html);
    JR_ASSERT_TEXT(text(), "");
}

/* The mesh. */

TEST(a_mesh_of_one_axis_is_a_row)
{
    begin(2);
    run.judged[1].state = JR_RANK_FAILED;
    jr_html_page_mesh(&run.html);
    JR_ASSERT_TEXT(text(), "<section id=\"mesh\" aria-labelledby=\"mesh-title\">\n<h2 "
                           "id=\"mesh-title\">Mesh</h2>\n<ul class=\"cells\"><li "
                           "class=\"succeeded\" title=\"succeeded\">0</li><li class=\"failed\" "
                           "title=\"failed\">1 ✕</li></ul>\n</section>\n");
    begin(1);
    jr_html_page_mesh(&run.html);
    JR_ASSERT_TEXT(text(), "");
}

/* Places on three axes: the model's are the columns. */
static void lay_out(uint32_t model, uint32_t pipeline, uint32_t data)
{
    begin(model * pipeline * data);
    run.loaded.plan.axis_size[JR_AXIS_MODEL] = model;
    run.loaded.plan.axis_size[JR_AXIS_PIPELINE] = pipeline;
    run.loaded.plan.axis_size[JR_AXIS_DATA] = data;
    for (uint32_t i = 0; i < model * pipeline * data; i++) {
        run.ranks[i].at[JR_AXIS_MODEL] = i % model;
        run.ranks[i].at[JR_AXIS_PIPELINE] = i / model % pipeline;
        run.ranks[i].at[JR_AXIS_DATA] = i / model / pipeline;
    }
}

#define SQUARE(rank) "<td class='succeeded' title='succeeded'>" rank "</td>"

TEST(a_mesh_is_a_table)
{
    lay_out(2, 2, 2);
    jr_html_page_mesh(&run.html);
    check_holds("<thead><tr><td></td><th scope='col'>model 0</th><th scope='col'>model "
                "1</th></tr></thead>\n<tbody>\n"
                "<tr><th scope='row'>data 0, pipeline 0</th>" SQUARE("0") SQUARE(
                    "1") "</tr>\n<tr><th scope='row'>data 0, pipeline 1</th>" SQUARE("2")
                    SQUARE("3") "</tr>\n<tr><th scope='row'>data 1, pipeline 0</th>" SQUARE("4")
                        SQUARE("5") "</tr>\n<tr><th scope='row'>data 1, pipeline 1</th>" SQUARE("6")
                            SQUARE("7") "</tr>\n</tbody>");
    lay_out(1, 2, 1);
    jr_html_page_mesh(&run.html);
    check_holds("<tr><th scope='row'>pipeline 0</th>" SQUARE(
        "0") "</tr>\n<tr><th scope='row'>pipeline 1</th>" SQUARE("1") "</tr>\n");
    lay_out(2, 1, 1);
    run.loaded.plan.count = 1; /* the rest is on a node that is not here */
    run.loaded.plan.world_size = 2;
    jr_html_page_mesh(&run.html);
    JR_ASSERT_TEXT(text(), "");
}

TEST(a_large_mesh_is_folded)
{
    for (uint32_t count = 128; count <= 129; count++) {
        begin(count);
        jr_html_page_mesh(&run.html);
        CU_ASSERT_EQUAL(count_of("<details>"), count - 128);
        CU_ASSERT_EQUAL(count_of("</details>"), count - 128);
        CU_ASSERT_EQUAL(count_of("<li "), count);
        if (count > 128)
            check_holds("<summary>The places of 129 ranks</summary>");
    }
}

/* The ranks. */

TEST(a_rank_has_a_row)
{
    static char *hosts[] = {(char *)"gpu<1>", NULL};
    begin(2);
    scratch_write(&run.scratch, "out", "x");
    run.ranks[0].device = "3";
    run.ranks[0].out_path = "out";
    run.ranks[0].err_path = "none";
    run.ranks[0].error_path = "/elsewhere/error.json";
    run.ranks[1].node_rank = 1;
    run.ranks[1].local_rank = 2;
    run.ranks[1].out_path = "out";
    run.ends[0].exit_code = 3;
    run.ends[0].ended_ns = UINT64_C(61000000000);
    run.ends[0].cpu_ns = UINT64_C(2500000000);
    run.ends[0].max_rss_bytes = 3 << 19;
    run.ends[1].pid = 0;
    run.ends[1].end = JR_END_NONE;
    run.judged[0].state = JR_RANK_FAILED;
    run.judged[0].error = "ValueError: a < b";
    run.judged[0].error_file = true;
    run.judged[1].state = JR_RANK_NOT_STARTED;
    run.loaded.plan.hosts = hosts;
    jr_html_page_ranks(&run.html);
    check_holds("<caption>All ranks</caption>\n<thead><tr><th scope='col'>rank</th><th "
                "scope='col'>state</th><th scope='col'>how it ended</th><th "
                "scope='col'>where</th><th scope='col' class='n'>time</th>");
    check_holds("<tbody>\n<tr><th scope='row'>0</th><td><i "
                "class='failed'></i>failed</td><td>exited with code 3<br><small>ValueError: a &lt; "
                "b</small></td><td>node 0 (gpu&lt;1&gt;), local 0, device 3</td><td class='n'>1 "
                "min 01 s</td><td class='n'>2.5 s</td><td class='n'>1.5 MiB</td><td><a "
                "href='runs/x/out'>stdout</a> stderr: no file /elsewhere/error.json </td></tr>\n"
                "<tr><th scope='row'>1</th><td><i class='not_started'></i>not started</td><td>was "
                "not started</td><td>node 1, local 2</td><td class='n'></td><td class='n'></td><td "
                "class='n'></td><td></td></tr>\n</tbody>");
    check_lacks("steps/s");
}

/* Why it does not count goes before its exception. */
TEST(the_reason_is_told)
{
    begin(1);
    run.judged[0].state = JR_RANK_INCOMPLETE;
    run.judged[0].error = "no";
    run.judged[0].reason = "result.json: 'x' is 1";
    jr_html_page_ranks(&run.html);
    check_holds("<br><small>result.json: &#39;x&#39; is 1</small>");
    check_lacks("<small>no</small>");
}

TEST(ranks_have_their_steps)
{
    begin(3);
    struct jr_progress *progress = jr_progress_new(3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(progress);
    progress->all = true;
    progress->ranks[0] = (struct jr_steps){.any = true, .step = 7, .rate = 2.5};
    progress->ranks[1] = (struct jr_steps){.any = true, .step = 4};
    run.loaded.outcome.progress = progress;
    jr_html_page_ranks(&run.html);
    check_holds("<th scope='col' class='n'>step</th><th scope='col' class='n'>steps/s</th><th "
                "scope='col' class='n'>behind</th>");
    check_holds("<td class='n'>7</td><td class='n'>2.5</td><td class='n'></td>");
    check_holds("<td class='n'>4</td><td class='n'></td><td class='n'>3</td>");
    check_holds("<td></td><td></td><td></td>");
    run.loaded.outcome.progress = NULL;
    jr_progress_free(progress);
}

/* Of many ranks those that went wrong are shown, and all if asked for. */
TEST(many_ranks_are_folded)
{
    static const struct {
        uint32_t count, wrong;
        size_t rows, tables;
        const char *caption;
    } vectors[] = {{32, 3, 32, 1, NULL},
                   {33, 0, 33, 1, NULL},
                   {60, 50, 110, 2, "<caption>The ranks that failed or did not deliver<"},
                   {60, 51, 110, 2, "<caption>The first 50 ranks that failed or did not deliver<"}};
    static const enum jr_rank_state states[] = {JR_RANK_FAILED, JR_RANK_INCOMPLETE,
                                                JR_RANK_AFTER_FIRST_FAILURE};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        begin(vectors[i].count);
        for (uint32_t k = 0; k < vectors[i].wrong; k++)
            run.judged[k].state = states[k % 3];
        run.judged[vectors[i].count - 1].state = JR_RANK_STOPPED;
        jr_html_page_ranks(&run.html);
        CU_ASSERT_EQUAL(count_of("<tr><th scope='row'>"), vectors[i].rows);
        CU_ASSERT_EQUAL(count_of("<table>"), vectors[i].tables);
        CU_ASSERT_EQUAL(count_of("<details>"), vectors[i].count > 32);
        CU_ASSERT_EQUAL(count_of("<caption>The "), vectors[i].tables - 1);
        if (vectors[i].caption != NULL)
            check_holds(vectors[i].caption);
    }
}

#define EVIDENCE "{'cpu_seconds': 0.25, 'interval_seconds': 2.0, 'threads': []}"

TEST(who_hung_has_its_evidence)
{
    begin(2);
    run.loaded.report.status = JR_RUN_HUNG;
    jr_html_page_hang(&run.html);
    check_holds("<h2 id='hang-title'>What the ranks were doing</h2>\n"
                "<p>No rank left evidence.</p>\n</section>\n");
    jr_buf_clear(&run.out);
    (void)mkdirat(run.scratch.fd, "1", 0700);
    scratch_write(&run.scratch, "1/hang.json", jq(EVIDENCE));
    run.ranks[0].dir = "0";
    run.ranks[1].dir = "1";
    jr_html_page_hang(&run.html);
    check_holds("<tbody>\n<tr><th scope='row'>1</th><td>");
    check_holds("<td class='n'>0.25 s in 2.00 s</td></tr>\n</tbody>");
    check_holds("<summary>Threads of all ranks</summary>");
    CU_ASSERT_EQUAL(count_of("<tr><th scope='row'>"), 1);
}

/* When they ran. */

/* Ranks 4, 5 and 7, of which one runs twice, and two that are not here. */
static void begin_lives(void)
{
    static struct jr_stretch lives[] = {
        {.rank = 4, .started = 0, .ended = 2, .heard = 0.5, .last = true},
        {.rank = 5, .started = 0, .ended = 1, .heard = -1},
        {.rank = 5, .started = 2, .ended = -1, .heard = -1, .last = true},
        {.rank = 7, .started = 1, .ended = 4, .heard = -1, .last = true},
        {.rank = 3, .started = 3, .ended = 4, .heard = -1, .last = true},
        {.rank = 6, .started = 3, .ended = 4, .heard = -1, .last = true},
        {.rank = 9, .started = 3, .ended = 4, .heard = -1, .last = true}};
    begin(3);
    run.ranks[0].rank = 4;
    run.ranks[1].rank = 5;
    run.ranks[2].rank = 7;
    run.judged[1].state = JR_RANK_FAILED;
    run.judged[2].state = JR_RANK_STOPPED;
    run.html.timeline = (struct jr_timeline){.spans = lives, .span_count = 7, .end = 4};
}

TEST(each_rank_has_its_bars)
{
    begin_lives();
    jr_html_page_time(&run.html);
    check_holds("<ul class='legend'>\n<li><i class='failed'></i>failed: rank 5</li>\n<li><i "
                "class='stopped'></i>stopped by jobrun: rank 7</li>\n<li><i "
                "class='succeeded'></i>succeeded: rank 4</li>\n</ul>\n");
    check_holds("<svg class='labels' width='64' height='68' aria-hidden='true'><text x='58' "
                "y='11'>4</text><text x='58' y='29'>5</text><text x='58' y='47'>7</text></svg>");
    check_holds("<svg class='bars' height='68' ");
    /* failures last */
    check_holds("<rect class='succeeded' x='0.00%' y='0' width='50.00%' height='16'/><rect "
                "class='heard' x='12.50%' y='0' width='2' height='16'/><rect class='earlier' "
                "x='0.00%' y='18' width='25.00%' height='16'/><rect class='stopped' x='25.00%' "
                "y='36' width='75.00%' height='16'/><rect class='failed' x='50.00%' y='18' "
                "width='50.00%' height='16'/><text class='mark' x='100.00%' y='30'>✕</text></svg>");
    check_holds("from its start to its end; the light notch is its first output; the pale bars are "
                "earlier attempts.</figcaption>");
}

TEST(the_axis_is_of_time)
{
    begin_lives();
    jr_html_page_time(&run.html);
    check_holds("<line x1='0.00%' x2='0.00%' y1='0' y2='54'/><text class='left' x='0.00%' y='66'>0 "
                "ms</text><line x1='25.00%' x2='25.00%' y1='0' y2='54'/><text class='tick' "
                "x='25.00%' y='66'>1.0 s</text>");
    check_holds("<text class='right' x='100.00%' y='66'>4.0 s</text><rect");
}

/* What is short is seen, and what is beyond the end ends there. */
TEST(bars_stay_within_the_chart)
{
    static struct jr_stretch lives[] = {
        {.rank = 0, .started = 1, .ended = 1, .heard = -1, .last = true},
        {.rank = 1, .started = -1, .ended = 900, .heard = -1, .last = true}};
    begin(2);
    run.html.timeline = (struct jr_timeline){.spans = lives, .span_count = 2, .partial = true};
    jr_html_page_time(&run.html); /* of a second, for nothing says more */
    check_holds("x='100.00%' y='0' width='0.15%'");
    check_holds("x='0.00%' y='18' width='100.00%'");
    check_holds(
        "from its start to its end. Some of events.jsonl is missing or unreadable.</figcaption>");
    begin(2);
    jr_html_page_time(&run.html); /* without any there is no chart */
    check_lacks("<figure>");
    check_holds("succeeded: ranks 0-1</li>");
}

/* The more ranks there are, the lower are their rows. */
TEST(many_ranks_have_low_rows)
{
    static const struct {
        uint32_t count, height, thick, marked, labels;
    } vectors[] = {{24, 24 * 18 + 14, 16, 16, 24}, {25, 25 * 10 + 14, 8, 8, 13},
                   {64, 64 * 10 + 14, 8, 8, 32},   {65, 65 * 5 + 14, 3, 3, 22},
                   {128, 128 * 5 + 14, 3, 3, 43},  {129, 129 + 14, 1, 3, 10},
                   {512, 512 + 14, 1, 3, 37},      {513, 257 + 14, 1, 3, 19}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_stretch lives[] = {
            {.rank = 0, .started = 0, .ended = 1, .heard = 0, .last = true},
            {.rank = 1, .started = 0, .ended = 1, .heard = -1, .last = true}};
        char part[64];
        begin(vectors[i].count);
        run.judged[1].state = JR_RANK_FAILED;
        run.html.timeline = (struct jr_timeline){.spans = lives, .span_count = 2, .end = 1};
        jr_html_page_time(&run.html);
        (void)snprintf(part, sizeof part, "class=\"bars\" height=\"%u\"", vectors[i].height);
        check_holds(part);
        (void)snprintf(part, sizeof part, "y=\"0\" width=\"100.00%%\" height=\"%u\"/>",
                       vectors[i].thick);
        check_holds(part);
        (void)snprintf(part, sizeof part, "width=\"100.00%%\" height=\"%u\"/><text class=\"mark\"",
                       vectors[i].marked);
        check_holds(part);
        CU_ASSERT_EQUAL(count_of("<text x='58'"), vectors[i].labels);
        CU_ASSERT_EQUAL(count_of("class='heard'"), vectors[i].count < 129);
        CU_ASSERT_EQUAL(count_of("light notch"), vectors[i].count < 129);
        CU_ASSERT_EQUAL(count_of(", 2 ranks in a row"), vectors[i].count > 512);
        check_lacks("pale bars");
    }
}

TEST(what_happened_is_listed)
{
    static struct jr_moment moments[45];
    for (size_t count = 40; count <= 45; count += 5) {
        begin(1);
        for (size_t i = 0; i < count; i++)
            moments[i] =
                (struct jr_moment){.at = (double)i + 0.5, .words = "stopped", .text = "a<b"};
        run.html.timeline = (struct jr_timeline){.moments = moments, .moment_count = count};
        jr_html_page_time(&run.html);
        CU_ASSERT_EQUAL(count_of("<td>stopped</td>"), 40);
        check_holds(count == 40 ? "start</caption>" : "start (the last 40 of 45)</caption>");
        check_holds(
            count == 40
                ? "<tbody>\n<tr><td class='n'>500 ms</td><td>stopped</td><td>a&lt;b</td></tr>\n"
                : "<tbody>\n<tr><td class='n'>5.5 s</td>");
    }
}

/* What they delivered and used. */

static void deliver(uint32_t rank, const char *json)
{
    run.judged[rank].result = json_loads(json, JSON_DECODE_ANY, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run.judged[rank].result);
}

TEST(fields_are_shown_by_rank)
{
    begin(3);
    deliver(0, "{\"loss\": 0.5, \"name\": \"<a>\"}");
    deliver(2, "{\"loss\": 0.25, \"more\": [1]}");
    jr_html_page_results(&run.html);
    check_holds("<tr><th scope='row'>loss</th><td class='n'>2 of 3</td>");
    check_holds("<tr><th scope='row'>more</th><td class='n'>1 of 3</td>");
    check_holds("aria-label='value by rank'><path d='M28.7 3.0h.1M131.3 21.0h.1'/></svg>");
    CU_ASSERT_EQUAL(count_of("class='plot'"), 1); /* of what differs */
    check_holds("<details open><summary>Results of each rank</summary>");
    check_holds("<th scope='col'>rank</th><th scope='col'>loss</th><th scope='col'>name</th><th "
                "scope='col'>more</th></tr>");
    check_holds("<tr><th scope='row'>0</th><td>0.5</td><td>");
    check_holds("<tr><th scope='row'>1</th><td>—</td><td>—</td><td>—</td></tr>\n<tr><th "
                "scope='row'>2</th><td>0.25</td><td>—</td>");
    check_lacks("Not all fields");
}

TEST(results_that_are_no_objects_are_shown)
{
    begin(2);
    deliver(0, "7");
    jr_html_page_results(&run.html);
    check_lacks("What the ranks delivered");
    check_holds("<th scope='col'>rank</th><th scope='col'>result</th>");
    check_holds("<tr><th scope='row'>0</th><td>7</td></tr>\n"
                "<tr><th scope='row'>1</th><td>—</td></tr>\n");
}

/* So many fields, so many columns; and ranks, if asked for. */
TEST(not_all_fields_are_shown)
{
    for (int fields = 24; fields <= 25; fields++) {
        uint32_t ranks = fields == 24 ? 16 : 17;
        char name[16];
        begin(ranks);
        json_t *result = json_object();
        for (int i = 0; i < fields; i++) {
            (void)snprintf(name, sizeof name, "f%02d", i);
            jr_json_set_int(result, name, i);
        }
        run.judged[0].result = result;
        jr_html_page_results(&run.html);
        CU_ASSERT_EQUAL(count_of("<tr><th scope='row'>f"), 24);
        CU_ASSERT_EQUAL(count_of("<th scope='col'>f"), 9); /* and "field" */
        CU_ASSERT_EQUAL(count_of("Not all fields are shown"), (size_t)fields - 24);
        CU_ASSERT_EQUAL(count_of("<details open>"), ranks <= 16);
        check_holds("<tr><th "
                    "scope='row'>0</th><td>0</td><td>1</td><td>2</td><td>3</td><td>4</td><td>5</"
                    "td><td>6</td><td>7</td></tr>");
    }
}

TEST(usage_is_told_by_its_ends)
{
    begin(5);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint64_t times[] = {3, 9, 1, 5};
        run.ranks[i].rank = 10 + i;
        run.ends[i].ended_ns = times[i] * UINT64_C(1000000000);
        run.ends[i].max_rss_bytes = 1 << 20;
    }
    jr_html_page_usage(&run.html);
    check_holds("<tr><th scope='row'>time</th><td class='n'>1.0 s</td><td class='n'>5.0 s</td><td "
                "class='n'>9.0 s</td><td class='n'>11</td><td><svg ");
    check_holds("<tr><th scope='row'>peak memory</th><td class='n'>1.0 MiB</td><td class='n'>1.0 "
                "MiB</td><td class='n'>1.0 MiB</td><td class='n'>10</td><td></td></tr>");
    check_lacks("processor time");
}
