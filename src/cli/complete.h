/* What an unfinished command line could go on with, for the shells. */
#ifndef JR_COMPLETE_H
#define JR_COMPLETE_H

#include "base/buf.h"

/* Append what the last of `words` could become, one candidate a line: the word,
 * and behind a tab what it is. `words` is a command line without its first
 * word, NULL-terminated. The shell's own are asked for by a line each: @spec
 * (specs and folders), @file, @folder. Runs are looked up in the log folder
 * that the line names, else in `log_dir`; all else is of the tables. */
void jr_complete(struct jr_buf *out, char *const *words, const char *log_dir);

#endif
