/* The checks of tls.h, by GnuTLS, so that a wrong pair is named at start.
 * Whether the certificate is still valid, and for this host, is for clients to judge. */
#include "tls.h"

#include <gnutls/gnutls.h>
#include <stdio.h>

static gnutls_datum_t tls_datum(const struct api_buffer *text) {
    return (gnutls_datum_t){(unsigned char *)text->data, (unsigned)text->size};
}

static int tls_pair(const struct tls *tls) {
    gnutls_certificate_credentials_t credentials;
    const gnutls_datum_t certificate = tls_datum(&tls->certificate);
    const gnutls_datum_t key = tls_datum(&tls->key);
    int result = gnutls_certificate_allocate_credentials(&credentials);
    if (result < 0) {
        return result;
    }
    result =
        gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(credentials);
    return result;
}

bool tls_init(struct tls *tls, const char *certificate_path, const char *key_path,
              char error[TLS_ERROR_SIZE]) {
    *tls = (struct tls){.certificate = {.data = NULL}};
    if (!private_file_read(certificate_path, false, &tls->certificate, error) ||
        !private_file_read(key_path, true, &tls->key, error)) {
        tls_finish(tls);
        return false;
    }
    const int result = tls_pair(tls);
    if (result < 0) {
        snprintf(error, TLS_ERROR_SIZE, "%.200s with %.200s: %s", certificate_path, key_path,
                 gnutls_strerror(result));
        tls_finish(tls);
        return false;
    }
    return true;
}

void tls_finish(struct tls *tls) {
    private_file_finish(&tls->certificate);
    private_file_finish(&tls->key);
}
