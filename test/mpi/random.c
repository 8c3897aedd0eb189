/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Random traffic among all ranks. A round goes like this, in each lane:
 *
 *     send ahead, take some back | post receives, some for messages that need them | send, receive,
 *     look, cancel, exchange | receive the rest | complete | check every byte, status and verdict
 *
 * with a barrier at the first two bars and before the last. See random_plan.h for what a message can be.
 *
 * usage: random [SEED [ROUNDS [LANES [stock]]]]
 *
 * SEED "new" takes one from the clock; it is printed. LANES above 1 are threads of MPI_THREAD_MULTIPLE.
 * "stock" leaves out what ob1 of Open MPI 4.1.4 does wrong: it takes no send back, writes past the end of
 * truncated receives, starts a persistent buffered send but once, and counts the copies in the attached
 * buffer without a lock, so that with threads MPI_Buffer_detach may wait for ever. */

#include <time.h>

#include "random_lane.h"

enum { ROOM = 64 << 20 };

static lane_t *lanes[MAX_LANES];
static options_t options;

bool lane_one_in(lane_t *lane, unsigned n)
{
    return 0 == fp_random(&lane->choices) % n;
}

void lane_case(const lane_t *lane, const char *verb, const message_t *m)
{
    fp_case("seed %" PRIu64 " round %d: %s message of %zu bytes from %d to %d tag %d on %s, %s%s%s, %s to %s",
            options.seed, lane->round, verb, m->length, m->from, m->to, m->tag, plan_where_names[m->where],
            m->mode->name, m->persistent ? " persistent" : "", m->blocking ? " blocking" : "", m->out->name,
            m->in->name);
}

transfer_t *lane_keep(lane_t *lane, transfer_t transfer)
{
    transfer_t *t = &lane->transfers[lane->transfer_count++];

    *t = transfer;
    return t;
}

/* --------------------------------------------------------------------- rounds */

/* With messages of others under way. */
static void make_fresh(lane_t *lane)
{
    MPI_Request request;

    if (lane->round % 2) {
        FP(MPI_Comm_dup(lane->comms[ON_DUP], &lane->comms[ON_FRESH]));
    } else {
        FP(MPI_Comm_idup(lane->comms[ON_DUP], &lane->comms[ON_FRESH], &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

/* MPI_Sendrecv, or MPI_Sendrecv_replace, once around. */
static void exchange(lane_t *lane)
{
    enum { SHIFT_TAG = 70 };
    const shift_t *shift = &lane->plan.shift;
    int to = (fp_rank + shift->distance) % fp_size, from = (fp_rank + fp_size - shift->distance) % fp_size;
    unsigned char *out = fp_alloc_filled(shift->length, fp_key(fp_rank, to, lane->round, lane->index));
    unsigned char *in = out;
    int length = (int) shift->length;
    MPI_Status status;

    fp_case("seed %" PRIu64 " round %d: exchange of %zu bytes", options.seed, lane->round, shift->length);
    if (shift->replace) {
        FP(MPI_Sendrecv_replace(out, length, MPI_BYTE, to, SHIFT_TAG, from, SHIFT_TAG, lane->side, &status));
    } else {
        in = fp_alloc(shift->length);
        FP(MPI_Sendrecv(out, length, MPI_BYTE, to, SHIFT_TAG, in, length, MPI_BYTE, from, SHIFT_TAG,
                        lane->side, &status));
        CHECK_DATA(out, shift->length, fp_key(fp_rank, to, lane->round, lane->index));
        fp_free(out);
    }
    CHECK_STATUS(&status, from, SHIFT_TAG, shift->length);
    CHECK_DATA(in, shift->length, fp_key(from, fp_rank, lane->round, lane->index));
    fp_free(in);
}

static void before_sending(lane_t *lane)
{
    standing_start(lane, true);
    recv_early(lane);
    race_post(lane);
}

static void send_and_receive(lane_t *lane)
{
    standing_start(lane, false);
    race_send(lane);
    for (int i = AHEAD; i < MESSAGES; i++) {
        message_t *m = &lane->plan.messages[i];

        if (m->from == fp_rank) {
            send_start(lane, m);
        }
        if (lane_one_in(lane, 3)) {
            recv_some(lane);
        }
        if (lane_one_in(lane, 4)) {
            finish_some(lane, false);
        }
        if ((AHEAD + MESSAGES) / 2 == i) {
            exchange(lane);
        }
    }
    race_post_enough(lane);
    recv_rest(lane);
}

static void one_round(lane_t *lane)
{
    plan_make(&lane->plan, &options, lane->round, lane->index);
    send_ahead(lane);
    make_fresh(lane);
    FP(MPI_Barrier(lane->base)); /* before it nothing is received, so what was to be taken back has been */
    before_sending(lane);
    FP(MPI_Barrier(lane->base)); /* after it everything may be sent: its receive is there */
    send_and_receive(lane);
    FP(MPI_Comm_free(&lane->comms[ON_FRESH])); /* what is under way on it still comes */
    race_send_end(lane);
    finish_all(lane);
    race_recv_end(lane);
    fp_case("seed %" PRIu64 " round %d: end", options.seed, lane->round);
    FP(MPI_Barrier(lane->base)); /* no receive sees the next round, and forgotten sends have left */
    finish_check(lane);
}

static void run_lane(int index)
{
    lane_t *lane = lanes[index];

    standing_init(lane);
    for (lane->round = 0; lane->round < options.rounds; lane->round++) {
        one_round(lane);
    }
    standing_fini(lane);
}

/* ---------------------------------------------------------------- start, end */

/* Even ranks on one side, odd ones on the other. */
static MPI_Comm make_inter(void)
{
    MPI_Comm local, inter = MPI_COMM_NULL;

    if (1 < fp_size) {
        FP(MPI_Comm_split(MPI_COMM_WORLD, fp_rank % 2, fp_rank, &local));
        FP(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, (fp_rank % 2) ? 0 : 1, 1, &inter));
        FP(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
        FP(MPI_Comm_free(&local));
    }
    return inter;
}

static lane_t *lane_new(int index)
{
    lane_t *lane = calloc(1, sizeof(*lane));

    lane->options = &options;
    lane->index = index;
    lane->choices.state = fp_key(fp_rank, index, 3, 0) ^ options.seed;
    lane->comms[ON_WORLD] = MPI_COMM_WORLD;
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &lane->comms[ON_DUP]));
    FP(MPI_Comm_split(MPI_COMM_WORLD, 0, -fp_rank, &lane->comms[ON_REVERSED]));
    FP(MPI_Comm_set_errhandler(lane->comms[ON_REVERSED], MPI_ERRORS_RETURN));
    lane->comms[ON_INTER] = make_inter();
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &lane->base));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &lane->side));
    return lane;
}

