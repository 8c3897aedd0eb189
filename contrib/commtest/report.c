/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "report.h"

#include <string.h>

#include "fit.h"

static const char *const program_names[] = {"basic", "overlapped"};
static const char *const command_names[] = {"swap", "sendrecv"};
static const char *const who_names[] = {"pair", "turns", "pairs"};

void commtest_report_head(const commtest_setup_t *setup, int processes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    printf("mpi        %.100s\n", version);
    printf("processes  %d\n", processes);
    printf("volume     %d bytes, sent and received by each process that takes part\n", setup->options->total);
    if (setup->clock.one_node && !setup->options->estimate_clock) {
        printf("clock      the same for all: one node\n");
    } else {
        printf("clock      estimated: up to %.2f us from that of process 0, known to within %.2f us\n",
               setup->clock.largest_us, setup->clock.error_us);
    }
}

/* "0 1, 2 3" for a swap, "0 1 2" for a cycle; not more than fit a line. */
static void print_partners(const commtest_partners_t *partners)
{
    int printed = 0;

    for (int lowest = 0; lowest < partners->processes; ++lowest) {
        bool first_of_cycle = COMMTEST_NOBODY != partners->to[lowest];

        for (int p = partners->to[lowest]; first_of_cycle && p != lowest; p = partners->to[p]) {
            first_of_cycle = p > lowest;
        }
        if (!first_of_cycle) {
            continue;
        }
        printf(0 == printed++ ? " %d" : ", %d", lowest);
        for (int p = partners->to[lowest]; p != lowest; p = partners->to[p]) {
            printf(" %d", p);
            if (++printed > 24) {
                printf(" ...");
                return;
            }
        }
    }
}

void commtest_report_begin(const commtest_experiment_t *experiment, const commtest_partners_t *partners)
{
    printf("\n%s %s (%d,%d) %s; processes", program_names[experiment->overlapped],
           command_names[experiment->command], experiment->protocol->ordered, experiment->protocol->number,
           experiment->protocol->what);
    print_partners(partners);
    printf("\n");
    printf("%9s %11s %11s %11s %11s %11s %11s %11s\n", "packets", "bytes", "us, best", "median", "worst",
           "elapsed", "us/packet", "MB/s");
    fflush(stdout);
}

/* Bytes per microsecond are 10^6 bytes per second. */
static double rate(const commtest_setup_t *setup, double us)
{
    return us > 0.0 ? setup->options->total / us : 0.0;
}

static void print_result(const commtest_setup_t *setup, const commtest_result_t *result)
{
    printf("%9d %11d %11.2f %11.2f %11.2f %11.2f %11.3f %11.1f%s%s\n", result->packets, result->packet,
           result->best_us, result->median_us, result->worst_us, result->elapsed_us,
           result->median_us / result->packets, rate(setup, result->median_us), result->apart ? " *" : "",
           result->wrong > 0 ? " WRONG DATA" : "");
}

static void print_notes(const commtest_setup_t *setup, const commtest_result_t *results, int count,
                        const commtest_fit_t *fit)
{
    const commtest_result_t *best = &results[0];
    bool apart = false;

    for (int i = 0; i < count; ++i) {
        best = results[i].best_us < best->best_us ? &results[i] : best;
        apart = apart || results[i].apart;
    }
    if (NULL != fit) {
        printf("fitted: %.3f us for each packet and %.1f MB/s; ", fit->latency_us, fit->mb_per_s);
    }
    printf("best seen: %.1f MB/s in packets of %d bytes\n", rate(setup, best->best_us), best->packet);
    if (apart) {
        printf("* elapsed, from the first process's begin to the last one's end, is more than 10 %% above "
               "what the slowest "
               "process takes\n");
    }
}

void commtest_report_csv_head(FILE *csv)
{
    fprintf(
        csv,
        "program,command,ordered,number,who,distance,turn,processes,total,packet,packets,best_us,median_us,"
        "worst_us,elapsed_us,mb_per_s,fit_latency_us,fit_mb_per_s\n");
}

void commtest_report_end(FILE *csv, const commtest_setup_t *setup, const commtest_experiment_t *experiment,
                         const commtest_partners_t *partners, const commtest_result_t *results, int count)
{
    double us[32] = {0};
    int packets[32] = {0};
    commtest_fit_t fit;
    bool fits;

    for (int i = 0; i < count; ++i) {
        us[i] = results[i].median_us;
        packets[i] = results[i].packets;
        print_result(setup, &results[i]);
    }
    fits = commtest_fit(&fit, packets, us, count, setup->options->total);
    print_notes(setup, results, count, fits ? &fit : NULL);
    fflush(stdout);
    for (int i = 0; i < count && NULL != csv; ++i) {
        const commtest_result_t *r = &results[i];

        fprintf(csv, "%s,%s,%d,%d,%s,%d,%d,%d,%d,%d,%d,%.3f,%.3f,%.3f,%.3f,%.2f,",
                program_names[experiment->overlapped], command_names[experiment->command],
                experiment->protocol->ordered, experiment->protocol->number, who_names[experiment->who],
                experiment->distance, experiment->turn, partners->processes, setup->options->total, r->packet,
                r->packets, r->best_us, r->median_us, r->worst_us, r->elapsed_us, rate(setup, r->median_us));
        if (fits) {
            fprintf(csv, "%.4f,%.2f\n", fit.latency_us, fit.mb_per_s);
        } else {
            fprintf(csv, ",\n");
        }
    }
}
