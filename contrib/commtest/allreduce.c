/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * fastpath-allreduce: vectors added up, by MPI_Allreduce and by hand.  See commtest_allreduce_help() for how
 * it is called and docs/benchmarks.md for what its figures mean.
 *
 * Exit status: 0, 1 if a result was wrong, 2 if the command line asks for something that cannot be.
 */

#include <mpi.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allreduce_options.h"
#include "clock.h"
#include "exchange.h"
#include "fit.h"
#include "join.h"

static const char name[] = "fastpath-allreduce";
enum { GOAL_US = 1000, MOST_ITERATIONS = 1000 };

/* What stays the same for a job. */
typedef struct {
    commtest_allreduce_options_t options;
    int rank; /* in MPI_COMM_WORLD */
    int processes;
    double *vector, *result, *spare;
    double *own;    /* us by repetition, then of the slowest process */
    double *mpi_us; /* by length: median of MPI_Allreduce for these processes and operation, or 0 */
    FILE *csv;      /* of process 0 */
    int wrong;      /* results */
} job_t;

/* One form of one operation. */
typedef struct {
    const commtest_form_t *form;
    commtest_operation_t operation;
    commtest_group_t group; /* comm is MPI_COMM_NULL at processes that take no part */
} sum_t;

/* Some calls in a row.  In place they add zeros, of which they do not become too large. */
static double run(job_t *job, const sum_t *sum, int count, int iterations)
{
    double begin;

    if (sum->form->in_place) {
        memset(job->result, 0, (size_t) count * sizeof(double));
    }
    if (!sum->form->by_mpi) {
        commtest_buffer_flush(sum->group.protocol);
    }
    MPI_Barrier(sum->group.comm);
    begin = commtest_now_us();
    for (int i = 0; i < iterations; ++i) {
        sum->form->run(&sum->group, job->vector, job->result, count);
    }
    return commtest_now_us() - begin;
}

/* A pass of its own. */
static void check(job_t *job, const sum_t *sum, int count)
{
    int at;

    commtest_vector_fill(job->vector, count, sum->group.rank);
    for (int i = 0; i < count; ++i) {
        job->result[i] = sum->form->in_place ? job->vector[i] : -1.0;
    }
    sum->form->run(&sum->group, job->vector, job->result, count);
    at = commtest_vector_wrong(job->result, count, sum->operation, sum->group.ranks);
    if (at < count) {
        fprintf(stderr, "%s: process %d: element %d of %d is wrong by %s of %d processes\n", name, job->rank,
                at, count, sum->form->name, sum->group.ranks);
        ++job->wrong;
    }
}

