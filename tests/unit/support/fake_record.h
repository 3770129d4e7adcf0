/* The record of a fake run: what its folder says of who leads it. */
#ifndef FAKE_RECORD_H
#define FAKE_RECORD_H

#include <sys/utsname.h>

#include "base/clock.h"
#include "base/io.h"
#include "fake_run.h"
#include "record/record_folder.h"
#include "record/results_json.h"

/* Fake runs lie there: jr_record_*() want the folder and the id apart. */
#define FAKE_LOG_DIR "/tmp"

static inline const char *fake_id(const struct fake *fake)
{
    return fake->dir + strlen(FAKE_LOG_DIR "/");
}

/* Write run.json: for an hour this process has led the run, or where it does not live one whose
 * number it has now. `more` are further members. */
static inline void fake_record(struct fake *fake, bool lives, const char *more)
{
    struct utsname here = {0};
    struct jr_buf boot JR_BUF_CLEANUP = JR_BUF_INIT;
    (void)uname(&here);
    (void)jr_io_fact(&boot, "", "/proc/sys/kernel/random/boot_id");
    fake_write(fake, "run.json",
               jr_arena_printf(&fake->arena,
                               "{\"host\": \"%s\", \"boot_id\": \"%s\", \"pid\": %d, "
                               "\"start_ticks\": %llu, \"started\": %.3f%s}",
                               here.nodename, boot.data, (int)getpid(),
                               (unsigned long long)(jr_record_folder_ticks(getpid()) + !lives),
                               (double)jr_clock_wall_ns() / 1e9 - 3605, more));
}

/* Judge it, and write its results to that file. */
static inline void fake_results(struct fake *fake, const char *name)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    fake_judge(fake);
    jr_judgement_json(&out, &fake->report, &fake->plan, &fake->outcome, NULL);
    CU_ASSERT_FALSE_FATAL(out.failed);
    fake_write(fake, name, out.data);
}

#endif
