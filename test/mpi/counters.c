/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_T counters of sends that leave at once, and of those that do not, by reason.
 *
 * What can be tried depends on how the job runs, so that is said: nothing; "threads" for the same with
 * MPI_THREAD_MULTIPLE; "tcp" for a transport without sendi; "limit" where there is little credit;
 * "off" with use_immediate_send 0; "refuse" with debug_fault_percent; "bells" with six ranks; "shared" with
 * three, which share cores, and 48 buffers for 4 KiB. */

#include "support/fp_counters.h"

enum { TAG = 91, MESSAGES = 50, SHORT = 8, MEDIUM = 500, LONG = 600000, SOME = 16, MANY = 300 };
enum { MOST_TO_ONESELF = 64 << 10, MOST_COPIED = 2048 };
enum { ONE_BUFFER = 3000, TWO_BUFFERS = 5000, FOUR_BUFFERS = 16000 }; /* of 4 KiB */
enum { BUFFERS = 36 };                                                /* that one peer gets of 48 */

/* Those of btl/fastsm stand behind those of sends. */
enum { BELL_SCANS = FP_SENDS, FIFO_FULL, ALL_COUNTERS };

static const char *const names[ALL_COUNTERS] = {FP_SEND_COUNTERS, "btl_fastsm_bell_scans",
                                                "btl_fastsm_fifo_full"};

/* So many sends have counted as `what`, and none as anything else. */
static void expect(const fp_counts_t *before, int what, unsigned long number)
{
    const fp_counts_t counts = fp_counters_since(before);

    for (int i = 0; i < FP_SENDS; i++) {
        fp_check(counts.value[i] == (i == what ? number : 0), __FILE__, __LINE__, "%s is %lu", names[i],
                 counts.value[i]);
    }
}

/* Each send has counted once, as one of two. Returns the number of the second. */
static unsigned long expect_either(const fp_counts_t *before, int first, int second, unsigned long number)
{
    const fp_counts_t counts = fp_counters_since(before);

    CHECK_INT(counts.value[first] + counts.value[second], number);
    for (int i = 0; i < FP_SENDS; i++) {
        fp_check(i == first || i == second || 0 == counts.value[i], __FILE__, __LINE__, "%s is %lu", names[i],
                 counts.value[i]);
    }
    return counts.value[second];
}

