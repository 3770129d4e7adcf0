/*
 * What is told of a mistaken command line: what is wrong, and the line to type instead. All
 * functions that return a number return the exit status, 0 where nothing was wrong after all.
 */
#ifndef JR_MISTAKES_H
#define JR_MISTAKES_H

#include <stdbool.h>

#include "base/buf.h"

struct jr_cli;
struct jr_foreign_option;
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

/* What is told of values that an option cannot have, and of what is missing. All functions return
 * the exit status: see mistakes.h. */

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

/* Options and verbs that people type here because another launcher, another tool or another verb
 * has them, and what is typed instead. */

/* The row for a word of the command line of `verb`, such as "--nproc_per_node=2", "-np" or
 * "--vars.lr=0.1"; NULL: there is none. */
const struct jr_foreign_option *jr_foreign_option_find(const char *word, const char *verb);

/* Append what to do where no whole line can be given: "type -s nodes=N". */
void jr_foreign_option_describe(struct jr_buf *out, const struct jr_foreign_option *row);

/* What is typed after `jobrun` instead of a verb such as "ps"; NULL: it is not known. */
const char *jr_foreign_verb(const char *word);

/* Whether a word is a launcher whose lines `jobrun new --from` translates. */
bool jr_foreign_launcher(const char *word);

/* Whether a word is a program that starts containers, installed or not. */
bool jr_foreign_container(const char *word);

/* Whole lines of other tools: those of their verbs, and of other launchers. The exit status is
 * returned. */

/* A first word that is another launcher; 0 where it is none. */
int jr_foreign_launcher_line(const struct jr_cli *cli);

/* The line to type instead of one with options of another launcher. */

/* What has to stand before a program as it was typed: Python, before a script of its that cannot be
 * executed. "" or " python3". */
const char *jr_line_interpreter(const char *word);

/* Whether a path is a file that can be executed. */
bool jr_line_is_program(const char *path);

/* Whether a word is the name of a Python script. */
bool jr_line_is_python(const char *word);

/* Whether a word is PATH=VALUE, as Hydra takes it: with a '+' before it, too.
 */
bool jr_line_is_setting(const char *word);

/* Append ` -s PATH=VALUE` for one; a name that is no field is one of `vars`. */
void jr_line_add_setting(struct jr_buf *line, const char *word);

/* Append the line that says here what the one that was typed says with options of others, such as
 * "jobrun -n 2 -- python3 train.py". Returns false where that is not certain: `out` is to be thrown
 * away then. */
bool jr_line_correct(struct jr_buf *out, const struct jr_cli *cli);

#endif
