/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The MPI_Test and MPI_Wait families on mixtures of sends, receives, null and
 * inactive requests, completed in an order that the other side chooses. */

#include "support/fp_test.h"

enum { TAG = 91, COUNT = 40 };

typedef enum {
    WAIT,
    WAITANY,
    WAITSOME,
    WAITALL,
    TEST,
    TESTANY,
    TESTSOME,
    TESTALL,
    GET_STATUS,
    FAMILIES
} family_t;
static const char *const family_names[FAMILIES] = {
    "wait", "waitany", "waitsome", "waitall", "test", "testany", "testsome", "testall", "request_get_status"};

/* Message i travels as number order(i): all differ, as COUNT and 7 are coprime. */
static int order(int i)
{
    return (i * 7 + 3) % COUNT;
}

static size_t length_of(int i)
{
    return fp_few_sizes[i % fp_few_size_count];
}

static MPI_Request requests[COUNT];
static unsigned char *buffers[COUNT];
static int done[COUNT];

/* Every second message goes the other way. */
static bool is_send(int i)
{
    return (fp_rank + i) % 2;
}

static void completed(int i, const MPI_Status *status)
{
    if (!CHECK(0 <= i && i < COUNT)) {
        return;
    }
    CHECK_INT(done[i]++, 0);
    CHECK(MPI_REQUEST_NULL == requests[i]);
    if (!is_send(i)) {
        CHECK_STATUS(status, 1 - fp_rank, TAG + i, length_of(i));
        CHECK_DATA(buffers[i], length_of(i), fp_key(1 - fp_rank, fp_rank, TAG + i, i));
    }
}

/* One call of a family; returns how many requests it completed. */
static int complete_some(family_t family)
{
    static MPI_Status statuses[COUNT];
    static int indices[COUNT];
    int count = 0, flag = 0, index = 0;

    switch (family) {
    case WAITANY:
        FP(MPI_Waitany(COUNT, requests, &index, statuses));
        completed(index, statuses);
        return 1;
    case TESTANY:
        FP(MPI_Testany(COUNT, requests, &index, &flag, statuses));
        if (flag) {
            completed(index, statuses);
        }
        return flag;
    case WAITSOME:
    case TESTSOME:
        FP(((WAITSOME == family) ? MPI_Waitsome : MPI_Testsome)(COUNT, requests, &count, indices, statuses));
        for (int i = 0; i < count; i++) {
            completed(indices[i], &statuses[i]);
        }
        CHECK(TESTSOME == family || 0 < count);
        return count;
    case WAITALL:
    case TESTALL:
        flag = 1;
        if (WAITALL == family) {
            FP(MPI_Waitall(COUNT, requests, statuses));
        } else {
            FP(MPI_Testall(COUNT, requests, &flag, statuses));
        }
        for (int i = 0; i < COUNT && flag; i++) {
            completed(i, &statuses[i]);
        }
        return flag ? COUNT : 0;
    default:
        break;
    }
    /* One request at a time: the one that is left longest. */
    for (index = 0; done[index]; index++) {
        continue;
    }
    if (GET_STATUS == family) {
        FP(MPI_Request_get_status(requests[index], &flag, statuses));
        CHECK(MPI_REQUEST_NULL != requests[index]);
        if (!flag) {
            return 0;
        }
    }
    if (TEST == family) {
        FP(MPI_Test(&requests[index], &flag, statuses));
    } else {
        FP(MPI_Wait(&requests[index], statuses));
        flag = 1;
    }
    if (flag) {
        completed(index, statuses);
    }
    return flag;
}

static void start(int i, MPI_Comm comm)
{
    int peer = 1 - fp_rank;
    size_t length = length_of(i);

    if (is_send(i)) {
        buffers[i] = fp_alloc_filled(length, fp_key(fp_rank, peer, TAG + i, i));
        FP(MPI_Isend(buffers[i], (int) length, MPI_BYTE, peer, TAG + i, comm, &requests[i]));
    } else {
        buffers[i] = fp_alloc(length);
        FP(MPI_Irecv(buffers[i], (int) length, MPI_BYTE, peer, TAG + i, comm, &requests[i]));
    }
}

static void family_completes(family_t family, MPI_Comm pair)
{
    int left = COUNT;
    MPI_Comm freed;

    memset(done, 0, sizeof(done));
    FP(MPI_Comm_dup(pair, &freed));
    for (int k = 0; k < COUNT; k++) {
        const int i = (0 == fp_rank) ? k : order(k); /* the two sides in different orders */

        start(i, (1 == i % 2 && 1000 > length_of(i)) ? freed : MPI_COMM_WORLD);
    }
    /* Rank 0 only has sends on it, which need not hold it: its memory may be somebody else's already when
     * they are completed among others. */
    FP(MPI_Comm_free(&freed));
    while (0 < left) {
        left -= complete_some(family);
    }
    CHECK_INT(left, 0);
    for (int i = 0; i < COUNT; i++) {
        fp_free(buffers[i]);
    }
}

/* No request at all, or nothing but null ones. */
static void nothing_to_do(void)
{
    MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    int index = 0, flag = 0, count = 0, indices[3];

    for (int n = 0; n <= 3; n += 3) {
        FP(MPI_Waitany(n, none, &index, &status));
        CHECK_INT(index, MPI_UNDEFINED);
        FP(MPI_Testany(n, none, &index, &flag, &status));
        CHECK(flag);
        CHECK_INT(index, MPI_UNDEFINED);
        FP(MPI_Waitsome(n, none, &count, indices, MPI_STATUSES_IGNORE));
        CHECK_INT(count, MPI_UNDEFINED);
        FP(MPI_Waitall(n, none, MPI_STATUSES_IGNORE));
        FP(MPI_Testall(n, none, &flag, MPI_STATUSES_IGNORE));
        CHECK(flag);
    }
    FP(MPI_Wait(&none[0], &status));
    CHECK_EMPTY_STATUS(&status);
}

/* A test of a request that cannot complete says so, again and again. */
static void incomplete(void)
{
    int value, flag = 1, index;
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    FP(MPI_Irecv(&value, 1, MPI_INT, fp_rank, TAG, MPI_COMM_WORLD, &request[0]));
    for (int i = 0; i < 100; i++) {
        FP(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        FP(MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE));
        CHECK(!flag);
        FP(MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    FP(MPI_Send(&fp_rank, 1, MPI_INT, fp_rank, TAG, MPI_COMM_WORLD));
    FP(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    CHECK_INT(value, fp_rank);
}

int main(int argc, char **argv)
{
    MPI_Comm pair;

    fp_init(&argc, &argv, 2);
    FP(MPI_Comm_split(MPI_COMM_WORLD, 1 >= fp_rank, fp_rank, &pair));
    for (int round = 0; round < 10 && 1 >= fp_rank; round++) {
        for (int family = 0; family < FAMILIES; family++) {
            fp_case("%s, round %d", family_names[family], round);
            family_completes((family_t) family, pair);
        }
    }
    FP(MPI_Comm_free(&pair));
    fp_case("nothing to do");
    nothing_to_do();
    fp_case("incomplete");
    incomplete();
    return fp_finish();
}
