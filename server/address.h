/* Text such as 127.0.0.1:8080 or [::1]:8080 to a socket address and back.
 * It resolves no names (but localhost) and opens nothing. */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Bytes of the longest text: an IPv6 address in brackets, a colon, a port, the end. */
#define ADDRESS_TEXT_SIZE (INET6_ADDRSTRLEN + 8)

#define ADDRESS_FORM "ADDRESS:PORT, such as 127.0.0.1:8080, localhost:8080 or [::1]:8080"

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t size; /* of the member in use */
};

/* False when the text is not an address with a port; *address is then untouched. */
bool address_parse(const char *text, struct address *address);

void address_format(const struct address *address, char text[ADDRESS_TEXT_SIZE]);

/* The port, in the machine's byte order. */
unsigned address_port(const struct address *address);
void address_port_set(struct address *address, unsigned port);

#endif