static void attach(const sum_t *sum, int count)
{
    /* A partner may be a whole operation behind, and each operation sends the vector once or twice for each
     * bit of the number of processes; in a ring it goes round twice.  Twice that, as in plan.c. */
    int bits = (int) ceil(log2(sum->group.ranks)) + 2;

    if (!sum->form->by_mpi
        && !commtest_buffer_attach(sum->group.protocol, 8.0 * sum->group.ranks + 8.0 * bits,
                                   4.0 * bits * count * (double) sizeof(double))) {
        fprintf(stderr, "%s: a buffer for MPI_Bsend of vectors of %d doubles would be too large\n", name,
                count);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* A process that takes part. */
static void measure(job_t *job, const sum_t *sum, int count)
{
    int iterations = job->options.iterations;
    double us = 0.0;

    attach(sum, count);
    check(job, sum, count);
    for (int i = 0; i < job->options.warm_up; ++i) {
        us = run(job, sum, count, 1);
    }
    if (0 == iterations) {
        iterations = (int) (GOAL_US / (us > 1.0 ? us : 1.0));
        iterations = iterations < 1 ? 1 : iterations > MOST_ITERATIONS ? MOST_ITERATIONS : iterations;
        MPI_Bcast(&iterations, 1, MPI_INT, 0, sum->group.comm);
    }
    for (int i = 0; i < job->options.repetitions; ++i) {
        job->own[i] = run(job, sum, count, iterations) / iterations;
    }
    if (!sum->form->by_mpi) {
        commtest_buffer_detach(sum->group.protocol);
    }
}

static void print(job_t *job, const sum_t *sum, int length)
{
    int repetitions = job->options.repetitions, count = job->options.doubles[length];
    double median = commtest_median(job->own, repetitions);
    const commtest_protocol_t *protocol = sum->group.protocol;
    char by[16] = ",";

    if (!sum->form->by_mpi) {
        snprintf(by, sizeof(by), "%d,%d", protocol->ordered, protocol->number);
    } else if (!sum->form->in_place) {
        job->mpi_us[length] = median;
    }
    printf("%10d %12.0f %11.2f %11.2f %11.2f", count, 8.0 * count, job->own[0], median,
           job->own[repetitions - 1]);
    if (job->mpi_us[length] > 0.0) {
        printf(" %7.2f", median / job->mpi_us[length]);
    }
    printf("\n");
    fflush(stdout);
    if (NULL != job->csv) {
        fprintf(job->csv, "%s,%s,%s,%d,%d,%.0f,%.3f,%.3f,%.3f\n", sum->form->name, by,
                commtest_allreduce_operation(sum->operation), sum->group.ranks, count, 8.0 * count,
                job->own[0], median, job->own[repetitions - 1]);
    }
}

/* All lengths of one form. */
static void run_form(job_t *job, sum_t *sum)
{
    const commtest_protocol_t *protocol = sum->group.protocol;

    if (0 == job->rank) {
        printf("\n%s", sum->form->name);
        if (!sum->form->by_mpi) {
            printf(" by (%d,%d) %s", protocol->ordered, protocol->number, protocol->what);
        }
        printf("; %s of %d processes\n", commtest_allreduce_operation(sum->operation), sum->group.ranks);
        printf("%10s %12s %11s %11s %11s %7s\n", "doubles", "bytes", "us, best", "median", "worst", "/ mpi");
    }
    for (int i = 0; i < job->options.doubles_count; ++i) {
        for (int r = 0; r < job->options.repetitions; ++r) {
            job->own[r] = -DBL_MAX;
        }
        if (0 == job->rank && job->options.progress) {
            fprintf(stderr, "%s: %s, %d doubles\n", name, sum->form->name, job->options.doubles[i]);
        }
        if (MPI_COMM_NULL != sum->group.comm) {
            measure(job, sum, job->options.doubles[i]);
        }
        commtest_join(MPI_COMM_NULL == sum->group.comm);
        MPI_Allreduce(MPI_IN_PLACE, job->own, job->options.repetitions, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (0 == job->rank) {
            print(job, sum, i);
        }
    }
}

/* All forms and protocols with the first processes. */
static void run_ranks(job_t *job, int ranks)
{
    sum_t sum = {.group = {.ranks = ranks, .rank = job->rank, .spare = job->spare}};

    MPI_Comm_split(MPI_COMM_WORLD, job->rank < ranks ? 0 : MPI_UNDEFINED, job->rank, &sum.group.comm);
    for (int operation = 0; operation < COMMTEST_OPERATIONS; ++operation) {
        if (!job->options.operations[operation]) {
            continue;
        }
        memset(job->mpi_us, 0, COMMTEST_LENGTHS * sizeof(double));
        sum.operation = (commtest_operation_t) operation;
        sum.group.op = commtest_operation_open(sum.operation);
        for (int f = 0; f < COMMTEST_FORMS; ++f) {
            bool once = commtest_forms[f].by_mpi;

            sum.form = &commtest_forms[f];
            for (int p = 0; job->options.forms[f] && p < (once ? 1 : COMMTEST_PROTOCOLS); ++p) {
                sum.group.protocol = &commtest_protocols[p];
                if (once || job->options.protocols[p]) {
                    run_form(job, &sum);
                }
            }
        }
        commtest_operation_close(sum.operation, &sum.group.op);
    }
    if (MPI_COMM_NULL != sum.group.comm) {
        MPI_Comm_free(&sum.group.comm);
    }
}

static bool make_room(job_t *job)
{
    size_t bytes = (size_t) job->options.most * sizeof(double);
    int good;

    job->vector = malloc(bytes);
    job->result = malloc(bytes);
    job->spare = malloc(bytes);
    job->own = malloc((size_t) job->options.repetitions * sizeof(double));
    job->mpi_us = calloc(COMMTEST_LENGTHS, sizeof(double));
    good = NULL != job->vector && NULL != job->result && NULL != job->spare && NULL != job->own
           && NULL != job->mpi_us;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return good;
}

static void free_room(job_t *job)
{
    free(job->vector);
    free(job->result);
    free(job->spare);
    free(job->own);
    free(job->mpi_us);
}

static void print_head(const job_t *job)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    printf("mpi        %.100s\nprocesses  %d\n", version, job->processes);
}

/* Returns the exit status. */
static int work(job_t *job)
{
    int good = 1;

    if (0 == job->rank && NULL != job->options.csv) {
        job->csv = fopen(job->options.csv, "w");
        good = NULL != job->csv;
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!good || !make_room(job)) {
        if (0 == job->rank) {
            fprintf(stderr, "%s: cannot %s\n", name,
                    good ? "have memory for three of the longest vectors" : "write the file of --csv");
        }
        return 2;
    }
    if (0 == job->rank) {
        print_head(job);
        if (NULL != job->csv) {
            fprintf(job->csv,
                    "form,ordered,number,operation,processes,doubles,bytes,best_us,median_us,worst_us\n");
        }
    }
    for (int i = 0; i < job->options.ranks_count; ++i) {
        run_ranks(job, job->options.ranks[i]);
    }
    free_room(job);
    if (NULL != job->csv && 0 != fclose(job->csv)) {
        fprintf(stderr, "%s: cannot write all of %s\n", name, job->options.csv);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Allreduce(MPI_IN_PLACE, &job->wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return job->wrong > 0 ? 1 : 0;
}

static void list(void)
{
    for (int i = 0; i < COMMTEST_FORMS; ++i) {
        for (int p = 0; p < (commtest_forms[i].by_mpi ? 1 : COMMTEST_PROTOCOLS); ++p) {
            if (commtest_forms[i].by_mpi) {
                printf("%s\n", commtest_forms[i].name);
            } else {
                printf("%-12s (%d,%d) %s\n", commtest_forms[i].name, commtest_protocols[p].ordered,
                       commtest_protocols[p].number, commtest_protocols[p].what);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static job_t job;
    char why[COMMTEST_WHY];
    int status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.processes);
    if (!commtest_allreduce_parse(&job.options, argc, argv, job.processes, why)) {
        if (0 == job.rank) {
            fprintf(stderr, "%s: %s\n", name, why);
        }
        status = 2;
    } else if (!job.options.list && !job.options.help) {
        status = work(&job);
    } else if (0 == job.rank) {
        job.options.help ? commtest_allreduce_help(stdout) : list();
    }
    MPI_Finalize();
    return status;
}
