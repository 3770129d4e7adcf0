/* A session for the command line, in a process of its own where it is detached: cli.h declares it.
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "session/foreground.h"
#include "session/sweep/sweep_run.h"
#include "session/sweep/cell_session.h"

#include "base/banned.h"

/*
 * The process around a run: --detach, and the signals that are for the run.
 *
 * With --detach the run continues in a session of its own, and what it would have shown goes to
 * console.log in its folder. Whatever is wrong before the first rank starts is still told to the
 * one who called.
 *
 * A run takes signals itself while it lasts. Between the creation of its folder and its verdict
 * none of them may end jobrun, or the folder would show a lost run. They are blocked; a run obeys
 * those that are pending when it begins. Once there is a verdict they stay blocked until jobrun has
 * ended: the exit status is the one that results.json states, whenever a signal comes.
 */

struct detach {
    int fd; /* to the process that was called; -1: not detached */
};

#define CONSOLE "console.log"

/* The id comes when the run was let go; without one the child's exit status says what was wrong, as
 * its words on standard error did. */
static int await_child(const struct jr_cli *cli, int fd, pid_t child)
{
    struct jr_buf id = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_io_read_fd(&id, fd, 256, &err) == 0 && id.len > 0) {
        jr_buf_char(&id, '\n');
        return jr_cli_out(cli, &id);
    }
    jr_buf_release(&id);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        return WEXITSTATUS(status);
    return jr_cli_say(cli, JR_STATUS_LAUNCH, "the detached jobrun ended before the run began");
}

/* Fork. The child, which is to make the run, goes on: false. In the process that was called it
 * returns true once the run was let go or was refused, with the exit status. Before a port is
 * leased or a folder made. */
static bool detach_fork(struct detach *detach, const struct jr_cli *cli, int *ret_status)
{
    int ends[2];
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        *ret_status = jr_cli_say(cli, JR_STATUS_LAUNCH, "could not detach: %s", strerror(errno));
        return true;
    }
    (void)close(ends[child == 0 ? 0 : 1]);
    if (child == 0) {
        (void)setsid();
        detach->fd = ends[1];
        return false;
    }
    *ret_status = await_child(cli, ends[0], child);
    (void)close(ends[0]);
    return true;
}

/* All three standard descriptors, so that nothing holds the terminal. */
static int move_console(int file)
{
    JR_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || file < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(file, STDOUT_FILENO) < 0)
        return -1;
    return dup2(file, STDERR_FILENO) < 0 ? -1 : 0;
}

/* Leave the terminal for the console file, and report the id. */
static int leave_for(struct detach *detach, struct jr_cli *cli, const char *name, int file)
{
    if (move_console(file) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, CONSOLE ": %s", strerror(errno));
    JR_CLOSE int fd = jr_steal_fd(&detach->fd);
    cli->out_closed = cli->err_closed = false;
    (void)jr_cli_color(cli);
    /* The caller may be gone, for example by Ctrl-C: then the run is not wanted. */
    if (jr_io_write_all(fd, name, strlen(name)) != 0)
        return JR_STATUS_LAUNCH;
    return 0;
}

/* In the child, once the run has begun: report the id and leave the terminal, which changes what
 * `cli` says about the outputs. Does nothing if nothing was forked. Returns the exit status, or 0
 * to continue. */
static int detach_leave(struct detach *detach, struct jr_cli *cli, const struct jr_session *session)
{
    if (detach->fd < 0)
        return 0;
    JR_CLOSE int file = jr_session_create_file(session, CONSOLE);
    return leave_for(detach, cli, jr_session_run_name(session), file);
}

/* The same once a sweep has begun, or is gone on with. */
static int detach_leave_sweep(struct detach *detach, struct jr_cli *cli,
                              const struct jr_sweep_place *place)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    if (detach->fd < 0)
        return 0;
    JR_CLOSE int file = openat(place->dir_fd, CONSOLE, flags, place->file_mode);
    return leave_for(detach, cli, place->id, file);
}

static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

enum { STOPS = sizeof stops / sizeof stops[0] };

