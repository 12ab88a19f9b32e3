/* Matrices for tests of lib: builders, random ones from a seed, and a product of its own in long
 * double. It never calls lib, so that it can serve as a reference. */
#ifndef TESTS_MATRICES_H
#define TESTS_MATRICES_H

#include "lib/skin.h"

#include <math.h>
#include <stdint.h>

static inline struct skin_mat4 linear(double a, double b, double c, double d, double e, double f,
                                      double g, double h, double i) {
    return (struct skin_mat4){{a, b, c, 0, d, e, f, 0, g, h, i, 0, 0, 0, 0, 1}};
}

static inline struct skin_mat4 scaling(double x, double y, double z) {
    return linear(x, 0, 0, 0, y, 0, 0, 0, z);
}

static inline struct skin_mat4 translation(double x, double y, double z) {
    return (struct skin_mat4){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, z, 1}};
}

/* Counter-clockwise about z, angle in radians. */
static inline struct skin_mat4 rotation_z(long double angle) {
    double c = (double)cosl(angle);
    double s = (double)sinl(angle);
    return linear(c, s, 0, -s, c, 0, 0, 0, 1);
}

/* first, then second */
static inline struct skin_mat4 chain(const struct skin_mat4 *first,
                                     const struct skin_mat4 *second) {
    struct skin_mat4 out;
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 4; column++) {
            long double sum = 0;
            for (int k = 0; k < 4; k++) {
                sum += (long double)first->m[4 * row + k] * second->m[4 * k + column];
            }
            out.m[4 * row + column] = (double)sum;
        }
    }
    return out;
}

static inline struct skin_mat4f narrow(const struct skin_mat4 *matrix) {
    struct skin_mat4f out;
    for (int i = 0; i < 16; i++) {
        out.m[i] = (float)matrix->m[i];
    }
    return out;
}

static inline struct skin_mat4 widen(const struct skin_mat4f *matrix) {
    struct skin_mat4 out;
    for (int i = 0; i < 16; i++) {
        out.m[i] = (double)matrix->m[i];
    }
    return out;
}

/* Uniform in [0, 1). Source: Steele, Lea and Flood, SplitMix64, 2014. */
static inline double random_unit(uint64_t *seed) {
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double random_between(uint64_t *seed, double low, double high) {
    return low + (high - low) * random_unit(seed);
}

/* Even in the logarithm. */
static inline double random_log(uint64_t *seed, double low, double high) {
    return low * pow(high / low, random_unit(seed));
}

static inline struct skin_mat4 random_rotation(uint64_t *seed) {
    double q[4] = {0, 0, 0, 0};
    double n = 0;
    while (n < 0.01 || n > 1.0) {
        n = 0;
        for (int i = 0; i < 4; i++) {
            q[i] = random_between(seed, -1, 1);
            n += q[i] * q[i];
        }
    }
    double s = 2 / n;
    double x = q[0];
    double y = q[1];
    double z = q[2];
    double w = q[3];
    return linear(1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y),
                  s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x),
                  s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y));
}

/* Rotation, non-uniform scale up to `stretch` between axes, rotation, translation up to `reach`. */
static inline struct skin_mat4 random_affine(uint64_t *seed, double stretch, double reach) {
    struct skin_mat4 first = random_rotation(seed);
    struct skin_mat4 second = random_rotation(seed);
    double size = random_log(seed, 0.1, 10);
    struct skin_mat4 scale =
        scaling(size * random_log(seed, 1, stretch), -size * random_log(seed, 1, stretch),
                size * random_log(seed, 1, stretch));
    struct skin_mat4 left = chain(&first, &scale);
    struct skin_mat4 out = chain(&left, &second);
    for (int i = 12; i < 15; i++) {
        out.m[i] = random_between(seed, -reach, reach);
    }
    return out;
}

#endif
