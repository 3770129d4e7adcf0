/* The field table, and what is printed from it. */
#include "base/buf.h"
#include "base/json.h"
#include "spec/field.h"
#include "spec/foreign.h"
#include "spec/jsonschema.h"
#include "unit.h"

/* Every row says what people need to know. */
TEST(rows_are_whole)
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    CU_ASSERT_EQUAL(count, 24);
    for (size_t i = 0; i < count; i++) {
        const struct jr_spec_field *row = groups[i].fields;
        CU_ASSERT_PTR_NOT_NULL(row->key);
        for (; row->key != NULL; row++) {
            CU_ASSERT_TRUE(row->help != NULL && row->help[0] != '\0');
            CU_ASSERT_TRUE(row->missing != NULL && row->missing[0] != '\0');
            CU_ASSERT_PTR_NOT_NULL(row->type);
            CU_ASSERT_PTR_EQUAL(jr_field_get(groups[i].fields, row->key), row);
        }
    }
}

/* The fields of the contract, in its order. */
TEST(has_every_field_of_the_contract)
{
    static const char paths[] =
        "version name description labels extends template vars sweep targets entrypoint "
        "entrypoint.command entrypoint.shell entrypoint.python entrypoint.library "
        "entrypoint.args entrypoint.kwargs workdir setup env env_remove env_profiles per_rank "
        "per_rank.0-3.args per_rank.0-3.kwargs per_rank.0-3.env secrets world_size "
        "local_world_size nodes node_rank rank_start hosts master_addr master_port init_method "
        "device devices device_visibility oversubscribe bind threads parallelism.model "
        "parallelism.pipeline parallelism.data backends backends.default backends.model "
        "backends.pipeline backends.data start_method preload redirects tee console.prefix "
        "console.ranks console.timestamps console.collapse console.partial console.show "
        "console.hide log_dir log_mode results.required results.from results.file "
        "results.pattern results.fields results.fields.loss.type results.fields.loss.min "
        "results.fields.loss.max results.fields.loss.enum results.fields.loss.pattern "
        "results.fields.loss.required results.equal results.distinct results.artifacts "
        "isolation timeouts.start timeouts.run timeouts.silence timeouts.after_first_exit "
        "timeouts.exit timeouts.stop_grace stop_target on_hang on_hang.signal on_hang.wait "
        "on_hang.command signals on_failure exit_barrier restart on_end limits exit_status "
        "engine.slurm engine.kubernetes.image engine.kubernetes.shm engine.mpi.dialect";
    char *text = strdup(paths), *rest = text, *path;
    while ((path = strsep(&rest, " ")) != NULL) {
        const struct jr_spec_field *field = jr_field_find(path);
        const char *dot = strrchr(path, '.');
        if (field == NULL)
            printf("\n    no %s\n", path);
        CU_ASSERT_TRUE(field != NULL && strcmp(field->key, dot == NULL ? path : dot + 1) == 0);
    }
    free(text);
}

TEST(finds_no_other_paths)
{
    EACH_PART(part,
              "|.|nodes.|nodes.x|x|parallelism.|.nodes|parallelism.model.x|results.fields.loss.x|"
              "env.A.B|Nodes")
        CU_ASSERT_PTR_NULL(jr_field_find(part));
}

/* What others call things leads to fields that there are. */
TEST(knows_foreign_names)
{
    bool sure;
    EACH_PAIR(given, wanted,
              "nprocs => world_size|nproc_per_node => local_world_size|"
              "nproc-per-node => local_world_size|NPROC_PER_NODE => local_world_size|"
              "gpus => devices|n_gpus => local_world_size|num_processes => world_size|"
              "launch_method => start_method|rank_offset => rank_start|"
              "started_port => master_port|nnodes => nodes|master_ip => master_addr|"
              "model_parallelism => parallelism.model|"
              "pipeline_parallel_backend => backends.pipeline|"
              "ntasks_per_node => local_world_size|max_restarts => restart.max|"
              "shutdown_timeout => timeouts.stop_grace") {
        JR_ASSERT_TEXT(jr_foreign_meant("/", given, &sure), wanted);
        CU_ASSERT_PTR_NOT_NULL(jr_field_find(wanted));
    }
    CU_ASSERT_PTR_NULL(jr_foreign_meant("/", "", &sure));
    CU_ASSERT_PTR_NULL(jr_foreign_meant("/", "a_name_that_is_longer_than_all_of_it", &sure));
    CU_ASSERT_TRUE(jr_foreign_meant("/", "nproc-per-node", &sure) != NULL && sure);
    CU_ASSERT_TRUE(jr_foreign_meant("/", "gpus", &sure) != NULL && !sure);
    CU_ASSERT_PTR_NULL(jr_foreign_meant("/", "world_size", &sure));
    CU_ASSERT_FALSE(sure);
}

