/* What is told of values that an option cannot have, and of what is missing. All functions return
 * the exit status: see mistakes.h. */
#ifndef JR_MISTAKEN_VALUES_H
#define JR_MISTAKEN_VALUES_H

struct jr_cli;
struct jr_option;

/* Nothing is given, and the current folder has one spec: that is offered. 0 where it has none or
 * several. */
int jr_mistake_only_spec(const struct jr_cli *cli);

/* Neither a spec nor a command. */
int jr_mistake_no_spec(const struct jr_cli *cli);

/* A value for an option that takes none. */
int jr_mistake_flag_value(const struct jr_cli *cli, const struct jr_option *option,
                          const char *value);

/* A value that is no number, or too large a one. */
int jr_mistake_number(const struct jr_cli *cli, const struct jr_option *option, const char *value);

/* `word` is an option without the value that it takes; `option` NULL: nobody
 * knows which. */
int jr_mistake_no_value(const struct jr_cli *cli, const struct jr_option *option, const char *word);

/* A --set without '='; `next` is the word behind it, or NULL. */
int jr_mistake_set(const struct jr_cli *cli, const char *value, const char *next);

/* A value of the option `name` that is no time; `example` is one. */
int jr_mistake_time(const struct jr_cli *cli, const char *name, const char *value,
                    const char *example);

/* The command behind `--` is one word with blanks in it, and no program: with the line that has its
 * words, and the status of what cannot be launched. 0 for any other command. */
int jr_mistake_quotes(const struct jr_cli *cli);

/* -v beside a word, for which it has no meaning. */
int jr_mistake_version(const struct jr_cli *cli);

#endif
