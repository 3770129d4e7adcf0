/* What the program prints: data to standard output, all else to standard error, in colour or
 * not. */
#ifndef JR_OUTPUT_H
#define JR_OUTPUT_H

#include "cli/cli.h"
#include "diag/diag.h"

/* Decide on colour for both outputs, by --color and the environment. Returns the exit status. */
int jr_cli_color(struct jr_cli *cli);

/* How wide help is printed: COLUMNS, or else the width of the terminal, or 80 where standard output
 * is none. */
unsigned jr_cli_columns(void);

/* How wide messages to this descriptor are printed: as the terminal that it is, and 0, which breaks
 * no line, where it is none. */
unsigned jr_cli_message_columns(int fd);

/* Append "jobrun: TEXT", made safe to show, in lines as wide as the terminal of standard error is;
 * what begins with "type: " is a line of its own there if it does not fit. */
void jr_cli_add_message(struct jr_buf *out, const char *text);

/* Whether --format, or --json, is one of the NULL-terminated `words`; index, or
 * -1 after saying so. Without either it is the first. */
int jr_cli_format(const struct jr_cli *cli, const char *const *words);

/* Write a piece of data to standard output. False if no more is wanted: the
 * reader has gone, or a write failed, which is then reported and is
 * *ret_status. */
bool jr_cli_write(const struct jr_cli *cli, const char *text, size_t len, int *ret_status);

/* Data to standard output: 0, or the exit status of a failed write. */
int jr_cli_out(const struct jr_cli *cli, struct jr_buf *text);

/* The same, or to the new file of --output. */
int jr_cli_deliver(const struct jr_cli *cli, struct jr_buf *text);

/* Data to a new file: 0, or the exit status after saying why there is none. */
int jr_cli_create(const struct jr_cli *cli, const char *path, struct jr_buf *text);

/* Break the lines of a report that are wider than the terminal of a descriptor, if that is one. */
void jr_cli_fit(struct jr_buf *text, int fd);

/* Anything else to standard error, or that there was no memory for it; a failure there has no one
 * to be told. */
void jr_cli_err(const struct jr_cli *cli, struct jr_buf *text);

/* "jobrun: " and one line. Returns `status`; where memory ran out for it, and that was said
 * instead, JR_STATUS_LAUNCH. */
int jr_cli_say(const struct jr_cli *cli, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Findings, to standard error, with the closing count. */
void jr_cli_diags(const struct jr_cli *cli, struct jr_diags *diags);

#endif
