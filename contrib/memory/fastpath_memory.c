/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How much shared memory btl/fastsm may use, for any number of processes and any parameters, and how much
 * windows of osc/fastpath take, without starting MPI.  The numbers come from the functions that lay out the
 * segments, and from the sizes of what windows allocate.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompi/mca/osc/fastpath/osc_fastpath_size.h"
#include "opal/mca/btl/fastsm/btl_fastsm_layout.h"
#include "rfc_model.h"

enum { MOST_COUNTS = 64 };

typedef struct {
    mca_btl_fastsm_layout_params_t params; /**< 0 where the number of processes decides */
    bool threads;
    bool least;  /**< as little as serves */
    bool bytes;  /**< print the length of a segment and nothing else */
    bool window; /**< print what a window takes and nothing else */
    bool rfc;    /**< and what btl/sm 1.3 and the RFC's layouts take */
    uint32_t counts[MOST_COUNTS];
    unsigned n_counts;
} options_t;

static const char usage_text[] =
    "usage: fastpath-memory [OPTION ...]\n"
    "\n"
    "Prints the shared memory that btl/fastsm may use on a node, in units of 10^6 bytes, and the bytes that "
    "a\n"
    "window of osc/fastpath takes beside the user's memory.\n"
    "\n"
    "  --np N[,N...]       processes on the node (default: 2 to 4096 in powers of two)\n"
    "  --mca NAME VALUE    as for mpirun; NAME is one of the parameters below\n"
    "  --threads           as with MPI_THREAD_MULTIPLE\n"
    "  --least             what a process takes that finds no room for that\n"
    "  --bytes             print N and the bytes of each process's segment, exactly, and nothing else\n"
    "  --window            print what windows of osc/fastpath take, and nothing else\n"
    "  --rfc               also what btl/sm of Open MPI 1.3 took, and would have taken with the layouts of "
    "the\n"
    "                      RFC \"Fragmented sm Allocations\"\n"
    "\n"
    "  btl_fastsm_fifo_depth, btl_fastsm_bell_stride, btl_fastsm_position_stride, btl_fastsm_eager_limit,\n"
    "  btl_fastsm_eager_buffers, btl_fastsm_max_send_size, btl_fastsm_max_buffers, btl_fastsm_ring_depth,\n"
    "  btl_fastsm_dynamic_peers, btl_fastsm_deep_fifos, btl_fastsm_deep_fifo_depth\n";

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "fastpath-memory: %s: %s\n", which, what);
    exit(2);
}

static uint32_t number(const char *text, const char *which)
{
    static const char suffixes[] = "kmg";
    unsigned long long value;
    const char *suffix;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 0);
    suffix = '\0' == *end ? NULL : strchr(suffixes, *end);
    if (end == text || '-' == *text || 0 != errno || ('\0' != *end && (NULL == suffix || '\0' != end[1]))) {
        fail("not a number", which);
    }
    value <<= NULL == suffix ? 0 : 10 * (suffix - suffixes + 1);
    if (value > UINT32_MAX - 2 * MCA_BTL_FASTSM_LINE) {
        fail("too large", which);
    }
    return (uint32_t) value;
}

static uint32_t same(size_t value)
{
    return (uint32_t) value;
}

static uint32_t whole_lines(size_t bytes)
{
    return (uint32_t) ((bytes + MCA_BTL_FASTSM_LINE - 1) / MCA_BTL_FASTSM_LINE * MCA_BTL_FASTSM_LINE);
}

/** a parameter, and what Open MPI's jobs may have for it */
typedef struct {
    const char *name;
    uint32_t *storage;
    uint32_t (*convert)(size_t);
    uint32_t min, max; /**< of a power of two; 0: any number */
    bool or_zero;
} parameter_t;

/* A job takes the nearest value that can be used, and says so. */
static uint32_t usable(const parameter_t *parameter, uint32_t given)
{
    uint32_t value = parameter->min;

    if (0 == parameter->max || (parameter->or_zero && 0 == given)) {
        return given;
    }
    while (value < given && value < parameter->max) {
        value *= 2;
    }
    if (value != given) {
        fprintf(stderr, "fastpath-memory: %s: %" PRIu32 " in place of %" PRIu32 ", as in a job\n",
                parameter->name, value, given);
    }
    return value;
}