static void lane_free(lane_t *lane)
{
    FP(MPI_Comm_free(&lane->comms[ON_DUP]));
    FP(MPI_Comm_free(&lane->comms[ON_REVERSED]));
    if (MPI_COMM_NULL != lane->comms[ON_INTER]) {
        FP(MPI_Comm_free(&lane->comms[ON_INTER]));
    }
    FP(MPI_Comm_free(&lane->base));
    FP(MPI_Comm_free(&lane->side));
    free(lane);
}

static void read_options(int argc, char **argv)
{
    const char *seed = (1 < argc) ? argv[1] : "new";

    options.seed = (0 == strcmp(seed, "new")) ? (uint64_t) time(NULL) : strtoull(seed, NULL, 0);
    options.rounds = (2 < argc) ? atoi(argv[2]) : 30;
    options.lanes = (3 < argc) ? atoi(argv[3]) : 1;
    options.stock = 4 < argc && 0 == strcmp(argv[4], "stock");
}

/* All ranks have the same arguments, but not the same clock. */
static void agree_on_seed(void)
{
    FP(MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    if (0 == fp_rank) {
        printf("# repeat with %d ranks: random %" PRIu64 " %d %d%s\n", fp_size, options.seed, options.rounds,
               options.lanes, options.stock ? " stock" : "");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    void *room;
    int size;

    read_options(argc, argv);
    if (1 > options.lanes || MAX_LANES < options.lanes || 1 > options.rounds) {
        fprintf(stderr, "usage: random [SEED|new [ROUNDS [LANES (1 to %d) [stock]]]]\n", MAX_LANES);
        return 2;
    }
    if (1 == options.lanes) {
        fp_init(&argc, &argv, 1);
    } else if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 1, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    if (MAX_RANKS < fp_size) {
        fp_skip("it has tables for %d ranks", MAX_RANKS);
    }
    agree_on_seed();
    layouts_init();
    FP(MPI_Buffer_attach(malloc(ROOM), ROOM));
    for (int i = 0; i < options.lanes; i++) {
        lanes[i] = lane_new(i);
    }
    if (1 == options.lanes) {
        run_lane(0);
    } else {
        fp_run_threads(options.lanes, run_lane);
    }
    for (int i = 0; i < options.lanes; i++) {
        lane_free(lanes[i]);
    }
    FP(MPI_Buffer_detach(&room, &size));
    free(room);
    layouts_fini();
    return fp_finish();
}
