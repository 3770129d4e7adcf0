#include "cli/check_target.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* A target as a spec states it. */
struct target {
    const char *profile, *path;
    const char *written; /* the source, where ${...} had a part; or NULL */
    struct jr_span at;
};

enum jr_status jr_target_worse(enum jr_status a, enum jr_status b)
{
    if (a == JR_STATUS_OK || b == JR_STATUS_OK)
        return a == JR_STATUS_OK ? b : a;
    return a < b ? a : b;
}

enum jr_status jr_target_try(const struct jr_spec_file *file,
                             const struct jr_host *hw, const char *name,
                             struct jr_span at, struct jr_diags *diags)
{
    struct jr_resolution resolution = JR_RESOLUTION_INIT;
    const struct jr_resolve_options options = {.target = name, .target_at = at};
    enum jr_status status = jr_resolve(&resolution, file, hw, &options, diags);
    jr_resolution_release(&resolution);
    return status;
}

/* A path as it is seen from the folder `here`; a shorthand is its own name. */
static const char *path_from_folder(const char *here, const char *profile)
{
    size_t len = here == NULL ? 0 : strlen(here);
    bool below = len > 0 && strncmp(profile, here, len) == 0;
    return below && profile[len] == '/' ? profile + len + 1 : profile;
}

/* The machine of a target. Mistakes in one that contains ${...} are reported
 * with the text of the source. */
static int load_target(struct jr_host *ret, struct jr_arena *arena,
                       const struct target *target, struct jr_diags *diags)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    if (target->written == NULL)
        return jr_profile_load_target(ret, arena, target->profile, target->at,
                                      diags);
    int status = jr_profile_load_target(ret, arena, target->profile, target->at,
                                        &silent);
    if (status != 0)
        (void)jr_diags_error(diags, JR_CODE_WRONG_MACHINE_PROFILE, target->at,
                             target->path,
                             "'%s' is not a machine after substitution: '%s'",
                             target->path, target->written);
    jr_diags_release(&silent);
    return status;
}

enum jr_status jr_target_try_all(const struct jr_spec_file *file,
                                 struct jr_arena *arena, struct jr_diags *diags)
{
    const struct jr_spec *spec = jr_spec_get(file);
    enum jr_status worst = JR_STATUS_OK, status = JR_STATUS_OK;
    JR_FREE char *here = spec->targets_count > 0 ? getcwd(NULL, 0) : NULL;
    for (uint32_t i = 0; i < spec->targets_count; i++) {
        struct target target = {
            .profile = spec->targets[i],
            .path = jr_arena_printf(arena, "targets[%u]", i),
        };
        struct jr_host hw;
        if (target.path == NULL)
            return JR_STATUS_LAUNCH;
        target.written = jr_spec_written(file, arena, target.path);
        target.at = jr_spec_where(file, target.path);
        const char *name = target.written != NULL
                               ? target.written
                               : path_from_folder(here, target.profile);
        if (load_target(&hw, arena, &target, diags) != 0)
            worst = JR_STATUS_INVALID;
        else if (status != JR_STATUS_INVALID)
            status = jr_target_try(file, &hw, name, target.at, diags);
        worst = jr_target_worse(worst, status);
    }
    return worst;
}
