/* Reads a terminal's other end in a unit test, whatever the load. */
#ifndef JR_UNIT_TERMINAL_H
#define JR_UNIT_TERMINAL_H

#include <poll.h>
#include <unistd.h>

#include "unit.h"

/* What was written to the terminal `slave` since the last call, read at its
 * `master` into `ret` of `size` bytes. A terminal passes it on in its own time, yet
 * in order (pty(7)): all has come once a mark has that is written behind it. */
static const char *terminal_text(int master, int slave, char *ret, size_t size)
{
    enum { PATIENCE_MS = 60000, MARK = '\001' };
    struct pollfd readable = {.fd = master, .events = POLLIN};
    size_t len = 0;
    CU_ASSERT_EQUAL_FATAL(write(slave, &(char){MARK}, 1), 1);
    do {
        ssize_t got = -1;
        if (poll(&readable, 1, PATIENCE_MS) == 1)
            got = read(master, ret + len, size - len);
        CU_ASSERT_TRUE_FATAL(got > 0);
        len += (size_t)got;
    } while (ret[len - 1] != MARK);
    ret[len - 1] = '\0';
    return ret;
}

#endif
