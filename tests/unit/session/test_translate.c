/* Lines of other launchers, and the spec that each becomes. */
#include "session/translate/translate.h"
#include "doc/doc.h"
#include "unit.h"

/* What rows say of a spec and its notes in short, each in words that later ones may replace. */
static const char *const marks[][2] = {
    {"@one", "@1 @a.py"},
    {"@1", "@lws=1 nodes=1"},
    {"@lws", "local_world_size"},
    {"@a.py", "name=a @py"},
    {"@py", "entrypoint=[python3, a.py]"},
    {"@local", "[python3, a.py, \"--local_rank=%{local_rank}\"]"},
    {"@./a", "name=a entrypoint=[./a]"},
    {"@./x", "name=x entrypoint=[./x]"},
    {"@ssh", "engine={ssh: {}}"},
    {"@init", "needless(MPI_Init)"}};

static void add_fields(struct jr_buf *out, const struct jr_node *spec)
{
    for (size_t i = 0; i < spec->count; i++) {
        if (strcmp(spec->pairs[i].key->text, "version") == 0)
            continue;
        jr_buf_printf(out, "%s%s=", out->len == 0 ? "" : " ", spec->pairs[i].key->text);
        jr_doc_emit_line(out, spec->pairs[i].value);
    }
}

static void add_notes(struct jr_buf *out, const struct jr_translation *to)
{
    static const char *const verdicts[] = {"lost", "changed", "needless"};
    for (size_t i = 0; i < to->notes_count; i++)
        jr_buf_printf(out, "%s%s(%s)", i == 0 ? "" : " ", verdicts[to->notes[i].verdict],
                      to->notes[i].what);
}

static void check_text(const char *actual, const char *expected)
{
    struct jr_buf want JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&want, expected == NULL ? "" : expected);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct jr_buf longer = JR_BUF_INIT;
        jr_buf_str(&longer, "");
        jr_buf_replaced(&longer, want.data, marks[i][0], marks[i][1]);
        jr_buf_release(&want);
        want = longer;
    }
    JR_ASSERT_TEXT(actual, want.data);
}

/* A line; the fields of its spec in their order, without the version: "nodes=2 entrypoint=[./a]";
 * and what is told of the words that no field has: "lost(--role x) changed(--nnodes 1:2)", or
 * NULL. */
static void check_row(const char *const row[3])
{
    struct jr_translation to;
    struct jr_error err = {0};
    JR_BUF_CLEANUP struct jr_buf spec = JR_BUF_INIT, notes = JR_BUF_INIT;
    jr_buf_str(&notes, "");
    int status = jr_translate(&to, row[0], &err);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        printf("\n    %s: %s\n", row[0], err.text);
    if (status == 0 && to.spec != NULL)
        add_fields(&spec, to.spec);
    add_notes(&notes, &to);
    check_text(spec.data, row[1]);
    check_text(notes.data, row[2]);
    jr_translation_release(&to);
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t row_ = 0; row_ < sizeof(rows) / sizeof *(rows); row_++)                            \
    check_row((rows)[row_])

