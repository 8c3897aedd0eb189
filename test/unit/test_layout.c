/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The layout of a segment: what the functions say is what a file of that
 * length holds, nothing overlaps, and each writer has lines of its own.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm_fifo.h"
#include "opal/mca/btl/fastsm/btl_fastsm_layout.h"

static const mca_btl_fastsm_layout_params_t usual = {
    .n_local = 4,
    .fifo_depth = 128,
    .bell_stride = 1,
    .position_stride = 64,
    .eager_count = 64,
    .eager_size = 4160,
    .max_count = 16,
    .max_size = 32768,
    .ring_depth = 32,
    .dynamic_peers = 512,
    .deep_fifos = 16,
    .deep_fifo_depth = 64,
};

/* The published formula, written down a second time: docs/shared-layout.md. */
static uint64_t model(const mca_btl_fastsm_layout_params_t *p)
{
    const uint64_t page = 4096, n = p->n_local;
    const uint64_t g = p->deep_fifos;
    uint64_t bells = ((n + g) * p->bell_stride + 63) / 64 * 64;
    uint64_t positions = (n * p->position_stride + 63) / 64 * 64;
    uint64_t pairs = (n * 4 + 63) / 64 * 64;
    uint64_t ring = 192 + 64 * (uint64_t) p->ring_depth;
    uint64_t late = (32 * (uint64_t) p->dynamic_peers + 63) / 64 * 64;
    uint64_t control = (128 + ring + bells + positions + pairs + late + 64 * g + page - 1) / page * page;
    uint64_t fifos = (64 * n * p->fifo_depth + page - 1) / page * page;
    uint64_t eager = (1024 + (uint64_t) p->eager_count * p->eager_size + page - 1) / page * page;
    uint64_t max = (1024 + (uint64_t) p->max_count * p->max_size + page - 1) / page * page;

    uint64_t deep = (64 * g * p->deep_fifo_depth + page - 1) / page * page;

    return control + fifos + deep + eager + max;
}

static void test_model(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 7, 8, 63, 64, 65, 128, 1000, 1024, 100000};
    static const uint32_t depths[] = {2, 4, 8, 16, 32, 64, 128};
    static const uint32_t strides[] = {1, 2, 8, 64};
    static const uint32_t late[] = {0, 1, 54, 55, 65535};
    static const uint32_t deep_fifos[] = {0, 1, 16, 17, 65534};

    (void) state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c) {
        for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); ++d) {
            for (size_t s = 0; s < sizeof(strides) / sizeof(strides[0]); ++s) {
                mca_btl_fastsm_layout_params_t params = usual;
                mca_btl_fastsm_layout_t layout;

                params.n_local = counts[c];
                params.fifo_depth = depths[d];
                params.bell_stride = strides[s];
                params.position_stride = 8u << (c + d) % 4;
                params.eager_size = 64 * (2 + c);
                params.max_count = (uint32_t) c;
                params.ring_depth = 2u << c;
                params.dynamic_peers = late[(c + d + s) % (sizeof(late) / sizeof(late[0]))];
                params.deep_fifos =
                    deep_fifos[(c + d + 2 * s) % (sizeof(deep_fifos) / sizeof(deep_fifos[0]))];
                params.deep_fifo_depth = depths[(d + c) % (sizeof(depths) / sizeof(depths[0]))];
                assert_int_equal(0, mca_btl_fastsm_layout(&params, &layout));
                assert_int_equal(model(&params), layout.total);
                assert_memory_equal(&params, &layout.params, sizeof(params));
            }
        }
    }
}

