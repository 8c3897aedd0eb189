/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A process that stops while a message of its leaves in several buffers: chunks_stopped [random|sleep]
 *
 * (none)   rank 1's data has a page that cannot be read until it is told so, so that the message has begun
 *          and does not go on. Rank 2 learns that and sends to rank 0, which receives in all kinds of ways.
 *          What it receives comes from rank 2, and nothing else is written. Then rank 1's message comes. A
 *          blocking receive may have decided for rank 1's: it gets that whole, and rank 2's message comes
 *          then; so there rank 2 tells rank 1 to go on.
 * random   rank 1 sends all the time; rank 3 stops it at random times, and then rank 2 and rank 0 exchange
 *          messages before it goes on; rank 0 posts its receives
 * sleep    the same, but rank 0 calls MPI_Recv, and rank 1 goes on after some time
 */

#include "support/fp_counters.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 4096, PAGES = 4, LENGTH = PAGES * BUFFER, SHORT = 24, TAG = 3, OTHER = 4, ROUNDS = 150 };

static unsigned char *area;
static volatile sig_atomic_t may_go, has_stalled;
static int pids[4];

static void pause_a_little(void)
{
    const struct timespec pause = {.tv_nsec = 200 * 1000};

    nanosleep(&pause, NULL);
}

/* ---- the page ---- */

static void on_go(int number)
{
    (void) number;
    may_go = 1;
}

static void on_stall(int number)
{
    (void) number;
    has_stalled = 1;
}

/* Rank 1 needs the page. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const unsigned char *address = info->si_addr;

    (void) context;
    if (address < area || address >= area + LENGTH) {
        signal(number, SIG_DFL);
        return;
    }
    kill(pids[2], SIGUSR2);
    while (!may_go) {
        pause_a_little();
    }
    mprotect(area, LENGTH, PROT_READ | PROT_WRITE);
}

static void catch_signals(void)
{
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, go = {.sa_handler = on_go},
                     stall = {.sa_handler = on_stall};

    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGUSR1, &go, NULL);
    sigaction(SIGUSR2, &stall, NULL);
}

/* ---- ranks 1 and 2 ---- */

/* The page before that which cannot be read is a buffer that leaves. */
static void send_stalling(int page, int sequence, bool after_short)
{
    fp_fill(area, LENGTH, fp_key(1, 0, TAG, sequence));
    may_go = 0;
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (after_short) {
        fp_sleep_ms(5); /* rank 0 has left the barrier */
        fp_send(&fp_modes[FP_STANDARD], SHORT, 0, OTHER, sequence, MPI_COMM_WORLD);
    }
    mprotect(area + (size_t) page * BUFFER, BUFFER, PROT_NONE);
    FP(MPI_Send(area, LENGTH, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    CHECK(0 != may_go);
}

static void send_when_it_has_stalled(int tag, int sequence, bool tells)
{
    has_stalled = 0;
    FP(MPI_Barrier(MPI_COMM_WORLD));
    while (!has_stalled) {
        pause_a_little();
    }
    fp_sleep_ms(5); /* rank 0 finds what there is of the message */
    fp_send(&fp_modes[FP_STANDARD], SHORT, 0, tag, sequence, MPI_COMM_WORLD);
    if (tells) {
        fp_sleep_ms(5);
        kill(pids[1], SIGUSR1);
    }
}

/* ---- rank 0 ---- */

static void check_short(const unsigned char *buffer, const MPI_Status *status, int sequence)
{
    CHECK_STATUS(status, 2, TAG, SHORT);
    CHECK_DATA(buffer, SHORT, fp_key(2, 0, TAG, sequence));
    CHECK_POISON(buffer + SHORT, LENGTH - SHORT);
}

static void by_recv(unsigned char *buffer, MPI_Status *status)
{
    FP(MPI_Recv(buffer, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status));
}

static void by_any_tag(unsigned char *buffer, MPI_Status *status)
{
    FP(MPI_Recv(buffer, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status));
}

static void by_wait(unsigned char *buffer, MPI_Status *status)
{
    MPI_Request request;

    FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Wait(&request, status));
}

static void by_test(unsigned char *buffer, MPI_Status *status)
{
    MPI_Request request;
    int flag = 0;

    FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request));
    while (!flag) {
        FP(MPI_Test(&request, &flag, status));
    }
}

