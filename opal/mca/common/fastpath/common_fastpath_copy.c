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
 * longer where source and destination do not lie alike in their lines.  A loop does not, and up to a page or
 * so it is the quicker the wider its registers are: docs/data-path.md.
 */

#include "opal_config.h"

#include <stdbool.h>

#if defined(__x86_64__)
#    include <emmintrin.h>
#endif

#include "common_fastpath_copy.h"

/** bytes up to which the loop is the quicker one: longer data is in no near cache, and is written around it */
#define LOOP_MAX ((size_t) 1024 * 1024)

#if defined(__x86_64__)

/** bytes of a cache line, and of a wide register */
#    define LINE 64u
/** bytes that one round copies */
#    define ROUND (2 * LINE)

typedef uint64_t vector_t __attribute__((vector_size(32)));
typedef uint64_t wide_t __attribute__((vector_size(64)));

/* The registers are those of the function that this becomes a part of. */
static inline __attribute__((always_inline)) void copy_two_lines(char *to, const char *from, bool wide)
{
    if (wide) {
        wide_t a, b;

        memcpy(&a, from, sizeof(a));
        memcpy(&b, from + sizeof(a), sizeof(b));
        memcpy(to, &a, sizeof(a));
        memcpy(to + sizeof(a), &b, sizeof(b));
    } else {
        vector_t a, b, c, d;

        memcpy(&a, from, sizeof(a));
        memcpy(&b, from + sizeof(a), sizeof(b));
        memcpy(&c, from + 2 * sizeof(a), sizeof(c));
        memcpy(&d, from + 3 * sizeof(a), sizeof(d));
        memcpy(to, &a, sizeof(a));
        memcpy(to + sizeof(a), &b, sizeof(b));
        memcpy(to + 2 * sizeof(a), &c, sizeof(c));
        memcpy(to + 3 * sizeof(a), &d, sizeof(d));
    }
}

/* At least one round.  The first one and the last one overlap the others, which write whole lines. */
static inline __attribute__((always_inline)) void copy_lines(char *to, const char *from, size_t length,
                                                             bool wide)
{
    const size_t first = LINE - (uintptr_t) to % LINE;
    const char *last = from + length - ROUND;

    copy_two_lines(to, from, wide);
    to += first;
    from += first;
    for (; from < last; to += ROUND, from += ROUND) {
        copy_two_lines(to, from, wide);
    }
    to -= from - last;
    copy_two_lines(to, last, wide);
}

static __attribute__((target("avx2"))) void copy_by_32(char *to, const char *from, size_t length)
{
    copy_lines(to, from, length, false);
}

static __attribute__((target("avx512f"))) void copy_by_64(char *to, const char *from, size_t length)
{
    copy_lines(to, from, length, true);
}

void mca_common_fastpath_copy_long(void *to, const void *from, size_t length)
{
    if (MCA_COMMON_FASTPATH_COPY_MEASURED > length && __builtin_cpu_supports("avx512f")) {
        copy_by_64((char *) to, (const char *) from, length);
    } else if (LOOP_MAX >= length && __builtin_cpu_supports("avx2")) {
        copy_by_32((char *) to, (const char *) from, length);
    } else {
        memcpy(to, from, length);
    }
}

/* Four stores of a line follow each other, or it would leave the processor in pieces. */
void mca_common_fastpath_copy_nontemporal(void *to, const void *from, size_t length)
{
    const size_t first = -(uintptr_t) to % LINE;
    const size_t lines = (length - first) / LINE;
    const size_t last = (length - first) % LINE;
    __m128i *line = (__m128i *) ((char *) to + first);
    const __m128i *source = (const __m128i *) ((const char *) from + first);

    mca_common_fastpath_copy_small(to, from, first);
    for (size_t i = 0; i < lines; ++i, line += 4, source += 4) {
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);

        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    mca_common_fastpath_copy_small(line, source, last);
    _mm_sfence();
}

#else

void mca_common_fastpath_copy_nontemporal(void *to, const void *from, size_t length)
{
    memcpy(to, from, length);
}

void mca_common_fastpath_copy_long(void *to, const void *from, size_t length)
{
    memcpy(to, from, length);
}

#endif