static void test_defaults_to_the_byte(void **state)
{
    mca_btl_fastsm_layout_t layout;

    (void) state;
    assert_int_equal(0, mca_btl_fastsm_layout(&usual, &layout));
    assert_int_equal(128, layout.ring_ctl);
    assert_int_equal(320, layout.ring);
    assert_int_equal(320 + 32 * 64, layout.bells);
    assert_int_equal(320 + 32 * 64 + 64, layout.read_pos);
    assert_int_equal(320 + 32 * 64 + 64 + 4 * 64, layout.pairs);
    assert_int_equal(320 + 32 * 64 + 64 + 4 * 64 + 64, layout.admissions);
    assert_int_equal(320 + 32 * 64 + 64 + 4 * 64 + 64 + 512 * 32, layout.deep_pos);
    assert_int_equal(20480, layout.fifos);
    assert_int_equal(20480 + 4 * 8192, layout.deep);
    assert_int_equal(20480 + 4 * 8192 + 65536 + 1024, layout.eager_pool);
    assert_int_equal(20480 + 4 * 8192 + 65536 + 64 * 4160 + 4096 + 1024, layout.max_pool);
    assert_int_equal(20480 + 4 * 8192 + 65536 + 64 * 4160 + 4096 + 16 * 32768 + 4096, layout.total);
}

static void test_file_has_the_model_length(void **state)
{
    char name[] = "/tmp/test_layout_XXXXXX";
    mca_btl_fastsm_layout_t layout;
    struct stat status;
    int fd;

    (void) state;
    assert_int_equal(0, mca_btl_fastsm_layout(&usual, &layout));
    fd = mkstemp(name);
    assert_true(0 <= fd);
    unlink(name);
    assert_int_equal(0, ftruncate(fd, (off_t) layout.total));
    assert_int_equal(0, fstat(fd, &status));
    assert_int_equal(layout.total, status.st_size);
    assert_int_equal(0, status.st_blocks);
    close(fd);
}

/* Marks [offset, offset + length) as `who`'s; fails when somebody else's byte is among them. */
static void claim(uint8_t *owner, const mca_btl_fastsm_layout_t *layout, uint64_t offset, uint64_t length,
                  uint8_t who)
{
    assert_true(offset + length <= layout->total);
    for (uint64_t i = offset; i < offset + length; ++i) {
        assert_int_equal(0, owner[i]);
        owner[i] = who;
    }
}

static void claim_ring(uint8_t *owner, const mca_btl_fastsm_layout_t *layout)
{
    const uint64_t ctl = layout->ring_ctl;

    claim(owner, layout, ctl + offsetof(mca_btl_fastsm_ring_ctl_t, write_pos), 4, 7);
    claim(owner, layout, ctl + offsetof(mca_btl_fastsm_ring_ctl_t, read_pos), 4, 8);
    claim(owner, layout, ctl + offsetof(mca_btl_fastsm_ring_ctl_t, owner), 4, 9);
    claim(owner, layout, ctl + offsetof(mca_btl_fastsm_ring_ctl_t, admitted), 4, 9);
    claim(owner, layout, ctl + offsetof(mca_btl_fastsm_ring_ctl_t, awaited), 48, 9);
    claim(owner, layout, ctl + offsetof(mca_btl_fastsm_ring_ctl_t, copies), 4, 9);
    claim(owner, layout, layout->ring, (uint64_t) layout->params.ring_depth * 64, 10);
    assert_int_equal(0, ctl % 64);
    assert_int_equal(0, layout->ring % 64);
}

static void claim_fifos(uint8_t *owner, const mca_btl_fastsm_layout_t *layout)
{
    const mca_btl_fastsm_layout_params_t *params = &layout->params;

    assert_int_equal(params->n_local + params->deep_fifos, mca_btl_fastsm_layout_count(layout));
    for (uint32_t i = 0; i < params->n_local + params->deep_fifos; ++i) {
        const bool usual_one = i < params->n_local;
        const uint64_t fifo = mca_btl_fastsm_layout_fifo(layout, i);
        const uint64_t position = mca_btl_fastsm_layout_read_pos(layout, i);
        const uint32_t depth = mca_btl_fastsm_layout_depth(layout, i);

        assert_int_equal(usual_one ? params->fifo_depth : params->deep_fifo_depth, depth);
        claim(owner, layout, mca_btl_fastsm_layout_bell(layout, i), 1, 2);
        claim(owner, layout, position, 8, 3);
        claim(owner, layout, fifo, (uint64_t) depth * 64, 4);
        assert_int_equal(0, position % (usual_one ? params->position_stride : 64));
        assert_int_equal(0, fifo % 64);
    }
}

