/* What stands between the network and a request: where to listen, TLS, tokens, rates, origins.
 * main makes it before the first socket is opened; it reads no bodies and writes no replies. */
#ifndef SERVER_FRONT_H
#define SERVER_FRONT_H

#include "gate.h"
#include "settings.h"
#include "tls.h"

struct front;

#define FRONT_ERROR_SIZE 800

/* NULL with the error's text set, which names the setting; all of it is the operator's to mend. */
struct front *front_create(const struct settings *settings, char error[FRONT_ERROR_SIZE]);
void front_destroy(struct front *front);

/* Reads the tokens again, while requests are judged. False with the error's text set: the old ones
 * stay. *count is how many tokens there are now; 0 when none are asked for. */
bool front_reload(struct front *front, size_t *count, char error[FRONT_ERROR_SIZE]);

/* Where to listen: as set, or where the socket listens that systemd handed over. */
const struct address *front_address(const struct front *front);

/* The socket that was handed over, or -1. */
int front_socket(const struct front *front);

/* NULL: plain http. */
const struct tls *front_tls(const struct front *front);

/* Whether replies may differ by origin. */
bool front_has_origins(const struct front *front);

struct front_grant {
    enum api_code code;     /* API_OK: let in */
    const char *detail;     /* a constant */
    unsigned retry_after_s; /* of API_TOO_MANY_REQUESTS */
    const char *origin;     /* to be told that it may call, or NULL; lives as long as the front */
    bool is_open;           /* of a path that answers whoever asks */
    bool is_preflight;      /* a question of that origin's browser, to be answered without more */
};

/* The request passed the gate. The path is decoded; client is NULL when unknown. /healthz and
 * /readyz are open to all. Callable from any thread. */
void front_judge(struct front *front, const struct gate_request *request, const char *path,
                 const struct sockaddr *client, struct front_grant *grant);

#endif
