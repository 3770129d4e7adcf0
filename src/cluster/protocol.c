#include "cluster/protocol.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "store/outcome_codec.h"

#include "base/banned.h"

enum key_type { KEY_INT, KEY_TEXT, KEY_FLAG };

struct key {
    const char *word;
    enum key_type type;
    size_t at; /* in struct jr_message */
};

static const struct key message_keys[] = {
#define ROW(key, word, type, member) {word, KEY_##type, offsetof(struct jr_message, member)},
    JR_MESSAGE_KEYS(ROW)
#undef ROW
};

struct message_row {
    const char *word;
    uint64_t keys; /* JR_KEY() of each */
};

static const struct message_row message_rows[] = {
#define FROM_ROW(name, word, keys) {word, (keys) | JR_KEY(AT)},
#define TO_ROW(name, word, keys)   {word, keys},
    JR_MESSAGES(FROM_ROW, TO_ROW)
#undef FROM_ROW
#undef TO_ROW
};

static const char *const channel_words[] = {
#define WORD(name, word) word,
    JR_CHANNELS(WORD)
#undef WORD
};

static void put_key(json_t *object, const struct key *key, const struct jr_message *message)
{
    const void *member = (const char *)message + key->at;
    const char *text = NULL;
    switch (key->type) {
    case KEY_INT:
        jr_json_set_int(object, key->word, *(const int64_t *)member);
        break;
    case KEY_FLAG:
        jr_json_set_bool(object, key->word, *(const bool *)member);
        break;
    case KEY_TEXT:
        text = *(const char *const *)member;
        if (text != NULL)
            jr_json_set_str(object, key->word, text);
        break;
    }
}

void jr_message_put(struct jr_buf *out, const struct jr_message *message)
{
    const struct message_row *row = &message_rows[message->type];
    json_auto_t *object = json_object();
    if (message->type < JR_MESSAGE_FROM_COUNT)
        jr_json_set_int(object, "n", message->node);
    jr_json_set_str(object, "t", row->word);
    for (unsigned i = 0; i < JR_KEY_COUNT; i++)
        if ((row->keys >> i & 1) != 0)
            put_key(object, &message_keys[i], message);
    out->failed |= object == NULL;
    if (object != NULL)
        jr_json_print(out, object, 0);
    jr_buf_char(out, '\n');
}

static void get_key(struct jr_message *ret, const struct key *key, const json_t *object)
{
    void *member = (char *)ret + key->at;
    switch (key->type) {
    case KEY_INT:
        *(int64_t *)member = jr_json_get_int(object, key->word);
        break;
    case KEY_FLAG:
        *(bool *)member = jr_json_get_bool(object, key->word);
        break;
    case KEY_TEXT:
        *(const char **)member = jr_json_get_str(object, key->word);
        break;
    }
}

/* By its word, among the types from `first` on and before `end`. */
static bool read_message(struct jr_message *ret, const json_t *object, unsigned first, unsigned end)
{
    const char *word = jr_json_get_str(object, "t");
    unsigned type = first;
    while (word != NULL && type < end && strcmp(message_rows[type].word, word) != 0)
        type++;
    if (word == NULL || type == end)
        return false;
    *ret = (struct jr_message){.type = (enum jr_message_type)type,
                               .node = jr_json_get_u32(object, "n")};
    for (unsigned i = 0; i < JR_KEY_COUNT; i++)
        if ((message_rows[type].keys >> i & 1) != 0)
            get_key(ret, &message_keys[i], object);
    return true;
}

bool jr_message_of_node(struct jr_message *ret, const json_t *object)
{
    return read_message(ret, object, 0, JR_MESSAGE_FROM_COUNT);
}

bool jr_message_of_controller(struct jr_message *ret, const json_t *object)
{
    return read_message(ret, object, JR_MESSAGE_FROM_COUNT, JR_MESSAGE_COUNT);
}

const char *jr_channel_word(enum jr_channel channel)
{
    return channel_words[channel];
}