/* A receive from anybody that has less room than rank 1's message needs. */
static void with_less_room(unsigned char *buffer, MPI_Status *status)
{
    FP(MPI_Recv(buffer, LENGTH - BUFFER, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status));
}

static void by_probe(unsigned char *buffer, MPI_Status *status)
{
    FP(MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status));
    CHECK_INT(status->MPI_SOURCE, 2);
    FP(MPI_Recv(buffer, LENGTH, MPI_BYTE, status->MPI_SOURCE, TAG, MPI_COMM_WORLD, status));
}

static void by_waitany(unsigned char *buffer, MPI_Status *status)
{
    MPI_Request requests[2];
    unsigned char more[8];
    int index;

    FP(MPI_Irecv(more, sizeof(more), MPI_BYTE, 2, OTHER + 1, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &requests[1]));
    FP(MPI_Waitany(2, requests, &index, status));
    CHECK_INT(index, 1);
    CHECK(fp_cancel(&requests[0]));
}

/* Into a vector, whose gaps stay, as does what lies behind. */
static void by_vector(unsigned char *buffer, MPI_Status *status)
{
    enum { BLOCK = 8 };
    unsigned char *area_of_vector = fp_alloc(2 * LENGTH);
    MPI_Datatype type;
    int length;

    FP(MPI_Type_vector(LENGTH / BLOCK, BLOCK, 2 * BLOCK, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    FP(MPI_Recv(area_of_vector, 1, type, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status));
    length = 1 == status->MPI_SOURCE ? LENGTH : SHORT;
    for (int i = 0; i < length / BLOCK; i++) {
        memcpy(buffer + i * BLOCK, area_of_vector + 2 * i * BLOCK, BLOCK);
        CHECK_POISON(area_of_vector + (2 * i + 1) * BLOCK, BLOCK);
    }
    CHECK_POISON(area_of_vector + 2 * length, 2 * LENGTH - 2 * length);
    FP(MPI_Type_free(&type));
    fp_free(area_of_vector);
}

typedef struct {
    const char *name;
    void (*receive)(unsigned char *buffer, MPI_Status *status);
    bool may_begin; /* rank 1's message may be the one that it gets */
} way_t;

static void receive_both(const way_t *way, int sequence)
{
    unsigned char *buffer = fp_alloc(LENGTH);
    MPI_Status status;

    FP(MPI_Barrier(MPI_COMM_WORLD));
    way->receive(buffer, &status);
    if (way->may_begin && 1 == status.MPI_SOURCE) {
        CHECK_STATUS(&status, 1, TAG, LENGTH);
        CHECK_DATA(buffer, LENGTH, fp_key(1, 0, TAG, sequence));
        fp_recv(SHORT, 2, TAG, sequence, MPI_COMM_WORLD);
    } else {
        check_short(buffer, &status, sequence);
        if (!way->may_begin) {
            kill(pids[1], SIGUSR1);
        }
        fp_recv(LENGTH, 1, TAG, sequence, MPI_COMM_WORLD);
    }
    fp_free(buffer);
}

/* A receive from rank 1 that is cancelled has written nothing; one that is not has its message. */
static void cancel_receive(MPI_Request request, unsigned char *buffer, int sequence)
{
    MPI_Status status;

    FP(MPI_Cancel(&request));
    kill(pids[1], SIGUSR1);
    FP(MPI_Wait(&request, &status));
    if (fp_was_cancelled(&status)) {
        CHECK_POISON(buffer, LENGTH);
        fp_recv(LENGTH, 1, TAG, sequence, MPI_COMM_WORLD);
    } else {
        CHECK_STATUS(&status, 1, TAG, LENGTH);
        CHECK_DATA(buffer, LENGTH, fp_key(1, 0, TAG, sequence));
    }
}

/* A receive from rank 1 that is cancelled has written nothing, whether it was there before the message began
 * or not. */
static void cancel(int sequence)
{
    unsigned char *buffer = fp_alloc(LENGTH);
    MPI_Request request;
    const bool before = 0 == sequence % 2;
    int flag = 0;

    if (before) {
        FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_recv(SHORT, 2, OTHER, sequence, MPI_COMM_WORLD);
    if (!before) {
        FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    }
    for (int i = 0; i < 20; i++) {
        FP(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    cancel_receive(request, buffer, sequence);
    fp_free(buffer);
}

/* MPI_Waitall for two receives from rank 1 ends with an error of the first one, while the message for the
 * other one has begun. */
static void cancel_after_error(int sequence)
{
    unsigned char *buffer = fp_alloc(LENGTH), *half = fp_alloc(SHORT / 2);
    MPI_Request requests[2];
    MPI_Status statuses[2];

    FP(MPI_Irecv(half, SHORT / 2, MPI_BYTE, 1, OTHER, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[1]));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_sleep_ms(20); /* what there is of both messages comes */
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_ERR_IN_STATUS == MPI_Waitall(2, requests, statuses));
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK(MPI_ERR_TRUNCATE == statuses[0].MPI_ERROR);
    CHECK(MPI_ERR_PENDING == statuses[1].MPI_ERROR);
    cancel_receive(requests[1], buffer, sequence);
    fp_free(half);
    fp_free(buffer);
}

/* What there is of the message fills the buffer. It is not received before its sender has written the rest,
 * which rank 2 lets it do when it has sent its own message. */
static void truncated(int page, int sequence)
{
    const size_t room = (size_t) page * BUFFER;
    unsigned char *buffer = fp_alloc(room);
    MPI_Request request;
    int flag;

    FP(MPI_Irecv(buffer, (int) room, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FP_ERROR(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    FP(MPI_Iprobe(2, OTHER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    fp_recv(SHORT, 2, OTHER, sequence, MPI_COMM_WORLD);
    CHECK_DATA(buffer, room, fp_key(1, 0, TAG, sequence));
    fp_free(buffer);
}

/* ---- a page that comes late ---- */

static void stalls(void)
{
    static const way_t ways[] = {{"MPI_Recv", by_recv, true},          {"MPI_ANY_TAG", by_any_tag, true},
                                 {"MPI_Wait", by_wait, false},         {"MPI_Test", by_test, false},
                                 {"MPI_Waitany", by_waitany, false},   {"MPI_Probe", by_probe, false},
                                 {"less room", with_less_room, false}, {"a vector", by_vector, true}};
    const int count = (int) (sizeof(ways) / sizeof(ways[0]));

    catch_signals();
    for (int page = 0; page < PAGES; page++) {
        for (int i = 0; i <= count + 3; i++) {
            const int sequence = page * 100 + i;
            const bool error = count + 2 == i, is_short = count + 3 == i;

            fp_case("page %d, %s", page,
                    i < count  ? ways[i].name
                    : error    ? "MPI_Waitall in error"
                    : is_short ? "a short buffer"
                               : "MPI_Cancel");
            if (0 == fp_rank && i < count) {
                receive_both(&ways[i], sequence);
            } else if (0 == fp_rank && error) {
                cancel_after_error(sequence);
            } else if (0 == fp_rank && is_short) {
                truncated(page, sequence);
            } else if (0 == fp_rank) {
                cancel(sequence);
            } else if (1 == fp_rank) {
                send_stalling(page, sequence, error);
            } else if (2 == fp_rank && !error) {
                send_when_it_has_stalled(i < count ? TAG : OTHER, sequence,
                                         is_short || (i < count && ways[i].may_begin));
            } else {
                FP(MPI_Barrier(MPI_COMM_WORLD));
            }
            FP(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
}

/* ---- at random ---- */

enum { LAST = 9, EXCHANGES = 5 };

static size_t long_length(int sequence)
{
    fp_random_t random = {.state = (uint64_t) sequence + 1};

    return fp_random_between(&random, BUFFER + 1, (0 == sequence % 4 ? 32 : PAGES) * BUFFER);
}

/* Rank 1, until rank 0 says that it is enough. */
static void send_all_the_time(void)
{
    MPI_Request enough;
    int flag = 0, sequence = 0;

    FP(MPI_Irecv(NULL, 0, MPI_BYTE, 0, LAST, MPI_COMM_WORLD, &enough));
    while (!flag) {
        fp_send(&fp_modes[FP_STANDARD], long_length(sequence), 0, TAG, sequence, MPI_COMM_WORLD);
        ++sequence;
        FP(MPI_Test(&enough, &flag, MPI_STATUS_IGNORE));
    }
    FP(MPI_Send(&sequence, 0, MPI_BYTE, 0, LAST, MPI_COMM_WORLD));
}

/* Whether rank 1 goes on without rank 0's doing. */
static bool sleeps;

/* Rank 2: each time that rank 1 is stopped. */
static void exchange(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        fp_await(3, MPI_COMM_WORLD);
        for (int i = 0; i < EXCHANGES; i++) {
            fp_send(&fp_modes[FP_STANDARD], SHORT, 0, OTHER, round * EXCHANGES + i, MPI_COMM_WORLD);
            fp_await(0, MPI_COMM_WORLD);
        }
        fp_signal(3, MPI_COMM_WORLD);
    }
}

static void stop_and_go(void)
{
    fp_random_t random = {.state = 17};

    for (int round = 0; round < ROUNDS; round++) {
        const struct timespec pause = {.tv_nsec = (long) fp_random_between(&random, 1, 3000 * 1000)};

        nanosleep(&pause, NULL);
        kill(pids[1], SIGSTOP);
        fp_signal(2, MPI_COMM_WORLD);
        if (sleeps) {
            nanosleep(&pause, NULL);
            kill(pids[1], SIGCONT);
        }
        fp_await(2, MPI_COMM_WORLD);
        kill(pids[1], SIGCONT);
    }
}

/* Rank 0 takes what comes. Returns whether that was rank 1's last. */
static bool take_next(unsigned char *buffer, int *longs, int *shorts)
{
    MPI_Request request;
    MPI_Status status;
    size_t length = SHORT;

    if (sleeps) {
        FP(MPI_Recv(buffer, 33 * BUFFER, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    } else {
        FP(MPI_Irecv(buffer, 33 * BUFFER, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Wait(&request, &status));
    }
    if (LAST == status.MPI_TAG) {
        return true;
    }
    if (TAG == status.MPI_TAG) {
        length = long_length(*longs);
        CHECK_STATUS(&status, 1, TAG, length);
        CHECK_DATA(buffer, length, fp_key(1, 0, TAG, (*longs)++));
    } else {
        CHECK_STATUS(&status, 2, OTHER, SHORT);
        CHECK_DATA(buffer, SHORT, fp_key(2, 0, OTHER, (*shorts)++));
    }
    CHECK_POISON(buffer + length, 33 * BUFFER - length);
    fp_poison(buffer, length);
    if (OTHER == status.MPI_TAG) {
        fp_signal(2, MPI_COMM_WORLD);
        if (ROUNDS * EXCHANGES == *shorts) {
            FP(MPI_Send(NULL, 0, MPI_BYTE, 1, LAST, MPI_COMM_WORLD));
        }
    }
    return false;
}

static void at_random(void)
{
    unsigned char *buffer;
    int longs = 0, shorts = 0;

    fp_case("at random%s", sleeps ? ", asleep" : "");
    switch (fp_rank) {
    case 0:
        buffer = fp_alloc(33 * BUFFER);
        while (!take_next(buffer, &longs, &shorts)) {
        }
        CHECK_INT(shorts, ROUNDS * EXCHANGES);
        fp_free(buffer);
        break;
    case 1:
        send_all_the_time();
        break;
    case 2:
        exchange();
        break;
    default:
        if (3 == fp_rank) {
            stop_and_go();
        }
    }
}

int main(int argc, char **argv)
{
    const bool random = 2 == argc;
    int pid = (int) getpid(), all[8];

    sleeps = random && 0 == strcmp(argv[1], "sleep");
    setenv("OMPI_MCA_pml_fastpath_help_limit", "0", 1); /* a sender that is stopped does not copy its part */
    fp_init(&argc, &argv, random ? 4 : 3);
    if (8 < fp_size) {
        fp_skip("too many ranks");
    }
    FP(MPI_Allgather(&pid, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    memcpy(pids, all, (random ? 4 : 3) * sizeof(pids[0]));
    area = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MAP_FAILED != (void *) area);
    if (random) {
        at_random();
    } else {
        stalls();
    }
    munmap(area, LENGTH);
    return fp_finish();
}