TEST(translates_torchrun)
{
    static const char *const rows[][3] = {
        /* sizes */
        {"torchrun a.py", "@one"},
        {"torchrun --nproc-per-node=4 a.py", "@lws=4 nodes=1 @a.py"},
        {"torchrun --nproc_per_node 4 --nnodes 2 a.py", "@lws=4 nodes=2 @a.py"},
        {"torchrun --nnodes 1:3 a.py", "nodes=3 @lws=1 @a.py", "changed(--nnodes 1:3)"},
        {"torchrun --nnodes 3:3 a.py", "nodes=3 @lws=1 @a.py"},
        {"torchrun --standalone a.py", "nodes=1 @lws=1 @a.py"},
        {"torchrun --nproc-per-node auto a.py", "@lws=auto nodes=1 @a.py"},
        {"torchrun --nproc-per-node cpu a.py", "device=cpu @lws=auto nodes=1 @a.py"},
        {"torchrun --nproc-per-node gpu a.py", "device=cuda @lws=auto nodes=1 @a.py",
         "changed(--nproc-per-node gpu)"},
        {"torchrun --nproc-per-node npu a.py", "device=npu @lws=auto nodes=1 @a.py"},
        /* where ranks meet */
        {"torchrun --node-rank 1 --master-addr h --master-port 0 a.py",
         "node_rank=1 master_addr=h master_port=0 @one"},
        {"torchrun --rdzv-endpoint h a.py", "master_addr=h @one"},
        {"torchrun --rdzv-endpoint h:65535 a.py", "master_addr=h master_port=65535 @one"},
        {"torchrun --rdzv-endpoint [fe80::1]:29400 a.py",
         "master_addr=fe80::1 master_port=29400 @one"},
        {"torchrun --rdzv-endpoint [::1] a.py", "master_addr=\"::1\" @one"},
        {"torchrun --rdzv-backend c10d --rdzv-id 7 a.py", "@one",
         "needless(--rdzv-backend c10d) needless(--rdzv-id 7)"},
        {"torchrun --rdzv-backend static a.py", "@one", "needless(--rdzv-backend static)"},
        {"torchrun --rdzv-backend etcd --rdzv-conf x=1 a.py", "@one",
         "lost(--rdzv-backend etcd) lost(--rdzv-conf x=1)"},
        /* streams */
        {"torchrun -r 0 -t 1 a.py", "redirects=none tee=out @one"},
        {"torchrun --redirects 2 --tee=3 --log-dir l a.py", "redirects=err tee=all log_dir=l @one"},
        {"torchrun -r 0:1,12:3 a.py", "redirects=0:1,12:3 @one"},
        {"torchrun --log-dir 'a%{rank}' a.py", "log_dir=a%%{rank} @one"},
        {"torchrun --log-line-prefix-template '[${role_name}${rank}/${local_rank}]: ' a.py",
         "console={prefix: \"[default%{rank}/%{local_rank}]: \"} @one"},
        {"torchrun --local-ranks-filter 0,2 a.py", "console={ranks: \"0,2\"} @one",
         "changed(--local-ranks-filter 0,2)"},
        /* the rest of its options */
        {"torchrun --max-restarts 0 a.py", "@one", "needless(--max-restarts 0)"},
        {"torchrun --max-restarts 3 --shutdown-timeout 5 a.py",
         "restart={max: 3} timeouts={stop_grace: 5s} @one"},
        {"torchrun --numa-binding node a.py", "bind=numa @one"},
        {"torchrun --numa-binding core-complex a.py", "bind=numa @one"},
        {"torchrun --numa-binding exclusive a.py", "@one", "lost(--numa-binding exclusive)"},
        {"torchrun --virtual-local-rank a.py", "device_visibility=one @one",
         "changed(--virtual-local-rank)"},
        {"torchrun --role x --start-method spawn --monitor-interval 1 a.py", "@one",
         "lost(--role x) needless(--start-method spawn) needless(--monitor-interval 1)"},
        /* unknown, abbreviated */
        {"torchrun --what --that=1 a.py", "@one", "lost(--what) lost(--that=1)"},
        {"torchrun --nproc 2 a.py", "@lws=2 nodes=1 @a.py"},
        {"torchrun --master h a.py", "@1 name=h entrypoint=[python3, h, a.py]", "lost(--master)"}};
    CHECK_ROWS(rows);
}

TEST(finds_the_program)
{
    static const char *const rows[][3] = {
        {"torchrun -- -a.py", "@1 entrypoint=[python3, -a.py]"},
        {"torchrun -m pkg.train --lr 1",
         "@1 name=train entrypoint=[python3, -m, pkg.train, --lr, 1]"},
        {"torchrun --no-python ./bin/a.out x", "@1 name=a entrypoint=[./bin/a.out, x]"},
        {"torchrun d/é.py", "@1 entrypoint=[python3, d/é.py]"},
        {"python3 -m torch.distributed.run a.py", "@one"},
        {"/opt/bin/python3.12 -u -O -m torch.distributed.run a.py",
         "@1 name=a entrypoint=[/opt/bin/python3.12, -u, -O, a.py]"},
        {"python -u -m torch.distributed.run -m pkg.t",
         "@1 name=t entrypoint=[python, -u, -m, pkg.t]"},
        {"/usr/bin/torchrun a.py", "@one"},
        /* the older launcher, which tells a script its local rank */
        {"python -m torch.distributed.launch a.py -x",
         "@1 name=a entrypoint=[python, a.py, \"--local-rank=%{local_rank}\", -x]"},
        {"python -m torch.distributed.launch --use-env a.py -x",
         "@1 name=a entrypoint=[python, a.py, -x]"},
        {"python -m torch.distributed.launch -m p.t $X",
         "@1 name=t entrypoint={shell: \"exec python -m p.t --local-rank=%{local_rank} $X\"}"},
        /* words that mean something to a reader of specs */
        {"torchrun a.py '%{rank}' %%{rank} 100% null '' yes 010",
         "@1 name=a entrypoint=[python3, a.py, \"%%{rank}\", \"%%%{rank}\", 100%, "
         "\"null\", \"\", \"yes\", \"010\"]"},
        /* what only a shell can do */
        {"torchrun a.py $X 'b c'", "@1 name=a entrypoint={shell: exec python3 a.py $X 'b c'}"},
        {"torchrun a.py *.txt", "@1 name=a entrypoint={shell: exec python3 a.py *.txt}"},
        {"torchrun a.py '${x}'", "@1 name=a entrypoint={shell: \"exec python3 a.py '${x}'\"}"},
        {"torchrun a.py %{rank} $X",
         "@1 name=a entrypoint={shell: \"exec python3 a.py %%{rank} $X\"}"},
        {"torchrun a.py x | tee log", "@1 name=a entrypoint=[python3, a.py, x]", "lost(| tee log)"},
        {"torchrun a.py > log 2>&1", "@one", "lost(> log 2>&1)"}};
    CHECK_ROWS(rows);
}