static void send_many(fp_message_t *messages, int count, size_t length)
{
    for (int i = 0; i < count; i++) {
        fp_isend(&messages[i], &fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
    }
}

static void wait_many(fp_message_t *messages, int count)
{
    for (int i = 0; i < count; i++) {
        fp_wait_send(&messages[i]);
    }
}

static void receive_many(int count, size_t length)
{
    for (int i = 0; i < count; i++) {
        fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
    }
}

/* Blocking and nonblocking, ready and buffered ones: all that a receiver need not answer. */
static void short_ones(int what)
{
    fp_case("short ones");
    if (0 == fp_rank) {
        fp_counts_t before;

        fp_send(&fp_modes[FP_STANDARD], SHORT, 1, TAG, 0, MPI_COMM_WORLD); /* makes the connection */
        fp_await(1, MPI_COMM_WORLD);                                       /* the FIFO is empty */
        before = fp_counters_now();
        for (int i = 0; i < MESSAGES; i++) {
            fp_send(&fp_modes[FP_STANDARD], (size_t) i, 1, TAG, i, MPI_COMM_WORLD);
        }
        expect(&before, what, MESSAGES);
    } else if (1 == fp_rank) {
        fp_recv(SHORT, 0, TAG, 0, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
        for (int i = 0; i < MESSAGES; i++) {
            fp_recv((size_t) i, 0, TAG, i, MPI_COMM_WORLD);
        }
    }
}

static void one(const fp_mode_t *mode, size_t length, int what)
{
    fp_message_t message;

    if (0 == fp_rank) {
        fp_counts_t before = fp_counters_now();

        fp_isend(&message, mode, length, 1, TAG, 0, MPI_COMM_WORLD);
        expect(&before, what, 1);
        fp_wait_send(&message);
    } else if (1 == fp_rank) {
        fp_recv(length, 0, TAG, 0, MPI_COMM_WORLD);
    }
}

/* The receiver comes back and takes what has been sent, and the FIFO is empty again. */
static void empty_again(fp_away_t *away, fp_message_t *messages, int count, size_t length)
{
    if (0 == fp_rank) {
        fp_come_back(away);
        wait_many(messages, count);
        fp_await(1, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        receive_many(count, length);
        fp_signal(0, MPI_COMM_WORLD);
    }
}

/* A FIFO that has no room for messages of several slots has some for references to buffers. */
static void nearly_full(void)
{
    static fp_message_t messages[SOME];
    fp_away_t away;

    fp_case("a FIFO without several free slots");
    fp_leave(&away, 1, TAG + 1);
    if (0 == fp_rank) {
        fp_counts_t before = fp_counters_now();
        unsigned long times = fp_counter(FIFO_FULL);

        send_many(messages, SOME, MEDIUM);
        CHECK(times < fp_counter(FIFO_FULL));
        expect(&before, FP_SENDS_IMMEDIATE, SOME);
    }
    empty_again(&away, messages, SOME, MEDIUM);
}

/* Nobody takes anything out of the FIFO, so it is full at some time. */
static void full(void)
{
    static fp_message_t messages[MANY];
    fp_away_t away;

    fp_case("a full FIFO");
    fp_leave(&away, 1, TAG + 1);
    if (0 == fp_rank) {
        fp_counts_t before = fp_counters_now();
        unsigned long refused, times = fp_counter(FIFO_FULL);

        send_many(messages, MANY, SHORT);
        CHECK(times < fp_counter(FIFO_FULL));
        refused = expect_either(&before, FP_SENDS_IMMEDIATE, FP_SENDS_NO_ROOM, MANY);
        CHECK(0 < refused && refused < MANY);
    }
    empty_again(&away, messages, MANY, SHORT);
}

/* Nobody reads what is in buffers, so only some messages use them; and again when these have been read.
 * Somebody else who waits for a message gets it meanwhile. */
static void not_all_buffers(int count, size_t length, unsigned long most)
{
    static fp_message_t messages[MANY];
    fp_away_t away;

    fp_case("not all buffers in use by messages of %zu bytes", length);
    for (int times = 0; times < 2; times++) {
        fp_leave(&away, 1, TAG + 1);
        if (0 == fp_rank) {
            fp_counts_t before = fp_counters_now(), counts;

            send_many(messages, count, length);
            counts = fp_counters_since(&before);
            CHECK(0 < counts.value[FP_SENDS_IMMEDIATE] && counts.value[FP_SENDS_IMMEDIATE] <= most);
            CHECK(0 < counts.value[FP_SENDS_NO_ROOM]);
            fp_send(&fp_modes[FP_STANDARD], length, 2, TAG, 0, MPI_COMM_WORLD);
        } else if (2 == fp_rank) {
            fp_recv(length, 0, TAG, 0, MPI_COMM_WORLD);
        }
        empty_again(&away, messages, count, length);
    }
}

/* As full(), but there is credit for less than the FIFO holds. */
static void credit(void)
{
    static fp_message_t messages[MANY];
    fp_away_t away;

    fp_case("no credit");
    fp_leave(&away, 1, TAG + 1);
    if (0 == fp_rank) {
        fp_counts_t before = fp_counters_now();
        unsigned long without;

        send_many(messages, MESSAGES, SHORT);
        without = expect_either(&before, FP_SENDS_IMMEDIATE, FP_SENDS_NO_CREDIT, MESSAGES);
        CHECK(0 < without && without < MESSAGES);
        fp_come_back(&away);
        wait_many(messages, MESSAGES);
    } else if (1 == fp_rank) {
        receive_many(MESSAGES, SHORT);
    }
}

/* What the transport refuses waits for progress, and what is sent meanwhile queues behind it. */
static void refused(void)
{
    static fp_message_t messages[MANY];

    fp_case("refused and queued");
    if (0 == fp_rank) {
        fp_counts_t before = fp_counters_now(), counts;
        unsigned long sum = 0;

        send_many(messages, MANY, SHORT);
        counts = fp_counters_since(&before);
        for (int i = 0; i < FP_SENDS; i++) {
            sum += counts.value[i];
        }
        CHECK_INT(sum, MANY);
        CHECK(0 < counts.value[FP_SENDS_QUEUED]);
        CHECK(0 < counts.value[FP_SENDS_NO_ROOM]);
        wait_many(messages, MANY);
    } else if (1 == fp_rank) {
        receive_many(MANY, SHORT);
    }
}

/* Who has more peers than it keeps in mind looks at the bells when there is nothing else. */
static void bells(void)
{
    unsigned long times = fp_counter(BELL_SCANS);
    int flag;

    fp_case("bells");
    for (int i = 0; i < MESSAGES; i++) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, TAG + 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    CHECK(times < fp_counter(BELL_SCANS));
}

/* Whole, by a BTL that is not ours, up to 64 KiB, whether the receive is there or not. */
static void oneself(size_t length, bool posted, int what)
{
    fp_message_t in, out;
    fp_counts_t before = fp_counters_now();

    fp_case("%zu bytes to oneself, %s", length, posted ? "expected" : "not expected");
    if (posted) {
        fp_irecv(&in, length, fp_rank, TAG, 0, MPI_COMM_WORLD);
    }
    fp_isend(&out, &fp_modes[FP_STANDARD], length, fp_rank, TAG, 0, MPI_COMM_WORLD);
    if (!posted) {
        fp_irecv(&in, length, fp_rank, TAG, 0, MPI_COMM_WORLD);
    }
    expect(&before, what, 1);
    fp_wait_recv(&in);
    fp_wait_send(&out);
}

int main(int argc, char **argv)
{
    const char *options = 1 < argc ? argv[1] : "plain";
    const int level = 0 == strcmp("threads", options) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;

    (void) fp_init_thread(&argc, &argv, 0 == strcmp("shared", options) ? 3 : 2, level);
    fp_counters_open(level, names, 0 == strcmp("tcp", options) ? FP_SENDS : ALL_COUNTERS);
    if (0 == strcmp("tcp", options)) {
        short_ones(FP_SENDS_IMMEDIATE);
        fp_case("buffered");
        one(&fp_modes[FP_BUFFERED], SHORT, FP_SENDS_IMMEDIATE);
        fp_case("as long as is copied, and longer");
        one(&fp_modes[FP_STANDARD], MOST_COPIED, FP_SENDS_IMMEDIATE);
        one(&fp_modes[FP_STANDARD], MOST_COPIED + 1, FP_SENDS_NO_SENDI);
    } else if (0 == strcmp("off", options)) {
        short_ones(FP_SENDS_OTHER);
    } else if (0 == strcmp("limit", options)) {
        credit();
    } else if (0 == strcmp("refuse", options)) {
        refused();
    } else if (0 == strcmp("shared", options)) {
        not_all_buffers(MESSAGES, ONE_BUFFER, BUFFERS);
        not_all_buffers(MESSAGES, TWO_BUFFERS, BUFFERS / 2);
        not_all_buffers(SOME, FOUR_BUFFERS, BUFFERS / 4);
    } else if (0 == strcmp("bells", options)) {
        bells();
    } else {
        short_ones(FP_SENDS_IMMEDIATE);
        fp_case("buffered"); /* before the FIFO is full: with threads it is not asked again for room then */
        one(&fp_modes[FP_BUFFERED], SHORT, FP_SENDS_IMMEDIATE);
        nearly_full();
        full();
    }
    for (int posted = 0; posted < 2 && 0 == strcmp("plain", options); posted++) {
        oneself(SHORT, posted, FP_SENDS_IMMEDIATE);
        oneself(MOST_TO_ONESELF, posted, FP_SENDS_IMMEDIATE);
        oneself(MOST_TO_ONESELF + 1, posted, FP_SENDS_LONG);
    }
    if (0 != strcmp("refuse", options)) {
        fp_case("synchronous");
        one(&fp_modes[FP_SYNCHRONOUS], SHORT, FP_SENDS_MODE);
    }
    if (0 != strcmp("refuse", options) && 0 != strcmp("off", options)) {
        fp_case("long");
        one(&fp_modes[FP_STANDARD], LONG, FP_SENDS_LONG);
    }
    fp_counters_close();
    return fp_finish();
}
