/* The certificate and key of https, read and checked once at start.
 * The handshake itself is the HTTP library's. */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "private_file.h"

/* TLS 1.2 and 1.3, with GnuTLS's usual ciphers. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define TLS_ERROR_SIZE ((size_t)640)

struct tls {
    struct api_buffer certificate; /* PEM, NUL-terminated */
    struct api_buffer key;
};

/* False with the error's text set: a file that cannot be read, a key file that others can read, or
 * texts that are not a certificate and its key. */
bool tls_init(struct tls *tls, const char *certificate_path, const char *key_path,
              char error[TLS_ERROR_SIZE]);

/* Accepts one that was never filled, all zero. */
void tls_finish(struct tls *tls);

#endif
