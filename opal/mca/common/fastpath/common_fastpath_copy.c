/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Copying thousands of bytes between caches.
 *
 * The C library copies such lengths by one instruction (rep movsb), which takes a while to begin, and takes
 * longer where source and destination do not lie alike in their lines.  A loop does not: docs/data-path.md.
 */

#include "common_fastpath_copy.h"

/** bytes up to which the loop is the quicker one: longer data is in no near cache, and is written around it */
#define LOOP_MAX ((size_t) 1024 * 1024)

#if defined(__x86_64__)

/** bytes of a vector register */
#define VECTOR 32u
/** bytes that one round copies */
#define ROUND (4 * VECTOR)

typedef uint64_t vector_t __attribute__((vector_size(VECTOR)));

static inline __attribute__((always_inline, target("avx2"))) void copy_four(char *to, const char *from)
{
    vector_t a, b, c, d;

    memcpy(&a, from, VECTOR);
    memcpy(&b, from + VECTOR, VECTOR);
    memcpy(&c, from + 2 * VECTOR, VECTOR);
    memcpy(&d, from + 3 * VECTOR, VECTOR);
    memcpy(to, &a, VECTOR);
    memcpy(to + VECTOR, &b, VECTOR);
    memcpy(to + 2 * VECTOR, &c, VECTOR);
    memcpy(to + 3 * VECTOR, &d, VECTOR);
}

/* At least one round.  The first one and the last one overlap the others, which write whole vectors. */
static __attribute__((target("avx2"))) void copy_vectors(char *to, const char *from, size_t length)
{
    const size_t first = VECTOR - (uintptr_t) to % VECTOR;
    const char *last = from + length - ROUND;

    copy_four(to, from);
    to += first;
    from += first;
    for (; from < last; to += ROUND, from += ROUND) {
        copy_four(to, from);
    }
    to -= from - last;
    copy_four(to, last);
}

void mca_common_fastpath_copy_long(void *to, const void *from, size_t length)
{
    if (LOOP_MAX < length || !__builtin_cpu_supports("avx2")) {
        memcpy(to, from, length);
    } else {
        copy_vectors((char *) to, (const char *) from, length);
    }
}

#else

void mca_common_fastpath_copy_long(void *to, const void *from, size_t length)
{
    memcpy(to, from, length);
}

#endif
