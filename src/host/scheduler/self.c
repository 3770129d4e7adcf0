/* Which of several hosts this machine is. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>

#include "host/host.h"

#include "base/banned.h"

/* Names are the same in full, or up to the first dot where one ends there. */
static bool is_own_name(const char *host, const char *own)
{
    size_t len = strcspn(own, ".");
    bool cut = own[len] == '\0' || host[strcspn(host, ".")] == '\0';
    if (!cut)
        return strcasecmp(host, own) == 0;
    return strcspn(host, ".") == len && strncasecmp(host, own, len) == 0;
}

/* An address in binary, so that it does not matter how it is written. Returns
 * its size; 0: it is none. */
static size_t parse_address(unsigned char ret[static 16], const char *text)
{
    if (inet_pton(AF_INET, text, ret) == 1)
        return 4;
    return inet_pton(AF_INET6, text, ret) == 1 ? 16 : 0;
}

static bool has_own_address(const struct ifaddrs *own,
                            const unsigned char *address, size_t size)
{
    for (; own != NULL; own = own->ifa_next) {
        const struct sockaddr *at = own->ifa_addr;
        const void *bytes = NULL;
        if (at == NULL || (own->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        if (at->sa_family == AF_INET && size == 4)
            bytes = &((const struct sockaddr_in *)(const void *)at)->sin_addr;
        if (at->sa_family == AF_INET6 && size == 16)
            bytes = &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
        if (bytes != NULL && memcmp(bytes, address, size) == 0)
            return true;
    }
    return false;
}

int jr_host_find_self(const struct jr_host *hw, char *const *hosts,
                      size_t count)
{
    struct ifaddrs *own = NULL;
    unsigned char address[16];
    int found = -1;
    if (getifaddrs(&own) != 0)
        own = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t size = parse_address(address, hosts[i]);
        bool same = size > 0 ? has_own_address(own, address, size)
                             : hw->hostname != NULL &&
                                   is_own_name(hosts[i], hw->hostname);
        if (same && found >= 0) {
            found = -1;
            break;
        }
        found = same ? (int)i : found;
    }
    freeifaddrs(own);
    return found;
}
