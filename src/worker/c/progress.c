/* jr_progress() of jobrun/rank.h: a JSON line in $JOBRUN_PROGRESS_FILE.
 * worker.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "worker/c/worker.h"

#include "base/banned.h"

/* The metrics, whose values must be numbers, or null; NULL: they are not. */
static json_t *read_metrics(const char *text)
{
    if (text == NULL)
        return json_object();
    json_t *metrics = jr_json_parse(text, strlen(text), NULL), *value;
    const char *name;
    bool good = json_is_object(metrics);
    json_object_foreach(metrics, name, value) {
        good = good && (json_is_number(value) || json_is_null(value)) &&
               strcmp(name, "step") != 0 && strcmp(name, "of") != 0;
    }
    if (!good) {
        json_decref(metrics);
        return NULL;
    }
    return metrics;
}

static int append_line(const struct jr_buf *line)
{
    const char *path = getenv("JOBRUN_PROGRESS_FILE");
    if (path == NULL)
        return -ENOENT;
    if (line->failed)
        return -ENOMEM;
    JR_CLOSE int fd = open(path,
                           O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
                               O_NONBLOCK | O_CLOEXEC,
                           0666);
    if (fd < 0 || jr_io_write_all(fd, line->data, line->len) != 0)
        return -errno;
    return 0;
}

int jr_worker_progress(const struct jr_rank *rank, int64_t step, int64_t of,
                       const char *metrics_json)
{
    (void)rank;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    json_t *metrics = step < 0 || of < 0 ? NULL : read_metrics(metrics_json);
    if (metrics == NULL)
        return -EINVAL;
    json_t *object = json_object();
    jr_json_set_int(object, "step", step);
    if (of > 0)
        jr_json_set_int(object, "of", of);
    (void)json_object_update(object, metrics);
    jr_json_print(&line, object, 0);
    jr_buf_char(&line, '\n');
    json_decref(object);
    json_decref(metrics);
    return append_line(&line);
}