TEST(leaves_values_of_the_shell_to_it)
{
    static const char *const rows[][3] = {
        {"torchrun --nnodes $N --master-addr $H a.py", "nodes=auto master_addr=auto @lws=1 @a.py",
         "lost(--nnodes $N) lost(--master-addr $H)"},
        {"torchrun --log-dir ~/x a.py", "@one", "lost(--log-dir ~/x)"},
        {"torchrun --nproc-per-node=$(nproc) a.py", "@lws=auto nodes=1 @a.py",
         "lost(--nproc-per-node=$(nproc))"},
        {"torchrun --role $R a.py", "@one", "lost(--role $R)"}};
    CHECK_ROWS(rows);
}

TEST(takes_variables_before_the_launcher)
{
    static const char *const rows[][3] = {
        {"A=1 B='x y' torchrun a.py", "env={A: 1, B: x y} @one"},
        {"env A= torchrun a.py", "env={A: \"\"} @one"},
        {"OMP_NUM_THREADS=4 torchrun a.py", "threads=4 @one"},
        {"CUDA_VISIBLE_DEVICES=1,3 torchrun a.py", "devices=[1, 3] @one"},
        {"CUDA_VISIBLE_DEVICES= torchrun a.py", "devices=none @one"},
        {"HIP_VISIBLE_DEVICES=-1 torchrun a.py", "devices=none @one"},
        {"TORCH_DISTRIBUTED_BACKEND=gloo torchrun a.py", "backends={default: gloo} @one"},
        {"MASTER_PORT=1 MASTER_ADDR=h torchrun a.py", "master_port=1 master_addr=h @one"},
        {"RANK=1 torchrun a.py", "@one", "needless(RANK=1)"},
        {"HF_TOKEN=abc torchrun a.py", "env={HF_TOKEN: \"???\"} @one", "changed(HF_TOKEN=...)"},
        {"A=$HOME torchrun a.py", "@one", "lost(A=$HOME)"},
        {"A='%{x}' torchrun a.py", "env={A: \"%%{x}\"} @one"}};
    CHECK_ROWS(rows);
}

TEST(translates_accelerate)
{
    static const char *const rows[][3] = {
        {"accelerate launch a.py", "@a.py"},
        {"accelerate-launch --num_processes 8 --num_machines 2 --machine_rank 1 --main_process_ip "
         "h --main_process_port 5 a.py",
         "world_size=8 nodes=2 node_rank=1 master_addr=h master_port=5 @a.py"},
        {"accelerate launch --gpu_ids all --num_cpu_threads_per_process 2 a.py",
         "devices=all threads=2 @a.py"},
        {"accelerate launch --gpu_ids 0,2 a.py", "devices=[0, 2] @a.py"},
        {"accelerate launch --cpu a.py", "device=cpu env={ACCELERATE_USE_CPU: true} @a.py"},
        {"accelerate launch --mixed_precision bf16 --debug --dynamo_backend inductor a.py",
         "env={ACCELERATE_MIXED_PRECISION: bf16, ACCELERATE_DEBUG_MODE: true, "
         "ACCELERATE_DYNAMO_BACKEND: INDUCTOR} @a.py"},
        {"accelerate launch --use_fsdp --fsdp_offload_params true "
         "--fsdp_transformer_layer_cls_to_wrap T a.py",
         "env={ACCELERATE_USE_FSDP: true, FSDP_OFFLOAD_PARAMS: true, FSDP_TRANSFORMER_CLS_TO_WRAP: "
         "T} @a.py",
         "changed(--use_fsdp)"},
        {"accelerate launch --zero_stage 2 --offload_param_device cpu --zero3_init_flag true "
         "--deepspeed_config_file c.json a.py",
         "env={ACCELERATE_DEEPSPEED_ZERO_STAGE: 2, ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE: cpu, "
         "ACCELERATE_DEEPSPEED_ZERO3_INIT: true, ACCELERATE_DEEPSPEED_CONFIG_FILE: c.json} @a.py"},
        {"accelerate launch --fp8_format HYBRID --gradient_accumulation_steps 4 a.py",
         "env={ACCELERATE_FP8_FORMAT: HYBRID, ACCELERATE_GRADIENT_ACCUMULATION_STEPS: 4} @a.py"},
        {"accelerate launch --num_processes 4 --megatron_lm_tp_degree 2 "
         "--megatron_lm_num_micro_batches 8 a.py",
         "world_size=4 parallelism={model: 2} env={MEGATRON_LM_TP_DEGREE: 2, "
         "MEGATRON_LM_NUM_MICRO_BATCHES: 8} @a.py"},
        {"accelerate launch --aws_secret_access_key k3y a.py", "@a.py",
         "lost(--aws_secret_access_key ...)"},
        {"accelerate launch --multi_gpu --config_file f --tpu a.py", "@a.py",
         "needless(--multi_gpu) lost(--config_file f) lost(--tpu)"},
        {"accelerate launch -m pkg.t", "name=t entrypoint=[python3, -m, pkg.t]"}};
    CHECK_ROWS(rows);
}

