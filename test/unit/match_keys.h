/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Keys that meet in one bucket of a new matcher, whatever the size of its table up to 2^16 buckets.  Behind
 * the .c file of the matcher.
 */

#ifndef FASTPATH_TEST_MATCH_KEYS_H
#define FASTPATH_TEST_MATCH_KEYS_H

/* Does the key with this tag of source 0, or of this source with tag 0, hash to one of 2^16 buckets, the
 * first? */
static bool match_key_hits(int32_t value, bool is_source)
{
    uint64_t key = is_source ? mca_pml_fastpath_match_key(value, 0) : mca_pml_fastpath_match_key(0, value);

    return 0 == key * MCA_PML_FASTPATH_MATCH_MULTIPLIER >> 48;
}

/**
 * The next tag (or source) above value that meets 0 in a bucket.  The distances between such numbers are few
 * (multiples of one number modulo another), so those that were seen are tried first.
 */
static int32_t match_key_next(int32_t value, bool is_source)
{
    static int32_t distance[2][8];
    static int known[2];
    int32_t next = value + 1;

    for (int i = 0; i < known[is_source]; ++i) {
        if (match_key_hits(value + distance[is_source][i], is_source)) {
            return value + distance[is_source][i];
        }
    }
    while (!match_key_hits(next, is_source)) {
        ++next;
    }
    if (known[is_source] < 8) {
        distance[is_source][known[is_source]++] = next - value;
    }
    return next;
}

#endif /* FASTPATH_TEST_MATCH_KEYS_H */
