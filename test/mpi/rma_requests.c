/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Rput, MPI_Rget, MPI_Raccumulate and MPI_Rget_accumulate: completed by all of MPI_Wait* and MPI_Test*,
 * among requests of messages, also after the end of the epoch; what a status says; a request that is freed;
 * results that are there when the request is complete, without a flush. With osc_fastpath_debug_fault_percent
 * replies come in any order, also for elements and types with gaps.
 *
 * usage: rma_requests [sm | poll]   sm: only memory that MPI allocates; poll: each rank waits for the one
 * before it by requests for its own memory, which are complete at once, and must let that one go on */

#include "support/fp_test.h"

enum { MOST = 100000, EACH = 8 };

static const int sizes[] = {0, 1, 100, 5000, MOST};
static MPI_Win win;
static int *memory;

/* Requests of one kind for EACH parts of a buffer. */
static void start(int verb, int size, int target, int *data, int *results, MPI_Request *requests)
{
    const int part = size / EACH;

    for (int i = 0; i < EACH; i++) {
        int *mine = data + i * part, *theirs = results + i * part;
        const MPI_Aint at = i * part;

        switch (verb) {
        case 0:
            FP(MPI_Rput(mine, part, MPI_INT, target, at, part, MPI_INT, win, &requests[i]));
            break;
        case 1:
            FP(MPI_Rget(theirs, part, MPI_INT, target, at, part, MPI_INT, win, &requests[i]));
            break;
        case 2:
            FP(MPI_Raccumulate(mine, part, MPI_INT, target, at, part, MPI_INT, MPI_SUM, win, &requests[i]));
            break;
        default:
            FP(MPI_Rget_accumulate(mine, part, MPI_INT, theirs, part, MPI_INT, target, at, part, MPI_INT,
                                   MPI_SUM, win, &requests[i]));
            break;
        }
    }
}

