/* Suspending a run; see suspend.c. */
#ifndef JR_SUSPEND_H
#define JR_SUSPEND_H

struct jr_runner;

void jr_suspend_begin(struct jr_runner *runner);
void jr_suspend_end(struct jr_runner *runner);

#endif
