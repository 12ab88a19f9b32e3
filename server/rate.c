/* The table of rate.h: sets of a few buckets, a lock for some sets; the bucket of a set that was
 * used longest ago makes room. A bucket is one point in time, when it will be full again. */
#define _GNU_SOURCE
#include "rate.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RATE_WAYS 8
#define RATE_SETS (RATE_MAX_CLIENTS / RATE_WAYS)
#define RATE_LOCKS 64

struct rate_bucket {
    uint64_t key;     /* 0: free */
    uint64_t full_ns; /* when the bucket will be full; in the past: it is */
    uint64_t used_ns;
};

struct rate {
    uint64_t seed;     /* so that nobody can choose addresses that share a set */
    uint64_t each_ns;  /* for one request to come back */
    uint64_t burst_ns; /* for all of them */
    pthread_mutex_t locks[RATE_LOCKS];
    struct rate_bucket sets[RATE_SETS][RATE_WAYS];
};

struct rate *rate_create(size_t per_s, size_t burst) {
    struct rate *rate = calloc(1, sizeof *rate);
    if (rate == NULL) {
        return NULL;
    }
    if (getrandom(&rate->seed, sizeof rate->seed, 0) != (ssize_t)sizeof rate->seed) {
        free(rate);
        return NULL;
    }
    rate->each_ns = 1000000000U / per_s;
    rate->burst_ns = rate->each_ns * burst;
    for (size_t i = 0; i < RATE_LOCKS; i++) {
        pthread_mutex_init(&rate->locks[i], NULL);
    }
    return rate;
}

void rate_destroy(struct rate *rate) {
    if (rate == NULL) {
        return;
    }
    for (size_t i = 0; i < RATE_LOCKS; i++) {
        pthread_mutex_destroy(&rate->locks[i]);
    }
    free(rate);
}

/* What tells one client from another, never 0. False for a family without addresses. */
static bool rate_key(const struct sockaddr *client, uint64_t *key) {
    struct in6_addr v6;
    if (client->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, client, sizeof v4);
        *key = (uint64_t)v4.sin_addr.s_addr | (uint64_t)1 << 32;
        return true;
    }
    if (client->sa_family != AF_INET6) {
        return false;
    }
    memcpy(&v6, (const char *)client + offsetof(struct sockaddr_in6, sin6_addr), sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        uint32_t v4;
        memcpy(&v4, &v6.s6_addr[12], sizeof v4);
        *key = (uint64_t)v4 | (uint64_t)1 << 32;
        return true;
    }
    memcpy(key, &v6.s6_addr[0], sizeof *key);
    *key |= (uint64_t)*key == 0 ? 1 : 0; /* ::1 */
    return true;
}

/* The finaliser of splitmix64. */
static uint64_t rate_mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

static struct rate_bucket *rate_find(struct rate_bucket set[RATE_WAYS], uint64_t key) {
    struct rate_bucket *oldest = &set[0];
    for (size_t i = 0; i < RATE_WAYS; i++) {
        if (set[i].key == key) {
            return &set[i];
        }
        if (set[i].used_ns < oldest->used_ns) {
            oldest = &set[i];
        }
    }
    *oldest = (struct rate_bucket){.key = key};
    return oldest;
}

static unsigned rate_draw(const struct rate *rate, struct rate_bucket *bucket, uint64_t now_ns) {
    const uint64_t full_ns = bucket->full_ns > now_ns ? bucket->full_ns : now_ns;
    const uint64_t debt_ns = full_ns - now_ns + rate->each_ns;
    bucket->used_ns = now_ns;
    if (debt_ns <= rate->burst_ns) {
        bucket->full_ns = full_ns + rate->each_ns;
        return 0;
    }
    return (unsigned)((debt_ns - rate->burst_ns + 999999999U) / 1000000000U);
}

unsigned rate_take(struct rate *rate, const struct sockaddr *client, uint64_t now_ns) {
    uint64_t key;
    if (!rate_key(client, &key)) {
        return 0;
    }
    const size_t set = (size_t)(rate_mix(key ^ rate->seed) % RATE_SETS);
    pthread_mutex_t *lock = &rate->locks[set % RATE_LOCKS];
    pthread_mutex_lock(lock);
    struct rate_bucket *bucket = rate_find(rate->sets[set], key);
    const unsigned wait_s = rate_draw(rate, bucket, now_ns);
    pthread_mutex_unlock(lock);
    return wait_s;
}
