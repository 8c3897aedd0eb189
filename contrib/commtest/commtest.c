/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * fastpath-commtest: SWAP and SENDRECV of a fixed volume in more and more packets.  See
 * commtest_options_help() for how it is called and docs/benchmarks.md for what its figures mean.
 *
 * Exit status: 0, 1 if data was wrong, 2 if the command line asks for something that cannot be.
 */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

static const char name[] = "fastpath-commtest";

/* Before a long run; overwritten by the next one on a terminal. */
static void show_progress(const commtest_options_t *options, int at, int count, int packet)
{
    if (options->progress) {
        fprintf(stderr, "%s%s: experiment %d of %d, packets of %d bytes%s",
                isatty(STDERR_FILENO) ? "\r\033[K" : "", name, at + 1, count, packet,
                isatty(STDERR_FILENO) ? "" : "\n");
    }
}

static void end_progress(const commtest_options_t *options)
{
    if (options->progress && isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
}

/* All sizes of packets; returns how many processes have seen wrong data. */
static int run(commtest_setup_t *setup, const commtest_plan_t *plan, int at, commtest_partners_t *partners,
               FILE *csv)
{
    const commtest_experiment_t *experiment = &plan->experiments[at];
    commtest_result_t results[32];
    int count = 0, wrong = 0;
    MPI_Comm active;

    commtest_plan_partners(experiment, setup->options, partners);
    MPI_Comm_split(MPI_COMM_WORLD, COMMTEST_NOBODY != partners->to[setup->rank] ? 0 : MPI_UNDEFINED, 0,
                   &active);
    if (0 == setup->rank) {
        commtest_report_begin(experiment, partners);
    }
    for (int packets = 1; packets <= setup->options->total / setup->options->packet; packets *= 2) {
        int packet = setup->options->total / packets;

        if (0 == setup->rank) {
            show_progress(setup->options, at, plan->count, packet);
        }
        commtest_measure(setup, experiment, partners, active, packet, &results[count]);
        wrong += results[count++].wrong;
    }
    if (MPI_COMM_NULL != active) {
        MPI_Comm_free(&active);
    }
    if (0 == setup->rank) {
        end_progress(setup->options);
        commtest_report_end(csv, setup, experiment, partners, results, count);
    }
    return wrong;
}

/* The file is process 0's; all know whether it could be made. */
static bool open_csv(const commtest_options_t *options, int rank, FILE **csv)
{
    int good = 1;

    *csv = NULL;
    if (0 == rank && NULL != options->csv) {
        *csv = fopen(options->csv, "w");
        good = NULL != *csv;
        if (good) {
            commtest_report_csv_head(*csv);
        } else {
            fprintf(stderr, "%s: cannot write %s\n", name, options->csv);
        }
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return good;
}

static int run_all(const commtest_options_t *options, const commtest_plan_t *plan, int processes, FILE *csv)
{
    commtest_partners_t partners;
    commtest_setup_t setup;
    int wrong = 0;

    if (!commtest_setup_open(&setup, options, name) || !commtest_partners_open(&partners, processes)) {
        fprintf(stderr, "%s: no memory for two volumes of %d bytes\n", name, options->total);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (0 == setup.rank) {
        commtest_report_head(&setup, processes);
    }
    for (int i = 0; i < plan->count; ++i) {
        wrong += run(&setup, plan, i, &partners, csv);
    }
    commtest_partners_close(&partners);
    commtest_setup_close(&setup);
    return wrong > 0 ? 1 : 0;
}

/* What the command line asks for; all processes have the same one and agree on what is wrong with it. */
static int work(int argc, char **argv, int rank, int processes)
{
    static commtest_options_t options;
    commtest_plan_t plan;
    char why[COMMTEST_WHY];
    int status = 2;
    FILE *csv;

    if (!commtest_options_parse(&options, argc, argv, why)) {
        options.list = options.help = false;
    } else if (options.list || options.help) {
        if (0 == rank) {
            options.help ? commtest_options_help(stdout) : commtest_protocol_list(stdout);
        }
        return 0;
    } else if (commtest_plan_make(&plan, &options, processes, why)) {
        if (open_csv(&options, rank, &csv)) {
            status = run_all(&options, &plan, processes, csv);
        }
        if (NULL != csv && 0 != fclose(csv)) {
            fprintf(stderr, "%s: cannot write all of %s\n", name, options.csv);
            status = 2;
        }
        free(plan.experiments);
        return status;
    }
    if (0 == rank) {
        fprintf(stderr, "%s: %s\n", name, why);
    }
    return 2;
}

int main(int argc, char **argv)
{
    int rank, processes, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    status = work(argc, argv, rank, processes);
    MPI_Finalize();
    return status;
}
