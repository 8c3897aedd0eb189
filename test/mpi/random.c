/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Random traffic among all ranks: sizes, modes, tags, datatypes, communicators,
 * and ways to receive (named and early, named and late, wildcards, probes and
 * matched probes).  The plan of each round comes from the seed and is the same on
 * all ranks, so every receiver knows what must come; every byte is checked.
 *
 * usage: random [SEED [ROUNDS]]; without a seed the clock gives one, which is
 * printed. */

#include "support/fp_test.h"

#include <time.h>

enum { MESSAGES = 150, TAGS = 5, COMMS = 3, GAP = 3, LONGEST = 400000, ROOM = 64 << 20 };

/* One message of the plan; its place in the plan is part of its pattern. */
typedef struct {
    int from, to, tag, comm;
    const fp_mode_t *mode;
    size_t length;
    bool strided_send, strided_recv, persistent, blocking;
    bool taken; /* at the receiver: has a receive, so no other may get it */
} plan_t;

/* A started transfer. */
typedef struct {
    MPI_Request request;
    unsigned char *buffer;
    const plan_t *message;
    bool receive;
} transfer_t;

static MPI_Comm comms[COMMS];
static MPI_Datatype strided; /* one byte in GAP */
static plan_t plan[MESSAGES];
static transfer_t transfers[2 * MESSAGES];
static int transfer_count;
static int current_round;
static fp_random_t choices; /* each rank its own */

static bool one_in(int n)
{
    return 0 == fp_random(&choices) % (unsigned) n;
}

static size_t random_length(fp_random_t *r)
{
    static const size_t highest[] = {0, 40, 60, 300, 1000, 4200, 9000, 40000, 70000, LONGEST};
    size_t kinds = (0 == fp_random(r) % 8) ? 10 : 6;

    return fp_random_between(r, 0, highest[fp_random(r) % kinds]);
}

static void make_plan(fp_random_t *r)
{
    for (int i = 0; i < MESSAGES; i++) {
        plan[i] = (plan_t){.from = (int) (fp_random(r) % (unsigned) fp_size),
                           .to = (int) (fp_random(r) % (unsigned) fp_size),
                           .tag = (int) (fp_random(r) % TAGS),
                           .comm = (int) (fp_random(r) % COMMS),
                           .mode = &fp_modes[fp_random(r) % (FP_BUFFERED + 1)],
                           .length = random_length(r),
                           .strided_send = 0 == fp_random(r) % 6,
                           .strided_recv = 0 == fp_random(r) % 6,
                           .persistent = 0 == fp_random(r) % 8,
                           .blocking = 0 == fp_random(r) % 4};
    }
}

static int serial_of(const plan_t *message)
{
    return (int) (message - plan);
}

static void set_case(const char *verb, const plan_t *m)
{
    fp_case("round %d: %s message %d from %d to %d tag %d comm %d, %zu bytes%s%s%s", current_round, verb,
            serial_of(m), m->from, m->to, m->tag, m->comm, m->length, m->persistent ? " persistent" : "",
            m->strided_send ? " strided" : "", m->strided_recv ? " to strided" : "");
}

/* ------------------------------------------------------------------- buffers */

static size_t span(size_t length, bool with_gaps)
{
    return with_gaps ? GAP * length : length;
}

/* A buffer of the message's bytes, every GAPth byte of a longer one with gaps. */
static unsigned char *message_bytes(const plan_t *m, bool with_gaps)
{
    uint64_t key = fp_key(m->from, m->to, serial_of(m), current_round);
    unsigned char *bytes = fp_alloc_filled(m->length, key), *buffer;

    if (!with_gaps) {
        return bytes;
    }
    buffer = fp_alloc(span(m->length, true));
    for (size_t i = 0; i < m->length; i++) {
        buffer[GAP * i] = bytes[i];
    }
    fp_free(bytes);
    return buffer;
}

