/* Old sweeps, removed among the runs. show_sweep.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "session/sweep/show_sweep.h"

#include "base/banned.h"

/* What is removed, and what is told of it. */
struct pruning {
    struct jr_pruned *pruned;
    struct jr_buf *out, *bad;
    int log_fd;
    bool dry;
};

/* Remove the folder of a sweep, whole. */
static void prune_sweep(const struct pruning *pruning, const char *id)
{
    if (pruning->dry ||
        jr_prune_folder(pruning->pruned, pruning->log_fd, id) == 0) {
        pruning->pruned->removed++;
        jr_buf_printf(pruning->out, "%s\n", id);
        return;
    }
    pruning->pruned->failed++;
    jr_buf_printf(pruning->bad, "jobrun: %s could not be removed: %s\n", id,
                  strerror(errno));
}

/* Whether a row is one that stays, by its age. */
static bool is_young(const struct jr_record *record,
                     const struct jr_prune_options *options)
{
    double limit =
        (double)jr_clock_wall_ns() / 1e9 - (double)options->older_ms / 1e3;
    return options->older_ms > 0 && record->started > limit;
}

void jr_sweeps_prune(struct jr_pruned *ret, struct jr_buf *out,
                     struct jr_buf *bad, const char *log_dir,
                     struct jr_prune_options *options, char *const *envp)
{
    struct jr_records records = JR_RECORDS_INIT;
    struct jr_error err = {0};
    uint32_t rows = 0, runs = 0;
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret = (struct jr_pruned){0};
    if (log_fd < 0 || jr_records_list(&records, log_dir, &err) != 0)
        return;
    const struct pruning pruning = {ret, out, bad, log_fd, options->dry};
    jr_sweeps_add(&records, log_dir, envp);
    for (size_t i = 0; i < records.count; i++) {
        const struct jr_record *record = &records.items[i];
        bool sweep = jr_sweep_is_folder(log_fd, record->id);
        if (!jr_trust_is_ours(&record->trust) || !record->finished) {
            ret->unfinished += sweep && jr_trust_is_ours(&record->trust);
            ret->foreign += sweep && !jr_trust_is_ours(&record->trust);
            continue;
        }
        bool kept = rows++ < options->keep || is_young(record, options);
        runs += kept && !sweep;
        if (!sweep)
            continue;
        if (kept)
            ret->kept++;
        else
            prune_sweep(&pruning, record->id);
    }
    if (!options->dry && ret->removed > 0)
        jr_prune_latest(log_fd);
    if (options->keep > 0)
        options->keep = runs;
    jr_records_release(&records);
}
