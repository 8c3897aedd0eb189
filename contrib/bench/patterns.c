/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * All ranks talk at the same time, in all the ways in which programs do: two by two with each kind of send
 * and receive and each way to wait, with derived datatypes, in a ring, and in collectives.  For two ranks,
 * and for more ranks than cores, where waiting and the scheduler count as much as copying.
 *
 * Usage: mpirun -np N patterns [-b BATCHES] [-u US] [-l FROM,TO] [-r] [-m PATTERN,...] SIZE ...
 *
 * PATTERN is one of those at the ends of patterns_pairs.c, patterns_types.c and patterns_all.c, or all of one
 * of these files: two, types, collective.  A batch takes about US microseconds (default: 20000).  With
 * -r what has been received is read.  With -l a batch counts only if before and after it a cache line took
 * FROM to TO microseconds from rank 0 to rank 1 (line.h), which have to be on a core each.
 *
 * Prints PATTERN BYTES MEDIAN_US LEAST_US of the batches: what a step takes until all ranks have done it.
 */

#define _GNU_SOURCE
#include "patterns.h"

#include <unistd.h>

#include "bench.h"
#include "line.h"
#include "turns.h"

int patterns_rank, patterns_ranks;
char *patterns_out, *patterns_in;
bool bench_reads;

static line_range_t range;
static turns_t *turns; /* with -l */

static const struct {
    const char *name;
    const patterns_t *patterns;
    int least; /* bytes of a message; shorter ones do not go */
} groups[] = {{"two", patterns_pairs, 0}, {"types", patterns_types, 64}, {"collective", patterns_all, 0}};

/* What the command line asks for. */
typedef struct {
    const char *list; /* NULL: all patterns */
    int batches;
} options_t;

/* @return microseconds until all ranks have done so many steps */
static double batch(void (*step)(int), int size, long steps)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = bench_now_us();
    for (long i = 0; i < steps; ++i) {
        step(size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return bench_now_us() - begin;
}

/* Rank 0 says what all do. */
static long agreed(long what)
{
    MPI_Bcast(&what, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return what;
}

/* Called by all ranks: whether a line costs what it shall.  While ranks 0 and 1 look the others sleep,
 * because they may be on the same cores.  @return on rank 0; true on others */
static bool line_is_good_now(void)
{
    bool good;

    if (NULL == range.line) {
        return true;
    }
    MPI_Barrier(MPI_COMM_WORLD); /* nobody is woken again who has not yet seen the last time */
    if (1 < patterns_rank) {
        turns_sleep(turns, patterns_rank);
        return true;
    }
    if (2 < patterns_ranks) {
        usleep(1000); /* until the others sleep: to one that does not yet the line seems dear */
    }
    good = line_is_good(&range, patterns_rank);
    for (int other = 2; 0 == patterns_rank && other < patterns_ranks; ++other) {
        turns_wake(turns, other);
    }
    return good;
}

/* @return how many batches count, and us[] has their times; on rank 0 */
static int measure_batches(void (*step)(int), int size, long steps, int batches, double *us)
{
    const double begin = bench_now_us();
    int count = 0;

    while (0 != agreed(count < batches && line_goes_on(&range, begin))) {
        const bool before = line_is_good_now();
        const double time = batch(step, size, steps);
        const bool after = line_is_good_now();

        if (0 == patterns_rank && before && after) {
            us[count++] = time / (double) steps;
        }
    }
    return count;
}

static void measure(const patterns_t *pattern, int size, int batches)
{
    static double us[BENCH_MAX_BATCHES];
    long steps = 4;

    if (NULL != pattern->prepare) {
        pattern->prepare(size);
    }
    for (int again = 0; again < 3; ++again) { /* the first steps are slow */
        steps = agreed(bench_iterations(batch(pattern->step, size, steps), steps));
    }
    batches = measure_batches(pattern->step, size, steps, batches, us);
    if (NULL != pattern->finish) {
        pattern->finish();
    }
    if (0 == patterns_rank && 0 < batches) {
        bench_print(pattern->name, (size_t) size, us, batches);
    }
}

static void usage(void)
{
    if (0 == patterns_rank) {
        fprintf(stderr,
                "usage: mpirun -np N patterns [-b BATCHES] [-u US] [-l FROM,TO] [-r] [-m PATTERN,...] "
                "SIZE ...\n");
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void parse(int argc, char **argv, options_t *options)
{
    bool good = true;
    void *room = NULL;
    int option;

    while (-1 != (option = getopt(argc, argv, "b:u:l:rm:"))) {
        switch (option) {
        case 'b':
            options->batches = atoi(optarg);
            break;
        case 'u':
            bench_batch_us = atof(optarg);
            break;
        case 'l':
            good = good && 2 <= patterns_ranks && line_parse(&range, optarg);
            if (good) {
                turns = turns_open_or_abort(LINE_ROOM, &room);
                range.line = line_in(room);
            }
            break;
        case 'r':
            bench_reads = true;
            break;
        case 'm':
            options->list = optarg;
            break;
        default:
            good = false;
        }
    }
    if (!good || options->batches < 1 || options->batches > BENCH_MAX_BATCHES || optind == argc) {
        usage();
    }
}

/* Memory for the longest message of all ranks, or of a window. */
static void make_room(int argc, char **argv)
{
    const int parts = PATTERNS_WINDOW < patterns_ranks ? patterns_ranks : PATTERNS_WINDOW;
    size_t longest = BENCH_LINE;

    for (int i = optind; i < argc; ++i) {
        longest = longest < bench_size(argv[i]) ? bench_size(argv[i]) : longest;
    }
    patterns_out = calloc((size_t) parts, longest);
    patterns_in = calloc((size_t) parts, longest);
    if (NULL == patterns_out || NULL == patterns_in) {
        fprintf(stderr, "patterns: no memory for %d messages of %zu bytes\n", parts, longest);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static bool wanted(const char *list, const char *group, const char *name)
{
    const char *end = NULL == list ? NULL : list + strlen(list);

    return NULL == list || bench_listed(list, end, group) || bench_listed(list, end, name);
}

int main(int argc, char **argv)
{
    options_t options = {.batches = 11};

    bench_batch_us = 20000.0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &patterns_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &patterns_ranks);
    parse(argc, argv, &options);
    make_room(argc, argv);
    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); ++group) {
        for (const patterns_t *pattern = groups[group].patterns; NULL != pattern->name; ++pattern) {
            for (int i = optind; wanted(options.list, groups[group].name, pattern->name) && i < argc; ++i) {
                const int size = (int) bench_size(argv[i]);

                if (groups[group].least <= size) {
                    measure(pattern, size, options.batches);
                }
            }
        }
    }
    free(patterns_in);
    free(patterns_out);
    MPI_Finalize();
    return 0;
}
