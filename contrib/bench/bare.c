/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What medium and large messages cost at least on this machine: the patterns of pingpong between two pinned
 * processes, without MPI.
 *
 * Usage: bare [-c CPU,CPU] [-b BATCHES] [-u BATCH_US] [-l FROM,TO] [-r] MODE:WAY:BYTES ...
 *
 * MODE, as in pingpong: latency, sendrecv, rate, allreduce.  WAY:
 *
 * ring         through a ring of 64 chunks of 4 KiB for each direction, whose lines the writer fetches before
 *              it copies, and while it waits
 * nontemporal  the same, written by non-temporal stores, which fetch no line; elsewhere than on x86-64 by
 *              ordinary ones
 * read         by process_vm_readv, when the sender has said where
 * both         the receiver reads the first half, and the sender writes the second one when it has been told
 *              where
 *
 * Prints lines: MODE-WAY BYTES MEDIAN_US LEAST_US.  As in pingpong the sender writes a word into each line
 * before it sends, and what arrives is checked once.  -l and -r as with pingpong.
 */

#define _GNU_SOURCE
#if defined(__x86_64__)
#    include <emmintrin.h>
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "line.h"

enum { CHUNK = 4096, CHUNKS = 64, WINDOW = 64, AT_A_TIME = 8, MOST = 64 << 20 };

typedef struct {
    _Alignas(2 * BENCH_LINE) _Atomic uint64_t count; /* what it says has been so often */
    uint64_t address;                                /* that belongs to it */
} word_t;

/* One direction. */
typedef struct {
    word_t filled[CHUNKS]; /* chunks up to this one */
    word_t emptied;        /* chunks */
    word_t offered;        /* messages of the sender's, and where */
    word_t asked;          /* halves that the sender is to write, and where */
    word_t written;        /* of these */
    word_t received;       /* messages */
    _Alignas(4096) char lead[1024 + BENCH_LINE];
    char data[CHUNKS][CHUNK + BENCH_LINE];
} direction_t;

static struct shared {
    char line[LINE_ROOM];
    word_t met[2];
    _Alignas(4096) direction_t to[2];
} * shared;

static struct {
    int me;
    pid_t peer;
    direction_t *out, *in;
    char *source, *target;
    size_t size;
    uint64_t put, got;       /* chunks */
    bool nontemporal;        /* how they are put */
    uint64_t sent, received; /* messages */
} self;

static line_range_t range;
bool bench_reads;

static inline uint64_t load(word_t *word)
{
    return atomic_load_explicit(&word->count, memory_order_acquire);
}

static inline void store(word_t *word, uint64_t count)
{
    atomic_store_explicit(&word->count, count, memory_order_release);
}

static inline void await(word_t *word, uint64_t count)
{
    while (load(word) < count) {
        __builtin_ia32_pause();
    }
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- chunks ---- */

static inline void fetch(const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += BENCH_LINE) {
        __builtin_prefetch(from + i, 1, 3);
    }
}

/* The lines of the next message, until something comes. */
static void fetch_ahead(void)
{
    word_t *next = &self.in->filled[self.got % CHUNKS];
    size_t done = 0;

    for (uint64_t chunk = self.put; done < self.size; ++chunk) {
        for (size_t at = 0; at < CHUNK && done < self.size; at += AT_A_TIME * BENCH_LINE) {
            if (self.got < load(next)) {
                return;
            }
            fetch(self.out->data[chunk % CHUNKS] + at, AT_A_TIME * BENCH_LINE);
            done += AT_A_TIME * BENCH_LINE;
        }
    }
}