static void set_parameter(mca_btl_fastsm_layout_params_t *params, const char *name, const char *text)
{
    const parameter_t table[] = {
        {"btl_fastsm_fifo_depth", &params->fifo_depth, same, MCA_BTL_FASTSM_DEPTH_MIN,
         MCA_BTL_FASTSM_DEPTH_MAX, true},
        {"btl_fastsm_bell_stride", &params->bell_stride, same, 1, MCA_BTL_FASTSM_LINE, false},
        {"btl_fastsm_position_stride", &params->position_stride, same, sizeof(mca_btl_fastsm_read_pos_t),
         MCA_BTL_FASTSM_LINE, true},
        {"btl_fastsm_eager_limit", &params->eager_size, mca_btl_fastsm_layout_eager_size, 0, 0, false},
        {"btl_fastsm_eager_buffers", &params->eager_count, same, 0, 0, false},
        {"btl_fastsm_max_send_size", &params->max_size, whole_lines, 0, 0, false},
        {"btl_fastsm_max_buffers", &params->max_count, same, 0, 0, false},
        {"btl_fastsm_ring_depth", &params->ring_depth, same, MCA_BTL_FASTSM_RING_DEPTH_MIN,
         MCA_BTL_FASTSM_RING_DEPTH_MAX, false},
        {"btl_fastsm_dynamic_peers", &params->dynamic_peers, same, 0, 0, false},
        {"btl_fastsm_deep_fifos", &params->deep_fifos, same, 0, 0, false},
        {"btl_fastsm_deep_fifo_depth", &params->deep_fifo_depth, same, MCA_BTL_FASTSM_DEPTH_MIN,
         MCA_BTL_FASTSM_DEPTH_MAX, true},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
        if (0 == strcmp(name, table[i].name)) {
            *table[i].storage = table[i].convert(usable(&table[i], number(text, name)));
            return;
        }
    }
    fail("not a parameter that matters here", name);
}

static void set_counts(options_t *options, char *list)
{
    options->n_counts = 0;
    for (char *word = strtok(list, ","); NULL != word; word = strtok(NULL, ",")) {
        if (MOST_COUNTS == options->n_counts) {
            fail("too many numbers", "--np");
        }
        options->counts[options->n_counts] = number(word, "--np");
        if (0 == options->counts[options->n_counts++]) {
            fail("takes numbers above 0", "--np");
        }
    }
    if (0 == options->n_counts) {
        fail("takes numbers", "--np");
    }
}

static void parse(options_t *options, int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const int left = argc - i - 1;

        if (0 == strcmp("--np", argv[i]) && 1 <= left) {
            set_counts(options, argv[++i]);
        } else if (0 == strcmp("--mca", argv[i]) && 2 <= left) {
            set_parameter(&options->params, argv[i + 1], argv[i + 2]);
            i += 2;
        } else if (0 == strcmp("--threads", argv[i])) {
            options->threads = true;
        } else if (0 == strcmp("--least", argv[i])) {
            options->least = true;
        } else if (0 == strcmp("--bytes", argv[i])) {
            options->bytes = true;
        } else if (0 == strcmp("--window", argv[i])) {
            options->window = true;
        } else if (0 == strcmp("--rfc", argv[i])) {
            options->rfc = true;
        } else if (0 == strcmp("--help", argv[i]) || 0 == strcmp("-h", argv[i])) {
            fputs(usage_text, stdout);
            exit(0);
        } else {
            fputs(usage_text, stderr);
            exit(2);
        }
    }
}

static void lay_out(const options_t *options, uint32_t n_local, mca_btl_fastsm_layout_t *layout)
{
    mca_btl_fastsm_layout_params_t params = options->params;
    char which[32];

    params.n_local = n_local;
    if (options->least) {
        mca_btl_fastsm_layout_min(&params);
    }
    mca_btl_fastsm_layout_scale(&params, options->threads);
    if (0 != mca_btl_fastsm_layout(&params, layout)) {
        snprintf(which, sizeof(which), "%" PRIu32 " processes", n_local);
        fail("no segment can be laid out with these parameters", which);
    }
}

static double mb(uint64_t bytes)
{
    return (double) bytes / 1e6;
}

static void print_own(const options_t *options)
{
    for (unsigned i = 0; i < options->n_counts; ++i) { /* no half of a table */
        mca_btl_fastsm_layout_t layout;

        lay_out(options, options->counts[i], &layout);
    }
    printf("btl/fastsm, 10^6 bytes\n%9s %6s %7s %8s %10s %10s %10s %10s %10s %10s %14s\n", "processes",
           "slots", "eager", "max", "FIFOs", "deeper", "eager pool", "max pool", "other", "total",
           "bytes/process");
    for (unsigned i = 0; i < options->n_counts; ++i) {
        const uint64_t n = options->counts[i];
        mca_btl_fastsm_layout_parts_t parts;
        mca_btl_fastsm_layout_t layout;

        lay_out(options, options->counts[i], &layout);
        mca_btl_fastsm_layout_parts(&layout, &parts);
        printf("%9" PRIu64 " %6" PRIu32 " %7" PRIu32 " %8" PRIu32
               " %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %14" PRIu64 "\n",
               n, layout.params.fifo_depth, layout.params.eager_size, layout.params.max_size,
               mb(n * parts.fifos), mb(n * parts.deep), mb(n * parts.eager), mb(n * parts.max),
               mb(n * parts.other), mb(n * layout.total), layout.total);
    }
}