/* Checks the message's bytes, and that the gaps are as they were; frees. */
static void check_received(unsigned char *buffer, const plan_t *m, bool with_gaps)
{
    unsigned char *want = message_bytes(m, with_gaps);

    CHECK(0 == memcmp(buffer, want, span(m->length, with_gaps)));
    fp_free(want);
    fp_free(buffer);
}

/* --------------------------------------------------------------------- sends */

/* Only buffered sends may block: nobody may be receiving yet. */
static void start_send(const plan_t *m)
{
    MPI_Datatype type = m->strided_send ? strided : MPI_BYTE;
    unsigned char *buffer = message_bytes(m, m->strided_send);
    transfer_t *t = &transfers[transfer_count];
    int count = (int) m->length;

    set_case(m->mode->name, m);
    if (m->blocking && m->mode->needs_buffer) {
        FP(m->mode->send(buffer, count, type, m->to, m->tag, comms[m->comm]));
        fp_free(buffer);
        return;
    }
    *t = (transfer_t){.buffer = buffer, .message = m};
    transfer_count++;
    /* Stock ob1 can start a buffered request but once, and this one is. */
    if (m->persistent) {
        FP(m->mode->init(buffer, count, type, m->to, m->tag, comms[m->comm], &t->request));
        FP(MPI_Start(&t->request));
    } else {
        FP(m->mode->isend(buffer, count, type, m->to, m->tag, comms[m->comm], &t->request));
    }
}

/* ------------------------------------------------------------------ receives */

/* The earliest message for us, without a receive yet, that one with these
 * arguments can get; from one source, messages match in the plan's order. */
static plan_t *next_match(int from, int tag, int comm)
{
    for (int i = 0; i < MESSAGES; i++) {
        plan_t *m = &plan[i];

        if (m->to == fp_rank && !m->taken && m->comm == comm && (MPI_ANY_SOURCE == from || m->from == from)
            && (MPI_ANY_TAG == tag || m->tag == tag)) {
            return m;
        }
    }
    return NULL;
}

static void start_recv(plan_t *m)
{
    MPI_Datatype type = m->strided_recv ? strided : MPI_BYTE;
    transfer_t *t = &transfers[transfer_count++];
    int count = (int) m->length;

    set_case("receive", m);
    m->taken = true;
    *t = (transfer_t){.buffer = fp_alloc(span(m->length, m->strided_recv)), .message = m, .receive = true};
    if (m->persistent) {
        FP(MPI_Recv_init(t->buffer, count, type, m->from, m->tag, comms[m->comm], &t->request));
        FP(MPI_Start(&t->request));
    } else {
        FP(MPI_Irecv(t->buffer, count, type, m->from, m->tag, comms[m->comm], &t->request));
    }
}

/* The message that a wildcard found, by what the status says. */
static plan_t *found_message(const MPI_Status *status, int tag, int comm)
{
    plan_t *m = next_match(status->MPI_SOURCE, tag, comm);

    if (CHECK(NULL != m)) {
        set_case("found", m);
        m->taken = true;
        CHECK_STATUS(status, m->from, m->tag, m->length);
    }
    return m;
}

static void wildcard_recv(int source, int tag, int comm)
{
    unsigned char *buffer = fp_alloc(LONGEST);
    MPI_Status status;
    plan_t *m;

    FP(MPI_Recv(buffer, LONGEST, MPI_BYTE, source, tag, comms[comm], &status));
    m = found_message(&status, tag, comm);
    if (NULL != m) {
        CHECK_POISON(buffer + m->length, LONGEST - m->length);
        check_received(buffer, m, false);
    }
}

