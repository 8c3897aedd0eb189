/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What a message costs at least on this machine: two pinned processes, no MPI, one cache line each way.  A
 * message is up to 40 bytes of data behind a header of 24, the first word of which is a sequence number that
 * is stored last.
 *
 * Usage: floor [-c CPU,CPU] [-b BATCHES] [-u BATCH_US] [-s BYTES]      prints: floor BYTES MEDIAN_US LEAST_US
 */

#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { LINE = 64, HEADER = 24, DATA = LINE - HEADER };

/* One message.  The reader is told by the sequence word, so everything else is stored before it. */
struct line {
    _Alignas(LINE) _Atomic uint32_t sequence;
    char header[HEADER - sizeof(uint32_t)];
    char data[DATA];
};

_Static_assert(LINE == sizeof(struct line), "a message is one cache line");

/* The lines lie on pages of their own, so that no prefetcher brings in one with the other. */
struct shared {
    _Alignas(4096) struct line ping;
    _Alignas(4096) struct line pong;
    _Alignas(4096) _Atomic long iterations; /* of the batch to come; 0 ends the second process */
};

static void put(struct line *line, uint32_t sequence, const char *data, size_t size)
{
    memcpy(line->data, data, size);
    /* release: whoever sees the word sees the data; the partner is the acquire in get() */
    atomic_store_explicit(&line->sequence, sequence, memory_order_release);
}

static void get(struct line *line, uint32_t sequence, char *data, size_t size)
{
    /* acquire: the data is read after the word; the partner is the release in put() */
    while (sequence != atomic_load_explicit(&line->sequence, memory_order_acquire)) {
    }
    memcpy(data, line->data, size);
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (0 != sched_setaffinity(0, sizeof(set), &set)) {
        perror("floor: sched_setaffinity");
        exit(1);
    }
}

/* The first two processors we may use; the same one twice if there is only one. */
static void default_cpus(int cpu[2])
{
    cpu_set_t set;
    int found = 0;

    cpu[0] = cpu[1] = 0;
    if (0 != sched_getaffinity(0, sizeof(set), &set)) {
        return;
    }
    for (int i = 0; i < CPU_SETSIZE && found < 2; ++i) {
        if (CPU_ISSET(i, &set)) {
            cpu[found++] = i;
        }
    }
    cpu[1] = 2 == found ? cpu[1] : cpu[0];
}

static void answer(struct shared *shared, size_t size)
{
    uint32_t sequence = 0;
    char data[DATA] = {0};
    long iterations;

    /* the first message of a batch says that the count is there */
    for (;;) {
        get(&shared->ping, ++sequence, data, size);
        put(&shared->pong, sequence, data, size);
        iterations = atomic_load_explicit(&shared->iterations, memory_order_relaxed);
        if (0 == iterations) {
            return;
        }
        for (long i = 0; i < iterations; ++i) {
            get(&shared->ping, ++sequence, data, size);
            ++data[0];
            put(&shared->pong, sequence, data, size);
        }
    }
}

/* Returns the time of one way in microseconds. */
static double ask(struct shared *shared, uint32_t *sequence, long iterations, size_t size)
{
    char data[DATA] = {0};
    double start;

    atomic_store_explicit(&shared->iterations, iterations, memory_order_relaxed);
    put(&shared->ping, ++*sequence, data, size);
    get(&shared->pong, *sequence, data, size);
    start = bench_now_us();
    for (long i = 0; i < iterations; ++i) {
        ++data[0];
        put(&shared->ping, ++*sequence, data, size);
        get(&shared->pong, *sequence, data, size);
    }
    return 0 == iterations ? 0.0 : (bench_now_us() - start) / (double) iterations / 2.0;
}

int main(int argc, char **argv)
{
    static double us[BENCH_MAX_BATCHES];
    struct shared *shared;
    uint32_t sequence = 0;
    int batches = 51;
    size_t size = 8;
    int cpu[2];
    long iterations = 4;
    int option;
    pid_t child;

    default_cpus(cpu);
    while (-1 != (option = getopt(argc, argv, "c:b:s:u:"))) {
        if ('c' == option && 2 == sscanf(optarg, "%d,%d", &cpu[0], &cpu[1])) {
            continue;
        }
        if ('b' == option && (batches = atoi(optarg)) > 0 && batches <= BENCH_MAX_BATCHES) {
            continue;
        }
        if ('u' == option && (bench_batch_us = atof(optarg)) > 0.0) {
            continue;
        }
        if ('s' == option && (size = strtoul(optarg, NULL, 0)) <= DATA) {
            continue;
        }
        fprintf(stderr, "usage: floor [-c CPU,CPU] [-b BATCHES] [-u BATCH_US] [-s BYTES (at most %d)]\n",
                DATA);
        return 2;
    }
    if (cpu[0] == cpu[1]) {
        fprintf(stderr, "floor: needs two processors\n");
        return 1;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == shared) {
        perror("floor: mmap");
        return 1;
    }
    child = fork();
    if (child < 0) {
        perror("floor: fork");
        return 1;
    }
    pin(cpu[0 == child]);
    if (0 == child) {
        answer(shared, size);
        return 0;
    }
    for (int i = 0; i < 5; ++i) {
        iterations = bench_iterations(2.0 * ask(shared, &sequence, iterations, size), 1);
    }
    for (int i = 0; i < batches; ++i) {
        us[i] = ask(shared, &sequence, iterations, size);
    }
    ask(shared, &sequence, 0, size);
    waitpid(child, NULL, 0);
    bench_print("floor", size, us, batches);
    return 0;
}
