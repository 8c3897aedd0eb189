/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Requests of every kind in one array, completed by all of MPI_Wait* and MPI_Test*; receives whose message is
 * there when they start; errors, cancels and frees of such requests; traffic that has to move although
 * somebody waits for something else.  Rank 1 receives from rank 0.
 *
 * Usage: waits [threads] */

#include "support/fp_test.h"

#include <unistd.h>

enum { TAG = 40, OTHER = 90, LONG = 2 << 20, ROUNDS = 30, STREAM = 3000, WINDOW = 64 };

typedef enum { WAIT, WAITANY, WAITSOME, WAITALL, TEST, TESTANY, TESTSOME, TESTALL, FAMILIES } family_t;
static const char *const family_names[FAMILIES] = {"wait", "waitany", "waitsome", "waitall",
                                                   "test", "testany", "testsome", "testall"};

/* ------------------------------------------------------- one request of every kind */

enum {
    EARLY,      /* a receive whose message is there already */
    NAMED,      /* a receive by name */
    ANY,        /* a receive from whomever */
    LENGTHY,    /* a receive of a long message */
    VECTOR,     /* a receive of data with gaps */
    SEND,       /* a send that leaves at once */
    SYNC,       /* a send that waits for its receive */
    NONE,       /* MPI_REQUEST_NULL */
    NOBODY,     /* a receive from MPI_PROC_NULL */
    INACTIVE,   /* persistent, not started */
    PERSISTENT, /* persistent receive, started */
    PERSISTENT_SEND,
    GENERALIZED,
    COLLECTIVE,
    IO,
    KINDS
};

static MPI_Request requests[KINDS];
static int ends[KINDS]; /* how often each has been handed out */
static unsigned char *room[KINDS];
static int ints[20], sent[10];
static MPI_Datatype gaps;
static MPI_File file = MPI_FILE_NULL;

static int grequest_query(void *state, MPI_Status *status)
{
    (void) state;
    MPI_Status_set_elements(status, MPI_BYTE, 7);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int grequest_free(void *state)
{
    ++*(int *) state;
    return MPI_SUCCESS;
}

static int grequest_cancel(void *state, int complete)
{
    (void) state;
    (void) complete;
    return MPI_SUCCESS;
}

static int grequests_freed;

/* Receives of patterned messages. */
static const int receives[] = {EARLY, NAMED, ANY, LENGTHY, PERSISTENT};

static size_t length_of(int kind)
{
    return LENGTHY == kind ? LONG : 8;
}

static void receive(int kind, int src)
{
    room[kind] = fp_alloc(length_of(kind));
    FP(MPI_Irecv(room[kind], (int) length_of(kind), MPI_BYTE, src, TAG + kind, MPI_COMM_WORLD,
                 &requests[kind]));
}

static bool is_persistent(int kind)
{
    return INACTIVE == kind || PERSISTENT == kind || PERSISTENT_SEND == kind;
}

/* Is there a file system that Open MPI can write to? */
static void open_file(void)
{
    char name[] = "/tmp/fastpath-waits-XXXXXX";
    int fd = mkstemp(name);

    if (0 <= fd) {
        FP(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &file));
        close(fd);
    }
}

/* Starts one of each on rank 1. */
static void start(int round)
{
    static unsigned char word[8];

    memset(ends, 0, sizeof(ends));
    for (int kind = 0; kind < KINDS; kind++) {
        room[kind] = NULL;
        requests[kind] = MPI_REQUEST_NULL;
    }
    fp_await(0, MPI_COMM_WORLD); /* what is EARLY has been sent before */
    receive(EARLY, 0);
    receive(NAMED, 0);
    receive(ANY, MPI_ANY_SOURCE);
    receive(LENGTHY, 0);
    for (int i = 0; i < 20; i++) {
        ints[i] = -1;
    }
    FP(MPI_Irecv(ints, 1, gaps, 0, TAG + VECTOR, MPI_COMM_WORLD, &requests[VECTOR]));
    FP(MPI_Isend(&round, 1, MPI_INT, 0, TAG + SEND, MPI_COMM_WORLD, &requests[SEND]));
    FP(MPI_Issend(&round, 1, MPI_INT, 0, TAG + SYNC, MPI_COMM_WORLD, &requests[SYNC]));
    FP(MPI_Irecv(word, 8, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[NOBODY]));
    FP(MPI_Recv_init(word, 8, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD, &requests[INACTIVE]));
    room[PERSISTENT] = fp_alloc(8);
    FP(MPI_Recv_init(room[PERSISTENT], 8, MPI_BYTE, 0, TAG + PERSISTENT, MPI_COMM_WORLD,
                     &requests[PERSISTENT]));
    FP(MPI_Send_init(&round, 1, MPI_INT, 0, TAG + PERSISTENT_SEND, MPI_COMM_WORLD,
                     &requests[PERSISTENT_SEND]));
    FP(MPI_Start(&requests[PERSISTENT]));
    FP(MPI_Start(&requests[PERSISTENT_SEND]));
    FP(MPI_Grequest_start(grequest_query, grequest_free, grequest_cancel, &grequests_freed,
                          &requests[GENERALIZED]));
    FP(MPI_Ibarrier(MPI_COMM_WORLD, &requests[COLLECTIVE]));
    if (MPI_FILE_NULL != file) {
        FP(MPI_File_iwrite_at(file, 0, "12345678", 8, MPI_BYTE, &requests[IO]));
    }
    if (0 == round % 2) {
        FP(MPI_Grequest_complete(requests[GENERALIZED]));
    }
    fp_signal(0, MPI_COMM_WORLD);
}

