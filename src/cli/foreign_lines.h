/* Whole lines of other tools: those of their verbs, and of other launchers. The exit status is
 * returned. */
#ifndef JR_FOREIGN_LINES_H
#define JR_FOREIGN_LINES_H

struct jr_cli;

/* Say what is typed for the line whose first word is a verb of others; `here` is typed instead of
 * that. */
int jr_foreign_verb_line(const struct jr_cli *cli, const char *word, const char *here);

/* A first word that is another launcher; 0 where it is none. */
int jr_foreign_launcher_line(const struct jr_cli *cli);

#endif