static void claim_pools(uint8_t *owner, const mca_btl_fastsm_layout_t *layout)
{
    for (uint32_t i = 0; i < layout->params.eager_count; ++i) {
        claim(owner, layout, mca_btl_fastsm_layout_eager(layout, i), layout->params.eager_size, 5);
        assert_int_equal(0, mca_btl_fastsm_layout_eager(layout, i) % 64);
    }
    for (uint32_t i = 0; i < layout->params.max_count; ++i) {
        claim(owner, layout, mca_btl_fastsm_layout_max(layout, i), layout->params.max_size, 6);
        assert_int_equal(0, mca_btl_fastsm_layout_max(layout, i) % 64);
    }
}

/* A line has one kind of writer; only bells of different senders share one. */
static void check_lines(const uint8_t *owner, const mca_btl_fastsm_layout_t *layout)
{
    for (uint64_t line = 0; line < layout->total; line += 64) {
        uint8_t writer = 0;

        for (uint64_t i = 0; i < 64; ++i) {
            if (0 != owner[line + i]) {
                assert_true(0 == writer || writer == owner[line + i]);
                writer = owner[line + i];
            }
        }
    }
}

static void check_no_overlap(uint32_t n_local, uint32_t stride, uint32_t position_stride,
                             uint32_t dynamic_peers, uint32_t deep_fifos)
{
    mca_btl_fastsm_layout_params_t params = usual;
    mca_btl_fastsm_layout_t layout;
    uint8_t *owner;

    params.n_local = n_local;
    params.bell_stride = stride;
    params.position_stride = position_stride;
    params.dynamic_peers = dynamic_peers;
    params.deep_fifos = deep_fifos;
    assert_int_equal(0, mca_btl_fastsm_layout(&params, &layout));
    owner = (uint8_t *) calloc(1, layout.total);
    assert_non_null(owner);

    claim(owner, &layout, 0, sizeof(mca_btl_fastsm_segment_hdr_t), 1);
    claim_ring(owner, &layout);
    for (uint32_t i = 0; i < params.dynamic_peers; ++i) {
        claim(owner, &layout, mca_btl_fastsm_layout_admission(&layout, i), 32, 11);
    }
    for (uint32_t i = 0; i < n_local; ++i) {
        claim(owner, &layout, mca_btl_fastsm_layout_pair(&layout, i), 4, 12);
    }
    claim_fifos(owner, &layout);
    claim_pools(owner, &layout);
    check_lines(owner, &layout);
    free(owner);
}

static void test_no_overlap(void **state)
{
    (void) state;
    check_no_overlap(1, 1, 64, 512, 16);
    check_no_overlap(2, 1, 8, 0, 0);
    check_no_overlap(9, 1, 8, 1, 1);
    check_no_overlap(64, 1, 8, 512, 16);
    check_no_overlap(65, 1, 64, 511, 3);
    check_no_overlap(5, 64, 8, 3, 7);
    check_no_overlap(130, 8, 16, 512, 100);
}

static void refused(mca_btl_fastsm_layout_params_t params)
{
    mca_btl_fastsm_layout_t layout, before;

    memset(&layout, 0x5a, sizeof(layout));
    before = layout;
    assert_int_equal(-1, mca_btl_fastsm_layout(&params, &layout));
    assert_memory_equal(&before, &layout, sizeof(layout));
}