/* Waits for EACH requests and those of a message to itself. */
static void complete(MPI_Request *requests, int way)
{
    int flag = 0, index, some, indices[EACH + 2], left = EACH + 2;

    switch (way) {
    case 0:
        FP(MPI_Waitall(EACH + 2, requests, MPI_STATUSES_IGNORE));
        break;
    case 1:
        for (; 0 < left; left--) {
            FP(MPI_Waitany(EACH + 2, requests, &index, MPI_STATUS_IGNORE));
        }
        break;
    case 2:
        for (; 0 < left; left -= some) {
            FP(MPI_Waitsome(EACH + 2, requests, &some, indices, MPI_STATUSES_IGNORE));
        }
        break;
    case 3:
        while (!flag) {
            FP(MPI_Testall(EACH + 2, requests, &flag, MPI_STATUSES_IGNORE));
        }
        break;
    case 4:
        for (; 0 < left; left -= flag) {
            FP(MPI_Testany(EACH + 2, requests, &index, &flag, MPI_STATUS_IGNORE));
        }
        break;
    case 5:
        for (; 0 < left; left -= some) {
            FP(MPI_Testsome(EACH + 2, requests, &some, indices, MPI_STATUSES_IGNORE));
        }
        break;
    case 6:
        for (int i = EACH + 1; 0 <= i; i--) {
            MPI_Status status;

            FP(MPI_Request_get_status(requests[i], &flag, &status));
            FP(MPI_Wait(&requests[i], &status));
        }
        break;
    default:
        for (int i = 0; i < EACH + 2; i++) {
            for (flag = 0; !flag;) {
                FP(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
            }
        }
        break;
    }
    for (int i = 0; i < EACH + 2; i++) {
        CHECK(MPI_REQUEST_NULL == requests[i]);
    }
}

static void try_one(int verb, int size, int target, int way)
{
    static int data[MOST], results[MOST];
    const int used = size / EACH * EACH;
    MPI_Request requests[EACH + 2];
    int token = 0;

    fp_case("verb %d of %d ints to %d, way %d", verb, size, target, way);
    for (int i = 0; i < used; i++) {
        data[i] = i + verb;
        results[i] = -1;
    }
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    FP(MPI_Put(results, used, MPI_INT, target, 0, used, MPI_INT, win));
    FP(MPI_Win_flush(target, win));
    start(verb, size, target, data, results, requests);
    FP(MPI_Irecv(&token, 1, MPI_INT, fp_rank, 9, MPI_COMM_WORLD, &requests[EACH]));
    FP(MPI_Isend(&used, 1, MPI_INT, fp_rank, 9, MPI_COMM_WORLD, &requests[EACH + 1]));
    if (way % 3 == 2) {
        FP(MPI_Win_unlock(target, win));
        complete(requests, way);
        FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    } else {
        complete(requests, way);
    }
    CHECK_INT(token, used);
    for (int i = 0; i < used && (1 == verb || 3 == verb); i++) {
        if (!CHECK(-1 == results[i])) {
            break;
        }
    }
    memset(data, 0xee, sizeof(data)); /* is the user's again */
    FP(MPI_Win_flush(target, win));
    if (way % 3 != 2) {
        FP(MPI_Get(results, used, MPI_INT, target, 0, used, MPI_INT, win));
        FP(MPI_Win_flush(target, win));
        for (int i = 0; i < used; i++) {
            const int sum = (0 == verb) ? i : (1 == verb) ? -1 : i + verb - 1;

            if (!CHECK(sum == results[i])) {
                break;
            }
        }
    }
    FP(MPI_Win_unlock(target, win));
}

/* Freed while it is under way: the end of the epoch completes it. */
static void try_free(int target)
{
    int value = 4711 + fp_rank, got = 0;
    MPI_Request request;
    MPI_Status status;

    fp_case("request freed");
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    FP(MPI_Rput(&value, 1, MPI_INT, target, 7, 1, MPI_INT, win, &request));
    FP(MPI_Request_free(&request));
    FP(MPI_Win_flush(target, win));
    FP(MPI_Rget(&got, 1, MPI_INT, target, 7, 1, MPI_INT, win, &request));
    memset(&status, 0x55, sizeof(status));
    status.MPI_ERROR = MPI_SUCCESS;
    FP(MPI_Wait(&request, &status));
    CHECK_INT(got, value);
    CHECK_INT(status.MPI_ERROR, MPI_SUCCESS);
    CHECK(!fp_was_cancelled(&status));
    FP(MPI_Win_unlock(target, win));
}

typedef struct {
    short first;
    int second;
} pair_t; /* MPI_SHORT_INT */

/* Gets of elements that have gaps, into vectors of them: pairs 0 and 1 of 3, 3 and 4, 6 and 7, then 8 and 9
 * ... */
static void try_gaps(int target)
{
    enum { PAIRS = 6, EXTENT = 8, VECTORS = MOST / 2 / PAIRS, USED = VECTORS * PAIRS };
    static const int place[PAIRS] = {0, 1, 3, 4, 6, 7};
    static pair_t data[USED], results[VECTORS * EXTENT];
    MPI_Datatype vector;
    MPI_Request request;

    fp_case("gaps, from %d", target);
    FP(MPI_Type_vector(PAIRS / 2, 2, 3, MPI_SHORT_INT, &vector));
    FP(MPI_Type_commit(&vector));
    for (int i = 0; i < USED; i++) {
        data[i] = (pair_t){.first = (short) (3 * i), .second = 7 * i};
    }
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    FP(MPI_Put(data, USED, MPI_SHORT_INT, target, 0, USED, MPI_SHORT_INT, win));
    FP(MPI_Win_flush(target, win));
    for (int round = 0; round < 5; round++) {
        memset(results, 0, sizeof(results));
        FP(MPI_Rget(results, VECTORS, vector, target, 0, USED, MPI_SHORT_INT, win, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < USED; i++) {
            const pair_t *got = &results[i / PAIRS * EXTENT + place[i % PAIRS]];

            if (!CHECK(data[i].first == got->first && data[i].second == got->second)) {
                break;
            }
        }
    }
    FP(MPI_Win_unlock(target, win));
    FP(MPI_Type_free(&vector));
}

/* Gets of the longest elements there are, with gaps between them on both sides: none may be cut. */
static void try_long(int target)
{
    enum { EXTENT = 2, USED = MOST * sizeof(int) / EXTENT / sizeof(long double _Complex) };
    typedef long double _Complex element_t;
    static element_t data[USED], results[EXTENT * USED];
    MPI_Datatype spread, vector;

    fp_case("long elements, from %d", target);
    FP(MPI_Type_create_resized(MPI_C_LONG_DOUBLE_COMPLEX, 0, EXTENT * sizeof(element_t), &spread));
    FP(MPI_Type_commit(&spread));
    FP(MPI_Type_vector(USED, 1, EXTENT, MPI_C_LONG_DOUBLE_COMPLEX, &vector));
    FP(MPI_Type_commit(&vector));
    for (int i = 0; i < USED; i++) {
        data[i] = i;
    }
    memset(results, 0, sizeof(results));
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    FP(MPI_Put(data, USED, MPI_C_LONG_DOUBLE_COMPLEX, target, 0, USED, spread, win));
    FP(MPI_Win_flush(target, win));
    FP(MPI_Get(results, 1, vector, target, 0, USED, spread, win));
    FP(MPI_Win_unlock(target, win));
    for (int i = 0; i < USED; i++) {
        if (!CHECK(data[i] == results[EXTENT * i])) {
            break;
        }
    }
    FP(MPI_Type_free(&spread));
    FP(MPI_Type_free(&vector));
}

static void try_all(void)
{
    for (int verb = 0; verb < 4; verb++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (int way = 0; way < 8; way++) {
                try_one(verb, sizes[i], (fp_rank + way % 2) % fp_size, way);
            }
        }
    }
    for (int target = 0; target < fp_size; target++) {
        try_free(target);
        try_gaps(target);
        try_long(target);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_free(&win));
}

/* Rank 0 begins; each turn comes from the rank before. */
static void take_turns(void)
{
    enum { TURNS = 20 };
    int one = 1, turns = 0;
    MPI_Request request;

    FP(MPI_Win_lock_all(0, win));
    for (int turn = 1; turn <= TURNS; turn++) {
        fp_case("turn %d", turn);
        for (int before = 0 == fp_rank ? turn - 1 : turn; turns < before;) {
            if (turn % 2) {
                FP(MPI_Rget_accumulate(NULL, 0, MPI_INT, &turns, 1, MPI_INT, fp_rank, 0, 1, MPI_INT,
                                       MPI_NO_OP, win, &request));
            } else {
                FP(MPI_Rget(&turns, 1, MPI_INT, fp_rank, 0, 1, MPI_INT, win, &request));
            }
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        FP(MPI_Accumulate(&one, 1, MPI_INT, (fp_rank + 1) % fp_size, 0, 1, MPI_INT, MPI_SUM, win));
        FP(MPI_Win_flush((fp_rank + 1) % fp_size, win));
    }
    FP(MPI_Win_unlock_all(win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    const MPI_Aint bytes = MOST * sizeof(int);

    fp_init(&argc, &argv, 1);
    if (2 > argc) {
        memory = fp_alloc((size_t) bytes);
        FP(MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        try_all();
        fp_free(memory);
    }
    FP(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (2 == argc && 0 == strcmp(argv[1], "poll")) {
        memory[0] = 0;
        FP(MPI_Barrier(MPI_COMM_WORLD));
        take_turns();
        return fp_finish();
    }
    try_all();
    return fp_finish();
}
