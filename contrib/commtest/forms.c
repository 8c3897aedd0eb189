/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "forms.h"

#include <string.h>

#include "exchange.h"

/* Some elements of a vector. */
typedef struct {
    int at;
    int count;
} part_t;

/* Elements of blocks first to last - 1, where a vector has so many. */
static part_t blocks(int count, int first, int last, int of)
{
    int begin = (int) ((long) count * first / of), end = (int) ((long) count * last / of);

    return (part_t){begin, end - begin};
}

static int bytes(part_t part)
{
    return part.count * (int) sizeof(double);
}

/* Swaps with a process, or, in a ring, with both neighbours. */
static void exchange(const commtest_group_t *group, int to, const double *out, int out_bytes, int from,
                     double *in, int in_bytes, bool first)
{
    commtest_link_t link = {
        .protocol = group->protocol, .comm = group->comm, .to = to, .from = from, .first = first};

    commtest_exchange(&link, out, out_bytes, in, in_bytes);
}

/* One way is an exchange with nobody at the other side. */
static void give(const commtest_group_t *group, int to, const double *out, int count)
{
    exchange(group, to, out, count * (int) sizeof(*out), MPI_PROC_NULL, NULL, 0, true);
}

static void take(const commtest_group_t *group, int from, double *in, int count)
{
    exchange(group, MPI_PROC_NULL, NULL, 0, from, in, count * (int) sizeof(*in), false);
}

static void add(const commtest_group_t *group, double *to, int count)
{
    MPI_Reduce_local(group->spare, to, count, MPI_DOUBLE, group->op);
}

static void by_mpi(const commtest_group_t *group, const double *vector, double *result, int count)
{
    MPI_Allreduce(vector, result, count, MPI_DOUBLE, group->op, group->comm);
}

static void by_mpi_in_place(const commtest_group_t *group, const double *vector, double *result, int count)
{
    (void) vector;
    MPI_Allreduce(MPI_IN_PLACE, result, count, MPI_DOUBLE, group->op, group->comm);
}

/* Up a binomial tree to process 0, and down again. */
static void reduce_bcast(const commtest_group_t *group, const double *vector, double *result, int count)
{
    int mask = 1;

    memcpy(result, vector, (size_t) count * sizeof(*result));
    while (mask < group->ranks && 0 == (group->rank & mask)) {
        if (group->rank + mask < group->ranks) {
            take(group, group->rank + mask, group->spare, count);
            add(group, result, count);
        }
        mask <<= 1;
    }
    if (0 != group->rank) {
        give(group, group->rank - mask, result, count);
        take(group, group->rank - mask, result, count);
    }
    for (mask >>= 1; mask > 0; mask >>= 1) {
        if (group->rank + mask < group->ranks) {
            give(group, group->rank + mask, result, count);
        }
    }
}

/* A power of two processes that are left when every second one of the first has given its vector to the next
 * one. */
typedef struct {
    int ranks;
    int extra; /* processes that are left out */
    int rank;  /* among those that are left, or -1 */
} core_t;

static core_t fold(const commtest_group_t *group, double *result, int count)
{
    core_t core = {.ranks = 1};

    while (2 * core.ranks <= group->ranks) {
        core.ranks *= 2;
    }
    core.extra = group->ranks - core.ranks;
    if (group->rank >= 2 * core.extra) {
        core.rank = group->rank - core.extra;
    } else if (0 == group->rank % 2) {
        give(group, group->rank + 1, result, count);
        core.rank = -1;
    } else {
        take(group, group->rank - 1, group->spare, count);
        add(group, result, count);
        core.rank = group->rank / 2;
    }
    return core;
}

static void unfold(const commtest_group_t *group, const core_t *core, double *result, int count)
{
    if (core->rank < 0) {
        take(group, group->rank + 1, result, count);
    } else if (core->rank < core->extra) {
        give(group, group->rank - 1, result, count);
    }
}

/* The process that is that one of those that are left. */
static int process_of(const core_t *core, int rank)
{
    return rank < core->extra ? 2 * rank + 1 : rank + core->extra;
}

