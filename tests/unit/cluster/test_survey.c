/* A survey of hosts that are shell scripts, by a transport that starts these:
 * what becomes of each does not depend on the others. */
#include "cluster/survey.h"

#include <signal.h>

#include "base/io.h"
#include "cluster/transport.h"
#include "generated/version.h"
#include "scratch.h"

/* An agent, but for what it says of itself: $1 is its number, $2 its version, $3 how far it is
 * ahead, in seconds, and $4 what it answers to `listen` and `reach`; -1 is that nobody can listen,
 * with -2 it ends there, and with 7 it says that it listens without being asked. */
#define AGENT                                                                                      \
    "n=$1; stamp() { date +%s%N; }; read -r line; at=$(stamp)\n"                                   \
    "wall=$((at + $3 * 1000000000))\n"                                                             \
    "echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"facts\\\",\\\"b\\\":\\\"Zm9v\\\"}\"\n"                     \
    "echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"hello\\\",\\\"at\\\":$at,"                                 \
    "\\\"wall\\\":$wall,\\\"version\\\":\\\"$2\\\",\\\"host\\\":\\\"h$n\\\","                      \
    "\\\"port\\\":29511}\"\n"                                                                      \
    "while read -r line; do case $line in\n"                                                       \
    "*heartbeat*) echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"heartbeat\\\","                               \
    "\\\"at\\\":$(stamp)}\"\n"                                                                     \
    "[ $4 -lt 7 ] || "                                                                             \
    "echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"listening\\\",\\\"port\\\":1}\";;\n"                       \
    "*listen*) [ $4 -lt -1 ] && exit 3\n"                                                          \
    "echo \"$line\" >asked; [ $4 -lt 0 ] && "                                                      \
    "echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"why\\\",\\\"b\\\":\\\"YnVzeQ==\\\"}\""                     \
    "\n[ $4 -lt 0 ] && port=0 || port=29511\n"                                                     \
    "echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"listening\\\",\\\"port\\\":$port}\";;"                     \
    "\n*reach*) echo \"{\\\"n\\\":$n,\\\"t\\\":\\\"reached\\\","                                   \
    "\\\"status\\\":$4}\";;\nesac; done\n"

static struct scratch scratch;

static int start_script(struct jr_carrier *ret, const struct jr_controller_options *options,
                        uint32_t node, struct jr_error *err)
{
    char shell[] = "/bin/sh", flag[] = "-c";
    char *argv[] = {shell, flag, options->hosts[node], NULL};
    int failed = jr_carrier_start(ret, argv, options->envp, true);
    return failed == 0 ? 0 : jr_error_set(err, JR_STATUS_LAUNCH, "no shell");
}

static struct jr_transport transport;

/* Survey the hosts that the scripts are; NULL-terminated. */
static struct jr_survey *survey(char **scripts, const struct jr_survey_options *meeting)
{
    static char path[] = "PATH=/bin:/usr/bin", *envp[] = {path, NULL};
    struct jr_survey *ret = NULL;
    struct jr_error err = {0};
    struct jr_controller_options options = {
        .transport = &transport, .program = "x", .hosts = scripts, .envp = envp};
    while (scripts[options.nodes] != NULL)
        options.nodes++;
    transport = jr_ssh_transport;
    transport.start = start_script;
    CU_ASSERT_EQUAL_FATAL(jr_survey_hosts(&ret, &options, meeting, &err), 0);
    return ret;
}

static void write_agent(void)
{
    scratch_start(&scratch);
    scratch_write(&scratch, "agent", AGENT);
}

/* The line of a host that answers so; static, `which` of them. */
static char *agent_line(int which, const char *version, int ahead, int answer)
{
    static char lines[4][256];
    (void)snprintf(lines[which], sizeof lines[which], "cd '%s'; exec sh ./agent %d %s %d %d",
                   scratch.dir, which, version, ahead, answer);
    return lines[which];
}

/* Where ranks meet is what the host says that was asked to listen. */
TEST(only_who_was_asked_says_where)
{
    const char *why;
    uint32_t port = 0;
    write_agent();
    char *hosts[] = {agent_line(0, JR_VERSION, 0, -2), agent_line(1, JR_VERSION, 0, 7), NULL};
    struct jr_survey *made = survey(hosts, &(struct jr_survey_options){0});
    CU_ASSERT_EQUAL(jr_survey_meeting(made, &port, &why), -1);
    CU_ASSERT_EQUAL(port, 0);
    jr_survey_end(made);
    scratch_end(&scratch);
}

/* One that says nothing, and one that is lost after it has said hello. */
TEST(waits_no_longer_than_it_is_to)
{
    static char mute[] = "read -r line; read -r line; exit 0", gone[512];
    write_agent();
    (void)snprintf(gone, sizeof gone,
                   "echo '{\"n\":0,\"t\":\"hello\",\"at\":1,\"wall\":1,"
                   "\"version\":\"%s\",\"host\":\"h\",\"port\":0}'; "
                   "read -r line; read -r line; exit 3",
                   JR_VERSION);
    char *one[] = {mute, NULL}, *other[] = {gone, NULL};
    struct jr_survey *made = survey(one, &(struct jr_survey_options){.limit_ms = 1500});
    JR_ASSERT_TEXT(jr_survey_host(made, 0).failure, "no answer within 2 s");
    CU_ASSERT_EQUAL(strncmp(jr_survey_host(made, 0).advice, "try: ssh ", 9), 0);
    jr_survey_end(made);
    made = survey(other, &(struct jr_survey_options){0});
    JR_ASSERT_TEXT(jr_survey_host(made, 0).failure, "ssh ended with exit code 3");
    CU_ASSERT_PTR_NULL(jr_survey_host(made, 0).advice);
    jr_survey_end(made);
    scratch_end(&scratch);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as jobrun does */
    return jr_unit_main();
}
