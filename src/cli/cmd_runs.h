/* Which runs a command line means: the folder they are in, one of them, and its ranks. */
#ifndef JR_CMD_RUNS_H
#define JR_CMD_RUNS_H

#include "cli/cli.h"

struct jr_far_cell;

/* Where the run folders are. */
const char *jr_cli_log_dir(const struct jr_cli *cli);

/* Find the run that the words mean (default: the latest). Of a sweep it is the cell of SWEEP/CELL,
 * and the folder of its cells is then jr_cli_log_dir. Returns the exit status, 0 to go on. */
int jr_cli_find_run(struct jr_cli *cli, char ret_id[static 256]);

/* What to type for the run that was found: its id, or SWEEP/7. */
const char *jr_cli_run_name(const struct jr_cli *cli, const char *id);

/* Whether the words mean a whole sweep: then its id. */
bool jr_cli_find_sweep(const struct jr_cli *cli, char ret_id[static 256]);

/* Whether RUN is a cell that an agent of its sweep runs on another machine. Then *ret is that cell,
 * as long as the command line is there. */
bool jr_cli_find_far_cell(struct jr_cli *cli, struct jr_far_cell *ret);

/* On standard error, where the run is not ours, whose it is: before anything is told by its
 * word. */
void jr_cli_say_whose(const struct jr_cli *cli, const char *id);

/* --format of a table of runs or cells, as an enum jr_row_format; -1 after
 * saying that it is none. */
int jr_cli_table_format(const struct jr_cli *cli);

struct jr_arena;
struct jr_set;

/* What --rank says, in `arena`; all ranks without it. Returns the exit status, 0 to go on. */
int jr_cli_ranks(const struct jr_cli *cli, struct jr_arena *arena, struct jr_set *ret);

#endif