/* Block the signals that the session's run takes. After a verdict they stay so. */
static void hold_signals(const struct jr_session *session)
{
    sigset_t set;
    jr_session_signals(session, &set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static void exit_by_signal(int sig)
{
    _exit(128 + sig);
}

/* There will be no verdict. Drops what came meanwhile, which was for the run; from now on the stop
 * signals end the process, those aside that were ignored when it began. Returns the first stop
 * signal that was dropped; 0: there was none. */
static int hold_end(void)
{
    sigset_t held, set;
    int sig, stop = 0;
    (void)sigprocmask(SIG_BLOCK, NULL, &held);
    while ((sig = sigtimedwait(&held, NULL, &(struct timespec){0})) > 0)
        for (int i = 0; i < STOPS && stop == 0; i++)
            stop = sig == stops[i] ? sig : 0;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTSTP);
    (void)sigaddset(&set, SIGCONT);
    for (int i = 0; i < STOPS; i++) {
        struct sigaction action;
        (void)sigaddset(&set, stops[i]);
        if (sigaction(stops[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            (void)signal(stops[i], exit_by_signal);
    }
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    return stop;
}

static void note_stage_line(void *data, const char *line)
{
    (void)jr_cli_say(data, 0, "%s", line);
}

struct jr_session_options jr_stage_options(struct jr_cli *cli)
{
    return (struct jr_session_options){
        .envp = cli->environ,
        .sets = cli->sets.items,
        .hosts = cli->hosts,
        .ssh = cli->engine != NULL && strcmp(cli->engine, "ssh") == 0,
        .sweeps = cli->sweeps.items,
        .cell = cli->cell,
        .root = cli->root,
        .args = cli->words_count == 0 ? NULL : cli->rest,
        .node_rank = cli->node_rank,
        .debug_rank = cli->debug_rank,
        .stdin_rank = cli->stdin_rank,
        .local = cli->local,
        .end_children = true,
        .run_id = cli->run_id,
        .inject = cli->inject,
        .lock = cli->locked,
        .note = note_stage_line,
        .data = cli,
    };
}

int jr_stage_open(struct jr_session **ret, struct jr_cli *cli,
                  const struct jr_session_options *options)
{
    *ret = jr_session_open(options);
    return *ret != NULL ? 0 : jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
}

int jr_stage_told(struct jr_session *session, const struct jr_cli *cli, enum jr_status status,
                  const struct jr_error *err)
{
    struct jr_diags *diags = jr_session_findings(session);
    bool silent = status != JR_STATUS_OK && diags->errors == 0;
    jr_cli_diags(cli, diags);
    jr_diags_release(diags);
    return silent ? jr_cli_say(cli, (int)status, "%s", err->text) : (int)status;
}

/* -n needs a command, a spec needs no -n. */
static int check_words(const struct jr_cli *cli)
{
    if (cli->words_count > 0 && cli->count != NULL)
        return jr_mistake_count(cli);
    if (cli->words_count > 1)
        return jr_mistake_second_word(cli);
    bool command = cli->rest != NULL && cli->rest[0] != NULL;
    if (cli->words_count == 0 && !command)
        return jr_mistake_no_spec(cli);
    if (cli->count != NULL && cli->count_value == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "-n wants at least 1 rank: jobrun -n 1 -- CMD");
    if (cli->words_count > 0)
        return 0;
    int status = jr_mistake_script(cli);
    return status != 0 ? status : jr_mistake_quotes(cli);
}

int jr_stage_load(struct jr_session *session, const struct jr_cli *cli, bool *ret_sweep)
{
    int failed = check_words(cli);
    if (failed != 0)
        return failed;
    struct jr_error err = {0};
    struct jr_spec_source source = {.argv = cli->rest, .ranks = cli->count_value};
    if (cli->words_count == 1)
        source = (struct jr_spec_source){.path = cli->words[0]};
    enum jr_status status = jr_session_load(session, &source, &err);
    bool sweep = status == JR_STATUS_USAGE && cli->cell == NULL && jr_session_cells(session) > 0;
    if (sweep && ret_sweep != NULL) {
        *ret_sweep = true;
        status = JR_STATUS_OK;
    }
    return jr_stage_told(session, cli, status, &err);
}

int jr_stage_facts(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    enum jr_status status = jr_session_facts(session, cli->on, &err);
    return jr_stage_told(session, cli, status, &err);
}

int jr_stage_resolve(struct jr_session **ret, struct jr_cli *cli, bool *ret_sweep)
{
    struct jr_session_options options = jr_stage_options(cli);
    struct jr_error err = {0};
    options.dry_run = options.lazy = true;
    int failed = jr_stage_open(ret, cli, &options);
    if (failed == 0)
        failed = jr_stage_load(*ret, cli, ret_sweep);
    if (failed == 0)
        failed = jr_stage_facts(*ret, cli);
    if (failed != 0 || (ret_sweep != NULL && *ret_sweep))
        return failed;
    enum jr_status status = jr_session_connect_agents(*ret, &err);
    if (status == JR_STATUS_OK)
        status = jr_session_resolve(*ret, &err);
    if (status == JR_STATUS_OK)
        status = jr_session_send_spec(*ret, &err);
    return jr_stage_told(*ret, cli, status, &err);
}

static void print_session_text(const struct jr_session *session, const struct jr_cli *cli,
                               enum jr_text what)
{
    char *text = jr_session_text(session, what);
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, what == JR_TEXT_HEADLINE ? "jobrun: " : "");
    jr_buf_str(&out, text != NULL ? text : "jobrun: out of memory\n");
    jr_cli_fit(&out, STDERR_FILENO);
    free(text);
    jr_cli_err(cli, &out);
}

static int begin_run(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    int failed = jr_stage_facts(session, cli);
    if (failed != 0)
        return failed;
    enum jr_status status = jr_session_connect_agents(session, &err);
    if (status != JR_STATUS_OK)
        return jr_stage_told(session, cli, status, &err);
    hold_signals(session);
    status = jr_session_begin(session, &err);
    int sig = status != JR_STATUS_OK ? hold_end() : 0;
    failed = jr_stage_told(session, cli, status, &err);
    return sig > 0 ? 128 + sig : failed;
}

static void print_start_texts(const struct jr_session *session, const struct jr_cli *cli)
{
    print_session_text(session, cli, JR_TEXT_HEADLINE);
    if (cli->debug_rank != NULL)
        (void)jr_cli_say(cli, 0,
                         "rank %u has this terminal and its Ctrl-C; `jobrun "
                         "stop %s` in another one ends the run",
                         cli->debug_rank_value, jr_session_run_name(session));
    if (cli->out_closed)
        (void)jr_cli_say(cli, 0,
                         "standard output is closed: the output of the ranks "
                         "goes to their files only");
}

/* Behind what the console has still to show, however long that takes: all that there was to do is
 * done. */
static int print_end_texts(struct jr_session *session, const struct jr_cli *cli,
                           enum jr_status status, const struct jr_error *err)
{
    int code = (int)status;
    if (status != JR_STATUS_OK) {
        code = jr_stage_told(session, cli, status, err);
    } else {
        print_session_text(session, cli, cli->color_err ? JR_TEXT_REPORT_COLOR : JR_TEXT_REPORT);
        code = jr_session_exit_code(session);
    }
    jr_session_await_on_end(session);
    jr_session_show_rest(session);
    return code;
}

static int run_session(struct jr_session *session, struct jr_cli *cli)
{
    const struct jr_session_console console = {
        .out_fd = cli->out_closed ? -1 : STDOUT_FILENO,
        .err_fd = cli->err_closed ? -1 : STDERR_FILENO,
        .in_fd = STDIN_FILENO,
        .live = !cli->err_closed && isatty(STDERR_FILENO) == 1,
        .color = cli->color_err,
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
    struct jr_error err = {0};
    hold_signals(session);
    jr_session_open_console(session, &console);
    jr_session_defer_on_end(session);
    cli->session = session;
    print_start_texts(session, cli);
    enum jr_status status = jr_session_run(session, &console, &err);
    int code = print_end_texts(session, cli, status, &err);
    cli->session = NULL;
    jr_session_leave_nodes(session);
    return code;
}

/* There is one standard input. */
static int check_input(const struct jr_cli *cli)
{
    const char *other = cli->detach ? "--detach" : "--stdin";
    if (cli->debug_rank != NULL && (cli->detach || cli->stdin_rank != NULL))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--debug gives the terminal to a rank, but %s takes "
                          "it away: use only one of them",
                          other);
    if (cli->stdin_rank != NULL && cli->detach)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "a detached run has no standard input: use --stdin without --detach");
    if (cli->debug_rank != NULL && isatty(STDIN_FILENO) != 1)
        return jr_cli_say(cli, JR_STATUS_USAGE, "--debug needs a terminal as standard input");
    return 0;
}

int jr_stage_wait(const struct jr_cli *cli, struct jr_session_options *options)
{
    options->wait = cli->wait != NULL;
    if (cli->wait == NULL || cli->wait[0] == '\0')
        return 0;
    if (!jr_num_duration(cli->wait, &options->wait_ms))
        return jr_mistake_time(cli, "wait", cli->wait, "30s or 5m");
    if (options->wait_ms == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--wait wants more than no time: leave it out not to wait");
    return 0;
}

int jr_stage_run(struct jr_session *session, struct jr_cli *cli)
{
    struct detach detach = {.fd = -1};
    int status = check_input(cli);
    if (status != 0)
        return status;
    if (cli->detach && detach_fork(&detach, cli, &status))
        return status;
    status = begin_run(session, cli);
    if (status == 0 && jr_session_is_over(session))
        return 0;
    if (status != 0)
        return status;
    status = detach_leave(&detach, cli, session);
    if (status != 0) { /* nobody wants it */
        jr_session_discard(session);
        return status;
    }
    return run_session(session, cli);
}

/* A text on its way out. */
struct printing {
    const struct jr_cli *cli;
    int status;
};

static int print_stage_text(void *data, const char *text, size_t len)
{
    struct printing *printing = data;
    return jr_cli_write(printing->cli, text, len, &printing->status) ? 0 : 1;
}

int jr_stage_print_cells(struct jr_session *session, const struct jr_cli *cli, bool json)
{
    struct printing printing = {cli, 0};
    struct jr_error err = {0};
    const struct jr_plan_cells_options options = {
        .parallel = cli->parallel_value, .json = json, .take = print_stage_text, .data = &printing};
    enum jr_status status = jr_cell_hosts_connect(session, &err);
    if (status == JR_STATUS_OK)
        status = jr_session_plan_cells(session, &options, &err);
    int told = jr_stage_told(session, cli, status, &err);
    return told != 0 ? told : printing.status;
}

static int collect_stage_text(void *data, const char *text, size_t len)
{
    struct jr_buf *out = data;
    jr_buf_add(out, text, len);
    return out->failed;
}

/* A table on a terminal, whose lines are broken between columns. */
static int print_fitted(const struct jr_session *session, const struct jr_cli *cli,
                        enum jr_text what)
{
    struct jr_buf out = JR_BUF_INIT;
    if (jr_session_tell(session, what, collect_stage_text, &out) != 0)
        out.failed = true;
    jr_cli_fit(&out, STDOUT_FILENO);
    return jr_cli_out(cli, &out);
}

int jr_stage_print(const struct jr_session *session, const struct jr_cli *cli, enum jr_text what)
{
    struct printing printing = {cli, 0};
    bool table = what == JR_TEXT_PLAN || what == JR_TEXT_EXPLAIN;
    if (table && jr_cli_message_columns(STDOUT_FILENO) > 0)
        return print_fitted(session, cli, what);
    if (jr_session_tell(session, what, print_stage_text, &printing) == 0)
        return printing.status;
    return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
}

/* Who called for a sweep. */
struct sweep_caller {
    struct jr_cli *cli;
    struct detach detach;
};

static void print_sweep_line(void *data, const char *line)
{
    const struct sweep_caller *caller = data;
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, "jobrun: ");
    jr_buf_str(&text, line);
    jr_buf_char(&text, '\n');
    jr_cli_fit(&text, STDERR_FILENO);
    jr_cli_err(caller->cli, &text);
}

static int leave_with_sweep(void *data, const struct jr_sweep_place *place)
{
    struct sweep_caller *caller = data;
    return detach_leave_sweep(&caller->detach, caller->cli, place);
}

static void print_refusal(void *data, struct jr_session *cell, enum jr_status status,
                          const struct jr_error *err)
{
    const struct sweep_caller *caller = data;
    (void)jr_stage_told(cell, caller->cli, status, err);
}

int jr_stage_check_sweep(const struct jr_cli *cli)
{
    const char *wants = cli->skip_failed     ? "--skip-failed"
                        : cli->rerun_changed ? "--rerun-changed"
                                             : NULL;
    if (wants != NULL && cli->resume == NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "%s wants --resume: it says which cells of an earlier start run again",
                          wants);
    if (cli->resume != NULL && cli->run_id != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--run-id names a new sweep: --resume=%s goes on with that one",
                          cli->run_id);
    return 0;
}

int jr_stage_check_one_job(const struct jr_cli *cli, const char *also)
{
    const char *option = cli->resume != NULL     ? "--resume"
                         : cli->skip_failed      ? "--skip-failed"
                         : cli->rerun_changed    ? "--rerun-changed"
                         : cli->parallel != NULL ? "--parallel"
                                                 : also;
    return option == NULL ? 0
                          : jr_cli_say(cli, JR_STATUS_USAGE,
                                       "%s is for a sweep: the spec has no `sweep`, and there is "
                                       "no --sweep, or --cell takes one cell of it",
                                       option);
}

/* What only one run can have, a cell has by --cell. */
static int check_sweep_options(const struct jr_cli *cli)
{
    const char *option = cli->debug_rank != NULL   ? "--debug"
                         : cli->stdin_rank != NULL ? "--stdin"
                         : cli->locked != NULL     ? "--locked"
                                                   : NULL;
    if (option == NULL)
        return jr_stage_check_sweep(cli);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "%s is for one run, and the spec is a sweep: choose a "
                      "cell, for example --cell 0",
                      option);
}

/* Within an allocation. */
static int connect_nodes(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    enum jr_status status = jr_cell_hosts_connect(session, &err);
    return jr_stage_told(session, cli, status, &err);
}

int jr_stage_run_sweep(struct jr_session *session, struct jr_cli *cli)
{
    const struct jr_session_console console = {
        .out_fd = cli->out_closed && !cli->detach ? -1 : STDOUT_FILENO,
        .err_fd = cli->err_closed && !cli->detach ? -1 : STDERR_FILENO,
        .in_fd = -1,
        .live = !cli->err_closed && isatty(STDERR_FILENO) == 1,
        .color = cli->color_err,
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
    struct sweep_caller caller = {cli, {.fd = -1}};
    struct jr_sweep_options options = {.parallel = cli->parallel_value,
                                       .resume = cli->resume,
                                       .skip_failed = cli->skip_failed,
                                       .rerun_changed = cli->rerun_changed,
                                       .begun = leave_with_sweep,
                                       .line = print_sweep_line,
                                       .refused = print_refusal,
                                       .data = &caller};
    struct jr_error err = {0};
    int code = 0, failed = check_sweep_options(cli);
    if (failed == 0 && cli->detach && detach_fork(&caller.detach, cli, &failed))
        return failed;
    if (failed == 0)
        failed = jr_stage_facts(session, cli);
    if (failed == 0)
        failed = connect_nodes(session, cli);
    if (failed != 0)
        return failed;
    if (cli->parallel_value == 1)
        options.console = &console;
    options.utf8 = console.utf8;
    options.live = options.console == NULL && cli->err_terminal;
    hold_signals(session);
    cli->session = session;
    enum jr_status status = jr_session_run_sweep(session, &options, &code, &err);
    cli->session = NULL;
    if (status != JR_STATUS_OK) /* what is told may be waited for */
        (void)hold_end();
    failed = jr_stage_told(session, cli, status, &err);
    return failed != 0 ? failed : code;
}
