/*
 * Slips in one setting of the command line: vars/lr=1, --vars.lr=1, vars[lr]=1, "vars.lr = 1",
 * vars.lr==1.
 */
#ifndef JR_SETTING_SLIP_H
#define JR_SETTING_SLIP_H

#include "doc/joined_settings.h"

/* Refuse an option whose path is that of a field or an entry, written in
 * another way, or whose value begins with a second '='. Returns whether it is.
 */
bool jr_setting_slip_refuse(const struct jr_joined_settings *settings, const struct jr_node *value,
                            struct jr_diags *diags);

#endif
