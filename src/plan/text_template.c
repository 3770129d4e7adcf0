#include "plan/text_template.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"

#include "base/banned.h"

struct jr_piece {
    const char *literal; /* NULL: a word */
    size_t len;
    enum jr_template word;
};

#define AT(axis)    (JR_DOMAIN_AT + JR_AXIS_##axis)
#define GROUP(axis) (JR_DOMAIN_GROUP + JR_AXIS_##axis)

/* The reach of every word that is not the same for the whole job. */
static const enum jr_domain domains[JR_TEMPLATE_COUNT] = {
    [JR_TEMPLATE_RANK] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_RANK_DIR] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_RESULT_FILE] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_PROGRESS_FILE] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_ERROR_FILE] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_LOCAL_RANK] = JR_DOMAIN_LOCAL,
    [JR_TEMPLATE_DEVICE] = JR_DOMAIN_LOCAL,
    [JR_TEMPLATE_DEVICE_INDEX] = JR_DOMAIN_LOCAL,
    [JR_TEMPLATE_ENDPOINT] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_NODE_RANK] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_LOCAL_WORLD_SIZE] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_VISIBLE] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_THREADS] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_MODEL_RANK] = AT(MODEL),
    [JR_TEMPLATE_PIPELINE_RANK] = AT(PIPELINE),
    [JR_TEMPLATE_DATA_RANK] = AT(DATA),
    [JR_TEMPLATE_MODEL_GROUP] = GROUP(MODEL),
    [JR_TEMPLATE_PIPELINE_GROUP] = GROUP(PIPELINE),
    [JR_TEMPLATE_DATA_GROUP] = GROUP(DATA),
    [JR_TEMPLATE_MODEL_MEMBERS] = GROUP(MODEL),
    [JR_TEMPLATE_PIPELINE_MEMBERS] = GROUP(PIPELINE),
    [JR_TEMPLATE_DATA_MEMBERS] = GROUP(DATA),
};

#define WORD(name, word, help) word,
static const char *const words[] = {JR_TEMPLATE_NAMES(WORD) JR_TEMPLATE_INTERNALS(WORD)};

#define COUNT(name, word, help) +1
enum { PUBLIC_WORDS = JR_TEMPLATE_NAMES(COUNT) };

static bool find_template_word(const char *text, size_t len, bool internals, enum jr_template *ret)
{
    enum jr_template end = internals ? JR_TEMPLATE_COUNT : PUBLIC_WORDS;
    for (enum jr_template word = 0; word < end; word++)
        if (strlen(words[word]) == len && memcmp(words[word], text, len) == 0) {
            *ret = word;
            return true;
        }
    return false;
}

/* `template->pieces` has room: see room_for. */
static void add_literal_piece(struct jr_compiled_template *template, const char *text, size_t len)
{
    if (len > 0)
        template->pieces[template->count++] = (struct jr_piece){.literal = text, .len = len};
}

static void add_word_piece(struct jr_compiled_template *template, enum jr_template word)
{
    enum jr_domain domain = domains[word];
    template->pieces[template->count++] = (struct jr_piece){.word = word};
    if (template->domain == JR_DOMAIN_JOB)
        template->domain = domain;
    else if (domain != JR_DOMAIN_JOB && domain != template->domain)
        template->domain = JR_DOMAIN_RANK;
}

/* The prefix, and before and after every "%{" a piece. */
static size_t room_for(const char *text)
{
    size_t room = 2;
    for (const char *at = strstr(text, "%{"); at; at = strstr(at + 2, "%{"))
        room += 2;
    return room;
}

/* One "%{...}" or "%%{" at `at`; returns what follows it. */
static const char *compile_mark(struct jr_compiled_template *template, const char *at,
                                bool internals, struct jr_error *err)
{
    if (at[1] == '%') {
        add_literal_piece(template, at + 1, 2);
        return at + 3;
    }
    const char *name = at + 2;
    const char *end = strchr(name, '}');
    enum jr_template word;
    if (end == NULL) {
        jr_error_set(err, JR_STATUS_INVALID, "'%%{' has no closing brace");
        return NULL;
    }
    if (!find_template_word(name, (size_t)(end - name), internals, &word)) {
        jr_error_set(err, JR_STATUS_INVALID, "a template has no word '%.*s'", (int)(end - name),
                     name);
        return NULL;
    }
    add_word_piece(template, word);
    return end + 1;
}

/* The next "%{" or "%%{" at or after `text`, or NULL. */
static const char *find_mark(const char *text)
{
    const char *mark = strstr(text, "%{");
    return mark != NULL && mark > text && mark[-1] == '%' ? mark - 1 : mark;
}

/* In a domain with more values than this, few ranks share a value. */
enum { SHARED_MOST = 1 << 14 };

static void share_expansions(struct jr_compiled_template *template,
                             const struct jr_template_space *space)
{
    if (template->domain != JR_DOMAIN_RANK && space->size[template->domain] <= SHARED_MOST)
        template->shared =
            jr_arena_array(space->arena, space->size[template->domain], sizeof(char *));
}

