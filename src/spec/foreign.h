/*
 * The registry of other launchers: what they, other tools and habit call things, on command lines
 * and in files, and what that is here. A row each; three read them: `validate`, for the names and
 * values of a spec, the command line, for options that jobrun has not, and `jobrun new --from`, for
 * whole lines (foreign_launchers.c has these rows).
 */
#ifndef JR_FOREIGN_H
#define JR_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_diags;
struct jr_node;

/* Whether two names are equal except for case, dashes and underscores. */
bool jr_field_is_same_name(const char *a, const char *b);

/* What is meant by `name` in the mapping at `group`, a path as jr_spec_group has it ("limits",
 * "results.fields.*"): its key; or NULL. Of the group "/" it is the dotted path of a field. Case,
 * dashes and underscores do not count. *ret_sure: it means the same by the same values, so that
 * its name is all that differs. */
const char *jr_foreign_meant(const char *group, const char *name, bool *ret_sure);

/* What to do for which others have `name`, and jobrun no field, or NULL; for jr_diag_help_text. The
 * group is "*" for what is so anywhere in a spec, "-" for the top of a spec, where some words have
 * a meaning that they have nowhere else, "{" for a list or a mapping there, or the path of a
 * mapping.
 */
const char *jr_foreign_instead(const char *group, const char *name);

/* The one of the allowed words, NULL-terminated, that others call `word` ("gpu" is cuda), or NULL.
 * *ret_sure: nothing else can be meant ("gpu" may be rocm as well, "nvidia" is cuda). */
const char *jr_foreign_word(const char *word, const char *const *allowed, bool *ret_sure);

/* The value of the field that another launcher's `name` is, where that launcher writes `value` and
 * the field has another word for it; NULL where the value stays as it is. In `arena`, or static. */
const char *jr_foreign_value(struct jr_arena *arena, const char *name, const char *value);

/* Append what other launchers call the field with this path: "nproc, np". */
void jr_foreign_names(struct jr_buf *out, const char *path);

/* Report that a document, as read, is the file of another program, if its keys say so: one finding,
 * instead of one for each key. */
bool jr_other_kind_report(struct jr_diags *diags, const struct jr_node *root);

/* Options that people type for jobrun because another launcher, another tool or another verb has
 * them, and what is typed instead. */

enum jr_foreign_kind {
    JR_FOREIGN_RANKS,  /* the number of ranks: -n, or -s world_size= */
    JR_FOREIGN_LOCAL,  /* that on each node */
    JR_FOREIGN_NODES,  /* the number of nodes */
    JR_FOREIGN_FIELD,  /* -s HERE=VALUE */
    JR_FOREIGN_LIST,   /* -s HERE=[VALUE] */
    JR_FOREIGN_ENTRY,  /* of NAME=X: -s HERE.NAME=X; of NAME alone: nothing */
    JR_FOREIGN_WORDS,  /* HERE, and the value behind it */
    JR_FOREIGN_FILLED, /* HERE, with the quoted value for its %s */
    JR_FOREIGN_PATH,   /* of --PATH=VALUE: -s PATH=VALUE */
    JR_FOREIGN_BARE,   /* the value as a word of its own */
    JR_FOREIGN_VERB,   /* the line has the verb HERE */
    JR_FOREIGN_NONE,   /* nothing: HERE says why */
    JR_FOREIGN_ASK     /* no line is certain: HERE says what to do */
};

struct jr_foreign_option {
    const char *names; /* separated by blanks; a '_' is as good as a '-' */
    const char *verbs; /* those for which the row holds */
    enum jr_foreign_kind kind;
    const char *value; /* NULL: it takes none. "#": a number of at least 1;
                          "@": a duration; ",": names of hosts; "/": a file;
                          "": any plain text; else the words that it may be */
    const char *here;
};

/* Whether a list of words, separated by blanks, has the first `len` bytes of `word`; a '_' in them
 * is as good as a '-'. */
bool jr_foreign_lists(const char *list, const char *word, size_t len);

/* The first row of the verb that has `len` bytes of the word; NULL: none. */
const struct jr_foreign_option *jr_foreign_option_row(const char *word, size_t len,
                                                      const char *verb);

/* The options of a launcher's own command line, and how each is said in a spec. */

/* How far something of the line is in the spec; heading of such notes. */
#define JR_VERDICTS(X)                                                                             \
    X(LOST, "without a counterpart")                                                               \
    X(CHANGED, "not quite the same")                                                               \
    X(NEEDLESS, "not needed")

#define JR_ENUM_VERDICT(name, heading) JR_VERDICT_##name,
enum jr_verdict { JR_VERDICTS(JR_ENUM_VERDICT) JR_VERDICT_COUNT };

enum jr_flag_takes {
    JR_TAKES_NONE,
    JR_TAKES_ONE,
    JR_TAKES_TWO,
    JR_TAKES_MAYBE /* only in the same word: --name=VALUE, -nVALUE */
};

