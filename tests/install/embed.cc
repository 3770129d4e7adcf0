// A C++ program over the library: a spec from a text with an override, a
// mistake at its position, a plan for another machine, and two ranks whose
// results come back by rank.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <jobrun/jobrun.h>

using Session = std::unique_ptr<jr_session, decltype(&jr_session_close)>;
using Text = std::unique_ptr<char, decltype(&std::free)>;

static Session open(const jr_session_options &options)
{
    return Session(jr_session_open(&options), jr_session_close);
}

static jr_status load(const Session &session, const std::string &text,
                      jr_error &err)
{
    jr_spec_source source = {};
    source.name = "embedded";
    source.text = text.c_str();
    source.len = text.size();
    return jr_session_load(session.get(), &source, &err);
}

static int mistakes()
{
    jr_error err = {};
    size_t count = 0;
    Session session = open({});
    if (load(session, "version: 1\nworld_size: 4x\nentrypoint: [a]\n", err) !=
        JR_STATUS_INVALID)
        return 1;
    const jr_diag *diags = jr_session_diags(session.get(), &count);
    for (size_t i = 0; i < count; i++)
        std::printf("%u:%u %s\n", diags[i].span.line, diags[i].span.column,
                    diags[i].code);
    return 0;
}

static int plan()
{
    jr_error err = {};
    jr_session_options options = {};
    std::string set = "parallelism.model=4";
    char *const sets[] = {&set[0], nullptr};
    options.sets = sets;
    options.dry_run = options.local = true;
    Session session = open(options);
    if (load(session, "version: 1\nname: far\nentrypoint: [a]\n", err) ||
        jr_session_facts(session.get(), "2x8:H100", &err) ||
        jr_session_make_plan(session.get(), &err)) {
        std::fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    Text line(jr_session_text(session.get(), JR_TEXT_HEADLINE), std::free);
    std::fputs(line.get(), stdout);
    return 0;
}

static int run()
{
    jr_error err = {};
    size_t count = 0;
    Session session = open({});
    if (load(session,
             "version: 1\nname: two\nworld_size: 2\n"
             "entrypoint: {shell: 'echo \"{\\\"r\\\": $RANK}\" "
             ">$JOBRUN_RESULT_FILE; exit $RANK'}\n"
             "on_failure: continue\n"
             "results: {fields: {r: {type: integer}}}\n",
             err) ||
        jr_session_run(session.get(), nullptr, &err)) {
        std::fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const jr_rank_result *ranks = jr_session_ranks(session.get(), &count);
    for (size_t i = 0; i < count; i++)
        std::printf("rank %u %s code %d result %s%s\n", ranks[i].plan->rank,
                    jr_rank_state_word(ranks[i].state),
                    ranks[i].outcome->exit_code,
                    ranks[i].result ? ranks[i].result : "none",
                    ranks[i].cause ? " cause" : "");
    std::printf("%s %d\n", jr_run_status_word(jr_session_status(session.get())),
                jr_session_exit_code(session.get()));
    return 0;
}

int main()
{
    return mistakes() || plan() || run();
}
