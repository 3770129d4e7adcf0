/*
 * Commands that no program can be meant by, as they are brought along from a shell: `cd`, `LR=3
 * ./train`, "./train --lr 3" in one piece; and launchers, which would start ranks within each rank.
 * By their looks, so these are warnings.
 */
#ifndef JR_CHECK_COMMAND_H
#define JR_CHECK_COMMAND_H

#include "spec/check.h"

/* The command is a program's, and no launcher's: warnings. */
jr_check_rule jr_check_command;

#endif
