/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Latencies and message rate between ranks 0 and 1 of any MPI.  Other ranks exchange one message with both,
 * so that they are connected, and then sleep.
 *
 * Usage: pingpong [-m MODE,...] [-b BATCHES] [-t] [SIZE ...]    prints lines: MODE BYTES MEDIAN_US LEAST_US
 *
 * latency      MPI_Send and MPI_Recv to and fro; time of one way
 * anysource    the same, received from MPI_ANY_SOURCE
 * sendrecv     both sides MPI_Sendrecv; time of one exchange
 * nonblocking  both sides MPI_Irecv, MPI_Isend, MPI_Waitall; time of one exchange
 * rate         windows of 64 MPI_Isend, answered by an empty message; time of one message
 *
 * The sender writes one word in every cache line of the message before each hop, because a message that
 * nobody has written stays in the receiver's cache and costs less than any real one.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { TAG = 7, WINDOW = 64, LINE = 64 };

static int rank;
static char *out;
static char *in;

/* Sizes have a suffix K or M, or none. */
static size_t parse_size(const char *text)
{
    char *end;
    size_t size = strtoul(text, &end, 0);

    return 'K' == *end ? size << 10 : 'M' == *end ? size << 20 : size;
}

static void fill(char *buffer, size_t size, uint64_t value)
{
    size_t i;

    for (i = 0; i + sizeof(value) <= size; i += LINE) {
        memcpy(buffer + i, &value, sizeof(value));
    }
    if (size > 0 && size < sizeof(value)) {
        memcpy(buffer, &value, size);
    }
}

static void check(const char *buffer, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i += i + LINE < size ? LINE : size) {
        size_t bytes = size - i < sizeof(value) ? size - i : sizeof(value);

        if (bytes < sizeof(value) && i > 0) {
            break; /* fill() writes whole words only, but for tiny messages */
        }
        if (0 != memcmp(buffer + i, &value, bytes)) {
            fprintf(stderr, "pingpong: wrong data at byte %zu of %zu\n", i, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void to_and_fro(long iterations, int size, int source)
{
    for (long i = 0; i < iterations; ++i) {
        if (0 == rank) {
            fill(out, (size_t) size, (uint64_t) i);
            MPI_Send(out, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        }
        MPI_Recv(in, size, MPI_BYTE, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (1 == rank) {
            fill(out, (size_t) size, (uint64_t) i);
            MPI_Send(out, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void latency(long iterations, int size)
{
    to_and_fro(iterations, size, 1 - rank);
}

static void any_source(long iterations, int size)
{
    to_and_fro(iterations, size, MPI_ANY_SOURCE);
}

static void send_receive(long iterations, int size)
{
    for (long i = 0; i < iterations; ++i) {
        fill(out, (size_t) size, (uint64_t) i);
        MPI_Sendrecv(out, size, MPI_BYTE, 1 - rank, TAG, in, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void nonblocking(long iterations, int size)
{
    MPI_Request request[2];

    for (long i = 0; i < iterations; ++i) {
        fill(out, (size_t) size, (uint64_t) i);
        MPI_Irecv(in, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
}

static void rate(long iterations, int size)
{
    MPI_Request request[WINDOW];

    for (long i = 0; i < iterations; ++i) {
        fill(out, (size_t) size, (uint64_t) i);
        for (int w = 0; w < WINDOW; ++w) {
            if (0 == rank) {
                MPI_Isend(out, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[w]);
            } else {
                MPI_Irecv(in, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[w]);
            }
        }
        MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
        if (0 == rank) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static const struct mode {
    const char *name;
    void (*run)(long iterations, int size);
    double parts; /* what one iteration is divided by */
} modes[] = {
    {"latency", latency, 2.0},         {"anysource", any_source, 2.0}, {"sendrecv", send_receive, 1.0},
    {"nonblocking", nonblocking, 1.0}, {"rate", rate, WINDOW},
};

/* Rank 0 says how many iterations come; both meet before the clock starts. */
static double batch(const struct mode *mode, long iterations, int size)
{
    double start;

    if (0 == rank) {
        MPI_Send(&iterations, 1, MPI_LONG, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&iterations, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    start = bench_now_us();
    mode->run(iterations, size);
    return bench_now_us() - start;
}

static void measure(const struct mode *mode, size_t size, int batches)
{
    static double us[BENCH_MAX_BATCHES];
    long iterations = 4;

    for (int i = 0; i < 4; ++i) { /* is what arrives what was sent? */
        memset(in, 0xff, size);
        batch(mode, i + 1, (int) size);
        if (0 != strcmp("rate", mode->name) || 1 == rank) {
            check(in, size, (uint64_t) i);
        }
    }
    for (int i = 0; i < 5; ++i) {
        iterations = bench_iterations(batch(mode, iterations, (int) size), iterations);
    }
    for (int i = 0; i < batches; ++i) {
        us[i] = batch(mode, iterations, (int) size) / (double) iterations / mode->parts;
    }
    if (0 == rank) {
        bench_print(mode->name, size, us, batches);
    }
}

/* Ranks above 1: connected and asleep until rank 0 is done.  Ranks 0 and 1: wake = false connects, true ends.
 */
static void bystanders(int ranks, int wake)
{
    MPI_Request request;
    int done = 0;

    if (rank > 1) {
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        while (!done) {
            usleep(20000);
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        return;
    }
    for (int other = 2; other < ranks; ++other) {
        if (!wake) {
            MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (0 == rank) {
            MPI_Send(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        }
    }
}

static void run(const char *wanted, char **sizes, int count, int batches)
{
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); ++m) {
        const char *at = strstr(wanted, modes[m].name);
        size_t length = strlen(modes[m].name);

        if (NULL == at || (at != wanted && ',' != at[-1]) || ('\0' != at[length] && ',' != at[length])) {
            continue;
        }
        for (int i = 0; i < count; ++i) {
            measure(&modes[m], parse_size(sizes[i]), batches);
        }
    }
}

int main(int argc, char **argv)
{
    static char *default_sizes[] = {"0", "8", "40", "1024", "4096", "16K", "64K", "256K", "1M", "4M"};
    const char *wanted = "latency";
    int batches = 31;
    size_t room = 0; /* bytes in each of out and in */
    char **sizes = default_sizes;
    int count = sizeof(default_sizes) / sizeof(default_sizes[0]);
    int ranks;
    int option, provided;
    bool threads = false;

    /* MPI is started before the options are read, so -t is looked for by itself */
    for (int i = 1; i < argc; ++i) {
        threads = threads || 0 == strcmp(argv[i], "-t");
    }
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (-1 != (option = getopt(argc, argv, "m:b:t"))) {
        if ('m' == option) {
            wanted = optarg;
        } else if ('t' != option && ('b' != option || (batches = atoi(optarg)) < 1 || batches > BENCH_MAX_BATCHES)) {
            ranks = 0;
        }
    }
    if (ranks < 2) {
        fprintf(stderr, "usage: mpirun -np 2 pingpong [-m MODE,...] [-b BATCHES] [-t] [SIZE ...]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (optind < argc) {
        sizes = argv + optind;
        count = argc - optind;
    }
    for (int i = 0; i < count; ++i) {
        room = parse_size(sizes[i]) > room ? parse_size(sizes[i]) : room;
    }
    out = calloc(1, room + LINE);
    in = calloc(1, room + LINE);
    if (NULL == out || NULL == in) {
        fprintf(stderr, "pingpong: no memory for two buffers of %zu bytes\n", room);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bystanders(ranks, 0);
    if (rank < 2) {
        run(wanted, sizes, count, batches);
        bystanders(ranks, 1);
    }
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
