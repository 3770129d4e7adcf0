/*
 * Inside the translation: a launcher is tables of flags, a flag is one row. This is the header of
 * the launchers' tables: accelerate.c, deepspeed.c, horovod.c, mpirun.c, paddle.c, srun_line.c and
 * torchrun.c.
 */
#ifndef JR_TRANSLATE_INTERNAL_H
#define JR_TRANSLATE_INTERNAL_H

#include "base/shell_words.h"
#include "doc/doc.h"
#include "session/translate/translate.h"

struct jr_translator;
struct jr_flag;

enum jr_flag_takes {
    JR_TAKES_NONE,
    JR_TAKES_ONE,
    JR_TAKES_TWO,
    JR_TAKES_MAYBE /* only in the same word: --name=VALUE, -nVALUE */
};

/* One flag as the line gives it. */
struct jr_given {
    const struct jr_flag *flag;
    const char *what;  /* "--nnodes 2", for people; secrets are left out */
    const char *name;  /* as written, without dashes */
    const char *value; /* NULL: none */
    const char *second;
    bool expands; /* a value is the shell's to say */
};

/* Put what was given into the spec. Returns 0, or -1 with a usage error. */
typedef int jr_flag_set(struct jr_translator *, const struct jr_given *);

/*
 * A row: `names` are separated by blanks and may end in a star; `-` and `_` are the same. With
 * `set`, `field` says where the value goes (NAME=VALUE: what is put there), and `why` what is
 * different then. Without it, `why` says why nothing is set, and `verdict` whether something is
 * lost by that.
 */
struct jr_flag {
    const char *names;
    enum jr_flag_takes takes;
    jr_flag_set *set;
    const char *field;
    enum jr_verdict verdict;
    const char *why;
};

#define JR_SETS(names, takes, set, field)                                                          \
    {                                                                                              \
        names, JR_TAKES_##takes, set, field, JR_VERDICT_CHANGED, NULL                              \
    }
#define JR_CHANGES(names, takes, set, field, why)                                                  \
    {                                                                                              \
        names, JR_TAKES_##takes, set, field, JR_VERDICT_CHANGED, why                               \
    }
#define JR_NEEDLESS(names, takes, why)                                                             \
    {                                                                                              \
        names, JR_TAKES_##takes, NULL, NULL, JR_VERDICT_NEEDLESS, why                              \
    }
#define JR_LOST(names, takes, why)                                                                 \
    {                                                                                              \
        names, JR_TAKES_##takes, NULL, NULL, JR_VERDICT_LOST, why                                  \
    }

enum { JR_FLAG_TABLES = 3 };

struct jr_launcher {
    const char *names;                            /* of programs, modules, separated by '|' */
    const struct jr_flag *tables[JR_FLAG_TABLES]; /* searched in this order */
    bool python;                                  /* its program is a Python script */
    const char *local_rank;                       /* the option by which the script gets its local
                                                     rank, unless told otherwise; NULL: none */
    bool ssh;                                     /* it starts ranks on other hosts by ssh */
    bool words;   /* -name is --name; else -n is a letter, as with getopt */
    bool abbrev;  /* --nproc is --nproc-per-node */
    bool several; /* a lone ':' begins another program */
    /* What the launcher does unasked, once the line is read; NULL: nothing. */
    int (*finish)(struct jr_translator *);
};

extern const struct jr_launcher jr_launcher_torchrun, jr_launcher_torch_launch,
    jr_launcher_accelerate, jr_launcher_srun, jr_launcher_mpirun, jr_launcher_openmpi,
    jr_launcher_hydra, jr_launcher_paddle, jr_launcher_deepspeed, jr_launcher_horovod;
extern const struct jr_flag jr_flags_torch[];

/* The work on one line. */
struct jr_translator {
    struct jr_translation *to;
    struct jr_arena *arena;
    const struct jr_launcher *launcher; /* whose options are read */
    struct jr_shell_words words;
    size_t at;                      /* the next word */
    size_t python_from, python_end; /* the interpreter, if it is stated */
    bool module, no_python, local_rank_argument;
    char **include, **exclude; /* of the hosts; NULL: not stated */
    const char *include_what, *exclude_what;
    bool no_ssh;   /* a launcher on each host starts its ranks */
    bool hostfile; /* one is named, whether it could be read or not */
    bool mpi;      /* the ranks are one world of MPI */
    struct jr_error *err;
};

