#include "record/record_facts.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/names.h"
#include "base/proc.h"
#include "base/redact.h"
#include "base/strv.h"
#include "generated/version.h"
#include "judge/words.h"
#include "record/record_folder.h"

#include "base/banned.h"

enum { FORMAT_VERSION = 1, MOST_CMDLINE = 8 << 20, MOST_OS = 64 << 10 };
enum { MOST_ARGV = 768 << 10 }; /* so that run.json stays below 1 MiB */

/* `-s env.API_KEY=abc`, `--token=abc`: an argument whose name, after its last dot or first dashes,
 * is that of a secret keeps only the name. */
static char *redact_argument(struct jr_arena *arena, const struct jr_plan *plan,
                             const char *argument)
{
    size_t len = strcspn(argument, "=");
    const char *dot = memrchr(argument, '.', len);
    const char *name = dot != NULL ? dot + 1 : argument + strspn(argument, "-");
    size_t name_len = (size_t)(argument + len - name), i = 0;
    while (i < name_len && (isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '-'))
        i++;
    if (argument[len] == '\0' || name_len == 0 || i < name_len ||
        !jr_env_matches(plan->secrets, plan->secrets_count, name, name_len))
        return jr_arena_strdup(arena, jr_redact_copy(arena, argument, plan->hidden));
    return jr_arena_printf(arena, "%.*s=" JR_REDACTED, (int)len, argument);
}

/* The command line as the kernel keeps it, as far as run.json has room for it, where a control byte
 * is six. */
static char **read_argv(struct jr_arena *arena, const struct jr_plan *plan)
{
    struct jr_strv argv = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    char *empty = NULL;
    size_t size = 0, more = 0;
    (void)jr_io_read_file(&text, AT_FDCWD, "/proc/self/cmdline", MOST_CMDLINE, NULL);
    for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1) {
        size += 4; /* the quotes, and what parts it from the next */
        for (const char *byte = text.data + at; *byte != '\0'; byte++)
            size += (unsigned char)*byte < ' ' ? 6 : 3;
        if (size <= MOST_ARGV)
            jr_strv_push(&argv, arena, redact_argument(arena, plan, text.data + at));
        else
            more++;
    }
    if (more > 0)
        jr_strv_push(&argv, arena, jr_arena_printf(arena, "... and %zu more", more));
    if (argv.items == NULL)
        jr_strv_copy(&argv, arena, &empty);
    return argv.items;
}

/* PRETTY_NAME of os-release(5), without its quotes. */
static const char *read_os(struct jr_arena *arena)
{
    static const char key[] = "PRETTY_NAME=";
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_io_read_file(&text, AT_FDCWD, "/etc/os-release", MOST_OS, NULL) != 0)
        return NULL;
    const char *line = text.data;
    while (line != NULL && strncmp(line, key, sizeof key - 1) != 0) {
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    if (line == NULL)
        return NULL;
    const char *name = line + sizeof key - 1;
    name += strspn(name, "\"'");
    return jr_arena_strndup(arena, name, strcspn(name, "\"'\n"));
}

void jr_record_machine_read(struct jr_record_machine *ret, struct jr_arena *arena)
{
    struct utsname here = {0};
    JR_BUF_CLEANUP struct jr_buf boot_id = JR_BUF_INIT;
    JR_FREE char *cwd = getcwd(NULL, 0);
    (void)uname(&here);
    (void)jr_io_fact(&boot_id, "", "/proc/sys/kernel/random/boot_id");
    *ret = (struct jr_record_machine){
        .host = jr_arena_strdup(arena, here.nodename),
        .user = jr_user_name(arena, geteuid()),
        .os = read_os(arena),
        .kernel = jr_arena_strdup(arena, here.release),
        .arch = jr_arena_strdup(arena, here.machine),
        .boot_id = jr_arena_strdup(arena, boot_id.data),
        .cwd = jr_arena_strdup(arena, cwd),
    };
}

