/*
 * accelerate launch. It hands most of its options to the ranks as variables, which a spec does in
 * `env`. Sources: accelerate's commands/launch.py and utils/launch.py. internal.h declares its
 * table.
 */
#include <ctype.h>
#include <string.h>

#include "session/translate/internal.h"
#include "spec/template_text.h"

#include "base/banned.h"

/* PREFIX and the flag's name in capitals. */
static int put_named(struct jr_translator *t, const struct jr_given *given, const char *prefix,
                     const char *value)
{
    char *path = jr_arena_printf(t->arena, "env.%s%s", prefix, given->name);
    if (path == NULL)
        return -1;
    for (char *at = path + 4; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
    return jr_put(t, given, path, jr_template_literal(t->arena, value));
}

/* `field` is env.PREFIX* : the flag's own name stands for the star. */
static int set_named(struct jr_translator *t, const struct jr_given *given)
{
    const char *star = given->flag->field + 4;
    const char *prefix = jr_arena_strndup(t->arena, star, strcspn(star, "*"));
    return prefix == NULL ? -1 : put_named(t, given, prefix, given->value);
}

/* A size of the mesh that the program is told, too. */
static int set_axis(struct jr_translator *t, const struct jr_given *given)
{
    if (jr_set_field(t, given) != 0)
        return -1;
    return put_named(t, given, "", given->value);
}

static int set_cpu(struct jr_translator *t, const struct jr_given *given)
{
    if (jr_put(t, given, "device", "cpu") != 0)
        return -1;
    return jr_put(t, given, "env.ACCELERATE_USE_CPU", "true");
}

static int set_backend(struct jr_translator *t, const struct jr_given *given)
{
    char *value = jr_arena_strdup(t->arena, given->value);
    for (char *at = value; value != NULL && *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return value == NULL ? -1 : jr_put(t, given, given->flag->field, value);
}

/* Nothing of it may stand in a comment. */
static int set_secret(struct jr_translator *t, const struct jr_given *given)
{
    const char *what = jr_arena_printf(t->arena, "--%s ...", given->name);
    jr_note_add(t, JR_VERDICT_LOST, what, "put a secret into jobrun's environment");
    return 0;
}

#define ZERO     "env.ACCELERATE_DEEPSPEED_"
#define DYNAMO   "env.ACCELERATE_DYNAMO_"
#define NO_TPU   "jobrun starts nothing on a TPU pod"
#define DEFAULTS "accelerate launch also sets the variables of options that are not given"

static const struct jr_flag flags[] = {
    JR_SETS("--num_processes", ONE, jr_set_field, "world_size"),
    JR_SETS("--num_machines", ONE, jr_set_field, "nodes"),
    JR_SETS("--machine_rank", ONE, jr_set_field, "node_rank"),
    JR_SETS("--main_process_ip", ONE, jr_set_field, "master_addr"),
    JR_SETS("--main_process_port", ONE, jr_set_field, "master_port"),
    JR_SETS("--gpu_ids", ONE, jr_set_list, "devices"),
    JR_SETS("--num_cpu_threads_per_process", ONE, jr_set_field, "threads"),
    JR_SETS("--cpu --use_cpu", NONE, set_cpu, "device"),
    JR_SETS("--use_xpu", NONE, jr_set_field, "device=xpu"),
    JR_NEEDLESS("--multi_gpu", NONE, "the devices that are there are used"),
    JR_NEEDLESS("--same_network", NONE, "ranks meet at master_addr and master_port"),
    JR_NEEDLESS("-q --quiet", NONE, "the report names the rank that failed"),
    JR_LOST("--config_file", ONE, "jobrun does not read it: give its contents as options"),
    JR_LOST("--ipex --use_mps_device", NONE, "a spec has no such device"),

    JR_SETS("--mixed_precision", ONE, jr_set_field, "env.ACCELERATE_MIXED_PRECISION"),
    JR_SETS("--enable_cpu_affinity", NONE, jr_set_field, "env.ACCELERATE_CPU_AFFINITY=1"),
    JR_SETS("--debug", NONE, jr_set_field, "env.ACCELERATE_DEBUG_MODE=true"),
    JR_SETS("--dynamo_backend", ONE, set_backend, DYNAMO "BACKEND"),
    JR_SETS("--dynamo_mode", ONE, jr_set_field, DYNAMO "MODE"),
    JR_SETS("--dynamo_use_fullgraph", NONE, jr_set_field, DYNAMO "USE_FULLGRAPH=True"),
    JR_SETS("--dynamo_use_dynamic", NONE, jr_set_field, DYNAMO "USE_DYNAMIC=True"),
    JR_SETS("--dynamo_use_regional_compilation", NONE, jr_set_field,
            DYNAMO "USE_REGIONAL_COMPILATION=True"),
    JR_SETS("--fp8_use_autocast_during_eval", NONE, jr_set_field,
            "env.ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL=True"),
    JR_SETS("--fp8_*", ONE, set_named, "env.ACCELERATE_*"),

    JR_CHANGES("--use_fsdp", NONE, jr_set_field, "env.ACCELERATE_USE_FSDP=true", DEFAULTS),
    JR_SETS("--fsdp_transformer_layer_cls_to_wrap", ONE, jr_set_field,
            "env.FSDP_TRANSFORMER_CLS_TO_WRAP"),
    JR_SETS("--fsdp_*", ONE, set_named, "env.*"),
    JR_CHANGES("--use_megatron_lm", NONE, jr_set_field, "env.ACCELERATE_USE_MEGATRON_LM=true",
               DEFAULTS),
    JR_SETS("--megatron_lm_tp_degree", ONE, set_axis, "parallelism.model"),
    JR_SETS("--megatron_lm_pp_degree", ONE, set_axis, "parallelism.pipeline"),
    JR_SETS("--megatron_lm_*", ONE, set_named, "env.*"),
    JR_CHANGES("--use_parallelism_config", NONE, jr_set_field,
               "env.ACCELERATE_USE_PARALLELISM_CONFIG=true", DEFAULTS),
    JR_SETS("--parallelism_config_tp_size", ONE, set_axis, "parallelism.model"),
    JR_SETS("--parallelism_config_*", ONE, set_named, "env.*"),

    JR_CHANGES("--use_deepspeed", NONE, jr_set_field, "env.ACCELERATE_USE_DEEPSPEED=true",
               DEFAULTS),
    JR_SETS("--deepspeed_config_file", ONE, jr_set_field, ZERO "CONFIG_FILE"),
    JR_SETS("--zero_stage", ONE, set_named, ZERO "*"),
    JR_SETS("--offload_*", ONE, set_named, ZERO "*"),
    JR_SETS("--zero3_init_flag", ONE, jr_set_field, ZERO "ZERO3_INIT"),
    JR_SETS("--zero3_save_16bit_model", ONE, set_named, ZERO "*"),
    JR_SETS("--deepspeed_moe_layer_cls_names", ONE, set_named, "env.ACCELERATE_*"),
    JR_SETS("--gradient_accumulation_steps --gradient_clipping", ONE, set_named,
            "env.ACCELERATE_*"),
    JR_SETS("--deepspeed_hostfile --mpirun_hostfile", ONE, jr_set_hostfile, "hosts"),
    JR_LOST("--deepspeed_exclusion_filter --deepspeed_inclusion_filter", ONE,
            "state the `hosts` to use"),
    JR_NEEDLESS("--deepspeed_multinode_launcher", ONE, "jobrun starts the ranks itself"),
    JR_SETS("--mpirun_ccl", ONE, jr_set_field, "env.CCL_WORKER_COUNT"),

    JR_LOST("--tpu --tpu_cluster --no_tpu_cluster --tpu_use_sudo --downcast_bf16", NONE, NO_TPU),
    JR_LOST("--vm --env --main_training_function", ONE, NO_TPU),
    JR_SETS("--aws_access_key_id --aws_secret_access_key", ONE, set_secret, NULL),
    {0},
};

const struct jr_launcher jr_launcher_accelerate = {
    .names = "accelerate launch|accelerate-launch|accelerate.commands.launch",
    .tables = {flags, jr_flags_torch},
    .python = true,
    .ssh = true,
};
