/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Messages that leave in several buffers, and those about as long: chunks [WHAT]
 *
 * (none)   sizes about multiples of a buffer between ranks 0 and 1, received in every way; windows of
 *          mixed sizes; and all ranks to one
 * counted  sizes about every multiple; those of up to 256 KiB leave within the call, longer ones do not; and
 *          messages both ways
 * threads  windows between threads
 * stock    no truncated messages: stock ob1 writes past their receives' buffers
 */

#include "support/fp_counters.h"

#include <unistd.h>

enum { BUFFER = 4096, MOST = 64, TAG = 11, WINDOW = 64, ROUNDS = 8, BLOCK = 24, GAP = 40 };

/* ---- one message ---- */

static uint64_t key_of(int sequence)
{
    return fp_key(0, 1, TAG, sequence);
}

/* The receive is posted, blocking, or nearly. */
static void waiting(size_t length, int sequence)
{
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
    } else {
        fp_signal(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
    }
}

static void posted(size_t length, int sequence)
{
    fp_message_t message;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
    } else {
        fp_irecv(&message, length, 0, TAG, sequence, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
        fp_wait_recv(&message);
    }
}

static void late(size_t length, int sequence)
{
    fp_message_t message;

    if (0 == fp_rank) {
        fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
        fp_signal(1, MPI_COMM_WORLD);
        fp_wait_send(&message);
    } else {
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
    }
}

static void send_late_or_not(size_t length, int sequence, bool is_late)
{
    fp_message_t message;

    if (!is_late) {
        fp_await(1, MPI_COMM_WORLD);
    }
    fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
    if (is_late) {
        fp_signal(1, MPI_COMM_WORLD);
    }
    fp_wait_send(&message);
}

/* What comes before a receive at rank 1. */
static void wait_for_late_or_not(bool is_late)
{
    if (is_late) {
        fp_await(0, MPI_COMM_WORLD);
    } else {
        fp_signal(0, MPI_COMM_WORLD);
    }
}

/* A receive that is too short has the beginning, and nothing behind it. */
static void truncated(size_t length, int sequence)
{
    const size_t rooms[] = {0, 1, BUFFER - 1, BUFFER, BUFFER + 1, length / 2, length - 1};

    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        const size_t room = rooms[i] < length ? rooms[i] : length - 1;
        const bool is_late = 0 == (i + (size_t) sequence) % 2;

        if (0 == fp_rank) {
            send_late_or_not(length, sequence, is_late);
        } else {
            unsigned char *buffer = fp_alloc(length);

            wait_for_late_or_not(is_late);
            FP_ERROR(MPI_ERR_TRUNCATE,
                     MPI_Recv(buffer, (int) room, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_DATA(buffer, room, key_of(sequence));
            CHECK_POISON(buffer + room, length - room);
            fp_free(buffer);
        }
    }
}

/* From anybody, into a buffer that is longer. */
static void from_anybody(size_t length, int sequence)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        if (0 == fp_rank) {
            send_late_or_not(length, sequence, 0 != is_late);
        } else {
            unsigned char *buffer = fp_alloc(length + 100);
            MPI_Status status;

            wait_for_late_or_not(0 != is_late);
            FP(MPI_Recv(buffer, (int) length + 100, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            CHECK_STATUS(&status, 0, TAG, length);
            CHECK_DATA(buffer, length, key_of(sequence));
            CHECK_POISON(buffer + length, 100);
            fp_free(buffer);
        }
    }
}

/* ---- data that is not contiguous ---- */

/* Where byte AT of a message is in memory: in blocks with gaps, whose width alternates if ODD. */
static size_t place_of(size_t at, bool odd)
{
    const size_t block = at / BLOCK;

    return block * (BLOCK + GAP) + (odd && 1 == block % 2 ? 8 : 0) + at % BLOCK;
}

static MPI_Datatype make_type(size_t length, bool odd)
{
    const int blocks = (int) ((length + BLOCK - 1) / BLOCK);
    int *places = malloc((size_t) blocks * sizeof(int)), *lengths = malloc((size_t) blocks * sizeof(int));
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        places[i] = (int) place_of((size_t) i * BLOCK, odd);
        lengths[i] = i < blocks - 1 ? BLOCK : (int) (length - (size_t) i * BLOCK);
    }
    if (!odd && 0 == length % BLOCK) {
        FP(MPI_Type_vector(blocks, BLOCK, BLOCK + GAP, MPI_BYTE, &type));
    } else {
        FP(MPI_Type_indexed(blocks, lengths, places, MPI_BYTE, &type));
    }
    FP(MPI_Type_commit(&type));
    free(places);
    free(lengths);
    return type;
}