TEST(translates_srun)
{
    static const char *const rows[][3] = {
        {"srun ./a", "@./a"},
        {"srun -n 8 ./a", "world_size=8 @./a"},
        {"srun -n8 -N2 ./a", "world_size=8 nodes=2 @./a"},
        {"srun -N 3 ./a", "nodes=3 @lws=1 @./a"},
        {"srun -N 1-3 -n 6 ./a", "nodes=3 world_size=6 @./a", "changed(-N 1-3)"},
        {"srun --ntasks-per-node 4 -N 2 ./a", "@lws=4 nodes=2 @./a"},
        {"srun -n 8 -N 2 --ntasks-per-node=4 ./a", "world_size=8 nodes=2 @lws=4 @./a"},
        {"srun -n 7 -N 2 --ntasks-per-node=4 ./a", "world_size=7 nodes=2 @./a @lws=[4, 3]",
         "changed(--ntasks-per-node=4)"},
        {"srun -n 7 --ntasks-per-node=3 ./a", "world_size=7 @lws=[3, 3, 1] @./a"},
        {"srun -n 5 -N 3 ./a", "world_size=5 nodes=3 @./a @lws=[2, 2, 1]"},
        {"srun -c 6 ./a", "threads=6 @./a", "changed(-c 6)"},
        {"srun -w a,b ./x", "hosts=[a, b] @./x"},
        {"srun -w 'n[1-2]' ./x", "hosts=[n1, n2] @./x"},
        {"srun -w ./none ./x", "@./x", "lost(-w ./none)"},
        {"srun --signal=R:USR2@90 ./a", "deadline={before: 90s, signal: USR2} @./a"},
        {"srun --signal 10 ./a", "deadline={before: 60s, signal: USR1} @./a"},
        {"srun -J j -D /w -O ./a", "name=j workdir=/w oversubscribe=true entrypoint=[./a]"},
        {"srun -W 5 -K ./a", "timeouts={after_first_exit: 5s} on_failure=stop @./a"},
        {"srun --kill-on-bad-exit=0 ./a", "on_failure=continue @./a"},
        {"srun -K0 ./a", "on_failure=continue @./a"},
        {"srun -K1 ./a", "on_failure=stop @./a"},
        {"srun --export ALL,A=1 ./a", "env={A: 1} @./a"},
        {"srun --export A=1,B ./a", "env={A: 1} @./a", "changed(--export)"},
        {"srun --export NONE ./a", "@./a", "changed(--export)"},
        {"srun --cpu-bind cores ./a", "bind=core @./a"},
        {"srun --cpu-bind ldoms:x ./a", "bind=numa @./a"},
        {"srun --cpu-bind map_cpu:1 ./a", "@./a", "lost(--cpu-bind map_cpu:1)"},
        {"srun --gpus-per-task a100:1 ./a", "device_visibility=one @./a"},
        {"srun --gpus-per-task 11 ./a", "@./a", "lost(--gpus-per-task 11)"},
        {"srun -m block:cyclic --mpi none ./a", "mpi=none @./a", "needless(-m block:cyclic)"},
        {"srun -m cyclic --mpi pmix ./a", "@./a", "lost(-m cyclic) @init"},
        {"srun --mpi pmi2 python3 a.py", "@a.py env_profiles=[torch, mpi]"},
        /* letters together, of which the last has a value */
        {"srun -lvn4 ./a", "world_size=4 @./a", "needless(-lvn4) needless(-lvn4)"},
        {"srun -A acc -p gpu --gres gpu:8 --pty ./a", "@./a",
         "lost(-A acc) lost(-p gpu) lost(--gres gpu:8) lost(--pty)"},
        {"srun -n 2 ./a : -n 1 ./b", "world_size=2 @./a", "lost(: -n 1 ./b)"},
        {"srun python -u t.py", "name=t entrypoint=[python, -u, t.py]"},
        {"srun python", "name=python entrypoint=[python]"},
        /* a launcher inside, one for each node */
        {"srun -N 2 -n 2 torchrun --nproc-per-node 8 --nnodes 2 t.py",
         "nodes=2 @lws=8 name=t entrypoint=[python3, t.py]", "needless(-n 2)"}};
    CHECK_ROWS(rows);
}

