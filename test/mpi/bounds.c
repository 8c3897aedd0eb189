/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Where a message begins: MPI_BOTTOM with absolute addresses, lower bounds and
 * extents of any sign, types and counts of zero. Sent and received by each kind
 * of call, and compared with what MPI_Pack and MPI_Unpack make of them. */

#include "support/fp_test.h"

enum { TAG = 45, ARENA = 5 << 17, WAYS = 6 };

/* A message in memory. */
typedef struct {
    const char *name;
    void *address;
    int count;
    MPI_Datatype type;
    bool repeats; /**< elements overlap: not for receiving */
} place_t;

static unsigned char *arena;

static MPI_Datatype committed(MPI_Datatype type)
{
    FP(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype block(int ints)
{
    MPI_Datatype type;

    FP(MPI_Type_contiguous(ints, MPI_INT, &type));
    return type;
}

/* A block of ints somewhere else than its address, with that extent. */
static MPI_Datatype moved(int ints, MPI_Aint by, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype inner = block(ints), at, type;
    int one = 1;

    FP(MPI_Type_create_hindexed(1, &one, &by, inner, &at));
    FP(MPI_Type_create_resized(at, lower, extent, &type));
    FP(MPI_Type_free(&inner));
    FP(MPI_Type_free(&at));
    return committed(type);
}

/* Two blocks, at absolute addresses. */
static MPI_Datatype absolute(int ints, void *first, void *second)
{
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, type;
    int lengths[2] = {ints, ints / 2};
    MPI_Aint places[2];

    FP(MPI_Get_address(first, &places[0]));
    FP(MPI_Get_address(second, &places[1]));
    FP(MPI_Type_create_struct(2 - (first == second), lengths, places, types, &type));
    return committed(type);
}

static int make_places(place_t *places, int ints)
{
    MPI_Aint size = ints * (MPI_Aint) sizeof(int);
    unsigned char *middle = arena + ARENA / 2;
    int n = 0;

    places[n++] = (place_t){"absolute address", MPI_BOTTOM, 1, absolute(ints, middle, middle), false};
    places[n++] = (place_t){"two absolute addresses", MPI_BOTTOM, 1, absolute(ints, middle, arena), false};
    places[n++] = (place_t){"behind its address", middle, 1, moved(ints, 40, 0, size + 40), false};
    places[n++] = (place_t){"before its address", middle, 1, moved(ints, -4000, -4000, size), false};
    places[n++] = (place_t){"two without a gap", middle, 2, moved(ints, 8, 8, size), false};
    places[n++] = (place_t){"two with a gap", middle, 2, moved(ints, -8, -8, size + 12), false};
    places[n++] = (place_t){"lower bound above the data", middle, 3, moved(ints, 0, 16, size), false};
    places[n++] = (place_t){"one with a large extent", middle, 1, moved(ints, 0, 0, 10 * size), false};
    places[n++] = (place_t){"backwards", middle, 3, moved(ints, 0, 0, -size - 4), false};
    places[n++] = (place_t){"backwards without a gap", middle, 3, moved(ints, 0, 0, -size), false};
    places[n++] = (place_t){"the same one again", middle, 3, moved(ints, 4, 0, 0), true};
    places[n++] = (place_t){"overlapping", middle, 3, moved(ints, 0, 0, size / 2), true};
    places[n++] = (place_t){"none of many", middle, 0, moved(ints, 0, 0, size), false};
    places[n++] = (place_t){"none at no address", NULL, 0, moved(ints, 0, 0, size), false};
    places[n++] = (place_t){"many of nothing", middle, 1000, moved(0, 4, 0, 24), false};
    places[n++] = (place_t){"nothing at no address", MPI_BOTTOM, 5, moved(0, 0, 0, 0), false};
    return n;
}

static void send_one(const place_t *place, int way)
{
    MPI_Request request;

    switch (way) {
    case 0:
        FP(MPI_Send(place->address, place->count, place->type, 1, TAG, MPI_COMM_WORLD));
        return;
    case 1:
        FP(MPI_Ssend(place->address, place->count, place->type, 1, TAG, MPI_COMM_WORLD));
        return;
    case 2:
        FP(MPI_Bsend(place->address, place->count, place->type, 1, TAG, MPI_COMM_WORLD));
        return;
    case 3:
        FP(MPI_Isend(place->address, place->count, place->type, 1, TAG, MPI_COMM_WORLD, &request));
        break;
    case 4:
        FP(MPI_Issend(place->address, place->count, place->type, 1, TAG, MPI_COMM_WORLD, &request));
        break;
    default:
        FP(MPI_Send_init(place->address, place->count, place->type, 1, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Start(&request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FP(MPI_Request_free(&request));
        return;
    }
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void recv_one(const place_t *place, int way, MPI_Status *status)
{
    MPI_Request request;
    MPI_Message message;

    switch (way) {
    case 0:
    case 1:
        FP(MPI_Recv(place->address, place->count, place->type, 0, TAG, MPI_COMM_WORLD, status));
        return;
    case 2:
        FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, status));
        FP(MPI_Mrecv(place->address, place->count, place->type, &message, status));
        return;
    case 3:
    case 4:
        FP(MPI_Irecv(place->address, place->count, place->type, 0, TAG, MPI_COMM_WORLD, &request));
        break;
    default:
        FP(MPI_Recv_init(place->address, place->count, place->type, MPI_ANY_SOURCE, MPI_ANY_TAG,
                         MPI_COMM_WORLD, &request));
        FP(MPI_Start(&request));
        FP(MPI_Wait(&request, status));
        FP(MPI_Request_free(&request));
        return;
    }
    FP(MPI_Wait(&request, status));
}

/* From that place to a plain buffer. */
static void sent_from(const place_t *place, int way)
{
    int size, position = 0, got;
    unsigned char *packed, *received;
    MPI_Status status;

    FP(MPI_Type_size(place->type, &size));
    size *= place->count;
    packed = fp_alloc((size_t) size);
    received = fp_alloc((size_t) size);
    fp_fill(arena, ARENA, fp_key(0, 1, TAG, way)); /* the same memory on both sides */
    FP(MPI_Pack(place->address, place->count, place->type, packed, size, &position, MPI_COMM_WORLD));
    CHECK_INT(position, size);
    if (0 == fp_rank) {
        send_one(place, way);
        CHECK_DATA(arena, ARENA, fp_key(0, 1, TAG, way));
    } else if (1 == fp_rank) {
        recv_one(&(place_t){"", received, size, MPI_BYTE, false}, way, &status);
        FP(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_INT(got, size);
        CHECK(0 == memcmp(received, packed, (size_t) size));
    }
    fp_free(packed);
    fp_free(received);
}

/* From a plain buffer to that place. */
static void received_at(const place_t *place, int way)
{
    int size, position = 0, got;
    unsigned char *packed;
    MPI_Status status;

    FP(MPI_Type_size(place->type, &size));
    size *= place->count;
    packed = fp_alloc_filled((size_t) size, fp_key(0, 1, TAG, 77));
    if (0 == fp_rank) {
        send_one(&(place_t){"", packed, size, MPI_BYTE, false}, way);
    } else if (1 == fp_rank) {
        unsigned char *want = malloc(ARENA);

        fp_poison(arena, ARENA);
        FP(MPI_Unpack(packed, size, &position, place->address, place->count, place->type, MPI_COMM_WORLD));
        memcpy(want, arena, ARENA);
        fp_poison(arena, ARENA);
        recv_one(place, way, &status);
        FP(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_INT(got, size);
        CHECK(0 == memcmp(arena, want, ARENA));
        free(want);
    }
    fp_free(packed);
}

int main(int argc, char **argv)
{
    static const int ints[] = {2, 10, 3000, 20000};
    enum { ATTACHED = 4 << 20 };
    void *attached = malloc(ATTACHED);
    place_t places[20];
    int size;

    fp_init(&argc, &argv, 2);
    arena = malloc(ARENA);
    FP(MPI_Buffer_attach(attached, ATTACHED));
    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
        int count = make_places(places, ints[i]);

        for (int p = 0; p < count; p++) {
            for (int way = 0; way < WAYS; way++) {
                fp_case("%d ints, %s, way %d", ints[i], places[p].name, way);
                sent_from(&places[p], way);
                if (!places[p].repeats) {
                    received_at(&places[p], way);
                }
            }
            FP(MPI_Type_free(&places[p].type));
        }
    }
    FP(MPI_Buffer_detach(&attached, &size));
    free(attached);
    free(arena);
    return fp_finish();
}
