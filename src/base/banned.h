/* Calls that have a safe counterpart; using one does not compile. Included by
 * every source file of the library, last. */
#ifndef JR_BANNED_H
#define JR_BANNED_H

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atol atof
#pragma GCC poison strncpy strncat ctime asctime gmtime localtime mktemp tmpnam

#endif
