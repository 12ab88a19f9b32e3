/* Double-double arithmetic: a value held as an unevaluated sum of two doubles, good for about
 * 104 bits. It is only what the matrix code needs, and internal to lib.
 * Sources: Dekker 1971; Ogita, Rump and Oishi, "Accurate sum and dot product", 2005.
 * Right only without contraction or reassociation by the compiler (-ffp-contract=off). */
#ifndef SKIN_WIDE_H
#define SKIN_WIDE_H

#include <math.h>

struct skin_wide {
    double hi;
    double lo;
};

/* a + b exactly. */
static inline struct skin_wide skin_two_sum(double a, double b) {
    double sum = a + b;
    double b_part = sum - a;
    double error = (a - (sum - b_part)) + (b - b_part);
    return (struct skin_wide){sum, error};
}

/* a * b exactly, unless the error falls below double's range. */
static inline struct skin_wide skin_two_product(double a, double b) {
    double product = a * b;
    return (struct skin_wide){product, fma(a, b, -product)};
}

static inline struct skin_wide skin_wide_add(struct skin_wide a, struct skin_wide b) {
    struct skin_wide sum = skin_two_sum(a.hi, b.hi);
    return skin_two_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

static inline struct skin_wide skin_wide_multiply(struct skin_wide a, struct skin_wide b) {
    struct skin_wide product = skin_two_product(a.hi, b.hi);
    return skin_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline struct skin_wide skin_wide_reciprocal(struct skin_wide a) {
    double first = 1.0 / a.hi;
    struct skin_wide product = skin_wide_multiply((struct skin_wide){first, 0.0}, a);
    double rest = (1.0 - product.hi) - product.lo;
    return skin_two_sum(first, rest / a.hi);
}

#endif
