/* Calls that have a safe counterpart, and some that C libraries before 2.34 do not have; using one
 * does not compile. Included by every source file of the library, last. */
#ifndef JR_BANNED_H
#define JR_BANNED_H

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atol atof
#pragma GCC poison strncpy strncat ctime asctime gmtime localtime mktemp tmpnam

#pragma GCC poison close_range gettid sigabbrev_np strerrordesc_np
#pragma GCC poison faccessat memfd_create /* syscalls.h */

#endif