#define REFUSED(member, bad_value)                                                                           \
    do {                                                                                                     \
        mca_btl_fastsm_layout_params_t bad = usual;                                                          \
        bad.member = (bad_value);                                                                            \
        refused(bad);                                                                                        \
    } while (0)

static void test_bad_parameters(void **state)
{
    mca_btl_fastsm_layout_params_t huge = usual;

    (void) state;
    REFUSED(n_local, 0);
    REFUSED(fifo_depth, 0);
    REFUSED(fifo_depth, 1);
    REFUSED(fifo_depth, 100);
    REFUSED(fifo_depth, 256);
    REFUSED(fifo_depth, UINT32_C(1) << 31);
    REFUSED(bell_stride, 0);
    REFUSED(bell_stride, 3);
    REFUSED(bell_stride, 8192);
    REFUSED(position_stride, 0);
    REFUSED(position_stride, 4);
    REFUSED(position_stride, 24);
    REFUSED(position_stride, 128);
    REFUSED(eager_size, 100);
    REFUSED(eager_size, 0);
    REFUSED(eager_size, 64);
    REFUSED(max_size, 1);
    REFUSED(ring_depth, 0);
    REFUSED(ring_depth, 1);
    REFUSED(ring_depth, 33);
    REFUSED(ring_depth, 8192);
    REFUSED(dynamic_peers, 65536);
    REFUSED(deep_fifos, 65535);
    REFUSED(deep_fifos, MCA_BTL_FASTSM_DEEP_FIFOS_SCALED);
    REFUSED(deep_fifo_depth, 0);
    REFUSED(deep_fifo_depth, 1);
    REFUSED(deep_fifo_depth, 100);
    REFUSED(deep_fifo_depth, 256);

    huge.max_count = UINT32_MAX;
    huge.max_size = UINT32_MAX & ~UINT32_C(63);
    refused(huge);
    huge.max_count = UINT32_C(1) << 20;
    huge.max_size = UINT32_C(1) << 20; /* just more than a place can tell */
    refused(huge);
}

/* The longest segment that there may be is one whose last byte a place can tell. */
static void test_longest_segment(void **state)
{
    mca_btl_fastsm_layout_params_t params = usual;
    mca_btl_fastsm_layout_t layout;

    (void) state;
    params.max_count = (UINT32_C(1) << 20) - 2;
    params.max_size = UINT32_C(1) << 20;
    assert_int_equal(0, mca_btl_fastsm_layout(&params, &layout));
    assert_true(layout.total <= MCA_BTL_FASTSM_SEGMENT_MAX);
    assert_int_equal(
        layout.total - MCA_BTL_FASTSM_PLACE_UNIT,
        mca_btl_fastsm_place_offset(mca_btl_fastsm_place(layout.total - MCA_BTL_FASTSM_PLACE_UNIT, 1)));
}

/* What is put into a place comes out again, at all its limits. */
static void test_places(void **state)
{
    static const uint64_t offsets[] = {0,
                                       16,
                                       32,
                                       1008,
                                       4096 + 48,
                                       UINT32_MAX & ~UINT64_C(15),
                                       UINT64_C(1) << 32,
                                       MCA_BTL_FASTSM_SEGMENT_MAX / 2 + 16,
                                       MCA_BTL_FASTSM_SEGMENT_MAX - 16};
    static const uint32_t lengths[] = {
        0, 1, 15, 16, 4112, 131088, (UINT32_C(1) << MCA_BTL_FASTSM_PLACE_LENGTH_BITS) - 1};

    (void) state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); ++i) {
        for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); ++j) {
            const uint64_t place = mca_btl_fastsm_place(offsets[i], lengths[j]);

            assert_int_equal(offsets[i], mca_btl_fastsm_place_offset(place));
            assert_int_equal(lengths[j], mca_btl_fastsm_place_length(place));
        }
    }
}

/* A buffer holds what its limit says behind the lead, and data behind a header of 16 bytes begins with a
 * line. */
