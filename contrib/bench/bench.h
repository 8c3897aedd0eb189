/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How the programs here measure: a batch is so many iterations that it takes about bench_batch_us, by default
 * long enough for the clock and short enough that most batches see no interruption.  The result is the median
 * of the batches.
 */

#ifndef FASTPATH_BENCH_H
#define FASTPATH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_MAX_BATCHES 1001
#define BENCH_LINE        64

static double bench_batch_us = 2000.0;

static inline double bench_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec * 1e-3;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

/** @return bytes, of a number with a suffix K or M, or none */
static inline size_t bench_size(const char *text)
{
    char *end;
    size_t size = strtoul(text, &end, 0);

    return 'K' == *end ? size << 10 : 'M' == *end ? size << 20 : size;
}

/** Whether a name is in a list with commas between them, which ends at `end`. */
static inline bool bench_listed(const char *list, const char *end, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at < end; ++at) {
        if ((at == list || ',' == at[-1]) && (size_t) (end - at) >= length && 0 == strncmp(at, name, length)
            && (at + length == end || ',' == at[length])) {
            return true;
        }
    }
    return false;
}

/** Writes one word in every cache line of a message, which otherwise stays in the receiver's cache. */
static inline void bench_fill(char *buffer, size_t size, uint64_t value)
{
    size_t i;

    for (i = 0; i + sizeof(value) <= size; i += BENCH_LINE) {
        memcpy(buffer + i, &value, sizeof(value));
    }
    if (size > 0 && size < sizeof(value)) {
        memcpy(buffer, &value, size);
    }
}

/** Whether whoever has received a message reads a word in each of its lines, as programs do: what lies in the
 * sender's cache then comes from there. One for all files of a program; who measures so defines it. */
extern bool bench_reads;

/** That reading, where it is asked for. */
static inline void bench_read(const char *buffer, size_t size)
{
    static volatile uint64_t result;
    uint64_t sum = 0, word;

    if (!bench_reads) {
        return;
    }
    for (size_t i = 0; i + sizeof(word) <= size; i += BENCH_LINE) {
        memcpy(&word, buffer + i, sizeof(word));
        sum += word;
    }
    result = sum;
    (void) result;
}

/** One line for scripts: what, bytes, median and least time of a message in microseconds. */
static inline void bench_print(const char *what, size_t size, double *us, int batches)
{
    qsort(us, (size_t) batches, sizeof(*us), bench_compare);
    printf("%s %zu %.4f %.4f\n", what, size, us[batches / 2], us[0]);
    fflush(stdout);
}

/** Iterations per batch, given what some iterations took. */
static inline long bench_iterations(double us, long iterations)
{
    double wanted = bench_batch_us * (double) iterations / (us > 0.0 ? us : 1.0);

    return wanted < 4.0 ? 4 : wanted > 1e6 ? 1000000 : (long) wanted;
}

#endif /* FASTPATH_BENCH_H */