TEST(reads_the_times_of_slurm)
{
    static const char *const rows[][2] = {
        {"0", "0"},        {"UNLIMITED", "0"},   {"unlimited", "0"},
        {"1", "1m"},       {"60", "1h"},         {"90", "90m"},
        {"1:30", "90s"},   {"60:00", "1h"},      {"01:02:03", "3723s"},
        {"1:00:00", "1h"}, {"0:90:0", "90m"},    {"2-0", "48h"},
        {"1-01", "25h"},   {"1-01:30", "1530m"}, {"1-01:30:09", "91809s"},
        {"0-0:0:1", "1s"}};
    char line[64], spec[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(line, sizeof line, "srun -t %s ./a", rows[i][0]);
        (void)snprintf(spec, sizeof spec, "timeouts={run: %s} @./a", rows[i][1]);
        check_row((const char *const[]){line, spec, NULL});
    }
}

TEST(translates_mpirun)
{
    static const char *const rows[][3] = {
        {"mpirun -np 4 ./a", "world_size=4 @./a", "@init"},
        {"mpiexec --np=4 ./a", "world_size=4 @./a", "@init"},
        {"mpirun -n 3 -N 2 ./a", "world_size=3 @lws=[2, 1] @./a", "@init"},
        {"mpirun -host a,b ./x", "hosts=[a, b] @ssh @lws=1 @./x", "changed(-host a,b) @init"},
        {"mpirun -host a ./x", "hosts=[a] @ssh @lws=1 @./x", "changed(-host a) @init"},
        {"mpirun -host a:2,b:1 ./x", "hosts=[a, b] @lws=[2, 1] @ssh @./x",
         "changed(-host a:2,b:1) @init"},
        {"mpirun -host a:2,b ./x", "hosts=[a, b] @lws=[2, 1] @ssh @./x",
         "changed(-host a:2,b) @init"},
        {"mpirun -host a,b,a ./x", "hosts=[a, b] @lws=[2, 1] @ssh @./x",
         "changed(-host a,b,a) @init"},
        /* an option says how many a node has, before the slots or behind */
        {"mpirun -N 1 -host a:2,b:2 ./x", "@lws=1 hosts=[a, b] @ssh @./x",
         "changed(-host a:2,b:2) @init"},
        {"mpirun -host a:2,b:2 -N 1 ./x", "hosts=[a, b] @lws=1 @ssh @./x",
         "changed(-host a:2,b:2) @init"},
        {"mpirun -host localhost:2 ./x", "nodes=1 @lws=2 @./x", "@init"},
        /* hosts without slots: as many as the ranks fill */
        {"mpirun -np 1 -host a,b ./x", "world_size=1 hosts=[a] @ssh @./x",
         "changed(-host a,b) @init"},
        {"mpirun -np 5 -host a,b ./x", "world_size=5 hosts=[a, b] @ssh @./x @lws=[3, 2]",
         "changed(-host a,b) @init"},
        {"mpiexec -n 4 -ppn 4 -hosts a,b ./x", "world_size=4 @lws=4 hosts=[a] @ssh @./x",
         "changed(-hosts a,b) @init"},
        /* a program whose libraries cannot be seen */
        {"mpirun -np 2 python3 t.py",
         "world_size=2 name=t entrypoint=[python3, t.py] env_profiles=[torch, mpi]"},
        {"mpirun -np 2 ./run.sh",
         "world_size=2 name=run entrypoint=[./run.sh] env_profiles=[torch, mpi]"},
        {"mpirun -np 2 ./a $X",
         "world_size=2 name=a entrypoint={shell: exec ./a $X} env_profiles=[torch, mpi]"},
        /* slots are the most that a node takes, filled one by one */
        {"mpirun -np 5 -host a:4,b:4,c:4 ./x", "world_size=5 hosts=[a, b] @lws=[4, 1] @ssh @./x",
         "changed(-host a:4,b:4,c:4) @init"},
        {"mpirun -np 8 -host a:4,b:4 ./x", "world_size=8 hosts=[a, b] @lws=[4, 4] @ssh @./x",
         "changed(-host a:4,b:4) @init"},
        {"mpirun -np 9 -host a:4,b:4 ./x", "world_size=9 hosts=[a, b] @ssh @./x @lws=[5, 4]",
         "changed(-host a:4,b:4) @init"},
        {"mpirun --map-by ppr:2:node ./a", "@lws=2 @./a", "@init"},
        {"mpirun --map-by ppr:2:node:PE=4 ./a", "@lws=2 @./a", "@init"},
        {"mpirun --map-by ppr:2:socket ./a", "@./a", "lost(--map-by ppr:2:socket) @init"},
        {"mpirun --map-by slot ./a", "@./a", "needless(--map-by slot) @init"},
        {"mpirun --map-by node ./a", "@./a", "lost(--map-by node) @init"},
        {"mpirun -ppr 2:node ./a", "@lws=2 @./a", "@init"},
        {"mpirun -bind-to socket -wdir 'w%{x}' -timeout 60 ./a",
         "bind=numa workdir=w%%{x} timeouts={run: 60s} @./a", "@init"},
        {"mpirun -x A=1 -x B ./a", "env={A: 1} @./a", "needless(-x B) @init"},
        {"mpirun -mca btl tcp -pmixmca x y ./a", "env={OMPI_MCA_btl: tcp, PMIX_MCA_x: \"y\"} @./a",
         "@init"},
        {"mpirun --oversubscribe -cpus-per-rank 2 -max-restarts 1 ./a",
         "oversubscribe=true threads=2 restart={max: 1} @./a", "@init"},
        {"mpirun --output tag,timestamp ./a", "console={timestamps: true} @./a", "@init"},
        {"mpirun --output tag ./a", "@./a", "needless(--output tag) @init"},
        {"mpirun -np 2 ./a : -np 1 ./b", "world_size=2 @./a", "lost(: -np 1 ./b) @init"},
        /* each of the two has options that the other has not */
        {"mpiexec.hydra -ppn 2 -genv A 1 -hosts a,b ./x",
         "@lws=2 env={A: 1} hosts=[a, b] @ssh @./x", "changed(-hosts a,b) @init"},
        {"mpiexec.hydra -npernode 2 ./x", "name=2 entrypoint=[2, ./x]", "lost(-npernode) @init"},
        {"orterun -ppn 2 ./x", "name=2 entrypoint=[2, ./x]", "lost(-ppn) @init"},
        {"mpiexec.hydra -prepend-pattern '%r: ' -gpus-per-proc 1 ./x",
         "console={prefix: \"%{rank}: \"} device_visibility=one @./x", "@init"},
        {"mpiexec.hydra -prepend-pattern '%h: ' ./x", "@./x",
         "lost(-prepend-pattern '%h: ') @init"},
        {"mpiexec.hydra -disable-auto-cleanup ./x", "on_failure=continue @./x", "@init"}};
    CHECK_ROWS(rows);
}

