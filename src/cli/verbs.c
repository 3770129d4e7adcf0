#include <string.h>

#include "cli/cli.h"

#include "base/banned.h"

#define SPEC "SPEC"
#define RUN_HELP                                                               \
    "resolve, launch, supervise, verify; `-n N -- CMD...` needs no spec"

const struct jr_verb jr_verbs[] = {
    {"run", "[SPEC] [-- ARG...]", RUN_HELP, jr_cmd_run},
    {"validate", "PATH...",
     "check specs; for a folder, every *.jobrun.yaml below it",
     jr_cmd_validate},
    {"resolve", SPEC, "print the spec with every MISSING field filled",
     jr_cmd_resolve},
    {"plan", SPEC,
     "print what would be started: ranks, mesh, devices, ports, env, files",
     jr_cmd_plan},
    {"runs", "", "list the runs, newest first", jr_cmd_runs},
    {"show", "[RUN]", "summarise a run (RUN: id, start of an id, or `latest`)",
     jr_cmd_show},
    {"top", "[RUN]", "show the ranks of a running job until it ends",
     jr_cmd_top},
    {"logs", "[RUN]", "print what the ranks of a run wrote", jr_cmd_logs},
    {"schema", "", "print the JSON Schema of the spec", jr_cmd_schema},
    {"explain", "CODE|FIELD", "explain a diagnostic or a field",
     jr_cmd_explain},
    {"doctor", "",
     "show the hardware and scheduler that jobrun sees, and problems",
     jr_cmd_doctor},
    {"render", SPEC, "print the script or manifest for an engine",
     jr_cmd_render},
    {"submit", SPEC, "pass a job to an engine", jr_cmd_submit},
    {"report", "[RUN]", "print the report of a finished run, as text or HTML",
     jr_cmd_report},
    {"wait", "[RUN]", "wait for a run, and exit with its exit status",
     jr_cmd_wait},
    {"stop", "[RUN]", "stop a run, and print its report", jr_cmd_stop},
    {"rerun", "[RUN]", "run the resolved spec of an earlier run again",
     jr_cmd_rerun},
    {"prune", "", "remove old runs that have finished", jr_cmd_prune},
    {"diff", "A B",
     "compare two resolved specs or runs: files, REV:FILE, or runs",
     jr_cmd_diff},
    {"migrate", "PATH...",
     "update specs to the current version of the spec language",
     jr_cmd_migrate},
    {"new", "[KIND]",
     "write a commented starter spec, or translate a command line", jr_cmd_new},
    {"completion", "SHELL", "print a completion script: bash, zsh or fish",
     jr_cmd_completion},
    {"agent", "", "run one node's ranks; jobrun starts this itself",
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