static void test_eager_sizes(void **state)
{
    mca_btl_fastsm_layout_params_t params = usual;

    (void) state;
    for (uint32_t limit = 256; limit < 20000; limit += 8) {
        params.eager_size = mca_btl_fastsm_layout_eager_size(limit);
        assert_int_equal(0, params.eager_size % 64);
        assert_true(limit <= mca_btl_fastsm_layout_eager_limit(&params));
        assert_true(mca_btl_fastsm_layout_eager_limit(&params) < limit + 64);
        assert_int_equal(params.eager_size,
                         mca_btl_fastsm_layout_eager_size(mca_btl_fastsm_layout_eager_limit(&params)));
        assert_int_equal(mca_btl_fastsm_layout_eager_limit(&params),
                         MCA_BTL_FASTSM_HEADER_BYTES + mca_btl_fastsm_layout_chunk(&params));
    }
    assert_int_equal(4160, mca_btl_fastsm_layout_eager_size(4112));
    assert_int_equal(4096, mca_btl_fastsm_layout_chunk(&usual));
    assert_int_equal(4112, mca_btl_fastsm_layout_eager_limit(&usual));
    assert_int_equal(0, (MCA_BTL_FASTSM_EAGER_LEAD + MCA_BTL_FASTSM_HEADER_BYTES) % 64);
}

static void test_pool_bounds(void **state)
{
    mca_btl_fastsm_layout_t layout;

    (void) state;
    assert_int_equal(0, mca_btl_fastsm_layout(&usual, &layout));
    assert_true(mca_btl_fastsm_layout_in_pool(&layout, layout.eager_pool, 0));
    assert_true(mca_btl_fastsm_layout_in_pool(&layout, layout.eager_pool, 4160));
    assert_true(mca_btl_fastsm_layout_in_pool(&layout, layout.max_pool, 32768));
    assert_true(mca_btl_fastsm_layout_in_pool(&layout, layout.total - 1, 1));
    assert_true(mca_btl_fastsm_layout_in_pool(&layout, layout.total, 0));

    assert_false(mca_btl_fastsm_layout_in_pool(&layout, 0, 1));
    assert_false(mca_btl_fastsm_layout_in_pool(&layout, layout.fifos, 1));
    assert_false(mca_btl_fastsm_layout_in_pool(&layout, layout.eager_pool - 1, 1));
    assert_false(mca_btl_fastsm_layout_in_pool(&layout, layout.total, 1));
    assert_false(mca_btl_fastsm_layout_in_pool(&layout, layout.total - 1, 2));
    assert_false(mca_btl_fastsm_layout_in_pool(&layout, UINT64_MAX, 1));
    assert_false(mca_btl_fastsm_layout_in_pool(&layout, layout.eager_pool, UINT64_MAX));
}

