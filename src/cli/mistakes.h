/*
 * What is told of a mistaken command line: what is wrong, and the line to type instead. All
 * functions that return a number return the exit status, 0 where nothing was wrong after all.
 */
#ifndef JR_MISTAKES_H
#define JR_MISTAKES_H

#include <stdbool.h>

struct jr_cli;
struct jr_option;

/* Whether a word can only be meant as a spec: "-", or a YAML file's name. */
bool jr_mistake_is_spec_name(const char *word);

/* -n and a command, without `--` before it: the last word begins it. */
int jr_mistake_command(const struct jr_cli *cli);

/* A first word that is neither a verb nor a file, or a program instead of a spec. */
int jr_mistake_first_word(const struct jr_cli *cli);

/* A Python script where a verb that starts ranks wants a spec; 0 for others. */
int jr_mistake_verb_script(const struct jr_cli *cli);

/* -n and a spec, or -n behind a command without `--`. */
int jr_mistake_count(const struct jr_cli *cli);

/* The command behind `--` is a Python script that cannot be executed: with the line that starts
 * Python, and the status of what cannot be launched. 0 for any other command. */
int jr_mistake_script(const struct jr_cli *cli);

/* A second word behind a spec. */
int jr_mistake_second_word(const struct jr_cli *cli);

/* Words for a verb that takes none. */
int jr_mistake_words(const struct jr_cli *cli);

/* `help` of what is no verb, or of several. */
int jr_mistake_help(const struct jr_cli *cli);

/* `option` ("--word", "-w") is none; `word` of argv has it. */
int jr_mistake_unknown_option(const struct jr_cli *cli, const char *option, const char *word);

/* An option of other verbs, which `word` of argv has. */
int jr_mistake_foreign_option(const struct jr_cli *cli, const struct jr_option *option,
                              const char *word);

#endif
