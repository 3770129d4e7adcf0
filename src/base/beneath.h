/*
 * Opening beneath a folder: no component of the path may be a link, and none
 * leads out of the folder (openat2(2), RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS).
 */
#ifndef JR_BENEATH_H
#define JR_BENEATH_H

#include <stddef.h>
#include <sys/types.h>

/* openat(2) for a relative path, `mode` for O_CREAT. Where the kernel or a
 * container has no openat2, folder by folder. Returns the descriptor, or -1
 * with errno: ELOOP or ENOTDIR for a link, EXDEV for a path that leads out.
 * Async-signal-safe. */
int jr_open_beneath(int dir_fd, const char *path, int flags, mode_t mode);

/* Open the folder that a relative path lies in, as a place to act on the last
 * component, which is *ret_name (it points into `path`). -1 with errno. */
int jr_open_above(int dir_fd, const char *path, const char **ret_name);

#endif