enum jr_channel jr_channel_find(const char *word)
{
    unsigned i = 0;
    while (i < JR_CHANNEL_COUNT && strcmp(channel_words[i], word) != 0)
        i++;
    return (enum jr_channel)i;
}

void jr_channel_put(struct jr_buf *out, const struct jr_sender *sender, enum jr_channel channel,
                    const char *bytes, size_t len)
{
    size_t most = sender->piece > 0 ? sender->piece : JR_MESSAGE_RAW;
    for (size_t at = 0; at < len; at += most) {
        size_t some = len - at < most ? len - at : most;
        jr_buf_printf(out, "{\"n\":%u,\"t\":\"%s\",\"b\":\"", sender->node, channel_words[channel]);
        jr_base64_add(out, bytes + at, some);
        jr_buf_str(out, "\"}\n");
    }
}

json_t *jr_message_read(const char *line, size_t len)
{
    static const char begin[] = "{\"n\":";
    if (len < sizeof begin || memcmp(line, begin, sizeof begin - 1) != 0)
        return NULL;
    json_t *frame = jr_json_parse(line, len, NULL);
    json_int_t node = jr_json_get_int(frame, "n");
    if (json_is_integer(json_object_get(frame, "n")) && node >= 0 && node <= UINT32_MAX &&
        jr_json_get_str(frame, "t") != NULL)
        return frame;
    json_decref(frame);
    return NULL;
}

bool jr_channel_take(struct jr_buf *to, const json_t *object)
{
    const json_t *bytes = json_object_get(object, "b");
    return json_is_string(bytes) &&
           jr_base64_take(to, json_string_value(bytes), json_string_length(bytes));
}

void jr_outcome_message_add(struct jr_buf *out, const struct jr_outcome *outcome)
{
    size_t most = sizeof outcome->left_pids / sizeof *outcome->left_pids;
    json_auto_t *run = jr_outcome_pack(outcome);
    json_t *ranks = json_array(), *pids = json_array();
    for (uint32_t i = 0; i < outcome->count; i++)
        jr_json_append(ranks, jr_outcome_pack_rank(&outcome->ranks[i]));
    for (size_t i = 0; i < outcome->left && i < most; i++)
        jr_json_append(pids, json_integer(outcome->left_pids[i]));
    jr_json_set(run, "left_pids", pids);
    if (outcome->start_text[0] != '\0')
        jr_json_set_str(run, "start_text", outcome->start_text);
    jr_json_set(run, "ranks", ranks);
    jr_json_print(out, run, 0);
}

void jr_outcome_message_refuse(struct jr_buf *out, const struct jr_error *why)
{
    json_auto_t *run = json_object();
    jr_json_set_str(run, "error", why->text);
    jr_json_print(out, run, 0);
}

int jr_outcome_message_read(struct jr_outcome *ret, uint32_t count, const char *text, size_t len,
                            struct jr_error *err)
{
    size_t most = sizeof ret->left_pids / sizeof *ret->left_pids;
    json_auto_t *run = jr_json_parse(text, len, NULL);
    const json_t *ranks = json_object_get(run, "ranks"), *pids = json_object_get(run, "left_pids");
    const char *refusal = jr_json_get_str(run, "error"),
               *start = jr_json_get_str(run, "start_text");
    bool whole = refusal == NULL && json_is_array(ranks) && json_array_size(ranks) == count;
    for (uint32_t i = 0; i < count && whole; i++)
        whole = jr_outcome_unpack_rank(&ret->ranks[i], json_array_get(ranks, i)) == 0;
    for (size_t i = 0; i < most && i < json_array_size(pids); i++)
        ret->left_pids[i] = (int32_t)json_integer_value(json_array_get(pids, i));
    (void)snprintf(ret->start_text, sizeof ret->start_text, "%s", start != NULL ? start : "");
    ret->count = count;
    int result = 0;
    if (refusal != NULL)
        result = jr_error_set(err, JR_STATUS_LAUNCH, "%s", refusal);
    else if (!whole || jr_outcome_unpack(ret, run) != 0)
        result = jr_error_set(err, JR_STATUS_LAUNCH, "it did not report what became of its ranks");
    return result;
}
