/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Copying: mostly a few bytes, or a chunk of a message.
 */
#ifndef COMMON_FASTPATH_COPY_H
#define COMMON_FASTPATH_COPY_H

#include <stdint.h>
#include <string.h>

/** 16 bytes in a register: arrays of bytes are kept on the stack, too. */
typedef uint64_t mca_common_fastpath_16_t __attribute__((vector_size(16)));

/** Copies up to 64 bytes without a call: two overlapping moves of a fixed size for each range of lengths. */
static inline void mca_common_fastpath_copy_small(void *to, const void *from, size_t length)
{
    char *t = (char *) to;
    const char *f = (const char *) from;

    if (16 <= length) {
        mca_common_fastpath_16_t a, b;

        memcpy(&a, f, 16);
        memcpy(&b, f + length - 16, 16);
        if (32 < length) {
            mca_common_fastpath_16_t c, d;

            memcpy(&c, f + 16, 16);
            memcpy(&d, f + length - 32, 16);
            memcpy(t + 16, &c, 16);
            memcpy(t + length - 32, &d, 16);
        }
        memcpy(t, &a, 16);
        memcpy(t + length - 16, &b, 16);
    } else if (8 <= length) {
        uint64_t a, b;

        memcpy(&a, f, 8);
        memcpy(&b, f + length - 8, 8);
        memcpy(t, &a, 8);
        memcpy(t + length - 8, &b, 8);
    } else if (4 <= length) {
        uint32_t a, b;

        memcpy(&a, f, 4);
        memcpy(&b, f + length - 4, 4);
        memcpy(t, &a, 4);
        memcpy(t + length - 4, &b, 4);
    } else {
        for (size_t i = 0; i < length; ++i) {
            t[i] = f[i];
        }
    }
}

/** Bytes from which on mca_common_fastpath_copy() calls mca_common_fastpath_copy_long(). */
#define MCA_COMMON_FASTPATH_COPY_LONG ((size_t) 2048)
/** Bytes from which on messages are copied by ways that are measured (common_fastpath_ways.h).  For less a
 * loop is the sooner way if both sides take it, and measuring costs as much as it gains. */
#define MCA_COMMON_FASTPATH_COPY_MEASURED ((size_t) 5120)

/**
 * memcpy of lengths with which the C library begins late; see the .c file.
 *
 * @param length  bytes, at least MCA_COMMON_FASTPATH_COPY_LONG
 */
void mca_common_fastpath_copy_long(void *to, const void *from, size_t length);

/**
 * memcpy by one instruction. Some processors write whole lines so without getting first what is in them,
 * which another processor may have written or read last.
 */
static inline void mca_common_fastpath_copy_string(void *to, const void *from, size_t length)
{
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
#else
    memcpy(to, from, length);
#endif
}

/**
 * memcpy by stores that write whole lines to memory, around the caches, and invalidate what caches have of
 * them. Who reads that gets it from memory. It is written when the function returns, so a release store
 * that follows publishes it: the stores themselves are not ordered by that. Elsewhere than on x86-64 memcpy.
 *
 * @param length  bytes, at least MCA_COMMON_FASTPATH_COPY_LONG
 */
void mca_common_fastpath_copy_nontemporal(void *to, const void *from, size_t length);

/** memcpy, by the way that is best for the length */
static inline void mca_common_fastpath_copy(void *to, const void *from, size_t length)
{
    if (MCA_COMMON_FASTPATH_COPY_LONG <= length) {
        mca_common_fastpath_copy_long(to, from, length);
    } else if (64 < length) {
        memcpy(to, from, length);
    } else {
        mca_common_fastpath_copy_small(to, from, length);
    }
}

#endif /* COMMON_FASTPATH_COPY_H */