TEST(translates_paddle)
{
    static const char *const rows[][3] = {
        {"fleetrun a.py", "env_profiles=[paddle] nodes=1 @a.py"},
        {"python -m paddle.distributed.launch --nnodes 2 --rank 1 --master h:60 --nproc_per_node 4 "
         "a.py",
         "nodes=2 node_rank=1 master_addr=h master_port=60 @lws=4 env_profiles=[paddle] name=a "
         "entrypoint=[python, a.py]"},
        {"fleetrun --devices 0,1 --log_dir l --max_restart 2 a.py",
         "devices=[0, 1] tee=all log_dir=l restart={max: 2} env_profiles=[paddle] nodes=1 @a.py"},
        {"fleetrun --ips 127.0.0.1 --start_port 7 a.py",
         "nodes=1 master_port=7 env_profiles=[paddle] @a.py"},
        {"fleetrun --ips 10.0.0.1,10.0.0.2 a.py",
         "hosts=[\"10.0.0.1\", \"10.0.0.2\"] env_profiles=[paddle] @a.py",
         "changed(--ips 10.0.0.1,10.0.0.2)"},
        {"fleetrun --run_mode collective --job_id j a.py", "env_profiles=[paddle] nodes=1 @a.py",
         "needless(--run_mode collective) needless(--job_id j)"},
        {"fleetrun --run_mode ps --server_num 2 a.py", "env_profiles=[paddle] nodes=1 @a.py",
         "lost(--run_mode ps) lost(--server_num 2)"}};
    CHECK_ROWS(rows);
}