/* What is 0 is chosen by the number of local processes, what is not 0 stays. */
static void test_scale(void **state)
{
    static const struct {
        uint32_t n_local, depth, eager_size, eager_count, max_size, max_count, stride, deep_fifos,
            deep_fifo_depth;
    } rule[] = {
        {1, 128, 8256, 768, 32768, 48, 64, 16, 128},  {2, 128, 8256, 768, 32768, 48, 64, 16, 128},
        {4, 128, 8256, 768, 32768, 48, 64, 16, 128},  {5, 128, 8256, 256, 32768, 32, 64, 16, 128},
        {16, 128, 8256, 256, 32768, 32, 64, 16, 128}, {17, 64, 8256, 256, 32768, 32, 8, 16, 128},
        {32, 64, 8256, 256, 32768, 32, 8, 16, 128},   {33, 64, 8256, 256, 32768, 32, 8, 16, 128},
        {64, 64, 8256, 256, 32768, 32, 8, 16, 128},   {65, 32, 4160, 128, 32768, 16, 8, 16, 64},
        {128, 32, 4160, 128, 32768, 16, 8, 16, 64},   {256, 16, 4160, 128, 32768, 16, 8, 16, 64},
        {257, 8, 2112, 16, 16384, 4, 8, 8, 64},       {512, 8, 2112, 16, 16384, 4, 8, 8, 64},
        {1024, 4, 2112, 16, 16384, 4, 8, 8, 64},      {1025, 4, 1088, 16, 8192, 4, 8, 8, 64},
        {1000000, 4, 1088, 16, 8192, 4, 8, 8, 64},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); ++i) {
        mca_btl_fastsm_layout_params_t params = {.n_local = rule[i].n_local,
                                                 .deep_fifos = MCA_BTL_FASTSM_DEEP_FIFOS_SCALED},
                                       again;

        mca_btl_fastsm_layout_scale(&params, false);
        assert_int_equal(rule[i].depth, params.fifo_depth);
        assert_int_equal(rule[i].eager_size, params.eager_size);
        assert_int_equal(rule[i].eager_count, params.eager_count);
        assert_int_equal(rule[i].max_size, params.max_size);
        assert_int_equal(rule[i].max_count, params.max_count);
        assert_int_equal(rule[i].stride, params.position_stride);
        assert_int_equal(rule[i].deep_fifos, params.deep_fifos);
        assert_int_equal(rule[i].deep_fifo_depth, params.deep_fifo_depth);

        again = params;
        mca_btl_fastsm_layout_scale(&again, true);
        assert_memory_equal(&params, &again, sizeof(params));
        again.position_stride = 0;
        mca_btl_fastsm_layout_scale(&again, true);
        assert_int_equal(64, again.position_stride);
    }
}

/* The RFC's own example can be asked for. */
static void test_scale_keeps_what_is_given(void **state)
{
    mca_btl_fastsm_layout_params_t params = {
        .n_local = 1024, .fifo_depth = 16, .eager_size = 256, .max_size = 8192, .deep_fifo_depth = 2};

    (void) state;
    mca_btl_fastsm_layout_scale(&params, false);
    assert_int_equal(0, params.deep_fifos);
    assert_int_equal(2, params.deep_fifo_depth);
    assert_int_equal(16, params.fifo_depth);
    assert_int_equal(256, params.eager_size);
    assert_int_equal(8192, params.max_size);

    params.eager_size = 65536;
    params.max_size = 0;
    mca_btl_fastsm_layout_scale(&params, false);
    assert_int_equal(65536, params.max_size);

    params = (mca_btl_fastsm_layout_params_t){.n_local = 2, .max_size = 4160};
    mca_btl_fastsm_layout_scale(&params, false);
    assert_int_equal(4160, params.max_size);
    assert_int_equal(4160, params.eager_size);
}

/* Less wherever nothing was asked for, and never too little. */
static void test_least(void **state)
{
    static const uint32_t counts[] = {1, 2, 16, 64, 256, 1024, 5000};

    (void) state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
        mca_btl_fastsm_layout_params_t usually = {.n_local = counts[i],
                                                  .bell_stride = MCA_BTL_FASTSM_BELL_STRIDE,
                                                  .ring_depth = MCA_BTL_FASTSM_RING_DEPTH,
                                                  .dynamic_peers = MCA_BTL_FASTSM_DYNAMIC_PEERS,
                                                  .deep_fifos = MCA_BTL_FASTSM_DEEP_FIFOS_SCALED};
        mca_btl_fastsm_layout_params_t least = usually;
        mca_btl_fastsm_layout_t large, small;

        mca_btl_fastsm_layout_scale(&usually, true);
        mca_btl_fastsm_layout_min(&least);
        mca_btl_fastsm_layout_scale(&least, true);
        assert_int_equal(0, mca_btl_fastsm_layout(&usually, &large));
        assert_int_equal(0, mca_btl_fastsm_layout(&least, &small));
        assert_true(small.total < large.total);
        assert_int_equal(usually.eager_size, least.eager_size);
        assert_true(least.eager_size <= least.max_size);
    }
}

