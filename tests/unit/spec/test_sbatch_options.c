/* What people call the options of sbatch, and how they write their values. */
#include "spec/sbatch_options.h"

#include "case.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check_meant(const char *key, const char *expected)
{
    const char *meant = jr_sbatch_meant(key);
    if (expected == NULL) {
        CU_ASSERT_PTR_NULL(meant);
        return;
    }
    JR_ASSERT_TEXT(meant, expected);
}

TEST(knows_options_by_other_names)
{
    static const char *const rows[][2] = {
        {"--partition", "partition"},
        {"-p", "partition"},
        {"p", "partition"},
        {"-J", "job-name"},
        {"-x", "exclude"},
        {"--p", NULL},
        {"-Z", NULL},
        {"", NULL},
        {"-", NULL},
        {"cpus_per_task", "cpus-per-task"},
        {"CpusPerTask", "cpus-per-task"},
        {"--Mem_Per_Cpu", "mem-per-cpu"},
        {"queue", "partition"},
        {"time_limit", "time"},
        {"tasks-per-node", "ntasks-per-node"},
        {"partitio", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_meant(rows[i][0], rows[i][1]);
    for (const char *const *name = jr_sbatch_names(); *name != NULL; name++)
        check_meant(*name, *name);
}

TEST(knows_what_the_job_decides)
{
    static const char *const rows[] = {"nodes",           "Nodes", "ntasks",
                                       "ntasks_per_node", "wrap",  "array"};
    for (size_t i = 0; i < COUNT(rows); i++)
        CU_ASSERT_PTR_NOT_NULL(jr_sbatch_decided(rows[i]));
    for (const char *const *name = jr_sbatch_names(); *name != NULL; name++)
        CU_ASSERT_PTR_NULL(jr_sbatch_decided(*name));
}

/* Options of sbatch: which there are, what values they take, and what is offered for one that is
 * wrong. */

/* One option, on line 3 from column 18 on. */
static void open_option(struct spec_case *c, const char *option)
{
    struct jr_buf body JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&body, "engine: {slurm: {%s}}", option);
    case_open_body(c, body.data);
}

static void check_fits(const char *option, bool fits)
{
    struct spec_case c RELEASE(case_close);
    open_option(&c, option);
    bool refused = c.diags.count == 1 && jr_diag_is(&c.diags.items[0], JR_CODE_WRONG_SBATCH_VALUE);
    if (fits ? c.diags.count != 0 : !refused)
        printf("\n  %s: %s\n", option, c.found.data);
    CU_ASSERT_TRUE(fits ? c.diags.count == 0 : refused);
    CU_ASSERT_EQUAL(case_spec(&c) != NULL, fits);
}

TEST(refuses_values_of_another_form)
{
    EACH_PART(part,
              "hold: 1|hold: yes|hold: truely|hold: 'a true'|partition: true|partition: false|"
              "core-spec: 0|core-spec: -1|core-spec: 1.5|core-spec: 01|core-spec: 2x|"
              "core-spec: true|time: 1h|time: 1:2:3:4|time: ':30'|time: '1:'|time: 1-|time: -2|"
              "time: -10|time: infinitely|time: 1-2-3|mem: 64GiB|mem: 64P|mem: 1.5G|mem: G|"
              "mem: 64 G|mem: -1|mem: 64BB|gpus: h100|gpus: 'h100:'|gpus: 'h100:2,'|gpus: '2,,3'|"
              "gpus: 'a:b:2'|gpus: ':2'|signal: '@60'|signal: USR1@|signal: 'X:TERM@1'|"
              "signal: 'BRB:TERM'|signal: USR1@x|signal: 'B:'")
        check_fits(part, false);
}

TEST(takes_what_sbatch_takes)
{
    EACH_PART(part,
              "hold: true|hold: false|partition: gpu|partition: truth|partition: 'a true'|"
              "partition: 1|comment: 'two words'|exclusive: true|exclusive: user|nice: 100|"
              "x11: false|core-spec: 1|core-spec: 10|cpus-per-task: 4294967296|time: 90|time: 0|"
              "time: '90:30'|time: '1:30:00'|time: 2-0|time: '2-12:00'|time: '2-12:00:00'|"
              "time: infinite|time: INFINITE|time: Unlimited|time: -1|mem: 0|mem: 65536|mem: 64K|"
              "mem: 64m|mem: 64G|mem: 64gb|mem: 2TB|mem-per-cpu: 2G|tmp: 10G|gpus: 8|"
              "gpus: 'h100:2'|gpus: 'h100:2,a100:1'|gpus: 'a100_80gb.mig-1:4'|signal: USR1|"
              "signal: 10|signal: USR1@60|signal: 'B:TERM@120'|signal: 'R:TERM'|"
              "signal: 'RB:TERM'|signal: 'BR:SIGRTMIN+1@5'")
        check_fits(part, true);
}

/* What follows a newline would be a line of the script of its own. */
TEST(refuses_values_of_several_lines)
{
    EACH_PART(part,
              "time: \"90\\n\"|partition: \"gpu\\n\"|partition: \"gpu\\nrm\"|hold: \"true\\n\"|"
              "mem: \"64G\\n\"|gpus: \"8\\n\"|core-spec: \"1\\n\"|exclusive: \"a\\nb\"|"
              "signal: \"USR1@60\\n\"|exclusive: \"user\\n\"") {
        struct spec_case c RELEASE(case_close);
        open_option(&c, part);
        if (c.diags.errors == 0)
            printf("\n  taken: %s\n", part);
        CU_ASSERT_TRUE(c.diags.errors > 0);
        CU_ASSERT_PTR_NULL(case_spec(&c));
    }
}

TEST(says_what_each_form_wants)
{
    static const struct {
        const char *option, *message;
    } vectors[] = {
        {"hold: 1", "'--hold' of sbatch wants true or false: it has no value, not '1'"},
        {"partition: true", "'--partition' of sbatch wants a value, not 'true'"},
        {"core-spec: 0", "'--core-spec' of sbatch wants an integer of at least 1, not '0'"},
        {"time-min: x", "'--time-min' of sbatch wants minutes, HOURS:MINUTES:"
                        "SECONDS or DAYS-HOURS:MINUTES:SECONDS, not 'x'"},
        {"mem: x", "'--mem' of sbatch wants a number in MB, or with K, M, G or T, not 'x'"},
        {"gpus: x", "'--gpus' of sbatch wants a number, or TYPE:NUMBER, not 'x'"},
        {"signal: '@'", "'--signal' of sbatch wants a signal such as USR1@60 "
                        "or B:TERM@120, not '@'"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct spec_case c RELEASE(case_close);
        open_option(&c, vectors[i].option);
        CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
        JR_ASSERT_TEXT(c.diags.items[0].message, vectors[i].message);
        CU_ASSERT_EQUAL(c.diags.items[0].severity, JR_SEVERITY_ERROR);
    }
}

/* The fix is put over the value, so it has to be where the value is. */
static void check_offer(const char *key, const char *value, const char *offer)
{
    struct jr_buf JR_BUF_CLEANUP option = JR_BUF_INIT, help = JR_BUF_INIT;
    struct spec_case c RELEASE(case_close);
    jr_buf_printf(&option, "%s: %s", key, value);
    jr_buf_printf(&help, "did you mean %s?", offer == NULL ? "" : offer);
    open_option(&c, option.data);
    CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
    const struct jr_diag *diag = &c.diags.items[0];
    if (offer == NULL) {
        CU_ASSERT_PTR_NULL(diag->help);
        CU_ASSERT_PTR_NULL(diag->fix);
    } else {
        JR_ASSERT_TEXT(diag->help, help.data);
        CU_ASSERT_PTR_NOT_NULL_FATAL(diag->fix);
        JR_ASSERT_TEXT(diag->fix->text, offer);
        CU_ASSERT_EQUAL(diag->fix->span.column, 18 + strlen(key) + 2);
        CU_ASSERT_EQUAL(diag->fix->span.end_column, diag->fix->span.column + strlen(value));
    }
}

TEST(offers_what_sbatch_calls_the_same_time)
{
    check_offer("time", "1h", "\"1:00:00\"");
    check_offer("time", "1h30m", "\"1:30:00\"");
    check_offer("time", "90s", "\"0:01:30\"");
    check_offer("time", "1s", "\"0:00:01\"");
    check_offer("time", "59m59s", "\"0:59:59\"");
    check_offer("time", "23h59m", "\"23:59:00\"");
    check_offer("time", "23h59m59s", "\"23:59:59\"");
    check_offer("time", "24h", "\"1-0:00:00\"");
    check_offer("time", "25h", "\"1-1:00:00\"");
    check_offer("time", "1000ms", "\"0:00:01\"");
    check_offer("time", "999ms", NULL);
    check_offer("time", "0s", NULL);
    check_offer("time", "soon", NULL);
    check_offer("time-min", "2h", "\"2:00:00\"");
    check_offer("time", "1.5 days", "\"1-12:00:00\"");
    check_offer("time", "2 houses", NULL);
}

TEST(offers_what_sbatch_calls_the_same_size)
{
    check_offer("mem", "64GiB", "\"64G\"");
    check_offer("mem", "64Gi", "\"64G\"");
    check_offer("mem", "64gib", "\"64G\"");
    check_offer("mem", "64 GB", "\"64G\"");
    check_offer("mem", "512MiB", "\"512M\"");
    check_offer("mem", "8kib", "\"8K\"");
    check_offer("tmp", "1TiB", "\"1T\"");
    check_offer("mem", "GiB", NULL);
    check_offer("mem", "1.5GiB", NULL);
    check_offer("mem", "64GiBs", NULL);
    check_offer("mem", "64PiB", NULL);
    check_offer("mem", "'64 '", NULL);
    check_offer("gpus", "64GiB", NULL);
    check_offer("core-spec", "1h", NULL);
}

/* A misspelt option is an error; another one may be that of a plugin. */
TEST(tells_slips_from_options_of_plugins)
{
    static const struct {
        const char *option, *message, *help, *fix;
        bool error;
    } vectors[] = {
        {"partion: gpu", "sbatch has no option 'partion'", "did you mean 'partition'?", "partition",
         true},
        {"qas: a", "sbatch has no option 'qas'", "did you mean 'qos'?", "qos", true},
        {"container-image: a", "'container-image' is no option of sbatch itself",
         "this is right only where a plugin of the cluster adds it", NULL, false},
        {"container-env: a", "'container-env' is no option of sbatch itself",
         "this is right only where a plugin of the cluster adds it", NULL, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct spec_case c RELEASE(case_close);
        open_option(&c, vectors[i].option);
        CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
        const struct jr_diag *diag = &c.diags.items[0];
        CU_ASSERT_TRUE(jr_diag_is(diag, JR_CODE_UNKNOWN_SBATCH_OPTION));
        CU_ASSERT_EQUAL(diag->severity, vectors[i].error ? JR_SEVERITY_ERROR : JR_SEVERITY_WARNING);
        CU_ASSERT_EQUAL(diag->span.column, 18);
        CU_ASSERT_EQUAL(diag->span.line, 3);
        JR_ASSERT_TEXT(diag->message, vectors[i].message);
        JR_ASSERT_TEXT(diag->help, vectors[i].help);
        if (vectors[i].fix != NULL) {
            CU_ASSERT_PTR_NOT_NULL_FATAL(diag->fix);
            JR_ASSERT_TEXT(diag->fix->text, vectors[i].fix);
        }
        CU_ASSERT_EQUAL(case_spec(&c) == NULL, vectors[i].error);
    }
}

TEST(names_the_field_of_an_unknown_option)
{
    check_fits("account: a, qos: b", true);
    struct spec_case c;
    open_option(&c, "qos: b, container-image: a");
    JR_ASSERT_TEXT(c.found.data, "JR0332@3:26 engine.slurm.container-image");
    case_close(&c);
    open_option(&c, "qos: true, time: 1h, account: false");
    CU_ASSERT_EQUAL(c.diags.errors, 3);
    case_close(&c);
}

/* A value that was put together elsewhere cannot be mended at its place. */
TEST(mends_no_value_that_was_put_in)
{
    BODY_CASE(c, "vars: {t: 1h}\nengine: {slurm: {time: \"${vars.t}\"}}");
    CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
    CU_ASSERT_TRUE(jr_diag_is(&c.diags.items[0], JR_CODE_WRONG_SBATCH_VALUE));
    CU_ASSERT_PTR_NULL(c.diags.items[0].help);
    CU_ASSERT_PTR_NULL(c.diags.items[0].fix);
}

/* What has to come from outside is not known when a spec is validated. */
TEST(leaves_unknown_values_alone)
{
    static const char text[] = HEAD "engine: {slurm: {time: \"${env:LIMIT}\"}}";
    const struct jr_spec_source source = {
        .name = "t.yaml", .folder = "/jobs", .text = text, .len = strlen(text)};
    const struct jr_spec_options options = {.validate = true};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    (void)jr_spec_load(&file, &source, &options, &diags);
    CU_ASSERT_EQUAL(diags.errors, 0);
    jr_spec_free(file);
}

TEST(knows_the_options_by_their_whole_names)
{
    CU_ASSERT_TRUE(jr_sbatch_has_option("account"));
    CU_ASSERT_TRUE(jr_sbatch_has_option("x11"));
    CU_ASSERT_TRUE(jr_sbatch_has_option("mem-per-gpu"));
    CU_ASSERT_FALSE(jr_sbatch_has_option("mem-per"));
    CU_ASSERT_FALSE(jr_sbatch_has_option("accounts"));
    CU_ASSERT_FALSE(jr_sbatch_has_option("Account"));
    CU_ASSERT_FALSE(jr_sbatch_has_option("nodes")); /* the job decides it */
    CU_ASSERT_FALSE(jr_sbatch_has_option(""));
}
