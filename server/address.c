/* Address texts of address.h, by inet_pton and inet_ntop.
 * Only numbers are taken: a name could mean other machines tomorrow. */
#define _GNU_SOURCE
#include "address.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool address_parse_port(const char *text, in_port_t *port) {
    unsigned value = 0;
    size_t size = strlen(text);
    if (size == 0 || size > 5) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    *port = htons((in_port_t)value);
    return value <= 65535;
}

static bool address_parse_v4(const char *host, in_port_t port, struct address *address) {
    struct address v4 = {.socket.v4 = {.sin_family = AF_INET, .sin_port = port},
                         .size = sizeof(struct sockaddr_in)};
    const char *number = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, number, &v4.socket.v4.sin_addr) != 1) {
        return false;
    }
    *address = v4;
    return true;
}

static bool address_parse_v6(const char *host, in_port_t port, struct address *address) {
    struct address v6 = {.socket.v6 = {.sin6_family = AF_INET6, .sin6_port = port},
                         .size = sizeof(struct sockaddr_in6)};
    if (inet_pton(AF_INET6, host, &v6.socket.v6.sin6_addr) != 1) {
        return false;
    }
    *address = v6;
    return true;
}

/* An absolute path alone: the daemon's directory is nobody's business. */
static bool address_parse_unix(const char *path, struct address *address) {
    struct address unix_address = {.socket.path = {.sun_family = AF_UNIX},
                                   .size = sizeof(struct sockaddr_un)};
    const size_t size = strlen(path);
    if (path[0] != '/' || size < 2 || size >= sizeof unix_address.socket.path.sun_path) {
        return false;
    }
    memcpy(unix_address.socket.path.sun_path, path, size);
    *address = unix_address;
    return true;
}

bool address_parse(const char *text, struct address *address) {
    if (strncmp(text, "unix:", 5) == 0) {
        return address_parse_unix(text + 5, address);
    }
    char host[ADDRESS_TEXT_SIZE];
    in_port_t port;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host ||
        !address_parse_port(colon + 1, &port)) {
        return false;
    }
    size_t size = (size_t)(colon - text);
    memcpy(host, text, size);
    host[size] = '\0';
    if (size >= 2 && host[0] == '[' && host[size - 1] == ']') {
        host[size - 1] = '\0';
        return address_parse_v6(host + 1, port, address);
    }
    return address_parse_v4(host, port, address);
}

void address_format(const struct address *address, char text[ADDRESS_TEXT_SIZE]) {
    char host[INET6_ADDRSTRLEN] = "";
    if (address_is_unix(address)) {
        /* an inherited one may have no end within its size, or no name */
        const size_t used = address->size - offsetof(struct sockaddr_un, sun_path);
        const char *path = address->socket.path.sun_path;
        snprintf(text, ADDRESS_TEXT_SIZE, "unix:%.*s", (int)strnlen(path, used), path);
        return;
    }
    bool is_v6 = address->socket.any.sa_family == AF_INET6;
    const void *number = is_v6 ? (const void *)&address->socket.v6.sin6_addr
                               : (const void *)&address->socket.v4.sin_addr;
    inet_ntop(address->socket.any.sa_family, number, host, sizeof host);
    snprintf(text, ADDRESS_TEXT_SIZE, is_v6 ? "[%s]:%u" : "%s:%u", host,
             address_port(address) & 0xffff);
}

bool address_is_known(const struct address *address) {
    const sa_family_t family = address->socket.any.sa_family;
    return family == AF_INET || family == AF_INET6 || family == AF_UNIX;
}

bool address_is_unix(const struct address *address) {
    return address->socket.any.sa_family == AF_UNIX;
}

bool address_is_local(const struct address *address) {
    const struct in6_addr *v6 = &address->socket.v6.sin6_addr;
    switch (address->socket.any.sa_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return ntohl(address->socket.v4.sin_addr.s_addr) >> 24 == 127;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
    default:
        return false;
    }
}

unsigned address_port(const struct address *address) {
    if (address_is_unix(address)) {
        return 0;
    }
    return ntohs(address->socket.any.sa_family == AF_INET6 ? address->socket.v6.sin6_port
                                                           : address->socket.v4.sin_port);
}

void address_port_set(struct address *address, unsigned port) {
    if (address_is_unix(address)) {
        return;
    }
    if (address->socket.any.sa_family == AF_INET6) {
        address->socket.v6.sin6_port = htons((in_port_t)port);
    } else {
        address->socket.v4.sin_port = htons((in_port_t)port);
    }
}