static void test_least_keeps_what_is_given(void **state)
{
    mca_btl_fastsm_layout_params_t given = usual, least = usual;

    (void) state;
    mca_btl_fastsm_layout_min(&least);
    assert_memory_equal(&given, &least, sizeof(given));
    least.max_size = 0;
    least.eager_size = 16384;
    mca_btl_fastsm_layout_min(&least);
    assert_int_equal(16384, least.max_size);
}

static uint64_t node_bytes(mca_btl_fastsm_layout_params_t params)
{
    mca_btl_fastsm_layout_t layout;

    params.bell_stride = MCA_BTL_FASTSM_BELL_STRIDE;
    params.ring_depth = MCA_BTL_FASTSM_RING_DEPTH;
    params.dynamic_peers = MCA_BTL_FASTSM_DYNAMIC_PEERS;
    mca_btl_fastsm_layout_scale(&params, false);
    assert_int_equal(0, mca_btl_fastsm_layout(&params, &layout));
    return layout.total * params.n_local;
}

/* Half of the best that the RFC reports for 1024 processes, and a quarter. */
static void test_budget(void **state)
{
    const mca_btl_fastsm_layout_params_t defaults = {.n_local = 1024,
                                                     .deep_fifos = MCA_BTL_FASTSM_DEEP_FIFOS_SCALED};
    const mca_btl_fastsm_layout_params_t smallest = {.n_local = 1024,
                                                     .fifo_depth = 2,
                                                     .eager_size = 256,
                                                     .max_size = 8192,
                                                     .deep_fifos = defaults.deep_fifos};

    (void) state;
    assert_true(node_bytes(defaults) <= UINT64_C(460000000));
    assert_true(node_bytes(smallest) <= UINT64_C(250000000));
}

static void test_parts(void **state)
{
    mca_btl_fastsm_layout_parts_t parts;
    mca_btl_fastsm_layout_t layout;

    (void) state;
    assert_int_equal(0, mca_btl_fastsm_layout(&usual, &layout));
    mca_btl_fastsm_layout_parts(&layout, &parts);
    assert_int_equal(64 + 4 * 64 + 64 + 4 * 128 * 64, parts.fifos);
    assert_int_equal(16 * (64 + 64 * 64), parts.deep);
    assert_int_equal(64 * 4160, parts.eager);
    assert_int_equal(16 * 32768, parts.max);
    assert_int_equal(layout.total, parts.fifos + parts.deep + parts.eager + parts.max + parts.other);
}

static void test_sizes_of_shared_structs(void **state)
{
    (void) state;
    assert_int_equal(64, sizeof(mca_btl_fastsm_slot_t));
    assert_int_equal(8, sizeof(mca_btl_fastsm_read_pos_t));
    assert_int_equal(128, sizeof(mca_btl_fastsm_segment_hdr_t));
    assert_int_equal(24, sizeof(mca_btl_fastsm_pool_ref_t));
    assert_int_equal(192, sizeof(mca_btl_fastsm_ring_ctl_t));
    assert_int_equal(32, sizeof(mca_btl_fastsm_admission_t));
    assert_int_equal(16, offsetof(mca_btl_fastsm_slot_t, u.ring.data));
    assert_int_equal(8, offsetof(mca_btl_fastsm_slot_t, u.head.data));
    assert_int_equal(4, offsetof(mca_btl_fastsm_slot_t, u.cont.data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_defaults_to_the_byte),
        cmocka_unit_test(test_file_has_the_model_length),
        cmocka_unit_test(test_no_overlap),
        cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_longest_segment),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_eager_sizes),
        cmocka_unit_test(test_pool_bounds),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_scale_keeps_what_is_given),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_least_keeps_what_is_given),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_sizes_of_shared_structs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
