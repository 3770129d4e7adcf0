/*
 * Calls on files that older kernels and some sandboxes lack, with what stands
 * for them there (syscalls.h).
 */
#ifndef JR_FILE_CALLS_H
#define JR_FILE_CALLS_H

/* faccessat2(2), with the flags AT_EACCESS and AT_SYMLINK_NOFOLLOW. The C
 * library's faccessat takes the refusal of a sandbox for that of the file.
 * Returns 0, or -1 with errno. */
int jr_access(int dir_fd, const char *path, int mode, int flags);

/* memfd_create(2): an empty file to write to and to read from, with
 * close-on-exec, that ends with its last descriptor; `name` is shown in
 * /proc/PID/fd. Otherwise a file without a name in /dev/shm or /tmp. Returns
 * the descriptor, or -1 with errno. */
int jr_memory_file(const char *name);

#endif
