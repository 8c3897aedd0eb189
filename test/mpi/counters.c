/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_T counters of sends that leave at once, and of those that do not, by reason.
 *
 * What can be tried depends on how the job runs, so that is said: nothing; "threads" for the same with
 * MPI_THREAD_MULTIPLE; "tcp" for a transport that cannot send at once; "limit" where there is little credit;
 * "off" with use_sendi 0; "refuse" with debug_refuse; "bells" with six ranks. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { TAG = 91, MESSAGES = 50, SHORT = 8, LONG = 200000, MANY = 300 };

/* In the order of names[]. */
enum { AT_ONCE, QUEUED, TOO_LONG, NO_CREDIT, NO_ROOM, NO_SENDI, MODE, OTHER, COUNTERS };

static const char *const names[COUNTERS] = {"sends_at_once",   "sends_queued",  "sends_long",
                                            "sends_no_credit", "sends_no_room", "sends_no_sendi",
                                            "sends_mode",      "sends_other"};

typedef struct {
    unsigned long value[COUNTERS];
} counts_t;

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS], bell_scans, fifo_full;
static bool with_fastsm; /* else it has no counters either */

static void open_counter(const char *name, MPI_T_pvar_handle *handle)
{
    int index, count;

    FP(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    FP(MPI_T_pvar_handle_alloc(session, index, NULL, handle, &count));
    CHECK_INT(count, 1);
}

static void open_counters(int level)
{
    FP(MPI_T_init_thread(level, &level));
    FP(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < COUNTERS; i++) {
        char name[64];

        snprintf(name, sizeof(name), "pml_fastpath_%s", names[i]);
        open_counter(name, &handles[i]);
    }
    if (with_fastsm) {
        open_counter("btl_fastsm_bell_scans", &bell_scans);
        open_counter("btl_fastsm_fifo_full", &fifo_full);
    }
}

static void close_counters(void)
{
    for (int i = 0; i < COUNTERS; i++) {
        FP(MPI_T_pvar_handle_free(session, &handles[i]));
    }
    if (with_fastsm) {
        FP(MPI_T_pvar_handle_free(session, &bell_scans));
        FP(MPI_T_pvar_handle_free(session, &fifo_full));
    }
    FP(MPI_T_pvar_session_free(&session));
    FP(MPI_T_finalize());
}

static unsigned long value_of(MPI_T_pvar_handle handle)
{
    unsigned long value = 0;

    FP(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static counts_t now(void)
{
    counts_t counts;

    for (int i = 0; i < COUNTERS; i++) {
        counts.value[i] = value_of(handles[i]);
    }
    return counts;
}

/* What has been counted since. */
static counts_t since(counts_t before)
{
    counts_t counts = now();

    for (int i = 0; i < COUNTERS; i++) {
        counts.value[i] -= before.value[i];
    }
    return counts;
}

/* So many sends have counted as `what`, and none as anything else. */
static void expect(counts_t before, int what, unsigned long number)
{
    counts_t counts = since(before);

    for (int i = 0; i < COUNTERS; i++) {
        fp_check(counts.value[i] == (i == what ? number : 0), __FILE__, __LINE__, "%s is %lu", names[i],
                 counts.value[i]);
    }
}

/* Each send has counted once, as one of two. Returns the number of the second. */
static unsigned long expect_either(counts_t before, int first, int second, unsigned long number)
{
    counts_t counts = since(before);

    CHECK_INT(counts.value[first] + counts.value[second], number);
    for (int i = 0; i < COUNTERS; i++) {
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

/* Where the two tell each other outside MPI: rank 0 makes a file, whose name rank 1 gets. */
static void meet(char *path, size_t size)
{
    if (0 == fp_rank) {
        const char *directory = getenv("TMPDIR");
        int fd;

        snprintf(path, size, "%s/fastpath-counters-XXXXXX", NULL == directory ? "/tmp" : directory);
        fd = mkstemp(path);
        fp_check(0 <= fd, __FILE__, __LINE__, "%s: %s", path, strerror(errno));
        close(fd);
        FP(MPI_Ssend(path, (int) size, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD));
    } else if (1 == fp_rank) {
        FP(MPI_Recv(path, (int) size, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* Rank 1 is outside MPI from when it has removed the file until rank 0 has made it again. */
static void leave(char *path, size_t size)
{
    meet(path, size);
    fp_at(__FILE__, __LINE__, "the other rank, outside MPI");
    if (0 == fp_rank) {
        while (0 == access(path, F_OK)) {
            fp_sleep_ms(1);
        }
    } else if (1 == fp_rank) {
        CHECK_INT(unlink(path), 0);
        while (0 != access(path, F_OK)) {
            fp_sleep_ms(1);
        }
        CHECK_INT(unlink(path), 0);
    }
}

static void come_back(const char *path)
{
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Blocking and nonblocking, ready and buffered ones: all that a receiver need not answer. */
static void short_ones(int what)
{
    fp_case("short ones");
    if (0 == fp_rank) {
        counts_t before;

        fp_send(&fp_modes[FP_STANDARD], SHORT, 1, TAG, 0, MPI_COMM_WORLD); /* makes the connection */
        fp_await(1, MPI_COMM_WORLD);                                       /* the FIFO is empty */
        before = now();
        for (int i = 0; i < MESSAGES; i++) {
            fp_send(&fp_modes[FP_STANDARD], (size_t) i, 1, TAG, i, MPI_COMM_WORLD);
        }
        expect(before, what, MESSAGES);
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
        counts_t before = now();

        fp_isend(&message, mode, length, 1, TAG, 0, MPI_COMM_WORLD);
        expect(before, what, 1);
        fp_wait_send(&message);
    } else if (1 == fp_rank) {
        fp_recv(length, 0, TAG, 0, MPI_COMM_WORLD);
    }
}

/* Nobody takes anything out of the FIFO, so it is full at some time. */
static void full(void)
{
    static fp_message_t messages[MANY];
    char path[256];

    fp_case("a full FIFO");
    leave(path, sizeof(path));
    if (0 == fp_rank) {
        counts_t before = now();
        unsigned long refused, times = value_of(fifo_full);

        send_many(messages, MANY, SHORT);
        CHECK(times < value_of(fifo_full));
        refused = expect_either(before, AT_ONCE, NO_ROOM, MANY);
        CHECK(0 < refused && refused < MANY);
        come_back(path);
        wait_many(messages, MANY);
        fp_await(1, MPI_COMM_WORLD); /* it is empty again */
    } else if (1 == fp_rank) {
        receive_many(MANY, SHORT);
        fp_signal(0, MPI_COMM_WORLD);
    }
}

/* As full(), but there is credit for less than the FIFO holds. */
static void credit(void)
{
    static fp_message_t messages[MANY];
    char path[256];

    fp_case("no credit");
    leave(path, sizeof(path));
    if (0 == fp_rank) {
        counts_t before = now();
        unsigned long without;

        send_many(messages, MESSAGES, SHORT);
        without = expect_either(before, AT_ONCE, NO_CREDIT, MESSAGES);
        CHECK(0 < without && without < MESSAGES);
        come_back(path);
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
        counts_t before = now(), counts;
        unsigned long sum = 0;

        send_many(messages, MANY, SHORT);
        counts = since(before);
        for (int i = 0; i < COUNTERS; i++) {
            sum += counts.value[i];
        }
        CHECK_INT(sum, MANY);
        CHECK(0 < counts.value[QUEUED]);
        CHECK(0 < counts.value[NO_ROOM]);
        wait_many(messages, MANY);
    } else if (1 == fp_rank) {
        receive_many(MANY, SHORT);
    }
}

/* Who has more peers than it keeps in mind looks at the bells when there is nothing else. */
static void bells(void)
{
    unsigned long times = value_of(bell_scans);
    int flag;

    fp_case("bells");
    for (int i = 0; i < MESSAGES; i++) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, TAG + 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    CHECK(times < value_of(bell_scans));
}

int main(int argc, char **argv)
{
    const char *options;
    int level = MPI_THREAD_SINGLE;

    if (1 < argc && 0 == strcmp("threads", argv[1])) {
        level = MPI_THREAD_MULTIPLE;
    }
    (void) fp_init_thread(&argc, &argv, 2, level);
    options = 1 < argc ? argv[1] : "plain";
    with_fastsm = 0 != strcmp("tcp", options);
    open_counters(level);
    if (0 == strcmp("tcp", options)) {
        short_ones(NO_SENDI);
    } else if (0 == strcmp("off", options)) {
        short_ones(OTHER);
    } else if (0 == strcmp("limit", options)) {
        credit();
    } else if (0 == strcmp("refuse", options)) {
        refused();
    } else if (0 == strcmp("bells", options)) {
        bells();
    } else {
        short_ones(AT_ONCE);
        fp_case("buffered"); /* before the FIFO is full: with threads it is not asked again for room then */
        one(&fp_modes[FP_BUFFERED], SHORT, AT_ONCE);
        full();
    }
    if (0 != strcmp("refuse", options)) {
        fp_case("synchronous");
        one(&fp_modes[FP_SYNCHRONOUS], SHORT, MODE);
    }
    if (0 != strcmp("refuse", options) && 0 != strcmp("off", options)) {
        fp_case("long");
        one(&fp_modes[FP_STANDARD], LONG, TOO_LONG);
    }
    close_counters();
    return fp_finish();
}