/* `to` is the beginning of a line. */
static void copy_nontemporal(char *to, const char *from, size_t bytes)
{
#if defined(__x86_64__)
    const size_t whole = bytes / BENCH_LINE * BENCH_LINE;

    for (size_t i = 0; i < whole; i += sizeof(__m128i)) {
        _mm_stream_si128((__m128i *) (void *) (to + i),
                         _mm_loadu_si128((const __m128i *) (const void *) (from + i)));
    }
    memcpy(to + whole, from + whole, bytes - whole);
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

static void put_chunk(size_t offset)
{
    const size_t bytes = smaller(self.size - offset, CHUNK);
    char *to = self.out->data[self.put % CHUNKS];

    if (self.nontemporal) {
        copy_nontemporal(to, self.source + offset, bytes);
    } else {
        fetch(to, bytes);
        memcpy(to, self.source + offset, bytes);
    }
    store(&self.out->filled[self.put % CHUNKS], self.put + 1);
    ++self.put;
}

static void get_chunk(size_t offset)
{
    memcpy(self.target + offset, self.in->data[self.got % CHUNKS], smaller(self.size - offset, CHUNK));
    ++self.got;
}

static void ring_send(void)
{
    for (size_t done = 0; done < self.size; done += CHUNK) {
        while (CHUNKS <= self.put - load(&self.out->emptied)) {
            __builtin_ia32_pause();
        }
        put_chunk(done);
    }
}

static void ring_receive(void)
{
    const bool fits = self.size <= CHUNK * CHUNKS / 2;

    if (fits && !self.nontemporal) {
        fetch_ahead();
    }
    for (size_t done = 0; done < self.size; done += CHUNK) {
        await(&self.in->filled[self.got % CHUNKS], self.got + 1);
        get_chunk(done);
        if (!fits) {
            store(&self.in->emptied, self.got);
        }
    }
    store(&self.in->emptied, self.got);
}

/* Both ways at once, whatever is possible. */
static void ring_exchange(void)
{
    size_t out = 0, in = 0;

    while (out < self.size || in < self.size) {
        if (out < self.size && CHUNKS > self.put - load(&self.out->emptied)) {
            put_chunk(out);
            out += CHUNK;
        }
        if (in < self.size && self.got < load(&self.in->filled[self.got % CHUNKS])) {
            get_chunk(in);
            in += CHUNK;
            store(&self.in->emptied, self.got);
        }
    }
}

/* ---- single copy ---- */

static void copy(bool write, char *here, uint64_t there, size_t bytes)
{
    const struct iovec local = {.iov_base = here, .iov_len = bytes},
                       remote = {.iov_base = (void *) (uintptr_t) there, .iov_len = bytes};
    const ssize_t done = write ? process_vm_writev(self.peer, &local, 1, &remote, 1, 0)
                               : process_vm_readv(self.peer, &local, 1, &remote, 1, 0);

    if ((ssize_t) bytes != done) {
        perror("bare: process_vm_readv or process_vm_writev");
        _exit(1);
    }
}

static size_t half(void)
{
    return self.size / 2 / 4096 * 4096;
}

static void offer(void)
{
    self.out->offered.address = (uint64_t) (uintptr_t) self.source;
    store(&self.out->offered, ++self.sent);
}

/* Writes its half of the next message that the receiver asks for. */
static void help(uint64_t message)
{
    await(&self.out->asked, message);
    copy(true, self.source + half(), self.out->asked.address + half(), self.size - half());
    store(&self.out->written, message);
}

/* Reads what has been offered, or the first half of it. */
static void take(bool both)
{
    await(&self.in->offered, ++self.received);
    if (both) {
        self.in->asked.address = (uint64_t) (uintptr_t) self.target;
        store(&self.in->asked, self.received);
    }
    copy(false, self.target, self.in->offered.address, both ? half() : self.size);
    store(&self.in->received, self.received);
}

/* ---- patterns ---- */

typedef enum { RING, NONTEMPORAL, READ, BOTH } way_t;

static inline bool by_ring(way_t way)
{
    return RING == way || NONTEMPORAL == way;
}

static void send_by(way_t way)
{
    if (by_ring(way)) {
        ring_send();
        return;
    }
    offer();
    if (BOTH == way) {
        help(self.sent);
    }
    await(&self.out->received, self.sent);
}

static void receive_by(way_t way)
{
    if (by_ring(way)) {
        ring_receive();
        return;
    }
    take(BOTH == way);
    if (BOTH == way) {
        await(&self.in->written, self.received);
    }
}

static void exchange_by(way_t way)
{
    if (by_ring(way)) {
        if (self.size <= CHUNK * CHUNKS / 2) {
            ring_send();
            ring_receive();
        } else {
            ring_exchange();
        }
        return;
    }
    offer();
    take(BOTH == way);
    if (BOTH == way) {
        help(self.sent);
        await(&self.in->written, self.received);
    }
    await(&self.out->received, self.sent);
}

static void fill(long value)
{
    bench_fill(self.source, self.size, (uint64_t) value);
}

static void latency(way_t way, long iterations)
{
    for (long i = 0; i < iterations; ++i) {
        if (0 == self.me) {
            fill(i);
            send_by(way);
        }
        receive_by(way);
        bench_read(self.target, self.size);
        if (1 == self.me) {
            fill(i);
            send_by(way);
        }
    }
}

static void sendrecv(way_t way, long iterations)
{
    for (long i = 0; i < iterations; ++i) {
        fill(i);
        exchange_by(way);
        bench_read(self.target, self.size);
    }
}

static void allreduce(way_t way, long iterations)
{
    for (long i = 0; i < iterations; ++i) {
        uint64_t *to = (uint64_t *) (void *) self.target;
        const uint64_t *from = (const uint64_t *) (const void *) self.source;

        fill(i);
        exchange_by(way);
        for (size_t at = 0; at < self.size / sizeof(*to); ++at) {
            to[at] |= from[at];
        }
    }
}

/* The messages of a window are on their way together. */
static void send_window(way_t way)
{
    for (int i = 0; i < WINDOW; ++i) {
        if (by_ring(way)) {
            ring_send();
        } else {
            offer();
        }
    }
    for (uint64_t message = self.sent - WINDOW + 1; BOTH == way && message <= self.sent; ++message) {
        help(message);
    }
}

static void receive_window(way_t way)
{
    for (int i = 0; i < WINDOW; ++i) {
        receive_by(way);
    }
}

/* The answer to a window is that the ring has been emptied, or that all has been received. */
static void rate(way_t way, long iterations)
{
    for (long i = 0; i < iterations; ++i) {
        if (1 == self.me) {
            receive_window(way);
            bench_read(self.target, self.size);
            continue;
        }
        fill(i);
        send_window(way);
        if (by_ring(way)) {
            await(&self.out->emptied, self.put);
        } else {
            await(&self.out->received, self.sent);
        }
    }
}

static const struct mode {
    const char *name;
    void (*run)(way_t way, long iterations);
    double parts;
} modes[] = {{"latency", latency, 2.0},
             {"sendrecv", sendrecv, 1.0},
             {"rate", rate, WINDOW},
             {"allreduce", allreduce, 1.0}};

static const char *const ways[] = {"ring", "nontemporal", "read", "both"};

/* ---- measuring ---- */

static void meet(void)
{
    static uint64_t meetings;

    store(&shared->met[self.me], ++meetings);
    await(&shared->met[1 - self.me], meetings);
}

/* Process 0 says a number, and both go on with it. */
static uint64_t agree(uint64_t number)
{
    if (0 == self.me) {
        shared->met[0].address = number;
    }
    meet();
    number = shared->met[0].address;
    meet();
    return number;
}

static double batch(const struct mode *mode, way_t way, long *iterations)
{
    double start;

    *iterations = (long) agree((uint64_t) *iterations);
    start = bench_now_us();
    mode->run(way, *iterations);
    return bench_now_us() - start;
}

static void check(const struct mode *mode, long iterations)
{
    const uint64_t value = (uint64_t) iterations - 1;

    for (size_t i = 0; i < self.size && (rate != mode->run || 1 == self.me); i += BENCH_LINE) {
        if (0 != memcmp(self.target + i, &value, sizeof(value))) {
            fprintf(stderr, "bare: wrong data at byte %zu of %zu\n", i, self.size);
            _exit(1);
        }
    }
}

/* @return how many batches count, and us[] has their times; in process 0 */
static int measure_batches(const struct mode *mode, way_t way, long iterations, int batches, double *us)
{
    const double start = bench_now_us();
    int count = 0;

    while (0 != agree(count < batches && line_goes_on(&range, start))) {
        const bool before = line_is_good(&range, self.me);
        const double time = batch(mode, way, &iterations);
        const bool after = line_is_good(&range, self.me);

        if (0 == self.me && before && after) {
            us[count++] = time / (double) iterations / mode->parts;
        }
    }
    return count;
}

static void measure(const struct mode *mode, way_t way, int batches)
{
    static double us[BENCH_MAX_BATCHES];
    long iterations = 4;
    char name[64];

    self.nontemporal = NONTEMPORAL == way;
    memset(self.target, 0xff, self.size);
    batch(mode, way, &iterations);
    check(mode, iterations);
    for (int i = 0; i < 5; ++i) {
        iterations = bench_iterations(batch(mode, way, &iterations), iterations);
    }
    batches = measure_batches(mode, way, iterations, batches, us);
    if (0 == self.me && 0 < batches) {
        snprintf(name, sizeof(name), "%s-%s", mode->name, ways[way]);
        bench_print(name, self.size, us, batches);
    }
    meet();
}

static bool parse(const char *text, const struct mode **mode, way_t *way)
{
    char first[16], second[16], bytes[16];
    size_t size;

    if (3 != sscanf(text, "%15[^:]:%15[^:]:%15s", first, second, bytes)) {
        return false;
    }
    size = bench_size(bytes);
    if (0 == size || MOST < size || 0 != size % sizeof(uint64_t)) {
        return false;
    }
    *mode = NULL;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); ++i) {
        *mode = 0 == strcmp(first, modes[i].name) ? &modes[i] : *mode;
    }
    for (*way = RING; *way <= BOTH && 0 != strcmp(second, ways[*way]); ++*way) {
    }
    self.size = size;
    return NULL != *mode && *way <= BOTH;
}