int jr_record_facts_fill(struct jr_record_facts *ret, struct jr_arena *arena,
                         const struct jr_plan *plan, const struct jr_record_machine *machine)
{
    struct jr_record_facts facts = {
        .run_id = plan->run_id,
        .version = JR_VERSION,
        .pid = getpid(),
        .pid_namespace = jr_proc_namespace(),
        .start_ticks = jr_record_folder_ticks(getpid()),
        .argv = read_argv(arena, plan),
        .name = plan->name,
        .fingerprint = plan->fingerprint,
        .world_size = plan->world_size,
        .nodes = plan->nodes,
        .first_rank = plan->first,
        .ranks = plan->count,
        .started_ns = jr_clock_wall_ns(),
    };
    if (machine != NULL)
        facts.machine = *machine;
    else
        jr_record_machine_read(&facts.machine, arena);
    if (arena->failed)
        return -1;
    *ret = facts;
    return 0;
}

void jr_record_facts_finish(struct jr_record_facts *facts, const struct jr_judgement *report,
                            const struct jr_outcome *outcome)
{
    facts->started_ns = jr_judgement_began_wall_ns(report, outcome);
    facts->finished_ns = outcome->ended_wall_ns;
    facts->status = jr_run_status_word(report->status);
    facts->exit_code = report->exit_code;
}

void jr_record_run_json(struct jr_buf *out, const struct jr_record_facts *facts)
{
    bool over = facts->finished_ns != 0;
    json_t *run = json_object(), *argv = json_array(), *git = json_object(), *job = json_null();
    jr_json_set_int(run, "format_version", FORMAT_VERSION);
    jr_json_set_str(run, "run_id", facts->run_id);
    jr_json_set_str(run, "name", facts->name);
    jr_json_set_str(run, "version", facts->version);
    jr_json_set_str(run, "host", facts->machine.host);
    jr_json_set_str(run, "user", facts->machine.user);
    jr_json_set_str(run, "os", facts->machine.os);
    jr_json_set_str(run, "kernel", facts->machine.kernel);
    jr_json_set_str(run, "arch", facts->machine.arch);
    jr_json_set_int(run, "pid", facts->pid);
    jr_json_set(run, "pid_namespace",
                facts->pid_namespace == 0 ? json_null()
                                          : json_integer((json_int_t)facts->pid_namespace));
    jr_json_set_int(run, "start_ticks", (int64_t)facts->start_ticks);
    jr_json_set_str(run, "boot_id", facts->machine.boot_id);
    for (char *const *word = facts->argv; word != NULL && *word != NULL; word++)
        jr_json_append(argv, jr_json_str(*word));
    jr_json_set(run, "argv", argv);
    jr_json_set_str(run, "cwd", facts->machine.cwd);
    jr_json_set_str(git, "commit", facts->commit);
    jr_json_set(git, "dirty", facts->dirty == NULL ? json_null() : json_boolean(*facts->dirty));
    jr_json_set(run, "git", git);
    jr_json_set(run, "code", jr_record_code_json(&facts->code));
    jr_json_set_str(run, "fingerprint", facts->fingerprint);
    jr_json_set_str(run, "spec", facts->spec);
    jr_json_set_str(run, "spec_folder", facts->spec_folder);
    jr_json_set_str(run, "rerun_of", facts->rerun_of);
    jr_json_share(run, facts->values, "vars");
    jr_json_share(run, facts->values, "labels");
    if (facts->job != NULL) /* the scheduler's, whose next start may continue the run */
        job = json_pack("{s:s, s:o, s:I}", "scheduler", "Slurm", "id", jr_json_str(facts->job),
                        "restarts", (json_int_t)facts->job_restarts);
    jr_json_set(run, "job", job);
    jr_json_set_bool(run, "local", facts->local);
    jr_json_set_bool(run, "any_devices", facts->any_devices);
    jr_json_set_int(run, "attempt", facts->attempt);
    jr_json_set_int(run, "world_size", facts->world_size);
    jr_json_set_int(run, "nodes", facts->nodes);
    jr_json_set(run, "ranks",
                json_pack("{s:I, s:I}", "first", (json_int_t)facts->first_rank, "count",
                          (json_int_t)facts->ranks));
    jr_json_set_real(run, "started", jr_words_wall(facts->started_ns));
    jr_json_set(run, "finished", over ? json_real(jr_words_wall(facts->finished_ns)) : json_null());
    jr_json_set_str(run, "status", over ? facts->status : NULL);
    jr_json_set(run, "exit_code", over ? json_integer(facts->exit_code) : json_null());
    jr_json_set_str(run, "cgroup", facts->cgroup);
    jr_json_print(out, run, 2);
    jr_buf_char(out, '\n');
    json_decref(run);
}
