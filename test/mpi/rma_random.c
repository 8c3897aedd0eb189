/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Random one-sided traffic among all ranks, against a sequential model. A phase goes like this, in each lane:
 *
 *     plan | one epoch or several, with operations | carry the plan out in the model, check results
 *
 * and between two phases, unless they are joined by one fence or by post and start, ranks look at their
 * memory between two barriers. See rma_random_plan.h for what an operation can be.
 *
 * usage: rma_random [SEED [EPOCHS [LANES [KINDS [stock | all [WINDOW]]]]]]
 *
 * SEED "new" takes one from the clock; it is printed. EPOCHS is the number of phases, in each of which every
 * rank has an epoch or some. LANES above 1 are threads of MPI_THREAD_MULTIPLE, each with windows of its own.
 * KINDS are letters: c(reated), a(llocated), s(hared), d(ynamic) windows, without which all are tried.
 * WINDOW is the number of the first window, to come to a failure sooner.
 * "stock" leaves out what Open MPI's own components do wrong (see docs/testing.md). */

#include <time.h>

#include "rma_random_lane.h"

static lane_t *lanes[MAX_LANES];
static options_t options;

bool lane_one_in(lane_t *lane, unsigned n)
{
    return 0 == fp_random(&lane->choices) % n;
}

void lane_case(const lane_t *lane, const char *what, const operation_t *op)
{
    const window_plan_t *plan = &lane->plan;

    if (NULL == op) {
        fp_case("seed %" PRIu64 " window %d (%s) phase %d (%s): %s", options.seed, lane->number,
                plan_kind_names[plan->kind], lane->phase.number, plan_mode_names[lane->phase.mode], what);
        return;
    }
    fp_case("seed %" PRIu64 " window %d (%s) phase %d (%s): %s %s of %zu %s (%s) from %d to %d, slot %d, %s",
            options.seed, lane->number, plan_kind_names[plan->kind], lane->phase.number,
            plan_mode_names[lane->phase.mode], what, plan_verb_names[op->verb], op->elements,
            plan->slot[op->slot].element->name, op->there->name, op->origin, op->target, op->slot,
            op->op->name);
}

/* ---------------------------------------------------------------------- phases */

static void one_phase(lane_t *lane, int number)
{
    plan_phase(&lane->phase, &lane->plan, number);
    run_phase(lane);
    if (lane->phase.chains) {
        chain_run(lane);
    }
    model_run(lane);
    model_release(lane);
    if (lane->phase.joined) {
        return;
    }
    FP(MPI_Barrier(lane->side));
    model_check_memory(lane);
    if (DYNAMIC == lane->plan.kind) {
        window_move(lane);
    }
    FP(MPI_Barrier(lane->side));
}

static void run_lane(int index)
{
    lane_t *lane = lanes[index];
    int epochs = 0;

    for (int window = options.first; epochs < options.epochs; window++) {
        window_make(lane, window);
        for (int phase = 0; phase < lane->plan.phases; phase++) {
            one_phase(lane, phase);
            epochs++;
        }
        window_free(lane);
    }
}

/* ------------------------------------------------------------------- start, end */

static lane_t *lane_new(int index)
{
    lane_t *lane = calloc(1, sizeof(*lane));

    lane->options = &options;
    lane->index = index;
    lane->choices.state = fp_key(fp_rank, index, 4, 0) ^ options.seed;
    FP(MPI_Comm_split(MPI_COMM_WORLD, 0, (index % 2) ? -fp_rank : fp_rank, &lane->base));
    FP(MPI_Comm_set_errhandler(lane->base, MPI_ERRORS_RETURN));
    FP(MPI_Comm_dup(lane->base, &lane->side));
    FP(MPI_Comm_rank(lane->base, &lane->rank));
    lane->ranks = fp_size;
    for (int i = 0; i < SHAPES; i++) {
        for (int j = 0; j < ELEMENTS; j++) {
            lane->made[i][j] = MPI_DATATYPE_NULL;
        }
    }
    return lane;
}

static void lane_free(lane_t *lane)
{
    FP(MPI_Comm_free(&lane->base));
    FP(MPI_Comm_free(&lane->side));
    free(lane);
}

static bool on_one_node(void)
{
    MPI_Comm node;
    int size;

    FP(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    FP(MPI_Comm_size(node, &size));
    FP(MPI_Comm_free(&node));
    return size == fp_size;
}

static void read_options(int argc, char **argv)
{
    const char *seed = (1 < argc) ? argv[1] : "new", *kinds = (4 < argc) ? argv[4] : PLAN_KIND_LETTERS;

    options.seed = (0 == strcmp(seed, "new")) ? (uint64_t) time(NULL) : strtoull(seed, NULL, 0);
    options.epochs = (2 < argc) ? atoi(argv[2]) : 300;
    options.lanes = (3 < argc) ? atoi(argv[3]) : 1;
    options.first = (6 < argc) ? atoi(argv[6]) : 0;
    options.stock = 5 < argc && 0 == strcmp(argv[5], "stock");
    for (int kind = 0; kind < KINDS; kind++) {
        options.kinds[kind] = NULL != strchr(kinds, PLAN_KIND_LETTERS[kind]);
    }
}

/* All ranks have the same arguments, but not the same clock. */
static void agree(void)
{
    char kinds[KINDS + 1] = "";

    FP(MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    for (int kind = 0; kind < KINDS; kind++) {
        options.kinds[kind] = options.kinds[kind] && (SHARED != kind || on_one_node());
        strncat(kinds, &PLAN_KIND_LETTERS[kind], options.kinds[kind] ? 1 : 0);
    }
    if (0 == strlen(kinds)) {
        fp_skip("no kind of window that can be had here");
    }
    if (0 == fp_rank) {
        printf("# repeat with %d ranks: rma_random %" PRIu64 " %d %d %s%s\n", fp_size, options.seed,
               options.epochs, options.lanes, kinds, options.stock ? " stock" : "");
        fflush(stdout);
    }
}

/* Sums of short integers overflow here, which is harmless where they wrap around. Open MPI's component op/avx
 * makes them stop at the greatest number instead, but only in long arrays, so that a result would depend on
 * how calls are cut and in which order they come. */
static void plain_operations(void)
{
    (void) setenv("OMPI_MCA_op", "^avx", 0);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    if (1 > options.lanes || MAX_LANES < options.lanes || 1 > options.epochs) {
        fprintf(stderr,
                "usage: rma_random [SEED|new [EPOCHS [LANES (1 to %d) [KINDS [stock|all [WINDOW]]]]]]\n",
                MAX_LANES);
        return 2;
    }
    plain_operations();
    if (1 == options.lanes) {
        fp_init(&argc, &argv, 1);
    } else if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 1, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    if (MAX_RANKS < fp_size) {
        fp_skip("it has tables for %d ranks", MAX_RANKS);
    }
    agree();
    types_init();
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
    types_fini();
    return fp_finish();
}
