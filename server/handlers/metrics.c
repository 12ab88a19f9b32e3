/* GET /metrics: counters and gauges in Prometheus's text format.
 * What is counted, and where, stands in server/metrics.h. */
#include "server/metrics.h"
#include "handlers.h"

void handlers_metrics(const struct handlers_request *request, struct api_reply *reply) {
    handlers_reply_init(reply);
    reply->media_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_write(request->state->metrics, request->state, &reply->body);
}