/* How a value is turned into that of the field: turn.c of session/translate has a function each. */
#define JR_TURNS(X)                                                                                \
    X(FIELD, field)               /* `field` is the value, or NAME=VALUE */                        \
    X(PATH, path)                 /* a path, in which %{ means itself */                           \
    X(SECONDS, seconds)           /* a duration */                                                 \
    X(LIST, list)                 /* a,b */                                                        \
    X(UPPER, upper)               /* a word in capitals */                                         \
    X(PAIR, pair)                 /* NAME=VALUE, for the ranks' environment */                     \
    X(ENV_TWO, env_two)           /* NAME VALUE, the same */                                       \
    X(EXPORT, export)             /* ALL, NONE, NIL, NAME and NAME=VALUE, with commas */           \
    X(NAMED, named)               /* `field` is a variable; a star is for the flag's name */       \
    X(AXIS, axis)                 /* a size of the mesh that the program is told, too */           \
    X(MEGABYTES, megabytes)       /* the same, in bytes */                                         \
    X(MCA, mca)                   /* an MCA parameter is a variable, too */                        \
    X(SECRET, secret)             /* nothing of it may stand in a comment */                       \
    X(CPU, cpu)                   /* no accelerator */                                             \
    X(BINDING, binding)           /* what a rank's CPUs are bound to */                            \
    X(GPUS_EACH, gpus_each)       /* [KIND:]N: one device, or all of the node */                   \
    X(RESTARTS, restarts)         /* how often the job starts again */                             \
    X(PER_NODE, per_node)         /* a count, `auto`, or what kind of device is counted */         \
    X(NODES, nodes)               /* N, or MIN:MAX, of which the greatest counts */                \
    X(NODE_RANGE, node_range)     /* N, or MIN-MAX */                                              \
    X(MAPPING, mapping)           /* [ppr:]N:node, and modifiers behind it */                      \
    X(DISTRIBUTION, distribution) /* srun's order of ranks */                                      \
    X(HOSTS, hosts)               /* a:4,b:2 and a,a,b; a name alone is one slot unless others */  \
                                  /* have them; by ssh where the launcher does that */             \
    X(HOSTFILE, hostfile)         /* the same in a file, if it can be read here */                 \
    X(NODELIST, nodelist)         /* gpu[01-04], or a file of them, by its '/' */                  \
    X(IPS, ips)                   /* a,b without slots */                                          \
    X(INCLUDE, include)           /* HOST[:SLOT,...][@HOST...] */                                  \
    X(EXCLUDE, exclude)           /* the same */                                                   \
    X(SSH, ssh)                   /* ssh's port, or its key */                                     \
    X(NO_SSH, no_ssh)             /* a launcher on each host starts its ranks */                   \
    X(ENDPOINT, endpoint)         /* HOST, HOST:PORT or [V6]:PORT of the master */                 \
    X(RENDEZVOUS, rendezvous)     /* which of torchrun's */                                        \
    X(RUN_MODE, run_mode)         /* Paddle's */                                                   \
    X(MPI, mpi)                   /* the ranks are one world, unless it is `none` */               \
    X(TIME, time)                 /* minutes, or [D-]H:M:S */                                      \
    X(SIGNAL, signal)             /* [R][B]:SIGNAL[@SECONDS], by name or by number */              \
    X(KILL, kill)                 /* 0, or the first failure stops all */                          \
    X(STREAMS, streams)           /* 0..3, or LOCAL_RANK:0..3 in a list */                         \
    X(LOG_DIR, log_dir)           /* Paddle's: its own log files are there in any case */          \
    X(RANK_LOGS, rank_logs)       /* DeepSpeed's: the files of each rank are below log_dir */      \
    X(OUTPUT, output)             /* tag,timestamp,... */                                          \
    X(TORCH_PREFIX, torch_prefix) /* a template of Python's string.Template */                     \
    X(MPI_PREFIX, mpi_prefix)     /* what stands before a rank's lines; %r is the rank */          \
    X(MODULE, program)            /* the program is a module: python -m */                         \
    X(USE_ENV, program)           /* the script gets no local rank by an option */                 \
    X(NO_PYTHON, program)         /* the program is not a script of Python */

#define JR_ENUM_TURN(name, function) JR_TURN_##name,
enum jr_turn { JR_TURN_NONE, JR_TURNS(JR_ENUM_TURN) JR_TURN_COUNT };

/*
 * A row: `names` are separated by blanks and may end in a star; `-` and `_` are the same. With a
 * turn, `field` says where the value goes (NAME=VALUE: what is put there), and `why` what is
 * different then. Without it, `why` says why nothing is set, and `verdict` whether something is
 * lost by that.
 */
struct jr_flag {
    const char *names;
    enum jr_flag_takes takes;
    enum jr_turn turn;
    const char *field;
    enum jr_verdict verdict;
    const char *why;
};

/* What a launcher does unasked, once its line is read. */
enum jr_finish {
    JR_FINISH_NONE,
    JR_FINISH_TORCHRUN,
    JR_FINISH_SRUN,
    JR_FINISH_MPI,
    JR_FINISH_PADDLE,
    JR_FINISH_DEEPSPEED,
    JR_FINISH_HOROVOD
};

enum { JR_FLAG_TABLES = 3 };

struct jr_launcher {
    const char *names;                            /* of programs, modules, separated by '|' */
    const struct jr_flag *tables[JR_FLAG_TABLES]; /* searched in this order */
    enum jr_finish finish;
    const char *local_rank; /* the option by which the script gets its local rank, unless told
                               otherwise; NULL: none */
    bool python;            /* its program is a Python script */
    bool ssh;               /* it starts ranks on other hosts by ssh */
    bool words;             /* -name is --name; else -n is a letter, as with getopt */
    bool abbrev;            /* --nproc is --nproc-per-node */
    bool several;           /* a lone ':' begins another program */
};

/* NULL-named at the end. */
extern const struct jr_launcher jr_launchers[];

#endif