/* Putting values into the spec, each checked by its field's row. */

/* Remember a note; the strings must live as long as the arena. */
void jr_note_add(struct jr_translator *t, enum jr_verdict verdict, const char *what,
                 const char *why);

/* A usage error: "--nnodes wants a number, not 'x'". Returns -1. */
int jr_given_wrong(struct jr_translator *t, const struct jr_given *given, const char *wants);

/* Put `value` at `path`, checked by the field's row. */
int jr_put(struct jr_translator *t, const struct jr_given *given, const char *path,
           const char *value);

/* The same for a list. */
int jr_put_list(struct jr_translator *t, const struct jr_given *given, const char *path,
                char **items);

/* Take a field out again. What of the line it came from, or NULL where it was not there. */
const char *jr_put_drop(struct jr_translator *t, const char *key);

/* A node for a string that stands for itself. */
struct jr_node *jr_put_scalar(struct jr_translator *t, const char *text);

/* `text` split at each `separator`, NULL-terminated; NULL if memory runs out.
 */
char **jr_put_split(struct jr_translator *t, const char *text, char separator);

/* Whether `text` begins with a variable's name and `end`. */
bool jr_put_is_name(const char *text, char end);

/* A variable of the ranks: the field that decides it, or `env`. */
int jr_put_variable(struct jr_translator *t, const struct jr_given *given, const char *name,
                    const char *value);

/* A count that is in the spec; 0: none, or a list. */
uint32_t jr_put_count(const struct jr_translator *t, const char *path);

/* Counts that do not fit together, as the launchers deal them out. */
int jr_put_sizes(struct jr_translator *t);

/* The setters that the tables of several launchers use. */

jr_flag_set jr_set_field;     /* `field` is the value, or NAME=VALUE */
jr_flag_set jr_set_path;      /* a path, in which %{ means itself */
jr_flag_set jr_set_seconds;   /* a duration */
jr_flag_set jr_set_list;      /* a,b */
jr_flag_set jr_set_pair;      /* NAME=VALUE, for the ranks' environment */
jr_flag_set jr_set_env_two;   /* NAME VALUE, the same */
jr_flag_set jr_set_binding;   /* what a rank's CPUs are bound to */
jr_flag_set jr_set_gpus_each; /* [KIND:]N: one device, or all of the node */
jr_flag_set jr_set_restarts;  /* how often the job starts again */
jr_flag_set jr_set_nodes;     /* N, or MIN:MAX, of which the greatest counts */
jr_flag_set jr_set_endpoint;  /* HOST, HOST:PORT or [V6]:PORT of the master */
jr_flag_set jr_set_module;    /* the program is a module: python -m */
jr_flag_set jr_set_use_env;   /* the script gets no local rank by an option */
jr_flag_set jr_set_no_python; /* the program is not a script of Python */

/* The hosts of a line, stated in an option or in a hostfile. */

/* a:4,b:2 and a,a,b are hosts with their slots; a name alone is one slot unless no host states any.
 * Where a launcher starts its ranks by ssh, so does the spec. */
jr_flag_set jr_set_hosts;

/* The same for the file that is named, if it can be read here. */
jr_flag_set jr_set_hostfile;

/* A list of nodes as Slurm has it, gpu[01-04], or a file of them, by its '/'.
 */
jr_flag_set jr_set_nodelist;

/* Keep the hosts that `named` (NULL-terminated) has, or with `others` those that it has not. */
void jr_hosts_keep(struct jr_translator *t, char *const *named, bool others);

/* Keep the first `count`. */
void jr_hosts_cut(struct jr_translator *t, uint32_t count);

/* Words for ssh, behind those that are there. */
int jr_hosts_ssh_options(struct jr_translator *t, const struct jr_given *given, const char *letter);

/* How many hosts the spec names; 0: none. */
uint32_t jr_hosts_count(const struct jr_translator *t);

#endif