int jr_compiled_template_compile(struct jr_compiled_template *ret,
                                 const struct jr_template_space *space, const char *prefix,
                                 const char *text, struct jr_error *err)
{
    struct jr_compiled_template made = {.domain = JR_DOMAIN_JOB, .json = space->json};
    made.pieces = jr_arena_array(space->arena, room_for(text), sizeof *made.pieces);
    if (made.pieces == NULL)
        return 0;
    add_literal_piece(&made, prefix, strlen(prefix));
    const char *mark;
    while ((mark = find_mark(text)) != NULL) {
        add_literal_piece(&made, text, (size_t)(mark - text));
        text = compile_mark(&made, mark, space->internals, err);
        if (text == NULL)
            return -1;
    }
    add_literal_piece(&made, text, strlen(text));
    share_expansions(&made, space);
    *ret = made;
    return 0;
}

void jr_compiled_template_literal(struct jr_compiled_template *ret,
                                  const struct jr_template_space *space, const char *text)
{
    struct jr_compiled_template made = {.domain = JR_DOMAIN_JOB};
    made.pieces = jr_arena_array(space->arena, 1, sizeof *made.pieces);
    if (made.pieces != NULL)
        add_literal_piece(&made, text, strlen(text));
    share_expansions(&made, space);
    *ret = made;
}

static struct jr_piece piece_value(const struct jr_piece *piece, const struct jr_scope *scope)
{
    if (piece->literal != NULL)
        return *piece;
    const char *text = scope->text[piece->word];
    if (text == NULL)
        text = "";
    return (struct jr_piece){.literal = text, .len = strlen(text)};
}

/* The same for words in strings of JSON. */
static char *expand_json(const struct jr_compiled_template *template, struct jr_arena *arena,
                         const struct jr_scope *scope)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    for (size_t i = 0; i < template->count; i++) {
        const struct jr_piece *piece = &template->pieces[i];
        const char *text = scope->text[piece->word];
        struct jr_buf JR_BUF_CLEANUP quoted = JR_BUF_INIT;
        if (piece->literal != NULL) {
            jr_buf_add(&out, piece->literal, piece->len);
            continue;
        }
        jr_json_quote(&quoted, text == NULL ? "" : text);
        out.failed |= quoted.failed;
        if (!out.failed)
            jr_buf_add(&out, quoted.data + 1, quoted.len - 2);
    }
    return jr_buf_keep(&out, arena);
}

static char *expand_template(const struct jr_compiled_template *template, struct jr_arena *arena,
                             const struct jr_scope *scope)
{
    if (template->json)
        return expand_json(template, arena, scope);
    size_t len = 0;
    for (size_t i = 0; i < template->count; i++)
        len += piece_value(&template->pieces[i], scope).len;
    char *text = jr_arena_alloc(arena, len + 1);
    if (text == NULL)
        return NULL;
    char *end = text;
    for (size_t i = 0; i < template->count; i++) {
        struct jr_piece piece = piece_value(&template->pieces[i], scope);
        memcpy(end, piece.literal, piece.len);
        end += piece.len;
    }
    return text;
}

static struct jr_arena *lasting_arena(struct jr_arena *arena, const struct jr_scope *scope)
{
    return scope->lasting != NULL ? scope->lasting : arena;
}

char *jr_compiled_template_expand(const struct jr_compiled_template *template,
                                  struct jr_arena *arena, const struct jr_scope *scope)
{
    if (template->shared == NULL)
        return expand_template(template, arena, scope);
    char **slot = &template->shared[scope->index[template->domain]];
    if (*slot == NULL)
        *slot = expand_template(template, lasting_arena(arena, scope), scope);
    return *slot;
}

bool jr_compiled_template_is_distinct(const struct jr_compiled_template *template)
{
    size_t ranks = 0;
    for (size_t i = 0; i < template->count; i++) {
        const struct jr_piece *piece = &template->pieces[i];
        if (piece->literal != NULL || domains[piece->word] == JR_DOMAIN_JOB)
            continue;
        if (piece->word != JR_TEMPLATE_RANK && piece->word != JR_TEMPLATE_RANK_DIR)
            return false;
        ranks++;
    }
    return ranks == 1;
}

int jr_compiled_templates_compile(struct jr_compiled_templates *ret,
                                  const struct jr_template_space *space, char *const *texts,
                                  size_t count, struct jr_error *err)
{
    struct jr_compiled_templates made = {.count = count};
    made.items = jr_arena_array(space->arena, count, sizeof *made.items);
    if (made.items == NULL)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (jr_compiled_template_compile(&made.items[i], space, "", texts[i], err) < 0)
            return -1;
    *ret = made;
    return 0;
}

bool jr_compiled_templates_vary(const struct jr_compiled_templates *templates)
{
    for (size_t i = 0; i < templates->count; i++)
        if (templates->items[i].domain != JR_DOMAIN_JOB)
            return true;
    return false;
}

char **jr_compiled_templates_expand(struct jr_compiled_templates *templates, struct jr_arena *arena,
                                    const struct jr_scope *scope)
{
    if (templates->shared != NULL)
        return templates->shared;
    bool vary = jr_compiled_templates_vary(templates);
    char **items = jr_arena_array(vary ? arena : lasting_arena(arena, scope), templates->count + 1,
                                  sizeof *items);
    if (items == NULL)
        return NULL;
    for (size_t i = 0; i < templates->count; i++)
        items[i] = jr_compiled_template_expand(&templates->items[i], arena, scope);
    if (!vary)
        templates->shared = items;
    return items;
}
