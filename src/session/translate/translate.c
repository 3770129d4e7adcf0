/*
 * The walk over the words: variables, launcher, its flags, perhaps a launcher
 * inside, the program.
 */
#include "session/translate/translate.h"

#include <string.h>

#include "base/utf8.h"
#include "session/translate/flag.h"
#include "session/translate/launcher_options.h"
#include "session/translate/launcher_program.h"
#include "session/translate/put_value.h"
#include "session/translate/setters.h"
#include "spec/field.h"
#include "spec/load.h"

#include "base/banned.h"

static const struct jr_launcher *const launchers[] = {
    &jr_launcher_torchrun,
    &jr_launcher_torch_launch,
    &jr_launcher_accelerate,
    &jr_launcher_srun,
    &jr_launcher_mpirun,
    &jr_launcher_openmpi,
    &jr_launcher_hydra,
    &jr_launcher_paddle,
    &jr_launcher_deepspeed,
    &jr_launcher_horovod,
    NULL,
};

const struct jr_shell_word *jr_translator_word(const struct jr_translator *t,
                                               size_t at)
{
    static const struct jr_shell_word none = {.text = ""};
    return at < t->words.count ? &t->words.items[at] : &none;
}

/* The text of a word, "" behind the last one. */
static const char *text_at(const struct jr_translator *t, size_t at)
{
    return jr_translator_word(t, at)->text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* A word and the one behind it may be one name: "accelerate launch". Returns
 * how many words are. */
static size_t match_name(const char *names, const char *word, const char *next)
{
    while (*names != '\0') {
        size_t len = strcspn(names, "|"), first = strcspn(names, " |");
        bool two = first < len;
        if (strlen(word) == first && memcmp(word, names, first) == 0 &&
            (!two || (strlen(next) == len - first - 1 &&
                      memcmp(next, names + first + 1, len - first - 1) == 0)))
            return two ? 2 : 1;
        names += len + (names[len] == '|');
    }
    return 0;
}

static size_t match_launcher(struct jr_translator *t, const char *word,
                             const char *next)
{
    for (size_t i = 0; launchers[i] != NULL; i++) {
        size_t count = match_name(launchers[i]->names, word, next);
        if (count == 0)
            continue;
        const char *before = t->to->from;
        t->launcher = launchers[i];
        t->to->from = jr_arena_printf(
            t->arena, "%s%s%s%s%s", before == NULL ? "" : before,
            before == NULL ? "" : " and ", word, count == 2 ? " " : "",
            count == 2 ? next : "");
        return count;
    }
    return 0;
}

/* python -m MODULE, where the interpreter's own flags stand before -m. */
static bool take_module(struct jr_translator *t)
{
    size_t at = t->at + 1;
    while (text_at(t, at)[0] == '-' && strcmp(text_at(t, at), "-m") != 0)
        at++;
    if (strcmp(text_at(t, at), "-m") != 0 ||
        match_launcher(t, text_at(t, at + 1), "") == 0)
        return false;
    t->python_from = t->at;
    t->python_end = at;
    t->at = at + 2;
    return true;
}

static bool take_launcher(struct jr_translator *t)
{
    const char *base = base_name(text_at(t, t->at));
    if (strncmp(base, "python", 6) == 0)
        return take_module(t);
    size_t count = match_launcher(t, base, text_at(t, t->at + 1));
    t->at += count;
    return count > 0;
}

/* NAME=VALUE before the launcher, behind `env` or not. */
static int take_variables(struct jr_translator *t)
{
    if (strcmp(text_at(t, t->at), "env") == 0)
        t->at++;
    for (; t->at < t->words.count; t->at++) {
        const struct jr_shell_word *word = jr_translator_word(t, t->at);
        struct jr_given given = {
            .what = word->text, .value = word->text, .expands = word->expands};
        if (!jr_put_is_name(word->text, '='))
            break;
        if (jr_set_pair(t, &given) != 0)
            return -1;
    }
    return 0;
}

/* A launcher inside another one starts the ranks; the outer one started one of
 * it on each node, which jobrun does itself. */
static void drop_sizes(struct jr_translator *t)
{
    static const char *const sizes[] = {"world_size", "local_world_size",
                                        "threads"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *from = jr_put_drop(t, sizes[i]);
        if (from != NULL)
            jr_note_add(t, JR_VERDICT_NEEDLESS, from,
                        "the inner launcher sets it for the ranks");
    }
}

static int refuse_no_launcher(struct jr_translator *t)
{
    struct jr_buf names JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_launcher_names(&names);
    return jr_error_set(t->err, JR_STATUS_USAGE,
                        "the line does not begin with a known launcher: %s",
                        names.data == NULL ? "" : names.data);
}

static int take_launchers(struct jr_translator *t)
{
    if (!take_launcher(t))
        return refuse_no_launcher(t);
    for (bool inside = true; inside;) {
        t->local_rank_argument = t->launcher->local_rank != NULL;
        if (jr_translate_options(t) != 0)
            return -1;
        if (t->to->help != NULL)
            return 0;
        if (t->at == t->words.count)
            return jr_error_set(t->err, JR_STATUS_USAGE,
                                "the line names no program to run");
        inside = take_launcher(t);
        if (inside)
            drop_sizes(t);
    }
    return t->launcher->finish == NULL ? 0 : t->launcher->finish(t);
}

static int begin_translation(struct jr_translator *t, const char *line)
{
    const struct jr_given unasked = {.what = NULL};
    if (!jr_utf8_is_text(line))
        return jr_error_set(t->err, JR_STATUS_USAGE, "the line is not UTF-8");
    t->to->spec = jr_node_mapping(t->arena);
    line = jr_arena_strdup(t->arena, line);
    if (t->to->spec == NULL || line == NULL)
        return -1;
    if (jr_shell_split(&t->words, t->arena, line, t->err) != 0)
        return -1;
    return jr_put(t, &unasked, "version", "1");
}

static int translate_words(struct jr_translator *t, const char *line)
{
    if (begin_translation(t, line) != 0 || take_variables(t) != 0 ||
        take_launchers(t) != 0)
        return -1;
    if (t->to->help != NULL)
        return 0;
    return jr_put_program(t) != 0 || jr_put_sizes(t) != 0 ? -1 : 0;
}

int jr_translate(struct jr_translation *ret, const char *line,
                 struct jr_error *err)
{
    *ret = (struct jr_translation){0};
    struct jr_translator t = {.to = ret, .arena = &ret->arena, .err = err};
    int status = translate_words(&t, line);
    if (ret->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return status;
}

void jr_translation_release(struct jr_translation *translation)
{
    jr_spec_free(translation->read);
    jr_arena_release(&translation->arena);
}

void jr_launcher_names(struct jr_buf *out)
{
    for (size_t i = 0; launchers[i] != NULL; i++) {
        const char *names = launchers[i]->names;
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_buf_add(out, names, strcspn(names, "|"));
    }
}