/* Rank 0's side. */
static void serve(int round)
{
    MPI_Request barrier;
    int word[3], k = 0;

    fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG + EARLY, round, MPI_COMM_WORLD);
    fp_signal(1, MPI_COMM_WORLD);
    fp_await(1, MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) {
        sent[i] = round + i;
    }
    /* in another order each time */
    for (int i = 0; i < 5; i++) {
        int which = (i + round) % 5;

        if (4 == which) {
            FP(MPI_Send(sent, 10, MPI_INT, 1, TAG + VECTOR, MPI_COMM_WORLD));
        } else {
            fp_send(&fp_modes[FP_STANDARD], length_of(receives[which + 1]), 1, TAG + receives[which + 1],
                    round, MPI_COMM_WORLD);
        }
    }
    FP(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    FP(MPI_Recv(&word[k++], 1, MPI_INT, 1, TAG + SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FP(MPI_Recv(&word[k++], 1, MPI_INT, 1, TAG + SEND, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FP(MPI_Recv(&word[k++], 1, MPI_INT, 1, TAG + PERSISTENT_SEND, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FP(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
    while (0 < k) {
        CHECK_INT(word[--k], round);
    }
}

/* One request has been handed out. */
static void ended(int kind, const MPI_Status *status, int round)
{
    CHECK_INT(ends[kind]++, 0);
    CHECK(is_persistent(kind) == (MPI_REQUEST_NULL != requests[kind]));
    switch (kind) {
    case EARLY:
    case NAMED:
    case ANY:
    case LENGTHY:
    case PERSISTENT:
        CHECK_STATUS(status, 0, TAG + kind, length_of(kind));
        CHECK_DATA(room[kind], length_of(kind), fp_key(0, 1, TAG + kind, round));
        break;
    case VECTOR:
        CHECK_STATUS(status, 0, TAG + kind, 10 * sizeof(int));
        for (int i = 0; i < 20; i++) {
            CHECK_INT(ints[i], 0 == i % 2 ? round + i / 2 : -1);
        }
        break;
    case NOBODY:
        CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        break;
    case GENERALIZED:
        CHECK_STATUS(status, 3, 4, 7);
        break;
    case NONE:
    case INACTIVE:
        CHECK_EMPTY_STATUS(status);
        break;
    case IO:
    default:
        break;
    }
}

/* Is this one handed out by those that leave out what is null or inactive? */
static bool is_active(int kind)
{
    return NONE != kind && INACTIVE != kind && (IO != kind || MPI_FILE_NULL != file);
}

/* Generalized requests end when the program says so: here in the middle of it all. */
static void complete_grequest(int round)
{
    if (0 != round % 2) {
        FP(MPI_Grequest_complete(requests[GENERALIZED]));
    }
}

/* One after the other, by MPI_Wait. */
static void wait_each(int round)
{
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Status status = {.MPI_ERROR = 12345};

        FP(MPI_Wait(&requests[kind], &status));
        /* Left alone by what completes one request (MPI 3.2.5), but an empty status may say MPI_SUCCESS
         * (3.7.3). */
        CHECK_INT(status.MPI_ERROR,
                  !is_active(kind) && MPI_SUCCESS == status.MPI_ERROR ? MPI_SUCCESS : 12345);
        ended(kind, &status, round);
    }
}

/* Round and round, by MPI_Test. */
static void test_each(int round)
{
    for (int left = KINDS; 0 < left;) {
        for (int kind = 0; kind < KINDS; kind++) {
            MPI_Status status;
            int flag;

            if (0 == ends[kind]) {
                FP(MPI_Test(&requests[kind], &flag, &status));
                if (flag) {
                    ended(kind, &status, round);
                    --left;
                }
            }
        }
    }
}

static void all_at_once(bool wait, int round)
{
    MPI_Status statuses[KINDS];
    int flag = 0;

    if (wait) {
        FP(MPI_Waitall(KINDS, requests, statuses));
    }
    while (!wait && !flag) {
        FP(MPI_Testall(KINDS, requests, &flag, statuses));
    }
    for (int kind = 0; kind < KINDS; kind++) {
        ended(kind, &statuses[kind], round);
    }
}

static void any_of_them(bool wait, int active, int round)
{
    MPI_Status status;
    int index;

    for (int left = active; 0 < left;) {
        int flag = 1;

        if (wait) {
            FP(MPI_Waitany(KINDS, requests, &index, &status));
        } else {
            FP(MPI_Testany(KINDS, requests, &index, &flag, &status));
        }
        if (flag && CHECK(0 <= index && index < KINDS && is_active(index))) {
            ended(index, &status, round);
            --left;
        }
    }
    FP(MPI_Waitany(KINDS, requests, &index, &status));
    CHECK_INT(index, MPI_UNDEFINED);
}

static void some_of_them(bool wait, int active, int round)
{
    MPI_Status statuses[KINDS];
    int indices[KINDS], count;

    for (int left = active; 0 < left; left -= count) {
        if (wait) {
            FP(MPI_Waitsome(KINDS, requests, &count, indices, statuses));
            CHECK(0 < count);
        } else {
            FP(MPI_Testsome(KINDS, requests, &count, indices, statuses));
        }
        if (!CHECK(0 <= count && count <= left)) {
            return;
        }
        for (int i = 0; i < count; i++) {
            CHECK(is_active(indices[i]));
            ended(indices[i], &statuses[i], round);
        }
    }
    FP(MPI_Testsome(KINDS, requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
}

static void all_of_them(family_t family, int round)
{
    int active = 0;

    for (int kind = 0; kind < KINDS; kind++) {
        active += is_active(kind);
    }
    complete_grequest(round);
    switch (family) {
    case WAIT:
        wait_each(round);
        break;
    case TEST:
        test_each(round);
        break;
    case WAITALL:
    case TESTALL:
        all_at_once(WAITALL == family, round);
        break;
    case WAITANY:
    case TESTANY:
        any_of_them(WAITANY == family, active, round);
        break;
    default:
        some_of_them(WAITSOME == family, active, round);
    }
}

static void every_kind(void)
{
    for (int round = 0; round < 4 * FAMILIES; round++) {
        const family_t family = round % FAMILIES;

        fp_case("%s of all kinds, round %d", family_names[family], round);
        if (0 == fp_rank) {
            serve(round);
        } else if (1 == fp_rank) {
            int freed = grequests_freed;

            start(round);
            all_of_them(family, round);
            CHECK_INT(grequests_freed, freed + 1);
            for (int kind = 0; kind < KINDS; kind++) {
                if (is_persistent(kind)) {
                    FP(MPI_Request_free(&requests[kind]));
                }
                if (NULL != room[kind]) {
                    fp_free(room[kind]);
                }
            }
        } else {
            FP(MPI_Ibarrier(MPI_COMM_WORLD, &requests[COLLECTIVE]));
            FP(MPI_Wait(&requests[COLLECTIVE], MPI_STATUS_IGNORE));
        }
    }
}

/* ------------------------------------------------------------- messages that are there */

static void come(int count, size_t length, int round)
{
    for (int i = 0; i < count; i++) {
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG + i, round, MPI_COMM_WORLD);
    }
}

/* What can be done with a request that was complete when it was started. */
static void at_once(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        const size_t length = (size_t) (round % 2 ? 8 : 200);
        fp_message_t message[6];
        MPI_Status status;
        int flag;

        fp_case("there already, round %d", round);
        if (0 == fp_rank) {
            come(6, length, round);
            FP(MPI_Barrier(MPI_COMM_WORLD));
        } else if (1 == fp_rank) {
            fp_sleep_ms(5); /* most of them arrive meanwhile; nothing depends on it */
            for (int i = 0; i < 6; i++) {
                fp_irecv(&message[i], length, 3 == i ? MPI_ANY_SOURCE : 0, TAG + i, round, MPI_COMM_WORLD);
                message[i].peer = 0;
                message[i].key = fp_key(0, 1, TAG + i, round);
            }
            FP(MPI_Request_get_status(message[0].request, &flag, &status));
            if (flag) {
                CHECK_STATUS(&status, 0, TAG, length);
            }
            fp_wait_recv(&message[0]);
            fp_wait_recv(&message[3]);
            FP(MPI_Barrier(MPI_COMM_WORLD)); /* all are here */
            do {
                FP(MPI_Test(&message[1].request, &flag, &status));
            } while (!flag);
            CHECK_STATUS(&status, 0, TAG + 1, length);
            fp_free(message[1].buffer);
            FP(MPI_Wait(&message[4].request, MPI_STATUS_IGNORE));
            FP(MPI_Wait(&message[5].request, MPI_STATUS_IGNORE));
            CHECK_DATA(message[4].buffer, length, message[4].key);
            CHECK_DATA(message[5].buffer, length, message[5].key);
            fp_free(message[4].buffer);
            fp_free(message[5].buffer);
            do {
                FP(MPI_Request_get_status(message[2].request, &flag, MPI_STATUS_IGNORE));
            } while (!flag);
            CHECK(!fp_cancel(&message[2].request)); /* too late */
            CHECK_DATA(message[2].buffer, length, message[2].key);
            fp_free(message[2].buffer);
        } else {
            FP(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
}

/* Requests that the program lets go, before and after their message has come, also with their communicator.
 */
static void freed(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *early = fp_alloc(8), *late = fp_alloc(8);
        MPI_Request request;
        MPI_Comm comm;

        fp_case("freed, round %d", round);
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, round, comm);
            fp_await(1, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 8, 1, OTHER, round, comm);
            fp_send(&fp_modes[FP_STANDARD], 8, 1, OTHER + 1, round, comm);
            FP(MPI_Comm_free(&comm));
        } else if (1 == fp_rank) {
            fp_message_t message;

            FP(MPI_Irecv(early, 8, MPI_BYTE, 0, TAG, comm, &request));
            FP(MPI_Request_free(&request));
            FP(MPI_Irecv(late, 8, MPI_BYTE, 0, OTHER, comm, &request));
            FP(MPI_Request_free(&request));
            fp_irecv(&message, 8, 0, OTHER + 1, round, comm);
            fp_signal(0, MPI_COMM_WORLD);
            FP(MPI_Comm_free(&comm));
            fp_wait_recv(&message); /* it is the last one, so the others are here too */
            CHECK_DATA(early, 8, fp_key(0, 1, TAG, round));
            CHECK_DATA(late, 8, fp_key(0, 1, OTHER, round));
        } else {
            FP(MPI_Comm_free(&comm));
        }
        fp_free(early);
        fp_free(late);
    }
}

/* Messages that are too long, among others that fit. */
static void truncated(void)
{
    enum { COUNT = 5, BAD = 2 };

    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("truncated, round %d", round);
        if (0 == fp_rank) {
            if (round % 2) {
                fp_await(1, MPI_COMM_WORLD);
            }
            for (int i = 0; i < COUNT; i++) {
                fp_send(&fp_modes[FP_STANDARD], BAD == i ? 16 : 8, 1, TAG + i, round, MPI_COMM_WORLD);
            }
            FP(MPI_Sendrecv(&round, 1, MPI_INT, 1, TAG, NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
        } else if (1 == fp_rank) {
            MPI_Request request[COUNT];
            MPI_Status status[COUNT];
            unsigned char *block[COUNT];
            int rc, left = 0;
            char word = 0;

            for (int i = 0; i < COUNT; i++) {
                block[i] = fp_alloc(8);
                FP(MPI_Irecv(block[i], 8, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD, &request[i]));
            }
            if (round % 2) {
                fp_signal(0, MPI_COMM_WORLD);
            }
            rc = MPI_Waitall(COUNT, request, status);
            CHECK_INT(rc, MPI_ERR_IN_STATUS);
            for (int i = 0; i < COUNT; i++) {
                if (MPI_ERR_PENDING == status[i].MPI_ERROR) {
                    ++left;
                    FP(MPI_Wait(&request[i], &status[i]));
                    status[i].MPI_ERROR = MPI_SUCCESS;
                }
                CHECK_INT(status[i].MPI_ERROR, BAD == i ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
                CHECK_INT(status[i].MPI_SOURCE, 0);
                CHECK_INT(status[i].MPI_TAG, TAG + i);
                if (BAD != i) {
                    CHECK_DATA(block[i], 8, fp_key(0, 1, TAG + i, round));
                }
                fp_free(block[i]);
            }
            CHECK(left < COUNT);
            FP_ERROR(MPI_ERR_TRUNCATE, MPI_Sendrecv(NULL, 0, MPI_BYTE, 0, TAG, &word, 1, MPI_BYTE, 0, TAG,
                                                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Windows of receives, some with wildcards: whatever way they are waited for, each has its message. */
static void order(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request[WINDOW];
        int word[WINDOW];

        fp_case("order, round %d", round);
        for (int i = 0; i < WINDOW; i++) {
            if (0 == fp_rank) {
                word[i] = round * WINDOW + i;
                FP(MPI_Isend(&word[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request[i]));
            } else if (1 == fp_rank) {
                FP(MPI_Irecv(&word[i], 1, MPI_INT, 0 == (i + round) % 5 ? MPI_ANY_SOURCE : 0,
                             0 == (i + round) % 7 ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &request[i]));
            }
        }
        if (0 == fp_rank) {
            FP(MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE));
            fp_await(1, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            for (int i = WINDOW - 1; WINDOW / 2 <= i; i--) {
                FP(MPI_Wait(&request[i], MPI_STATUS_IGNORE));
            }
            FP(MPI_Waitall(WINDOW / 2, request, MPI_STATUSES_IGNORE));
            for (int i = 0; i < WINDOW; i++) {
                CHECK_INT(word[i], round * WINDOW + i);
            }
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
}

/* Round the ranks, by name and from whomever. */
static void ring(void)
{
    const int right = (fp_rank + 1) % fp_size, left = (fp_rank + fp_size - 1) % fp_size;

    for (int round = 0; round < STREAM; round++) {
        int to = fp_rank * STREAM + round, from = -1;
        MPI_Status status;

        fp_case("ring, round %d", round);
        FP(MPI_Sendrecv(&to, 1, MPI_INT, right, TAG, &from, 1, MPI_INT, round % 3 ? left : MPI_ANY_SOURCE,
                        round % 2 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, left, TAG, sizeof(int));
        CHECK_INT(from, left * STREAM + round);
    }
}

/* ----------------------------------------------------------- what else has to move */

/* Rank 1 waits for rank 0, which waits for rank 2, which waits for rank 1 to take a long message. */
static void others_move(family_t family)
{
    for (int round = 0; round < 5; round++) {
        fp_message_t message, word;
        MPI_Status status;
        int index, flag = 0;

        fp_case("%s: others move, round %d", family_names[family], round);
        if (0 == fp_rank) {
            fp_await(2, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, round, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            fp_irecv(&message, LONG, 2, TAG, round, MPI_COMM_WORLD);
            fp_irecv(&word, 8, 0, TAG, round, MPI_COMM_WORLD);
            switch (family) {
            case WAIT:
                FP(MPI_Wait(&word.request, &status));
                break;
            case WAITALL:
                FP(MPI_Waitall(1, &word.request, &status));
                break;
            case WAITANY:
                FP(MPI_Waitany(1, &word.request, &index, &status));
                break;
            case WAITSOME:
                FP(MPI_Waitsome(1, &word.request, &flag, &index, &status));
                break;
            default:
                while (!flag) {
                    FP(MPI_Test(&word.request, &flag, &status));
                }
            }
            CHECK_STATUS(&status, 0, TAG, 8);
            CHECK_DATA(word.buffer, 8, word.key);
            fp_free(word.buffer);
            fp_wait_recv(&message);
        } else if (2 == fp_rank) {
            fp_send(&fp_modes[FP_SYNCHRONOUS], LONG, 1, TAG, round, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
}

/* Rank 0 streams to rank 1, whose receives are always complete at once, until rank 2's long message is
 * through. */
static void others_move_in_a_stream(family_t family)
{
    int last = 0;

    fp_case("%s: a long message moves while short ones stream", family_names[family]);
    if (0 == fp_rank) {
        MPI_Request request;

        FP(MPI_Irecv(NULL, 0, MPI_BYTE, 2, OTHER, MPI_COMM_WORLD, &request));
        while (!last) {
            FP(MPI_Test(&request, &last, MPI_STATUS_IGNORE));
            FP(MPI_Send(&last, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        }
    } else if (1 == fp_rank) {
        fp_message_t message;

        fp_irecv(&message, LONG, 2, OTHER, 0, MPI_COMM_WORLD);
        while (!last) {
            MPI_Request request;
            int flag = 0;

            FP(MPI_Irecv(&last, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request));
            if (WAIT == family) {
                FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else if (WAITALL == family) {
                FP(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
            } else {
                while (!flag) {
                    FP(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                }
            }
        }
        fp_wait_recv(&message);
    } else if (2 == fp_rank) {
        fp_send(&fp_modes[FP_SYNCHRONOUS], LONG, 1, OTHER, 0, MPI_COMM_WORLD);
        FP(MPI_Send(NULL, 0, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* -------------------------------------------------------------------------- threads */

enum { THREADS = 3 };
static MPI_Comm comms[THREADS];
static bool own;

/* Thread i of rank 0 exchanges windows with thread i of rank 1, and waits in a way of its own. */
static void exchange(int index)
{
    const MPI_Comm comm = own ? comms[index] : MPI_COMM_WORLD;
    const int tag = own ? TAG : TAG + index, peer = 1 - fp_rank;
    enum { COUNT = 16 };

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request[2 * COUNT];
        MPI_Status status[2 * COUNT];
        int in[COUNT], out[COUNT], left = 2 * COUNT, done, indices[2 * COUNT];

        fp_case("thread %d, %s, round %d", index, own ? "communicators" : "tags", round);
        for (int i = 0; i < COUNT; i++) {
            out[i] = (index * ROUNDS + round) * COUNT + i;
            in[i] = -1;
            FP(MPI_Irecv(&in[i], 1, MPI_INT, 0 == i % 4 && own ? MPI_ANY_SOURCE : peer, tag, comm,
                         &request[i]));
            FP(MPI_Isend(&out[i], 1, MPI_INT, peer, tag, comm, &request[COUNT + i]));
        }
        switch ((round + index) % 4) {
        case 0:
            FP(MPI_Waitall(2 * COUNT, request, status));
            break;
        case 1:
            for (int i = 2 * COUNT - 1; 0 <= i; i--) {
                FP(MPI_Wait(&request[i], &status[i]));
            }
            break;
        case 2:
            for (; 0 < left; left -= done) {
                FP(MPI_Waitsome(2 * COUNT, request, &done, indices, status));
            }
            break;
        default:
            for (; 0 < left; left--) {
                FP(MPI_Waitany(2 * COUNT, request, &done, status));
            }
        }
        for (int i = 0; i < COUNT; i++) {
            CHECK_INT(in[i], out[i]);
        }
    }
}

/* Thread 0 waits; the others deliver to it what they find while they wait for their own. */
static void helped(int index)
{
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("thread %d, helped, round %d", index, round);
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG + (index + 1) % THREADS, round, MPI_COMM_WORLD);
            fp_recv(8, 1, TAG + index, round, MPI_COMM_WORLD);
        } else {
            fp_message_t message;

            fp_irecv(&message, 8, 0, TAG + index, round, MPI_COMM_WORLD);
            fp_wait_recv(&message);
            fp_send(&fp_modes[FP_STANDARD], 8, 0, TAG + index, round, MPI_COMM_WORLD);
        }
    }
}

static void threads(void)
{
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    }
    own = true;
    fp_run_threads(THREADS, exchange);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    own = false;
    fp_run_threads(THREADS, exchange);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_run_threads(THREADS, helped);
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_free(&comms[i]));
    }
}

int main(int argc, char **argv)
{
    if (1 < argc) {
        if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
            fp_skip("no MPI_THREAD_MULTIPLE");
        }
        threads();
        return fp_finish();
    }
    fp_init(&argc, &argv, 2);
    FP(MPI_Type_vector(10, 1, 2, MPI_INT, &gaps));
    FP(MPI_Type_commit(&gaps));
    if (1 == fp_rank) {
        open_file();
    }
    every_kind();
    if (MPI_FILE_NULL != file) {
        FP(MPI_File_close(&file));
    }
    at_once();
    freed();
    truncated();
    order();
    ring();
    if (2 < fp_size) {
        others_move(WAIT);
        others_move(WAITALL);
        others_move(WAITANY);
        others_move(WAITSOME);
        others_move(TEST);
        others_move_in_a_stream(WAIT);
        others_move_in_a_stream(WAITALL);
        others_move_in_a_stream(TEST);
    }
    FP(MPI_Type_free(&gaps));
    return fp_finish();
}
