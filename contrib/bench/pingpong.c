/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Latencies and message rate between ranks 0 and 1 of any MPI.  Other ranks exchange one message with both,
 * so that they are connected, and then sleep outside MPI, or wait inside it (-o).
 *
 * Usage: pingpong [-m MODE,...] [-b BATCHES] [-u BATCH_US] [-d DEPTH] [-c CPU,CPU] [-o OTHERS] [-l FROM,TO]
 * [-r] [-t] [SIZE ...]
 *
 * Prints lines: MODE BYTES MEDIAN_US LEAST_US.  A size is measured in all modes of -m; one that is given as
 * MODE:SIZE in that mode only.  -c binds ranks 0 and 1 to a processor each, -t asks for MPI_THREAD_MULTIPLE.
 * With -r what has been received is read before anything else is done.
 * -o says what the other ranks do meanwhile: they are asleep, or, inside MPI, blocked in MPI_Recv or polling
 * with MPI_Test; lines begin with MODE-OTHERS then.  With -l a batch counts only if before and after it a
 * cache line took FROM to TO microseconds from one of the two to the other (line.h); a size for which no
 * batch has counted after LINE_PATIENCE_US prints nothing.
 *
 * latency      MPI_Send and MPI_Recv to and fro; time of one way
 * anysource    the same, received from MPI_ANY_SOURCE
 * sendrecv     both sides MPI_Sendrecv; time of one exchange
 * nonblocking  both sides MPI_Irecv, MPI_Isend, MPI_Waitall; time of one exchange
 * rate         windows of 64 MPI_Isend, answered by an empty message; time of one message
 * vector       latency of a vector of 8-byte blocks with gaps of 8 bytes
 * subarray     latency of N x 8 x 8 of N x 16 x 16 doubles; N is bytes / 512
 * allreduce    MPI_Allreduce of words of 8 bytes by rank 0 and 1
 * unexpected   latency while DEPTH messages of other tags wait at each side (default: 10000)
 * posted       latency while DEPTH receives of other tags are posted at each side
 *
 * The last two print their name with the depth, as in unexpected-10000.
 *
 * The sender writes one word in every cache line of the message before each hop, because a message that
 * nobody has written stays in the receiver's cache and costs less than any real one.
 */

#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "line.h"
#include "parts.h"
#include "turns.h"

enum { TAG = 7, FIRST_OTHER_TAG = 100, MAX_DEPTH = 30000, WINDOW = 64 }; /* tags up to 32767 are guaranteed */

static int rank;
static MPI_Comm both; /* ranks 0 and 1 */
static char *out;
static char *in;
static int depth = 10000;
static enum { ASLEEP, BLOCKED, POLLING } others = ASLEEP; /* what other ranks do */
static MPI_Request *waiting;                              /* of receives in mode posted */
static line_range_t range;
bool bench_reads;