static void start(int cpu[2])
{
    const pid_t parent = getpid();
    cpu_set_t set;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (0 > child) {
        perror("bare: fork");
        exit(1);
    }
    self.me = 0 == child;
    self.peer = 0 == child ? parent : child;
    self.out = &shared->to[1 - self.me];
    self.in = &shared->to[self.me];
    CPU_ZERO(&set);
    CPU_SET(cpu[self.me], &set);
    if (0 != sched_setaffinity(0, sizeof(set), &set)) {
        perror("bare: sched_setaffinity");
        exit(1);
    }
}

static void *memory(size_t size, int flags)
{
    void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (MAP_FAILED == area) {
        perror("bare: mmap");
        exit(1);
    }
    return area;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: bare [-c CPU,CPU] [-b BATCHES] [-u BATCH_US] [-l FROM,TO] [-r] MODE:WAY:BYTES ...\n"
            "       MODE latency, sendrecv, rate or allreduce; WAY ring, read or both; BYTES a "
            "multiple of 8, as 16384 or 16K\n");
    return 2;
}

int main(int argc, char **argv)
{
    int cpu[2] = {0, 1};
    const struct mode *mode;
    int batches = 21;
    int option, status;
    bool by_line = false;
    way_t way;

    while (-1 != (option = getopt(argc, argv, "c:b:u:l:r"))) {
        if (('c' == option && 2 == sscanf(optarg, "%d,%d", &cpu[0], &cpu[1]))
            || ('b' == option && (batches = atoi(optarg)) > 0 && batches <= BENCH_MAX_BATCHES)
            || ('u' == option && (bench_batch_us = atof(optarg)) > 0.0)
            || ('l' == option && (by_line = line_parse(&range, optarg)))
            || ('r' == option && (bench_reads = true))) {
            continue;
        }
        return usage();
    }
    for (int i = optind; i < argc; ++i) {
        if (!parse(argv[i], &mode, &way)) {
            return usage();
        }
    }
    shared = memory(sizeof(*shared), MAP_SHARED);
    range.line = by_line ? line_in(shared->line) : NULL;
    self.source = (char *) memory(MOST + 4096, MAP_PRIVATE) + 16;
    self.target = (char *) memory(MOST + 4096, MAP_PRIVATE) + 16;
    start(cpu);
    for (int i = optind; i < argc; ++i) {
        (void) parse(argv[i], &mode, &way);
        memset(self.source, 1, self.size);
        measure(mode, way, batches);
    }
    if (0 != self.me) {
        return 0;
    }
    waitpid(self.peer, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