static void probed_recv(int source, int tag, int comm)
{
    bool with_gaps = one_in(4), matched = one_in(2);
    MPI_Datatype type = with_gaps ? strided : MPI_BYTE;
    MPI_Message message;
    MPI_Status status;
    unsigned char *buffer;
    plan_t *m;

    if (matched) {
        FP(MPI_Mprobe(source, tag, comms[comm], &message, &status));
    } else {
        FP(MPI_Probe(source, tag, comms[comm], &status));
    }
    m = found_message(&status, tag, comm);
    if (NULL == m) {
        return;
    }
    buffer = fp_alloc(span(m->length, with_gaps));
    if (matched) {
        FP(MPI_Mrecv(buffer, (int) m->length, type, &message, &status));
    } else {
        FP(MPI_Recv(buffer, (int) m->length, type, status.MPI_SOURCE, status.MPI_TAG, comms[comm], &status));
    }
    CHECK_STATUS(&status, m->from, m->tag, m->length);
    check_received(buffer, m, with_gaps);
}

/* Receives what is left, each message by some call that can get it. */
static void receive_the_rest(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        plan_t *m = &plan[i];

        while (m->to == fp_rank && !m->taken) { /* a wildcard may get another one */
            int source = one_in(2) ? MPI_ANY_SOURCE : m->from;
            int tag = one_in(2) ? MPI_ANY_TAG : m->tag;

            set_case("wait for", m);
            switch (fp_random(&choices) % 3) {
            case 0:
                start_recv(next_match(m->from, m->tag, m->comm));
                break;
            case 1:
                wildcard_recv(source, tag, m->comm);
                break;
            default:
                probed_recv(source, tag, m->comm);
                break;
            }
        }
    }
}

/* --------------------------------------------------------------------- rounds */

static void finish_transfers(void)
{
    for (int i = 0; i < transfer_count; i++) {
        /* In an order that is no one's: 7919 is prime. */
        transfer_t *t = &transfers[(int) (((long) i * 7919) % transfer_count)];
        const plan_t *m = t->message;
        MPI_Status status;

        set_case("complete", m);
        FP(MPI_Wait(&t->request, &status));
        if (m->persistent) {
            FP(MPI_Request_free(&t->request));
        }
        CHECK(MPI_REQUEST_NULL == t->request);
        if (t->receive) {
            CHECK_STATUS(&status, m->from, m->tag, m->length);
        }
        check_received(t->buffer, m, t->receive ? m->strided_recv : m->strided_send);
    }
    transfer_count = 0;
}

static void one_round(fp_random_t *r)
{
    make_plan(r);
    for (int i = 0; i < MESSAGES; i++) {
        plan_t *m = &plan[i];

        if (m->to == fp_rank && one_in(2)) {
            m = next_match(m->from, m->tag, m->comm);
            if (NULL != m) {
                start_recv(m);
            }
        }
        if (plan[i].from == fp_rank) {
            start_send(&plan[i]);
        }
    }
    receive_the_rest();
    finish_transfers();
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* wildcards must not see the next round */
}

int main(int argc, char **argv)
{
    uint64_t seed = (1 < argc) ? strtoull(argv[1], NULL, 0) : (uint64_t) time(NULL);
    int rounds = (2 < argc) ? atoi(argv[2]) : 60, size;
    fp_random_t shared;
    void *room;

    fp_init(&argc, &argv, 1);
    FP(MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    if (0 == fp_rank) {
        printf("# seed %" PRIu64 ", %d rounds\n", seed, rounds);
    }
    shared.state = seed;
    choices.state = seed + 1 + (uint64_t) fp_rank;
    comms[0] = MPI_COMM_WORLD;
    for (int i = 1; i < COMMS; i++) {
        FP(MPI_Comm_dup(comms[i - 1], &comms[i]));
    }
    FP(MPI_Type_create_resized(MPI_BYTE, 0, GAP, &strided));
    FP(MPI_Type_commit(&strided));
    FP(MPI_Buffer_attach(malloc(ROOM), ROOM));
    for (current_round = 0; current_round < rounds; current_round++) {
        one_round(&shared);
    }
    FP(MPI_Buffer_detach(&room, &size));
    free(room);
    FP(MPI_Type_free(&strided));
    for (int i = 1; i < COMMS; i++) {
        FP(MPI_Comm_free(&comms[i]));
    }
    return fp_finish();
}
