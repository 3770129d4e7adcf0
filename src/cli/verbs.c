#include <string.h>

#include "cli.h"

#include "banned.h"

#define SPEC "SPEC"
#define RUN_HELP                                                               \
    "resolve, launch, supervise, verify; `-n N -- CMD...` needs no spec"

const struct jr_verb jr_verbs[] = {
    {"run", "[SPEC] [-- ARG...]", RUN_HELP, jr_cmd_run},
    {"validate", "PATH...", "check specs; a folder: every *.jobrun.yaml below",
     jr_cmd_validate},
    {"resolve", SPEC, "print the spec with every MISSING field filled",
     jr_cmd_resolve},
    {"plan", SPEC, "dry run: ranks, mesh, devices, ports, env, files",
     jr_cmd_plan},
    {"runs", "", "list the runs, newest first", jr_cmd_runs},
    {"show", "[RUN]", "tell how a run went (RUN: id, prefix, or `latest`)",
     jr_cmd_show},
    {"top", "[RUN]", "the ranks of a run that goes on, until it ends",
     jr_cmd_top},
    {"logs", "[RUN]", "print what the ranks of a run wrote", jr_cmd_logs},
    {"schema", "", "the JSON Schema of the spec", jr_cmd_schema},
    {"explain", "CODE|FIELD", "a diagnostic or a field, in a paragraph",
     jr_cmd_explain},
    {"doctor", "", "the facts that the resolver sees", jr_cmd_doctor},
    {"render", SPEC, "print what an engine would be handed", jr_cmd_render},
    {"submit", SPEC, "hand a job over to an engine", jr_cmd_submit},
    {"report", "[RUN]", "a finished run's report, to keep or to hand on",
     jr_cmd_report},
    {"wait", "[RUN]", "wait for a run, and end with its exit status",
     jr_cmd_wait},
    {"stop", "[RUN]", "stop a run, and say what became of it", jr_cmd_stop},
    {"rerun", "[RUN]", "run what a run resolved to again, placed anew",
     jr_cmd_rerun},
    {"prune", "", "remove old runs that have finished", jr_cmd_prune},
    {"diff", "A B", "what differs after resolution: files, REV:FILE, or runs",
     jr_cmd_diff},
    {"migrate", "PATH...", "bring specs up to the current version of the spec",
     jr_cmd_migrate},
    {"new", "[KIND]", "write a commented starter spec, or translate a line",
     jr_cmd_new},
    {"completion", "SHELL", "print a completion script: bash, zsh or fish",
     jr_cmd_completion},
    {"agent", "", "a node's end of a run on several; jobrun starts it itself",
     jr_cmd_agent},
    {0},
};

const struct jr_verb *jr_verb_find(const char *name)
{
    for (const struct jr_verb *verb = jr_verbs; verb->name != NULL; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}
