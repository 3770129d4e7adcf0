/* What an unfinished command line could continue with, for the shells; and the verb completion,
 * which cli.h declares. */
#ifndef JR_COMPLETE_H
#define JR_COMPLETE_H

#include "base/buf.h"

/* Append the candidates for the last of `words`, one per line: the word, a tab,
 * and a description. `words` is a command line without its first word,
 * NULL-terminated. A line such as @spec (specs and folders), @file, @folder,
 * @command (programs) or @arguments (of the command behind `--`) asks the shell
 * for its own candidates. Runs are looked up in the log folder
 * that the line names, or else in `log_dir`; all others are from the tables. */
void jr_complete(struct jr_buf *out, char *const *words, const char *log_dir);

#endif