TEST(translates_deepspeed)
{
    static const char *const rows[][3] = {
        {"deepspeed a.py", "nodes=1 name=a entrypoint=@local"},
        {"deepspeed --num_gpus 4 --no_local_rank a.py", "@lws=4 nodes=1 @a.py"},
        {"deepspeed --num_nodes 2 --num_gpus 4 a.py", "nodes=2 @lws=4 name=a entrypoint=@local"},
        {"deepspeed --master_addr h --master_port 5 a.py",
         "master_addr=h master_port=5 name=a entrypoint=@local"},
        {"deepspeed --include localhost:1,3 a.py",
         "devices=[1, 3] nodes=1 name=a entrypoint=@local"},
        {"deepspeed -i worker1:0 a.py", "devices=[0] hosts=[worker1] @ssh name=a entrypoint=@local",
         "changed(-i worker1:0)"},
        {"deepspeed -i w1@w2 a.py", "hosts=[w1, w2] @ssh name=a entrypoint=@local",
         "changed(-i w1@w2)"},
        {"deepspeed -i w1:0@w2:0 a.py", "devices=[0] hosts=[w1, w2] @ssh name=a entrypoint=@local",
         "changed(-i w1:0@w2:0)"},
        {"deepspeed -i w1:0@w2:1 a.py", "nodes=1 name=a entrypoint=@local", "lost(-i w1:0@w2:1)"},
        {"deepspeed -i w1 --ssh_port 22 a.py",
         "engine={ssh: {options: [-p, 22]}} hosts=[w1] name=a entrypoint=@local", "changed(-i w1)"},
        {"deepspeed --ssh_port 22 a.py", "nodes=1 name=a entrypoint=@local"},
        {"deepspeed --enable_each_rank_log l --bind_cores_to_rank a.py",
         "redirects=all log_dir=l bind=core nodes=1 name=a entrypoint=@local"},
        {"deepspeed --enable_each_rank_log None a.py", "nodes=1 name=a entrypoint=@local"},
        {"deepspeed --no_python ./a.py",
         "nodes=1 name=a entrypoint=[./a.py, \"--local_rank=%{local_rank}\"]"},
        {"deepspeed --module p.t x",
         "nodes=1 name=t entrypoint=[python3, -m, p.t, \"--local_rank=%{local_rank}\", x]"},
        {"ds -H hf --exclude w1 a.py", "name=a entrypoint=@local",
         "lost(-H hf) lost(--exclude w1)"}};
    CHECK_ROWS(rows);
}

TEST(translates_horovodrun)
{
    static const char *const rows[][3] = {
        {"horovodrun -np 2 python t.py", "world_size=2 name=t entrypoint=[python, t.py]",
         "lost(hvd.init())"},
        {"horovodrun -np 4 -H a:2,b:2 ./t",
         "world_size=4 hosts=[a, b] @lws=[2, 2] @ssh name=t entrypoint=[./t]",
         "changed(-H a:2,b:2) lost(hvd.init())"},
        {"horovodrun --mpi python t.py",
         "name=t entrypoint=[python, t.py] env_profiles=[torch, mpi]", "changed(hvd.init())"},
        {"horovodrun --fusion-threshold-mb 32 --cycle-time-ms 3.5 ./t",
         "env={HOROVOD_FUSION_THRESHOLD: 33554432, HOROVOD_CYCLE_TIME: 3.5} name=t "
         "entrypoint=[./t]",
         "lost(hvd.init())"},
        {"horovodrun --fusion-threshold-mb 4294967295 ./t",
         "env={HOROVOD_FUSION_THRESHOLD: 4503599626321920} name=t entrypoint=[./t]",
         "lost(hvd.init())"},
        {"horovodrun --cache-capacity 9 --hierarchical-allreduce ./t",
         "env={HOROVOD_CACHE_CAPACITY: 9, HOROVOD_HIERARCHICAL_ALLREDUCE: 1} name=t "
         "entrypoint=[./t]",
         "lost(hvd.init())"},
        {"horovodrun --autotune --autotune-log-file f --timeline-filename g --no-stall-check ./t",
         "env={HOROVOD_AUTOTUNE: 1, HOROVOD_AUTOTUNE_LOG: f, HOROVOD_TIMELINE: g, "
         "HOROVOD_STALL_CHECK_DISABLE: 1} name=t entrypoint=[./t]",
         "lost(hvd.init())"},
        {"horovodrun --start-timeout 30 --tcp -prefix-timestamp ./t",
         "timeouts={start: 30s} env={NCCL_IB_DISABLE: 1} console={timestamps: true} name=t "
         "entrypoint=[./t]",
         "lost(hvd.init())"},
        {"horovodrun --blacklist-cooldown-range 1 2 --gloo ./t", "name=t entrypoint=[./t]",
         "lost(--blacklist-cooldown-range 1 2) lost(--gloo) lost(hvd.init())"}};
    CHECK_ROWS(rows);
}

