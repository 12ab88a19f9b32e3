/* skind probe: asks a running daemon whether it is alive, for health checks in images that have
 * no other client. It judges the status line only. */
#ifndef SERVER_PROBE_H
#define SERVER_PROBE_H

#include "settings.h"

/* Asks at settings->listen. Returns the process's exit status: 0 alive, 1 not. */
int probe_main(const struct settings *settings);

#endif
