/* Signals by name, as people and records have them. */
#ifndef JR_SIGNAME_H
#define JR_SIGNAME_H

/* "SIGTERM", "SIGRTMIN+3", or "signal 99" for what is none; and back, 0 when
 * unknown. */
void jr_signal_name(char out[static 16], int signal);
int jr_signal_of(const char *name);

#endif
