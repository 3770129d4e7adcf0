#include "session/lease_text.h"

#include <string.h>

#include "resolve/device_lease.h"

#include "base/banned.h"

static const char *device_kind_word(enum jr_device kind)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_DEVICES(WORD)};
#undef WORD
    return words[kind];
}

static void make_key(char ret[static JR_DEVICE_KEY_SIZE],
                     const struct jr_host_device *device)
{
    jr_device_key(ret, device, device_kind_word(device->kind), "");
}

static size_t count_waiting(const struct jr_device_claims *claims,
                            const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < claims->awaited_count; i++)
        count += strcmp(claims->awaited[i].key, key) == 0;
    return count;
}

/* All about one device; the first line begins with `head`. */
static void print_claims(struct jr_buf *out,
                         const struct jr_device_claims *claims, const char *key,
                         const char *head)
{
    size_t waiting = count_waiting(claims, key);
    for (size_t i = 0; i < claims->held_count; i++) {
        if (strcmp(claims->held[i].key, key) != 0)
            continue;
        const struct jr_device_user user =
            jr_device_user_of(claims, &claims->held[i]);
        jr_buf_printf(out, "%sheld by ", head);
        jr_device_user_print(out, &user);
        jr_buf_char(out, '\n');
        head = "         ";
    }
    if (waiting > 0)
        jr_buf_printf(out, "%swaited for by %zu jobrun%s\n", head, waiting,
                      waiting == 1 ? "" : "s");
}

void jr_lease_text_device(struct jr_buf *out,
                          const struct jr_host_device *device)
{
    struct jr_device_claims claims;
    char key[JR_DEVICE_KEY_SIZE];
    make_key(key, device);
    jr_device_claims_read(&claims);
    print_claims(out, &claims, key, "         ");
    jr_device_claims_release(&claims);
}

static bool is_machines_own(const struct jr_host *host, const char *key)
{
    char own[JR_DEVICE_KEY_SIZE];
    for (uint32_t i = 0; i < host->devices_count; i++) {
        make_key(own, &host->devices[i]);
        if (strcmp(own, key) == 0)
            return true;
    }
    return false;
}

/* Whether the claim is the first of several for its device. */
static bool is_first_claim(const struct jr_device_claim *list, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(list[j].key, list[i].key) == 0)
            return false;
    return true;
}

static void print_other(struct jr_buf *out, const struct jr_host *host,
                        const struct jr_device_claims *claims, const char *key)
{
    if (is_machines_own(host, key))
        return;
    jr_buf_str(out, "leased   ");
    jr_buf_safe(out, key);
    jr_buf_char(out, '\n');
    print_claims(out, claims, key, "         ");
}

void jr_lease_text_others(struct jr_buf *out, const struct jr_host *host)
{
    struct jr_device_claims claims;
    jr_device_claims_read(&claims);
    for (size_t i = 0; i < claims.held_count; i++)
        if (is_first_claim(claims.held, i))
            print_other(out, host, &claims, claims.held[i].key);
    for (size_t i = 0; i < claims.awaited_count; i++)
        if (is_first_claim(claims.awaited, i) &&
            !jr_device_is_held(&claims, claims.awaited[i].key))
            print_other(out, host, &claims, claims.awaited[i].key);
    jr_device_claims_release(&claims);
}