static void check(const char *buffer, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i += i + BENCH_LINE < size ? BENCH_LINE : size) {
        size_t bytes = size - i < sizeof(value) ? size - i : sizeof(value);

        if (bytes < sizeof(value) && i > 0) {
            break; /* bench_fill() writes whole words only, but for tiny messages */
        }
        if (0 != memcmp(buffer + i, &value, bytes)) {
            fprintf(stderr, "pingpong: wrong data at byte %zu of %zu\n", i, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* extent is what the data covers in memory, count of datatype. */
static inline void to_and_fro(long iterations, size_t extent, int count, MPI_Datatype datatype, int source)
{
    for (long i = 0; i < iterations; ++i) {
        if (0 == rank) {
            bench_fill(out, extent, (uint64_t) i);
            MPI_Send(out, count, datatype, 1, TAG, MPI_COMM_WORLD);
        }
        MPI_Recv(in, count, datatype, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bench_read(in, extent);
        if (1 == rank) {
            bench_fill(out, extent, (uint64_t) i);
            MPI_Send(out, count, datatype, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void latency(long iterations, int size)
{
    to_and_fro(iterations, (size_t) size, size, MPI_BYTE, 1 - rank);
}

static void any_source(long iterations, int size)
{
    to_and_fro(iterations, (size_t) size, size, MPI_BYTE, MPI_ANY_SOURCE);
}

static MPI_Datatype make_vector(int size)
{
    MPI_Datatype type;

    MPI_Type_vector(size / 8, 8, 16, MPI_BYTE, &type);
    return type;
}

static MPI_Datatype make_subarray(int size)
{
    const int planes = size / 512, all[] = {planes, 16, 16}, part[] = {planes, 8, 8}, from[] = {0, 0, 0};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, all, part, from, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

/* One element of a datatype. */
static void derived(long iterations, int size, MPI_Datatype (*make)(int))
{
    static MPI_Datatype type = MPI_DATATYPE_NULL; /* kept, since a batch is called often */
    static MPI_Datatype (*type_of)(int);
    static MPI_Aint lower, extent;
    static int bytes;

    if (MPI_DATATYPE_NULL == type || size != bytes || make != type_of) {
        if (MPI_DATATYPE_NULL != type) {
            MPI_Type_free(&type);
        }
        type = make(size);
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lower, &extent);
        bytes = size;
        type_of = make;
    }
    to_and_fro(iterations, (size_t) extent, 1, type, 1 - rank);
}

static void vector(long iterations, int size)
{
    derived(iterations, size, make_vector);
}

static void subarray(long iterations, int size)
{
    derived(iterations, size, make_subarray);
}

static void send_receive(long iterations, int size)
{
    for (long i = 0; i < iterations; ++i) {
        bench_fill(out, (size_t) size, (uint64_t) i);
        MPI_Sendrecv(out, size, MPI_BYTE, 1 - rank, TAG, in, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        bench_read(in, (size_t) size);
    }
}

static void nonblocking(long iterations, int size)
{
    MPI_Request request[2];

    for (long i = 0; i < iterations; ++i) {
        bench_fill(out, (size_t) size, (uint64_t) i);
        MPI_Irecv(in, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        bench_read(in, (size_t) size);
    }
}

static void rate(long iterations, int size)
{
    MPI_Request request[WINDOW];

    for (long i = 0; i < iterations; ++i) {
        bench_fill(out, (size_t) size, (uint64_t) i);
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
            bench_read(in, (size_t) size);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

/* Both have the same words, so MPI_BOR gives them back and they can be checked like any message. */
static void allreduce(long iterations, int size)
{
    for (long i = 0; i < iterations; ++i) {
        bench_fill(out, (size_t) size, (uint64_t) i);
        MPI_Allreduce(out, in, size / 8, MPI_UINT64_T, MPI_BOR, both);
        bench_read(in, (size_t) size);
    }
}

/* Messages of other tags go both ways.  They have arrived when the next message from the same side has. */
static void send_others(void)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, FIRST_OTHER_TAG + i, MPI_COMM_WORLD);
    }
}

static void receive_others(void)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, FIRST_OTHER_TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void post_others(void)
{
    waiting = malloc((size_t) depth * sizeof(MPI_Request) + 1);
    if (NULL == waiting) {
        fprintf(stderr, "pingpong: no memory for %d requests\n", depth);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < depth; ++i) {
        MPI_Irecv(NULL, 0, MPI_BYTE, 1 - rank, FIRST_OTHER_TAG + i, MPI_COMM_WORLD, &waiting[i]);
    }
}

static void complete_others(void)
{
    send_others();
    MPI_Waitall(depth, waiting, MPI_STATUSES_IGNORE);
    free(waiting);
    waiting = NULL;
}

static const struct mode {
    const char *name;
    void (*run)(long iterations, int size);
    double parts;          /* what one iteration is divided by */
    size_t spread;         /* bytes in memory for each byte of a message; above 2 not each line has some */
    void (*prepare)(void); /* before the first batch and after the last one: only of modes with a depth */
    void (*finish)(void);
} modes[] = {
    {"latency", latency, 2.0, 1, NULL, NULL},
    {"anysource", any_source, 2.0, 1, NULL, NULL},
    {"sendrecv", send_receive, 1.0, 1, NULL, NULL},
    {"nonblocking", nonblocking, 1.0, 1, NULL, NULL},
    {"rate", rate, WINDOW, 1, NULL, NULL},
    {"vector", vector, 2.0, 2, NULL, NULL},
    {"subarray", subarray, 2.0, 4, NULL, NULL},
    {"allreduce", allreduce, 1.0, 1, NULL, NULL},
    {"unexpected", latency, 2.0, 1, send_others, receive_others},
    {"posted", latency, 2.0, 1, post_others, complete_others},
};

/* Rank 0 says what the other one shall do, and both meet. */
static long meet(long what)
{
    if (0 == rank) {
        MPI_Send(&what, 1, MPI_LONG, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&what, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    return what;
}

/* Both meet before the clock starts. */
static double batch(const struct mode *mode, long iterations, int size)
{
    double start;

    iterations = meet(iterations);
    start = bench_now_us();
    mode->run(iterations, size);
    return bench_now_us() - start;
}

/* @return how many batches count, and us[] has their times; on rank 0 */
static int measure_batches(const struct mode *mode, long iterations, int size, int batches, double *us)
{
    const double start = bench_now_us();
    int count = 0;

    while (0 != meet(count < batches && line_goes_on(&range, start))) {
        const bool before = line_is_good(&range, rank);
        const double time = batch(mode, iterations, size);
        const bool after = line_is_good(&range, rank);

        if (0 == rank && before && after) {
            us[count++] = time / (double) iterations / mode->parts;
        }
    }
    return count;
}

static void measure(const struct mode *mode, size_t size, int batches)
{
    static double us[BENCH_MAX_BATCHES];
    char name[64];
    long iterations = 4;

    if (NULL != mode->prepare) {
        mode->prepare();
    }
    for (int i = 0; i < 4; ++i) { /* what arrives has to be what was sent */
        memset(in, 0xff, mode->spread * size);
        batch(mode, i + 1, (int) size);
        if (0 != strcmp("rate", mode->name) || 1 == rank) {
            check(in, 2 < mode->spread ? sizeof(uint64_t) : mode->spread * size, (uint64_t) i);
        }
    }
    for (int i = 0; i < 5; ++i) {
        iterations = bench_iterations(batch(mode, iterations, (int) size), iterations);
    }
    batches = measure_batches(mode, iterations, (int) size, batches, us);
    if (NULL != mode->finish) {
        mode->finish();
    }
    if (0 == rank && 0 < batches) {
        snprintf(name, sizeof(name), NULL != mode->prepare ? "%s-%d" : "%s", mode->name, depth);
        if (ASLEEP != others) {
            strcat(name, BLOCKED == others ? "-blocked" : "-polling");
        }
        bench_print(name, size, us, batches);
    }
}

/* Inside MPI until rank 0 says that it is done; or, without memory that all ranks share, on several hosts:
 * asleep but for a look now and then. */
static void wait_for_message(void)
{
    MPI_Request request;
    int done = 0;

    if (BLOCKED == others) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    while (!done) {
        if (ASLEEP == others) {
            usleep(20000);
        }
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

/* Ranks above 1: connected and asleep until rank 0 is done. */
static void stand_by(turns_t *turns, int ranks)
{
    MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (NULL == turns) {
        wait_for_message();
        return;
    }
    turns_settle(turns, ranks, false);
    turns_sleep(turns, rank);
}

/* Ranks 0 and 1: all others are connected and go to sleep. */
static void settle(turns_t *turns, int ranks)
{
    for (int other = 2; other < ranks; ++other) {
        MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (NULL != turns) {
        turns_settle(turns, ranks, true);
    }
}

static void wake_all(turns_t *turns, int ranks)
{
    for (int other = 2; other < ranks; ++other) {
        if (NULL != turns) {
            turns_wake(turns, other);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        }
    }
}

/* What the command line asks for. */
typedef struct {
    const char *wanted; /* modes */
    int batches;
    char **sizes;
    int count;
    int cpus[CPU_SETSIZE];
    int cpu_count;
    bool by_line; /* -l */
} options_t;

/* A size's mode ends here; NULL where it names none. */
static const char *colon_of(const char *size)
{
    return strchr(size, ':');
}

static size_t bytes_of(const char *size)
{
    return bench_size(NULL == colon_of(size) ? size : colon_of(size) + 1);
}

static void run(const options_t *options)
{
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); ++m) {
        for (int i = 0; i < options->count; ++i) {
            const char *size = options->sizes[i];
            const char *list = NULL == colon_of(size) ? options->wanted : size;
            const char *end = NULL == colon_of(size) ? list + strlen(list) : colon_of(size);

            if (bench_listed(list, end, modes[m].name)) {
                measure(&modes[m], bytes_of(size), options->batches);
            }
        }
    }
}

static bool set_others(const char *name)
{
    static const char *const names[] = {"asleep", "blocked", "polling"};

    for (int i = ASLEEP; i <= POLLING; ++i) {
        if (0 == strcmp(name, names[i])) {
            others = i;
            return true;
        }
    }
    return false;
}

static void parse(int argc, char **argv, int ranks, options_t *options)
{
    bool good = ranks >= 2;
    int option;

    others = ASLEEP; /* in several.c it may have been something else, and so may this */
    bench_reads = false;
    while (-1 != (option = getopt(argc, argv, "m:b:u:d:c:o:l:rt"))) {
        switch (option) {
        case 'm':
            options->wanted = optarg;
            break;
        case 'b':
            options->batches = atoi(optarg);
            break;
        case 'u':
            bench_batch_us = atof(optarg);
            break;
        case 'd':
            depth = atoi(optarg);
            break;
        case 'c':
            options->cpu_count = turns_parse_cpus(optarg, options->cpus);
            break;
        case 'o':
            good = good && set_others(optarg);
            break;
        case 'l':
            options->by_line = true;
            good = good && line_parse(&range, optarg);
            break;
        case 'r':
            bench_reads = true;
            break;
        case 't': /* main() has seen to it */
            break;
        default:
            good = false;
        }
    }
    if (!good || options->batches < 1 || options->batches > BENCH_MAX_BATCHES || depth < 0
        || depth > MAX_DEPTH || 1 == options->cpu_count) {
        fprintf(stderr,
                "usage: mpirun -np 2 pingpong [-m MODE,...] [-b BATCHES] [-u BATCH_US] [-d DEPTH] "
                "[-c CPU,CPU] [-o asleep|blocked|polling] [-l FROM,TO] [-r] [-t] [[MODE:]SIZE ...]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (optind < argc) {
        options->sizes = argv + optind;
        options->count = argc - optind;
    }
}

/* Memory for the longest message. */
static void make_room(const options_t *options)
{
    size_t room = 0, spread = 1;

    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); ++m) {
        spread = modes[m].spread > spread ? modes[m].spread : spread;
    }
    for (int i = 0; i < options->count; ++i) {
        size_t size = spread * bytes_of(options->sizes[i]);

        room = size > room ? size : room;
    }
    out = calloc(1, room + BENCH_LINE);
    in = calloc(1, room + BENCH_LINE);
    if (NULL == out || NULL == in) {
        fprintf(stderr, "pingpong: no memory for two buffers of %zu bytes\n", room);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

void bench_pingpong(int argc, char **argv)
{
    static char *default_sizes[] = {"0", "8", "40", "1024", "4096", "16K", "64K", "256K", "1M", "4M"};
    options_t options = {.wanted = "latency",
                         .batches = 31,
                         .sizes = default_sizes,
                         .count = sizeof(default_sizes) / sizeof(default_sizes[0])};
    turns_t *turns = NULL;
    void *room;
    int ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv, ranks, &options);
    make_room(&options);
    MPI_Comm_split(MPI_COMM_WORLD, rank <= 1 ? 0 : MPI_UNDEFINED, rank, &both);
    range.line = NULL;
    if (options.by_line) {
        turns = turns_open_or_abort(LINE_ROOM, &room);
        range.line = line_in(room);
    } else if (ranks > 2 && ASLEEP == others) {
        turns = turns_open(0, NULL);
    }
    if (rank > 1) {
        stand_by(turns, ranks);
    } else {
        if (options.cpu_count > 0) {
            turns_pin(options.cpus[rank]);
        }
        settle(turns, ranks);
        run(&options);
    }
    if (0 == rank) {
        wake_all(turns, ranks);
    }
    if (MPI_COMM_NULL != both) {
        MPI_Comm_free(&both);
    }
    free(out);
    free(in);
}

#ifndef BENCH_SEVERAL
int main(int argc, char **argv)
{
    bool threads = false;
    int provided;

    /* MPI is started before the options are read, so -t is looked for by itself */
    for (int i = 1; i < argc; ++i) {
        threads = threads || 0 == strcmp(argv[i], "-t");
    }
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    bench_pingpong(argc, argv);
    MPI_Finalize();
    return 0;
}
#endif
