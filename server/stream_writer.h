/* One thread that waits for the sockets of streams whose clients read slowly.
 * It knows no streams, only what is to be called when a socket takes bytes again, or for too long
 * does not. */
#ifndef SERVER_STREAM_WRITER_H
#define SERVER_STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in the owner's struct; all but `ready` belongs to the writer. */
struct stream_watch {
    int fd;
    /* The socket takes bytes, or is dead: go on writing. Returns whether to go on watching. */
    bool (*ready)(struct stream_watch *watch, bool stalled);
    uint64_t since_ns;
    bool again;   /* asked for while it was being called */
    size_t place; /* in the writer's table, plus 1; 0 when not there */
};

struct stream_writer;

/* A watch that took no byte for stall_ms is told that it is stalled. NULL without memory or thread.
 */
struct stream_writer *stream_writer_create(size_t capacity, uint64_t stall_ms);
void stream_writer_destroy(struct stream_writer *writer);

/* False when the table is full. Nothing happens when it is watched already. */
bool stream_writer_watch(struct stream_writer *writer, struct stream_watch *watch);

/* Behind this the writer does not touch the watch; waits while it is just being called. Must not be
 * called from ready, nor with a lock held that ready takes. */
void stream_writer_forget(struct stream_writer *writer, struct stream_watch *watch);

#endif
