#include "spec/lint_kubernetes.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "spec/lint_text.h"
#include "spec/lint_value.h"

#include "base/banned.h"

#define ENGINE "engine.kubernetes."

enum { LONGEST = 253 }; /* bytes of a name of Kubernetes */

/* Train_Data: as names have it, in which '.' may be one of `kept`. */
static const char *near_name(struct jr_lint *lint, const char *text, const char *kept)
{
    char name[LONGEST + 1];
    size_t len = 0;
    for (; *text != '\0' && len < LONGEST; text++) {
        bool letter = isalnum((unsigned char)*text);
        if ((unsigned char)*text >= 0x80 || (unsigned char)*text < ' ')
            return NULL;
        if (letter || strchr(kept, *text) != NULL)
            name[len++] = (char)tolower((unsigned char)*text);
        else if (len > 0 && name[len - 1] != '-')
            name[len++] = '-';
    }
    while (len > 0 && !isalnum((unsigned char)name[len - 1]))
        len--;
    return jr_arena_strndup(lint->arena, name, len);
}

static const char *near_label(struct jr_lint *lint, const char *text)
{
    return near_name(lint, text, ".");
}

static const char *near_namespace(struct jr_lint *lint, const char *text)
{
    return near_name(lint, text, "");
}

/* Registry.example.org/Team/train:V7: the repository is in small letters. */
static const char *near_image(struct jr_lint *lint, const char *text)
{
    char *image = jr_arena_strdup(lint->arena, text);
    char *slash = image == NULL ? NULL : strrchr(image, '/');
    char *end = image == NULL ? NULL : strpbrk(slash == NULL ? image : slash, ":@");
    for (char *at = image; at != NULL && at != end && *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    return image;
}

static const char *near_mount(struct jr_lint *lint, const char *text)
{
    return jr_arena_printf(lint->arena, "/%s", text);
}

/* 64GB is 64Gi. */
static const char *near_bytes(struct jr_lint *lint, const char *text)
{
    const char *size = jr_lint_near_size(lint, text);
    size_t len = size == NULL ? 0 : strlen(size);
    return len == 0 ? NULL : jr_arena_strndup(lint->arena, size, len - (size[len - 1] == 'B'));
}

/* "4 cores" */
static const char *near_cpus(struct jr_lint *lint, const char *text)
{
    static const char *const units[] = {"c", "core", "cores", "cpu", "cpus", "vcpu", "vcpus"};
    size_t len = strspn(text, "0123456789."), i = 0;
    const char *unit = text + len + strspn(text + len, " ");
    size_t count = sizeof units / sizeof *units;
    while (i < count && strcasecmp(units[i], unit) != 0)
        i++;
    return i < count ? jr_arena_strndup(lint->arena, text, len) : NULL;
}

static const char *near_resource(struct jr_lint *lint, const char *text)
{
    static const char *const resources[][2] = {
        {"gpu", "nvidia.com/gpu"},     {"gpus", "nvidia.com/gpu"}, {"nvidia", "nvidia.com/gpu"},
        {"cuda", "nvidia.com/gpu"},    {"amd", "amd.com/gpu"},     {"rocm", "amd.com/gpu"},
        {"gaudi", "habana.ai/gaudi"},  {"hpu", "habana.ai/gaudi"}, {"intel", "gpu.intel.com/i915"},
        {"xpu", "gpu.intel.com/i915"},
    };
    (void)lint;
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        if (strcasecmp(resources[i][0], text) == 0)
            return resources[i][1];
    return NULL;
}

struct corrected {
    const char *field;
    const char *(*near)(struct jr_lint *lint, const char *text);
};

static const struct corrected fields[] = {
    {"image", near_image},
    {"namespace", near_namespace},
    {"service_account", near_label},
    {"priority_class", near_label},
    {"pull_secret", near_label},
    {"secret", near_label},
    {"claim", near_label},
    {"mount", near_mount},
    {"shm", near_bytes},
    {"memory", near_bytes},
    {"cpu", near_cpus},
    {"device_resource", near_resource},
};

bool jr_lint_suggest_kubernetes(struct jr_lint *lint, struct jr_diag *diag,
                                const struct jr_spec_type *type, const struct jr_node *node,
                                const char *path)
{
    size_t i = 0, count = sizeof fields / sizeof *fields;
    if (strncmp(path, ENGINE, strlen(ENGINE)) != 0)
        return false;
    while (i < count && strcmp(fields[i].field, path + strlen(ENGINE)) != 0)
        i++;
    const char *near = i == count ? NULL : fields[i].near(lint, node->text);
    if (near == NULL || !jr_lint_fits(lint, type, near, strlen(near)))
        return false;
    jr_diag_help(lint->diags, diag, "did you mean %s?", near);
    return true;
}
