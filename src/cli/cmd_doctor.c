/* jobrun doctor: the facts that the resolver sees, for people or as the file
 * that --on reads. */
#include "session.h"
#include "stage.h"

#include "banned.h"

static const char *device_word(enum jr_device kind)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_DEVICES(WORD)};
#undef WORD
    return words[kind];
}

static void print_devices(struct jr_buf *out, const struct jr_hw *hw)
{
    if (hw->devices_count == 0)
        jr_buf_str(out, "devices  none\n");
    for (uint32_t i = 0; i < hw->devices_count; i++) {
        const struct jr_hw_device *device = &hw->devices[i];
        jr_buf_printf(out, "device   %s %u  %s  %s%s\n",
                      device_word(device->kind), device->index,
                      device->model != NULL ? device->model : "model unknown",
                      device->bus != NULL ? device->bus : "",
                      device->visible ? "" : "  hidden by the environment");
    }
}

static void print_facts(struct jr_buf *out, const struct jr_hw *hw)
{
    jr_buf_printf(out, "host     %s\n",
                  hw->hostname != NULL ? hw->hostname : "unknown");
    jr_buf_printf(out, "cpus     %u usable of %u online (%s), %u cores\n",
                  hw->cpus.usable, hw->cpus.online,
                  hw->cpus.set != NULL ? hw->cpus.set : "?",
                  hw->cpus.usable_cores);
    if (hw->cpus.quota > 0)
        jr_buf_printf(out, "quota    %g CPUs, by %s\n", hw->cpus.quota,
                      hw->cpus.quota_from);
    jr_buf_printf(out, "memory   %.1f GiB usable\n",
                  (double)hw->memory / (1024.0 * 1024.0 * 1024.0));
    print_devices(out, hw);
    for (uint32_t i = 0; i < hw->problems_count; i++)
        jr_buf_printf(out, "problem  %s\n         %s\n",
                      hw->problems[i].message, hw->problems[i].help);
}

static int print(const struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    print_facts(&out, jr_session_hw(session));
    return jr_cli_out(cli, &out);
}

int jr_cmd_doctor(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "yaml", NULL};
    const struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    int status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_facts(session, cli);
    if (status == 0 && format == 1)
        status = jr_stage_print(session, cli, JR_TEXT_FACTS);
    else if (status == 0)
        status = print(session, cli);
    jr_session_close(session);
    return status;
}