/* The RFC's layouts with the same depth and sizes where they were asked for. */
static rfc_model_params_t rfc_params(const options_t *options, uint32_t n)
{
    const mca_btl_fastsm_layout_params_t *asked = &options->params;
    rfc_model_params_t params = {.n = n, .entries = 128, .eager_frag = 4096 + 128, .max_payload = 32768};

    if (0 != asked->fifo_depth) {
        params.entries = asked->fifo_depth;
    }
    if (0 != asked->eager_size) {
        params.eager_frag = (asked->eager_size - MCA_BTL_FASTSM_EAGER_LEAD + RFC_MODEL_LINE - 1)
                            / RFC_MODEL_LINE * RFC_MODEL_LINE;
    }
    if (0 != asked->max_size) {
        params.max_payload = asked->max_size;
    }
    return params;
}

static void print_fragmented(const options_t *options, const char *title, uint64_t alignment)
{
    printf("\n%s\n%9s %10s %10s %10s %10s %10s %10s\n", title, "processes", "wrappers", "queues", "heads",
           "eager", "other", "total");
    for (unsigned i = 0; i < options->n_counts; ++i) {
        const rfc_model_params_t params = rfc_params(options, options->counts[i]);
        rfc_model_fragmented_t bytes;

        rfc_model_fragmented(&params, alignment, &bytes);
        printf("%9" PRIu32 " %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f\n", options->counts[i],
               mb(bytes.wrappers), mb(bytes.queues), mb(bytes.heads), mb(bytes.eager), mb(bytes.other),
               mb(bytes.total));
    }
}

static void print_aggregated(const options_t *options)
{
    printf("\nRFC: all buffers of a receiver together\n%9s %10s %10s %10s %10s\n", "processes", "FIFOs",
           "eager", "max", "total");
    for (unsigned i = 0; i < options->n_counts; ++i) {
        const rfc_model_params_t params = rfc_params(options, options->counts[i]);
        rfc_model_aggregated_t bytes;

        rfc_model_aggregated(&params, &bytes);
        printf("%9" PRIu32 " %10.1f %10.1f %10.1f %10.1f\n", options->counts[i], mb(bytes.fifos),
               mb(bytes.eager), mb(bytes.max), mb(bytes.total));
    }
}

static void print_rfc(const options_t *options)
{
    print_fragmented(options, "btl/sm of Open MPI 1.3: pages of 8 KiB", 8192);
    print_fragmented(options, "btl/sm of Open MPI 1.3: pages of 4 KiB", 4096);
    print_fragmented(options, "RFC: lines of 128 bytes in place of pages", RFC_MODEL_LINE);
    print_aggregated(options);
}

/* All processes are members, and on one node. */
static void print_window(const options_t *options)
{
    printf("osc/fastpath, bytes of a window: of each process, for each member it has to do with, for each 64 "
           "operations\n"
           "that wait for data at a time, for small puts that the kernel copies, and once for the "
           "node\n%9s %10s %10s %10s %10s %10s\n",
           "processes", "window", "member", "operations", "puts", "node");
    for (unsigned i = 0; i < options->n_counts; ++i) {
        mca_osc_fastpath_window_size_t bytes;

        mca_osc_fastpath_window_size(options->counts[i], options->counts[i], (size_t) sysconf(_SC_PAGESIZE),
                                     &bytes);
        printf("%9" PRIu32 " %10zu %10zu %10zu %10zu %10zu\n", options->counts[i], bytes.window, bytes.peer,
               bytes.tickets, bytes.puts, bytes.node);
    }
}

int main(int argc, char **argv)
{
    options_t options = {.params = {.bell_stride = MCA_BTL_FASTSM_BELL_STRIDE,
                                    .ring_depth = MCA_BTL_FASTSM_RING_DEPTH,
                                    .dynamic_peers = MCA_BTL_FASTSM_DYNAMIC_PEERS,
                                    .deep_fifos = MCA_BTL_FASTSM_DEEP_FIFOS_SCALED}};

    for (uint32_t n = 2; n <= 4096; n *= 2) {
        options.counts[options.n_counts++] = n;
    }
    parse(&options, argc, argv);

    for (unsigned i = 0; options.bytes && i < options.n_counts; ++i) {
        mca_btl_fastsm_layout_t layout;

        lay_out(&options, options.counts[i], &layout);
        printf("%" PRIu32 " %" PRIu64 "\n", options.counts[i], layout.total);
    }
    if (options.window) {
        print_window(&options);
    } else if (!options.bytes) {
        print_own(&options);
        if (options.rfc) {
            print_rfc(&options);
        }
        printf("\n");
        print_window(&options);
    }
    return 0;
}
