/* The JSON Schema of specs as a file, for editors: of `schema -o`, and beside
 * the spec of `new -o`. */
#ifndef JR_SCHEMA_FILE_H
#define JR_SCHEMA_FILE_H

#include "cli/cli.h"

/* Write the schema to the file of --output. One that a build of jobrun has
 * written is replaced in one step, anything else is refused. Returns the exit
 * status. */
int jr_schema_file_write(const struct jr_cli *cli);

/* Write it where the modeline of the new spec of --output points, unless a file
 * is there, and say so. Returns the exit status. */
int jr_schema_file_add(const struct jr_cli *cli);

#endif