static void receive_scattered(size_t length, int sequence, bool odd, bool is_late)
{
    const size_t extent = place_of(length, odd) + BLOCK + GAP;
    unsigned char *want = fp_alloc_filled(length, key_of(sequence));
    unsigned char *got = fp_alloc(length), *buffer = fp_alloc(extent);
    MPI_Datatype type = make_type(length, odd);
    MPI_Status status;

    wait_for_late_or_not(is_late);
    FP(MPI_Recv(buffer, 1, type, 0, TAG, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, 0, TAG, length);
    for (size_t at = 0; at < length; at++) {
        got[at] = buffer[place_of(at, odd)];
    }
    CHECK(0 == memcmp(want, got, length));
    for (size_t at = BLOCK; at + BLOCK < length; at += BLOCK) { /* the gap before it */
        CHECK_POISON(buffer + place_of(at - 1, odd) + 1, GAP - 8);
    }
    FP(MPI_Type_free(&type));
    fp_free(buffer);
    fp_free(got);
    fp_free(want);
}

static void scattered(size_t length, int sequence)
{
    for (int i = 0; i < 4; i++) {
        const bool odd = 0 != (i & 1), is_late = 0 != (i & 2);

        if (0 == fp_rank) {
            send_late_or_not(length, sequence, is_late);
        } else {
            receive_scattered(length, sequence, odd, is_late);
        }
    }
}

/* The sender's data is. */
static void gathered(size_t length, int sequence)
{
    if (0 == fp_rank) {
        unsigned char *buffer = fp_alloc(place_of(length, true) + BLOCK + GAP);
        unsigned char *data = fp_alloc_filled(length, key_of(sequence));
        MPI_Datatype type = make_type(length, true);

        for (size_t at = 0; at < length; at++) {
            buffer[place_of(at, true)] = data[at];
        }
        FP(MPI_Send(buffer, 1, type, 1, TAG, MPI_COMM_WORLD));
        FP(MPI_Type_free(&type));
        fp_free(data);
        fp_free(buffer);
    } else {
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
    }
}

/* Elements of many bytes, which lie across the ends of buffers. */
static void long_elements(size_t length, int sequence)
{
    enum { ELEMENT = 1000 };
    const int count = (int) (length / ELEMENT);
    unsigned char *buffer;
    MPI_Datatype type;
    MPI_Status status;
    int elements = 0;

    if (0 == fp_rank) {
        send_late_or_not((size_t) count * ELEMENT, sequence, false);
        return;
    }
    FP(MPI_Type_contiguous(ELEMENT, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    buffer = fp_alloc(length);
    wait_for_late_or_not(false);
    FP(MPI_Recv(buffer, count, type, 0, TAG, MPI_COMM_WORLD, &status));
    FP(MPI_Get_count(&status, type, &elements));
    CHECK_INT(elements, count);
    CHECK_DATA(buffer, (size_t) count * ELEMENT, key_of(sequence));
    CHECK_POISON(buffer + (size_t) count * ELEMENT, length - (size_t) count * ELEMENT);
    fp_free(buffer);
    FP(MPI_Type_free(&type));
}

/* It is probed before. */
static void probed(size_t length, int sequence)
{
    MPI_Message message;
    MPI_Status status;

    if (0 == fp_rank) {
        send_late_or_not(length, sequence, false);
        send_late_or_not(length, sequence, false);
    } else {
        unsigned char *buffer = fp_alloc(length);

        wait_for_late_or_not(false);
        FP(MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, 0, TAG, length);
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
        wait_for_late_or_not(false);
        FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status));
        CHECK_STATUS(&status, 0, TAG, length);
        FP(MPI_Mrecv(buffer, (int) length, MPI_BYTE, &message, &status));
        CHECK_DATA(buffer, length, key_of(sequence));
        fp_free(buffer);
    }
}

/* ---- many messages ---- */

static size_t some_length(fp_random_t *random)
{
    switch (fp_random(random) % 4) {
    case 0:
        return fp_random_between(random, 0, 1000);
    case 1:
        return BUFFER * fp_random_between(random, 1, MOST + 1) - 1 + fp_random(random) % 3;
    case 2:
        return fp_random_between(random, 16 << 10, 128 << 10);
    default:
        return fp_random_between(random, 0, 5 * BUFFER);
    }
}

/* 64 messages each way between us and PEER, of lengths that both know. */
static void window(int peer, int tag, uint64_t seed, MPI_Comm comm)
{
    fp_message_t out[WINDOW], in[WINDOW];
    fp_random_t mine = {.state = seed + (uint64_t) fp_rank + 1},
                other = {.state = seed + (uint64_t) peer + 1};

    for (int i = 0; i < WINDOW; i++) {
        fp_irecv(&in[i], some_length(&other), peer, tag, i, comm);
    }
    for (int i = 0; i < WINDOW; i++) {
        fp_isend(&out[i], &fp_modes[FP_STANDARD], some_length(&mine), peer, tag, i, comm);
    }
    for (int i = 0; i < WINDOW; i++) {
        fp_wait_recv(&in[i]);
        fp_wait_send(&out[i]);
    }
}

/* The same, but what has come waits for its receive. */
static void window_of_late_receives(int peer, int tag, uint64_t seed)
{
    fp_message_t out[WINDOW];
    fp_random_t mine = {.state = seed + (uint64_t) fp_rank + 1},
                other = {.state = seed + (uint64_t) peer + 1};

    for (int i = 0; i < WINDOW; i++) {
        fp_isend(&out[i], &fp_modes[FP_STANDARD], some_length(&mine), peer, tag, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < WINDOW; i++) {
        fp_recv(some_length(&other), peer, tag, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < WINDOW; i++) {
        fp_wait_send(&out[i]);
    }
}

/* All others send to rank 0, which takes what comes first; from each of them in order. */
static void to_one(uint64_t seed)
{
    enum { EACH = 50 };

    if (0 != fp_rank) {
        fp_random_t random = {.state = seed + (uint64_t) fp_rank + 1};

        for (int i = 0; i < EACH; i++) {
            fp_send(&fp_modes[FP_STANDARD], some_length(&random), 0, TAG, i, MPI_COMM_WORLD);
        }
        return;
    }
    fp_random_t *random = malloc((size_t) fp_size * sizeof(*random));
    int *sequence = calloc((size_t) fp_size, sizeof(*sequence));

    for (int i = 0; i < fp_size; i++) {
        random[i].state = seed + (uint64_t) i + 1;
    }
    for (int i = 0; i < EACH * (fp_size - 1); i++) {
        unsigned char *buffer = fp_alloc((MOST + 2) * BUFFER);
        MPI_Status status;
        size_t length;

        FP(MPI_Recv(buffer, (MOST + 2) * BUFFER, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
        length = some_length(&random[status.MPI_SOURCE]);
        CHECK_STATUS(&status, status.MPI_SOURCE, TAG, length);
        CHECK_DATA(buffer, length, fp_key(status.MPI_SOURCE, 0, TAG, sequence[status.MPI_SOURCE]++));
        CHECK_POISON(buffer + length, (MOST + 2) * BUFFER - length);
        fp_free(buffer);
    }
    free(sequence);
    free(random);
}

/* ---- the parts ---- */

/* All short ones, and of the others those about each eighth buffer and about the most. */
static bool is_tried(int buffers)
{
    return 16 >= buffers || 1 >= buffers % 8 || MOST - 1 <= buffers;
}

static void all_sizes(bool with_truncated)
{
    static const struct {
        const char *name;
        void (*run)(size_t length, int sequence);
    } cases[] = {{"waiting", waiting},
                 {"posted", posted},
                 {"late", late},
                 {"truncated", truncated},
                 {"anybody", from_anybody},
                 {"scattered", scattered},
                 {"gathered", gathered},
                 {"long elements", long_elements},
                 {"probed", probed}};

    for (int n = 1; n <= MOST + 1; n++) {
        for (int d = -1; is_tried(n) && d <= 1; d++) {
            const size_t length = (size_t) (n * BUFFER + d);

            for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                if (truncated == cases[i].run && !with_truncated) {
                    continue;
                }
                fp_case("%s, %zu bytes", cases[i].name, length);
                cases[i].run(length, n * 100 + d * 10 + (int) i);
            }
        }
    }
}

static void many(void)
{
    const int peer = fp_rank ^ 1;

    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t seed = 1000 * (uint64_t) round;

        if (peer < fp_size) {
            fp_case("window %d", round);
            window(peer, TAG, seed, MPI_COMM_WORLD);
            fp_case("window %d of late receives", round);
            window_of_late_receives(peer, TAG, seed + 500);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        fp_case("to one, %d", round);
        to_one(seed);
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* All messages of up to so many buffers leave without a request, if their peer has read those before. */
/* Of messages that go while a receive from there is posted, too, none waits for those before to be read. Rank
 * 1 reads none of them meanwhile. */
static void counted_both_ways(void)
{
    enum { LENGTH = 64 * 1024, COUNT = 4 };
    fp_message_t messages[COUNT], answer;

    fp_case("counted, both ways");
    if (0 == fp_rank) {
        fp_counts_t before;

        fp_await(1, MPI_COMM_WORLD);
        fp_irecv(&answer, 1, 1, TAG, 0, MPI_COMM_WORLD);
        before = fp_counters_now();
        for (int i = 0; i < COUNT; i++) {
            fp_isend(&messages[i], &fp_modes[FP_STANDARD], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
        }
        CHECK_COUNTED(&before, 2, 0, 0, 0, 0);
        for (int i = 0; i < COUNT; i++) {
            fp_wait_send(&messages[i]);
        }
        fp_wait_recv(&answer);
    } else if (1 == fp_rank) {
        fp_signal(0, MPI_COMM_WORLD);
        fp_sleep_ms(20);
        for (int i = 0; i < COUNT; i++) {
            fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
        }
        fp_send(&fp_modes[FP_STANDARD], 1, 0, TAG, 0, MPI_COMM_WORLD);
    }
}

static void counted(void)
{
    static const char *const names[] = {"pml_fastpath_sends_immediate", "pml_fastpath_sends_long"};

    if (sysconf(_SC_NPROCESSORS_ONLN) < fp_size) {
        fp_skip("more ranks than cores, where long messages leave otherwise");
    }
    fp_counters_open(MPI_THREAD_SINGLE, names, 2);
    for (int n = 1; n <= MOST + 1; n++) {
        for (int d = -1; d <= 1; d++) {
            const size_t length = (size_t) (n * BUFFER + d);
            unsigned char *data = fp_alloc_filled(length, key_of(n));

            fp_case("counted, %zu bytes", length);
            if (0 == fp_rank) {
                fp_counts_t before;

                fp_await(1, MPI_COMM_WORLD);
                before = fp_counters_now();
                FP(MPI_Send(data, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
                CHECK_COUNTED(&before, 2, length <= MOST * BUFFER ? 0 : 1);
            } else if (1 == fp_rank) {
                fp_signal(0, MPI_COMM_WORLD);
                fp_recv(length, 0, TAG, n, MPI_COMM_WORLD);
            }
            fp_free(data);
        }
    }
    counted_both_ways();
    fp_counters_close();
}

static MPI_Comm thread_comms[2];

static void thread(int index)
{
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("thread %d, window %d", index, round);
        window(fp_rank ^ 1, TAG + index, (uint64_t) (round + 7777 * index), thread_comms[index]);
    }
}

static void threads(void)
{
    for (int i = 0; i < 2; i++) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &thread_comms[i]));
    }
    if ((fp_rank ^ 1) < fp_size) {
        fp_run_threads(2, thread);
    }
    for (int i = 0; i < 2; i++) {
        FP(MPI_Comm_free(&thread_comms[i]));
    }
}

int main(int argc, char **argv)
{
    const bool with_threads = 2 == argc && 0 == strcmp(argv[1], "threads");

    if (with_threads) {
        if (MPI_THREAD_MULTIPLE != fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
            fp_skip("no MPI_THREAD_MULTIPLE");
        }
    } else {
        fp_init(&argc, &argv, 2);
    }
    if (2 == argc && 0 == strcmp(argv[1], "counted")) {
        counted();
    } else {
        if (1 >= fp_rank) {
            all_sizes(2 > argc || 0 != strcmp(argv[1], "stock"));
        }
        if (with_threads) {
            threads();
        }
        many();
    }
    return fp_finish();
}
