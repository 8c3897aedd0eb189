/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "btl_fastsm_layout.h"

static bool is_power_of_two(uint32_t value)
{
    return 0 != value && 0 == (value & (value - 1));
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Products of two 32-bit numbers fit into 64 bits, and so does the sum of a
 * few; the caller compares the total with what a file offset can hold. */
static bool params_ok(const mca_btl_fastsm_layout_params_t *params)
{
    return 0 < params->n_local && is_power_of_two(params->fifo_depth)
           && MCA_BTL_FASTSM_DEPTH_MIN <= params->fifo_depth && params->fifo_depth <= MCA_BTL_FASTSM_DEPTH_MAX
           && is_power_of_two(params->bell_stride) && params->bell_stride <= MCA_BTL_FASTSM_PAGE
           && is_power_of_two(params->position_stride)
           && sizeof(mca_btl_fastsm_read_pos_t) <= params->position_stride
           && params->position_stride <= MCA_BTL_FASTSM_LINE && 0 == params->eager_size % MCA_BTL_FASTSM_LINE
           && MCA_BTL_FASTSM_LINE < params->eager_size && 0 == params->max_size % MCA_BTL_FASTSM_LINE
           && is_power_of_two(params->ring_depth) && MCA_BTL_FASTSM_RING_DEPTH_MIN <= params->ring_depth
           && params->ring_depth <= MCA_BTL_FASTSM_RING_DEPTH_MAX
           && params->dynamic_peers <= MCA_BTL_FASTSM_DYNAMIC_PEERS_MAX
           && params->deep_fifos <= MCA_BTL_FASTSM_DEEP_FIFOS_MAX
           && (0 == params->deep_fifos
               || (is_power_of_two(params->deep_fifo_depth)
                   && MCA_BTL_FASTSM_DEPTH_MIN <= params->deep_fifo_depth
                   && params->deep_fifo_depth <= MCA_BTL_FASTSM_DEPTH_MAX));
}

int mca_btl_fastsm_layout(const mca_btl_fastsm_layout_params_t *params, mca_btl_fastsm_layout_t *layout)
{
    const uint64_t n_local = params->n_local, deep_fifos = params->deep_fifos;
    mca_btl_fastsm_layout_t result = {.params = *params};
    uint64_t eager_bytes, max_bytes, offset;

    if (!params_ok(params)) {
        return -1;
    }

    eager_bytes = (uint64_t) params->eager_count * params->eager_size;
    max_bytes = (uint64_t) params->max_count * params->max_size;
    if (eager_bytes > INT64_MAX / 4 || max_bytes > INT64_MAX / 4) {
        return -1;
    }

    offset = sizeof(mca_btl_fastsm_segment_hdr_t);

    result.ring_ctl = offset;
    offset += sizeof(mca_btl_fastsm_ring_ctl_t);

    result.ring = offset;
    offset += params->ring_depth * sizeof(mca_btl_fastsm_slot_t);

    /* whole lines of bells, so that they can be compared a line at a time */
    result.bells = offset;
    offset += round_up((n_local + deep_fifos) * params->bell_stride, MCA_BTL_FASTSM_LINE);

    result.read_pos = offset;
    offset += round_up(n_local * params->position_stride, MCA_BTL_FASTSM_LINE);

    result.pairs = offset;
    offset += round_up(n_local * sizeof(_Atomic uint32_t), MCA_BTL_FASTSM_LINE);

    /* the last of what is small, because most of them are never used */
    result.admissions = offset;
    offset += params->dynamic_peers * sizeof(mca_btl_fastsm_admission_t);

    result.deep_pos = offset = round_up(offset, MCA_BTL_FASTSM_LINE);
    offset += deep_fifos * MCA_BTL_FASTSM_LINE;

    result.fifos = offset = round_up(offset, MCA_BTL_FASTSM_PAGE);
    offset += n_local * params->fifo_depth * sizeof(mca_btl_fastsm_slot_t);

    result.deep = offset = round_up(offset, MCA_BTL_FASTSM_PAGE);
    offset += deep_fifos * params->deep_fifo_depth * sizeof(mca_btl_fastsm_slot_t);

    result.eager_pool = offset = round_up(offset, MCA_BTL_FASTSM_PAGE) + MCA_BTL_FASTSM_POOL_SKEW;
    offset += eager_bytes;

    result.max_pool = offset = round_up(offset, MCA_BTL_FASTSM_PAGE) + MCA_BTL_FASTSM_POOL_SKEW;
    offset += max_bytes;

    result.total = round_up(offset, MCA_BTL_FASTSM_PAGE);
    if (result.total > MCA_BTL_FASTSM_SEGMENT_MAX) {
        return -1;
    }

    *layout = result;
    return 0;
}

/* Where many processes talk a FIFO has one page at most; and all FIFOs of a process have 256 KiB, unless
 * there are more than 1024 of them. */
static uint32_t scaled_depth(uint32_t n_local)
{
    uint32_t depth = n_local <= 16 ? MCA_BTL_FASTSM_DEPTH_MAX
                                   : MCA_BTL_FASTSM_PAGE / (uint32_t) sizeof(mca_btl_fastsm_slot_t);

    while (4 < depth && (uint64_t) depth * n_local > 4096) {
        depth /= 2;
    }
    return depth;
}

/* Up to so many processes of a node each have enough of its caches for as many buffers as are best. */
#define FEW_PROCESSES 4

/* The value for the first of four sizes of nodes that holds n_local processes. */
static uint32_t by_size(uint32_t n_local, uint32_t up_to_64, uint32_t up_to_256, uint32_t up_to_1024,
                        uint32_t beyond)
{
    if (n_local <= 64) {
        return up_to_64;
    }
    if (n_local <= 256) {
        return up_to_256;
    }
    return n_local <= 1024 ? up_to_1024 : beyond;
}

/* An eager buffer is no larger than a max buffer, if the size of that is given. */
static uint32_t scaled_eager_size(uint32_t n_local, uint32_t max_size)
{
    const uint32_t size = MCA_BTL_FASTSM_LINE + by_size(n_local, 8192, 4096, 2048, 1024);

    return 0 != max_size && max_size < size ? max_size : size;
}

/* What a parameter is where nothing is asked for. */
static void unless_given(uint32_t *value, uint32_t least)
{
    if (0 == *value) {
        *value = least;
    }
}

void mca_btl_fastsm_layout_scale(mca_btl_fastsm_layout_params_t *params, bool threads)
{
    const uint32_t n = params->n_local, max_size = by_size(n, 32768, 32768, 16384, 8192);

    unless_given(&params->fifo_depth, scaled_depth(n));
    unless_given(&params->deep_fifo_depth, by_size(n, 128, 64, 64, 64));
    if (MCA_BTL_FASTSM_DEEP_FIFOS_SCALED == params->deep_fifos) {
        params->deep_fifos = by_size(n, 16, 16, 8, 8);
    }
    unless_given(&params->position_stride, threads || n <= MCA_BTL_FASTSM_POSITIONS_APART
                                               ? MCA_BTL_FASTSM_LINE
                                               : sizeof(mca_btl_fastsm_read_pos_t));
    unless_given(&params->eager_count, FEW_PROCESSES >= n ? 768 : by_size(n, 256, 128, 16, 16));
    unless_given(&params->eager_size, scaled_eager_size(n, params->max_size));
    unless_given(&params->max_count, FEW_PROCESSES >= n ? 48 : by_size(n, 32, 16, 4, 4));
    unless_given(&params->max_size, max_size < params->eager_size ? params->eager_size : max_size);
}

void mca_btl_fastsm_layout_min(mca_btl_fastsm_layout_params_t *params)
{
    const uint32_t eager_size =
        0 == params->eager_size ? scaled_eager_size(params->n_local, params->max_size) : params->eager_size;

    unless_given(&params->fifo_depth, 4);
    unless_given(&params->position_stride, sizeof(mca_btl_fastsm_read_pos_t));
    unless_given(&params->eager_count, 4);
    unless_given(&params->max_count, 2);
    unless_given(&params->max_size, eager_size > 8192 ? eager_size : 8192);
    if (MCA_BTL_FASTSM_DEEP_FIFOS_SCALED == params->deep_fifos) {
        params->deep_fifos = 0;
    }
}

void mca_btl_fastsm_layout_parts(const mca_btl_fastsm_layout_t *layout, mca_btl_fastsm_layout_parts_t *parts)
{
    const mca_btl_fastsm_layout_params_t *params = &layout->params;

    parts->fifos = (layout->admissions - layout->bells)
                   + (uint64_t) params->n_local * params->fifo_depth * sizeof(mca_btl_fastsm_slot_t);
    parts->deep =
        (uint64_t) params->deep_fifos
        * (MCA_BTL_FASTSM_LINE + (uint64_t) params->deep_fifo_depth * sizeof(mca_btl_fastsm_slot_t));
    parts->eager = (uint64_t) params->eager_count * params->eager_size;
    parts->max = (uint64_t) params->max_count * params->max_size;
    parts->other = layout->total - parts->fifos - parts->deep - parts->eager - parts->max;
}
