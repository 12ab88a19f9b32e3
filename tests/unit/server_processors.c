/* How many processors a cgroup's cpu.max allows.
 * What this machine's own says is compared with the affinity alone. */
#define _GNU_SOURCE
#include "server/processors.h"
#include "tests/check.h"

#include <sched.h>

static void test_quota_is_rounded_up(void **state) {
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"max 100000\n", 0},
        {"max", 0},
        {"", 0},
        {"\n", 0},
        {"200000 100000\n", 2},
        {"200000 100000", 2},
        {"150000 100000\n", 2},
        {"100001 100000\n", 2},
        {"100000 100000\n", 1},
        {"50000 100000\n", 1},
        {"1 100000\n", 1},
        {"1000 1000000\n", 1},
        {"6400000 100000\n", 64},
        {"0 100000\n", 0},
        {"100000 0\n", 0},
        {"100000\n", 0},
        {"100000 max\n", 0},
        {"one two\n", 0},
        {"18446744073709551615 1\n", 4096},
        {"18446744073709551615 18446744073709551615\n", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t count = processors_of_quota(rows[i].text);
        if (count != rows[i].count) {
            fail_msg("'%s': %zu, expected %zu", rows[i].text, count, rows[i].count);
        }
    }
}

static void test_affinity_is_respected(void **state) {
    cpu_set_t before;
    cpu_set_t one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const size_t allowed = processors_allowed();
    assert_true(allowed >= 1 && allowed <= (size_t)CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(processors_allowed(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_is_rounded_up),
        cmocka_unit_test(test_affinity_is_respected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
