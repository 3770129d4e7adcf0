/* The setters that the tables of several launchers use. */
#ifndef JR_SETTERS_H
#define JR_SETTERS_H

#include "session/translate/flag.h"

/* Setters that several tables use. */
jr_flag_set jr_set_field;     /* `field` is the value, or NAME=VALUE */
jr_flag_set jr_set_path;      /* a path, in which %{ means itself */
jr_flag_set jr_set_seconds;   /* a duration */
jr_flag_set jr_set_list;      /* a,b */
jr_flag_set jr_set_pair;      /* NAME=VALUE, for the ranks' environment */
jr_flag_set jr_set_env_two;   /* NAME VALUE, the same */
jr_flag_set jr_set_binding;   /* what a rank's CPUs are bound to */
jr_flag_set jr_set_gpus_each; /* [KIND:]N: one device, or all of the node */
jr_flag_set jr_set_restarts;  /* how often the job starts again */
jr_flag_set jr_set_nodes;     /* N, or MIN:MAX, of which the greatest counts */
jr_flag_set jr_set_endpoint;  /* HOST, HOST:PORT or [V6]:PORT of the master */
jr_flag_set jr_set_module;    /* the program is a module: python -m */
jr_flag_set jr_set_use_env;   /* the script gets no local rank by an option */
jr_flag_set jr_set_no_python; /* the program is not a script of Python */

#endif
