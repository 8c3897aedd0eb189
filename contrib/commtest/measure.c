/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "measure.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "fit.h"
#include "join.h"
#include "verify.h"

enum { GUARD = 64, GUARD_BYTE = 0x5a };

bool commtest_setup_open(commtest_setup_t *setup, const commtest_options_t *options, const char *name)
{
    int good;

    *setup = (commtest_setup_t){.options = options, .name = name};
    MPI_Comm_rank(MPI_COMM_WORLD, &setup->rank);
    /* Two places for a packet that is the whole volume: see exchange.h. */
    setup->in_bytes = (options->programs[1] && options->iterations > 1 ? 2 : 1) * (size_t) options->total;
    setup->out = malloc((size_t) options->total);
    setup->in = malloc(setup->in_bytes + GUARD);
    setup->own = malloc(3 * (size_t) options->repetitions * sizeof(double));
    good = NULL != setup->out && NULL != setup->in && NULL != setup->own;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (good) {
        setup->minus_begin = setup->own + options->repetitions;
        setup->end = setup->minus_begin + options->repetitions;
        memset(setup->in + setup->in_bytes, GUARD_BYTE, GUARD);
        commtest_clock_open(&setup->clock, MPI_COMM_WORLD, options->estimate_clock);
    }
    return good;
}

void commtest_setup_close(commtest_setup_t *setup)
{
    free(setup->out);
    free(setup->in);
    free(setup->own);
}

static bool guard_is_whole(const commtest_setup_t *setup)
{
    for (int i = 0; i < GUARD; ++i) {
        if (GUARD_BYTE != setup->in[setup->in_bytes + i]) {
            return false;
        }
    }
    return true;
}

/* Returns whether what has arrived is what was sent in that pass. */
static bool check(const commtest_setup_t *setup, const commtest_experiment_t *experiment,
                  const commtest_volume_t *volume, int pass)
{
    size_t total = (size_t) setup->options->total;
    size_t at = commtest_wrong(setup->in, total, volume->link.from, pass);

    if (at == total && guard_is_whole(setup)) {
        return true;
    }
    if (at == total) {
        fprintf(stderr, "%s: process %d: somebody has written behind the receive buffer\n", setup->name,
                setup->rank);
    } else {
        fprintf(stderr,
                "%s: process %d: wrong data from process %d by %s (%d,%d): byte %d of packet %d of %d of %d "
                "bytes\n",
                setup->name, setup->rank, volume->link.from, experiment->overlapped ? "overlapped" : "basic",
                experiment->protocol->ordered, experiment->protocol->number,
                (int) (at % (size_t) volume->packet), (int) (at / (size_t) volume->packet), volume->packets,
                volume->packet);
    }
    return false;
}

/* Some volumes in a row, from a common start on; sets begin and end. */
static void run(commtest_volume_t *volume, MPI_Comm active, double *begin, double *end)
{
    commtest_buffer_flush(volume->link.protocol);
    commtest_volume_prepare(volume);
    MPI_Barrier(active);
    *begin = commtest_now_us();
    commtest_volume_run(volume);
    *end = commtest_now_us();
}

/* Names what is measured to tools that take regions from MPI_Pcontrol; to MPI it means nothing. */
static void region(int level, const commtest_experiment_t *experiment, const commtest_volume_t *volume)
{
    char label[80];

    snprintf(label, sizeof(label), "%s %s (%d,%d) %d of %d", experiment->overlapped ? "overlapped" : "basic",
             COMMTEST_SWAP == experiment->command ? "swap" : "sendrecv", experiment->protocol->ordered,
             experiment->protocol->number, volume->packets, volume->packet);
    MPI_Pcontrol(level, label);
}

/* A process that takes part: fills its part of the times, returns whether all data was right. */
static bool take_part(commtest_setup_t *setup, const commtest_experiment_t *experiment,
                      commtest_volume_t *volume, MPI_Comm active)
{
    const commtest_options_t *options = setup->options;
    size_t total = (size_t) options->total;
    bool good;
    double begin, end;

    memset(setup->in, 0, setup->in_bytes);
    commtest_fill(setup->out, total, setup->rank, -1);
    volume->count = volume->packets;
    run(volume, active, &begin, &end); /* to be checked, and for nothing else */
    good = check(setup, experiment, volume, -1);
    for (int i = 0; i < options->warm_up; ++i) {
        run(volume, active, &begin, &end);
    }
    volume->count *= options->iterations;
    region(1, experiment, volume);
    for (int i = 0; i < options->repetitions; ++i) {
        commtest_fill(setup->out, total, setup->rank, i); /* freshly written, as in an application */
        run(volume, active, &begin, &end);
        setup->own[i] = end - begin;
        setup->minus_begin[i] = -(begin + setup->clock.offset_us);
        setup->end[i] = end + setup->clock.offset_us;
    }
    region(-1, experiment, volume);
    return check(setup, experiment, volume, options->repetitions - 1) && good;
}

/* What all processes have taken becomes a result, at all of them. */
static void sum_up(commtest_setup_t *setup, commtest_result_t *result)
{
    int repetitions = setup->options->repetitions;
    double apart, noise;

    MPI_Allreduce(MPI_IN_PLACE, setup->own, 3 * repetitions, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < repetitions; ++i) {
        setup->own[i] /= setup->options->iterations;
        setup->end[i] = (setup->end[i] + setup->minus_begin[i]) / setup->options->iterations;
    }
    result->median_us = commtest_median(setup->own, repetitions);
    result->best_us = setup->own[0];
    result->worst_us = setup->own[repetitions - 1];
    result->elapsed_us = commtest_median(setup->end, repetitions);
    apart = result->elapsed_us - result->median_us;
    noise = 2.0 * setup->clock.error_us / setup->options->iterations; /* at the begin and at the end */
    result->apart = apart > 0.1 * result->median_us && apart > noise;
}

void commtest_measure(commtest_setup_t *setup, const commtest_experiment_t *experiment,
                      const commtest_partners_t *partners, MPI_Comm active, int packet,
                      commtest_result_t *result)
{
    const commtest_options_t *options = setup->options;
    double ahead = commtest_plan_ahead(partners, options, packet);
    int wrong = 0, attached = 1;

    for (int i = 0; i < 3 * options->repetitions; ++i) {
        setup->own[i] = -DBL_MAX;
    }
    *result = (commtest_result_t){.packet = packet, .packets = options->total / packet};
    if (MPI_COMM_NULL != active) {
        commtest_volume_t volume = {.link = {.protocol = experiment->protocol,
                                             .comm = MPI_COMM_WORLD,
                                             .to = partners->to[setup->rank],
                                             .from = partners->from[setup->rank],
                                             .first = partners->first[setup->rank]},
                                    .out = setup->out,
                                    .in = setup->in,
                                    .packet = packet,
                                    .packets = result->packets,
                                    .overlapped = experiment->overlapped};

        attached = commtest_buffer_attach(experiment->protocol, ahead, ahead * packet);
        MPI_Allreduce(MPI_IN_PLACE, &attached, 1, MPI_INT, MPI_MIN, active);
        if (!attached) {
            fprintf(stderr, "%s: process %d: no memory for a buffer for MPI_Bsend\n", setup->name,
                    setup->rank);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        wrong = !take_part(setup, experiment, &volume, active);
        commtest_buffer_detach(experiment->protocol);
    }
    commtest_join(MPI_COMM_NULL == active);
    sum_up(setup, result);
    MPI_Allreduce(&wrong, &result->wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