/* One word may be another in each field. */
TEST(knows_words_of_elsewhere)
{
    static const char *const devices[] = {"cpu", "cuda", "custom", NULL};
    static const char *const binds[] = {"none", "numa", "device", NULL};
    bool sure;
    JR_ASSERT_TEXT(jr_foreign_word("Nvidia", devices, &sure), "cuda");
    CU_ASSERT_TRUE(sure);
    JR_ASSERT_TEXT(jr_foreign_word("GPU", devices, &sure), "cuda");
    CU_ASSERT_FALSE(sure);
    JR_ASSERT_TEXT(jr_foreign_word("gpu", binds, &sure), "device");
    JR_ASSERT_TEXT(jr_foreign_word("tpu", devices, &sure), "custom:tpu");
    CU_ASSERT_FALSE(sure);
    CU_ASSERT_PTR_NULL(jr_foreign_word("tpu", binds, &sure));
    CU_ASSERT_PTR_NULL(jr_foreign_word("amd", devices, &sure));
    CU_ASSERT_PTR_NULL(jr_foreign_word("cuda", devices, &sure));
    CU_ASSERT_FALSE(sure);
}

/* Every name leads to a key that its mapping has. */
TEST(knows_members_by_other_names)
{
    static const struct {
        const char *group, *name, *here;
        bool sure;
    } rows[] = {
        {"limits", "memory", "as", false},
        {"limits", "open-files", "nofile", true},
        {"restart", "MaxRetries", "max", true},
        {"restart", "attempts", "max", false},
        {"results.fields.*", "minimum", "min", true},
        {"timeouts", "grace", "stop_grace", false},
        {"timeouts", "minimum", NULL, false},
        {"limits", "mem ory", NULL, false},
        {"limits", "", NULL, false},
        {"", "memory", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool sure = !rows[i].sure;
        const char *here = jr_foreign_meant(rows[i].group, rows[i].name, &sure);
        if (rows[i].here == NULL)
            CU_ASSERT_PTR_NULL(here)
        else
            JR_ASSERT_TEXT(here, rows[i].here);
        CU_ASSERT_EQUAL(sure, rows[i].sure);
    }
}

TEST(says_what_types_want)
{
    EACH_PAIR(given, wanted,
              "version => 1|master_port => an integer from 0 to 65535|"
              "log_mode => one of private, group, umask|"
              "device => one of cpu, cuda, rocm, xpu, hpu, npu, mlu or custom:NAME|"
              "env => a mapping of names to values|oversubscribe => true or false") {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_field_wants(&out, jr_field_find(given)->type);
        JR_ASSERT_TEXT(out.data, wanted);
    }
}

static json_t *property(json_t *schema, const char *name)
{
    return json_object_get(json_object_get(schema, "properties"), name);
}

TEST(prints_a_schema)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_spec_schema(&out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
    CU_ASSERT_EQUAL(out.data[out.len - 1], '\n');
    json_auto_t *schema = jr_json_parse(out.data, out.len, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
    CU_ASSERT_TRUE(json_is_false(json_object_get(schema, "additionalProperties")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(schema, "allOf")), 3);
    CU_ASSERT_PTR_NOT_NULL(property(schema, "world_size"));
    CU_ASSERT_PTR_NOT_NULL(property(schema, "extends"));
    CU_ASSERT_PTR_NOT_NULL(property(schema, "signals"));
    CU_ASSERT_PTR_NOT_NULL(property(schema, "engine"));
}

/* By its title, whatever the build that printed it had of fields. */
TEST(knows_a_schema)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    static const char earlier[] =
        "{\"title\": \"jobrun job spec, version 1\", \"type\": \"object\"}";
    static const char *const others[] = {
        "", "x", "[]", "{}", "{\"title\": 1}", "{\"title\": \"job spec\"}"};
    jr_spec_schema(&out);
    CU_ASSERT_FALSE_FATAL(out.failed);
    CU_ASSERT_TRUE(jr_spec_is_schema(out.data, out.len));
    CU_ASSERT_FALSE(jr_spec_is_schema(out.data, out.len / 2));
    CU_ASSERT_TRUE(jr_spec_is_schema(earlier, strlen(earlier)));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CU_ASSERT_FALSE(jr_spec_is_schema(others[i], strlen(others[i])));
}