static void doubling(const commtest_group_t *group, const double *vector, double *result, int count)
{
    core_t core;

    memcpy(result, vector, (size_t) count * sizeof(*result));
    core = fold(group, result, count);
    for (int mask = 1; core.rank >= 0 && mask < core.ranks; mask <<= 1) {
        int other = process_of(&core, core.rank ^ mask);
        int all = count * (int) sizeof(*result);

        exchange(group, other, result, all, other, group->spare, all, 0 == (core.rank & mask));
        add(group, result, count);
    }
    unfold(group, &core, result, count);
}

/* Blocks go round and are added up, then the sums go round. */
static void ring(const commtest_group_t *group, const double *vector, double *result, int count)
{
    int n = group->ranks, right = (group->rank + 1) % n, left = (group->rank + n - 1) % n;
    bool first = 0 == group->rank % 2;

    memcpy(result, vector, (size_t) count * sizeof(*result));
    for (int step = 0; step < n - 1; ++step) {
        int mine = (group->rank + n - step) % n, theirs = (mine + n - 1) % n;
        part_t out = blocks(count, mine, mine + 1, n), in = blocks(count, theirs, theirs + 1, n);

        exchange(group, right, result + out.at, bytes(out), left, group->spare, bytes(in), first);
        add(group, result + in.at, in.count);
    }
    for (int step = 0; step < n - 1; ++step) {
        int mine = (group->rank + 1 + n - step) % n, theirs = (mine + n - 1) % n;
        part_t out = blocks(count, mine, mine + 1, n), in = blocks(count, theirs, theirs + 1, n);

        exchange(group, right, result + out.at, bytes(out), left, result + in.at, bytes(in), first);
    }
}

/* The half of the vector that is kept is added up, and halved again, until each process has the sum of one
 * block. */
static int halve(const commtest_group_t *group, const core_t *core, double *result, int count)
{
    int lowest = 0;

    for (int mask = core->ranks / 2; mask > 0; mask >>= 1) {
        int other = process_of(core, core->rank ^ mask), n = core->ranks;
        bool upper = 0 != (core->rank & mask);
        part_t low = blocks(count, lowest, lowest + mask, n);
        part_t high = blocks(count, lowest + mask, lowest + 2 * mask, n);
        part_t keep = upper ? high : low, part = upper ? low : high;

        exchange(group, other, result + part.at, bytes(part), other, group->spare, bytes(keep), !upper);
        add(group, result + keep.at, keep.count);
        lowest += upper ? mask : 0;
    }
    return lowest;
}

/* The sums are gathered in the opposite order. */
static void gather(const commtest_group_t *group, const core_t *core, double *result, int count, int lowest)
{
    for (int mask = 1; mask < core->ranks; mask <<= 1) {
        int other = process_of(core, core->rank ^ mask), n = core->ranks;
        bool upper = 0 != (core->rank & mask);
        int theirs = upper ? lowest - mask : lowest + mask;
        part_t out = blocks(count, lowest, lowest + mask, n), in = blocks(count, theirs, theirs + mask, n);

        exchange(group, other, result + out.at, bytes(out), other, result + in.at, bytes(in), !upper);
        lowest = upper ? theirs : lowest;
    }
}

static void rabenseifner(const commtest_group_t *group, const double *vector, double *result, int count)
{
    core_t core;

    memcpy(result, vector, (size_t) count * sizeof(*result));
    core = fold(group, result, count);
    if (core.rank >= 0) {
        gather(group, &core, result, count, halve(group, &core, result, count));
    }
    unfold(group, &core, result, count);
}

const commtest_form_t commtest_forms[COMMTEST_FORMS + 1] = {
    {"mpi", true, false, by_mpi},
    {"mpi-inplace", true, true, by_mpi_in_place},
    {"reduce-bcast", false, false, reduce_bcast},
    {"doubling", false, false, doubling},
    {"ring", false, false, ring},
    {"rabenseifner", false, false, rabenseifner},
    {NULL, false, false, NULL},
};
