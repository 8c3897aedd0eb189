/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "verify.h"

#include <stdint.h>
#include <string.h>

static inline uint64_t word(size_t number, int process, int pass)
{
    uint64_t seed = ((uint64_t) (unsigned) process << 32 | (unsigned) pass) * UINT64_C(0x9e3779b97f4a7c15);

    return (seed ^ (number + 1)) * UINT64_C(0xbf58476d1ce4e5b9);
}

void commtest_fill(char *out, size_t bytes, int process, int pass)
{
    size_t at;

    for (at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t value = word(at / sizeof(value), process, pass);

        memcpy(out + at, &value, sizeof(value));
    }
    if (at < bytes) {
        uint64_t value = word(at / sizeof(value), process, pass);

        memcpy(out + at, &value, bytes - at);
    }
}

size_t commtest_wrong(const char *in, size_t bytes, int process, int pass)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t value = word(at / sizeof(value), process, pass);
        size_t length = bytes - at < sizeof(value) ? bytes - at : sizeof(value);

        if (0 != memcmp(in + at, &value, length)) {
            const char *right = (const char *) &value;
            size_t i = 0;

            while (right[i] == in[at + i]) {
                ++i;
            }
            return at + i;
        }
    }
    return bytes;
}
