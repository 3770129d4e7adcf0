#include "cluster/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/subprocess.h"

#include "base/banned.h"

static void close_carrier_ends(int ends[3][2])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            if (ends[i][j] >= 0)
                (void)close(ends[i][j]);
}

static int open_carrier_ends(int ends[3][2])
{
    for (int i = 0; i < 3; i++) {
        if (pipe2(ends[i], O_CLOEXEC) != 0 ||
            fcntl(ends[i][i == 0 ? 1 : 0], F_SETFL, O_NONBLOCK) != 0)
            return -1;
        (void)fcntl(ends[i][1], F_SETPIPE_SZ, 1 << 20);
    }
    return 0;
}

/* The child's end of each pipe becomes its descriptor of the same number. */
static pid_t spawn_carrier(int ends[3][2], char *const *argv, char *const *envp, bool dies)
{
    const int fds[3] = {ends[0][0], ends[1][1], ends[2][1]};
    const struct jr_subprocess program = {
        .argv = argv, .envp = envp, .fds = fds, .session = true, .dies = dies};
    return jr_subprocess_start(&program);
}

int jr_carrier_start(struct jr_carrier *ret, char *const *argv, char *const *envp, bool dies)
{
    int ends[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t pid = open_carrier_ends(ends) == 0 ? spawn_carrier(ends, argv, envp, dies) : -1;
    int failed = pid < 0 ? errno : 0;
    if (failed == 0) {
        *ret = (struct jr_carrier){pid, ends[0][1], ends[1][0], ends[2][0]};
        ends[0][1] = ends[1][0] = ends[2][0] = -1;
    }
    close_carrier_ends(ends);
    return failed;
}
