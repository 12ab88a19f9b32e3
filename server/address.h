/* Text such as 127.0.0.1:8080, [::1]:8080 or unix:/run/skind.sock to a socket address and back.
 * It resolves no names (but localhost) and opens nothing. */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Bytes of the longest text: "unix:", a path, the end. */
#define ADDRESS_TEXT_SIZE (sizeof(((struct sockaddr_un *)0)->sun_path) + 8)

#define ADDRESS_FORM                                                                               \
    "ADDRESS:PORT, such as 127.0.0.1:8080, localhost:8080 or [::1]:8080, or unix:/PATH"

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
    } socket;
    socklen_t size; /* of the member in use */
};

/* False when the text is not an address with a port; *address is then untouched. */
bool address_parse(const char *text, struct address *address);

void address_format(const struct address *address, char text[ADDRESS_TEXT_SIZE]);

/* Whether it is of one of the families that can be told in text. */
bool address_is_known(const struct address *address);

/* A file of this machine, not a port. */
bool address_is_unix(const struct address *address);

/* Only this machine can reach it: loopback, or a UNIX socket. */
bool address_is_local(const struct address *address);

/* The port, in the machine's byte order; 0 for a UNIX socket. */
unsigned address_port(const struct address *address);
void address_port_set(struct address *address, unsigned port);

#endif
