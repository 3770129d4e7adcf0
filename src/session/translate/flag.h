/*
 * Inside the translation: a launcher is tables of flags, a flag is one row. This is the header of
 * the launchers' tables: accelerate.c, deepspeed.c, horovod.c, mpirun.c, paddle.c, srun_line.c and
 * torchrun.c.
 */
#ifndef JR_FLAG_H
#define JR_FLAG_H

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

/* The word at `at`; an empty one behind the last. */
const struct jr_shell_word *jr_translator_word(const struct jr_translator *t, size_t at);

#endif