/* Each is refused with a usage error, and these are the words for it. */
TEST(refuses_what_no_launcher_takes)
{
    static const char *const rows[][2] = {
        {"torchrun --nnodes 1:2:3 a.py", "'--nnodes 1:2:3': this wants N or MIN:MAX"},
        {"torchrun -r 4 a.py", "'-r 4': this wants 0, 1, 2, 3, or RANK:STREAMS,..."},
        {"torchrun -r 1:22 a.py", "'-r 1:22': this wants 0, 1, 2, 3, or RANK:STREAMS,..."},
        {"torchrun -r 1::2 a.py", "'-r 1::2': this wants 0, 1, 2, 3, or RANK:STREAMS,..."},
        {"torchrun --standalone=yes a.py", "'--standalone': this wants no value"},
        {"torchrun --nnodes", "'--nnodes': this wants a value"},
        {"mpirun -genv A", "'-genv': this wants a value"},
        {"srun -n 2", "the line names no program to run"},
        {"srun -N 4 -n 2 ./a", "the ranks cannot be distributed over the nodes"},
        {"srun -N 4097 -n 4099 ./a", "the ranks cannot be distributed over the nodes"},
        {"srun -t 1:2:3:4 ./a", "'-t 1:2:3:4': this wants minutes, or [D-]H:M:S"},
        {"srun -t 1: ./a", "'-t 1:': this wants minutes, or [D-]H:M:S"},
        {"srun -t -1 ./a", "'-t -1': this wants minutes, or [D-]H:M:S"},
        {"mpirun -host a:0 ./a", "'-host a:0': this wants hosts as HOST or HOST:SLOTS, where SLOTS "
                                 "is an integer of at least 1"},
        {"srun --signal USR1@soon ./a", "'--signal USR1@soon': this wants SIGNAL@SECONDS"},
        {"srun --signal KILL@9 ./a",
         "'--signal KILL@9': this wants a signal such as USR1, TERM or RTMIN+1"},
        {"torchrun a.py\xff", "the line is not UTF-8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_translation to;
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_translate(&to, rows[i][0], &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        JR_ASSERT_TEXT(err.text, rows[i][1]);
        jr_translation_release(&to);
    }
}

/* What of the line each field came from, which the comments say. */
TEST(knows_where_fields_came_from)
{
    static const char *const rows[][2] = {
        {"env.A", "A=1"}, {"nodes", "--nnodes 2"}, {"local_world_size", "torchrun's default"}};
    struct jr_translation to;
    CU_ASSERT_EQUAL_FATAL(jr_translate(&to, "A=1 torchrun --nnodes 2 a.py", NULL), 0);
    JR_ASSERT_TEXT(to.from, "torchrun");
    CU_ASSERT_EQUAL_FATAL(to.origins_count, 3);
    for (size_t i = 0; i < 3; i++) {
        JR_ASSERT_TEXT(to.origins[i].path, rows[i][0]);
        JR_ASSERT_TEXT(to.origins[i].text, rows[i][1]);
    }
    jr_translation_release(&to);
    CU_ASSERT_EQUAL_FATAL(jr_translate(&to, "srun -N 2 accelerate launch a.py", NULL), 0);
    JR_ASSERT_TEXT(to.from, "srun and accelerate launch");
    jr_translation_release(&to);
}

TEST(asks_for_help_of_the_launcher_it_stands_behind)
{
    static const char *const rows[][2] = {{"torchrun --help", "torchrun"},
                                          {"srun -n 2 -h", "srun"},
                                          {"mpirun -help ./a", "mpirun"},
                                          {"srun -N 2 deepspeed --help", "srun and deepspeed"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_translation to;
        CU_ASSERT_EQUAL(jr_translate(&to, rows[i][0], NULL), 0);
        CU_ASSERT_PTR_NOT_NULL(to.help);
        JR_ASSERT_TEXT(to.from, rows[i][1]);
        jr_translation_release(&to);
    }
    struct jr_translation to;
    CU_ASSERT_EQUAL(jr_translate(&to, "torchrun a.py --help", NULL), 0);
    CU_ASSERT_PTR_NULL(to.help);
    jr_translation_release(&to);
}
