/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "allreduce_options.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const operation_names[] = {"sum", "max", "user", NULL};
static const char default_doubles[] = "1,2,4,8,16,32,64,512,4K,32K,256K,1M";

const char *commtest_allreduce_operation(int operation)
{
    return operation_names[operation];
}

void commtest_allreduce_help(FILE *file)
{
    fprintf(
        file,
        "usage: mpirun -np N fastpath-allreduce [OPTION ...]\n"
        "\n"
        "Adds vectors of doubles up, by MPI_Allreduce and by what can be written with SWAP and SENDRECV.\n"
        "\n"
        "  --forms LIST       mpi, mpi-inplace, reduce-bcast, doubling, ring, rabenseifner or all (default: "
        "all)\n"
        "  --protocols LIST   of COMMTEST, for all forms but those of MPI (default: 0,6)\n"
        "  --operations LIST  sum, max, user (a function of the program) or all (default: sum)\n"
        "  --doubles LIST     lengths of vectors (default: %s)\n"
        "  --ranks LIST       numbers of processes, of those that there are (default: all of them)\n"
        "  --repetitions N    times that are taken (default: 11)\n"
        "  --iterations N     calls in each of these (default: as many as take about a millisecond)\n"
        "  --warm-up N        calls before (default: 2)\n"
        "  --csv FILE         all figures, a line for each\n"
        "  --progress         says on standard error where it is, also if that is no terminal\n"
        "  --list             the forms and protocols\n",
        default_doubles);
}

/* Lengths have suffixes, too. */
static bool parse_doubles(commtest_allreduce_options_t *options, const char *text, char *why)
{
    char word[32];

    options->doubles_count = options->most = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        int *doubles = &options->doubles[options->doubles_count];

        if (length >= sizeof(word) || COMMTEST_LENGTHS == options->doubles_count) {
            snprintf(why, COMMTEST_WHY, "--doubles takes at most %d lengths", COMMTEST_LENGTHS);
            return false;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        if (!commtest_parse_size("--doubles", word, doubles, why)) {
            return false;
        }
        if ((size_t) *doubles > INT_MAX / sizeof(double)) {
            snprintf(why, COMMTEST_WHY, "--doubles %s is too much: a vector has less than 2 GiB", word);
            return false;
        }
        options->most = *doubles > options->most ? *doubles : options->most;
        ++options->doubles_count;
        if ('\0' == text[length]) {
            return true;
        }
        text += length + 1;
    }
}

enum {
    FORMS = 1,
    PROTOCOLS,
    OPERATIONS,
    DOUBLES,
    RANKS,
    REPETITIONS,
    ITERATIONS,
    WARM_UP,
    CSV,
    PROGRESS,
    LIST,
    HELP
};

static const struct option known[] = {
    {"forms", required_argument, NULL, FORMS},
    {"protocols", required_argument, NULL, PROTOCOLS},
    {"operations", required_argument, NULL, OPERATIONS},
    {"doubles", required_argument, NULL, DOUBLES},
    {"ranks", required_argument, NULL, RANKS},
    {"repetitions", required_argument, NULL, REPETITIONS},
    {"iterations", required_argument, NULL, ITERATIONS},
    {"warm-up", required_argument, NULL, WARM_UP},
    {"csv", required_argument, NULL, CSV},
    {"progress", no_argument, NULL, PROGRESS},
    {"list", no_argument, NULL, LIST},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static bool take_list(commtest_allreduce_options_t *options, int option, const char *text, char *why)
{
    const char *forms[COMMTEST_FORMS + 1];
    bool all;

    for (int i = 0; i <= COMMTEST_FORMS; ++i) {
        forms[i] = commtest_forms[i].name;
    }
    switch (option) {
    case FORMS:
        return commtest_parse_words("--forms", text, forms, options->forms, &all, why);
    case PROTOCOLS:
        return commtest_parse_protocols(text, options->protocols, &all, why);
    case OPERATIONS:
        return commtest_parse_words("--operations", text, operation_names, options->operations, &all, why);
    case DOUBLES:
        return parse_doubles(options, text, why);
    default:
        options->ranks_count =
            commtest_parse_numbers("--ranks", text, 2, options->ranks, COMMTEST_RANKS, why);
        return options->ranks_count > 0;
    }
}

static bool take(commtest_allreduce_options_t *options, int option, const char *text, char *why)
{
    switch (option) {
    case REPETITIONS:
        return commtest_parse_number("--repetitions", text, 1, &options->repetitions, why);
    case ITERATIONS:
        return commtest_parse_number("--iterations", text, 1, &options->iterations, why);
    case WARM_UP:
        return commtest_parse_number("--warm-up", text, 0, &options->warm_up, why);
    case CSV:
        options->csv = text;
        return true;
    case PROGRESS:
        return options->progress = true;
    case LIST:
        return options->list = true;
    case HELP:
        return options->help = true;
    default:
        return take_list(options, option, text, why);
    }
}

static bool check_ranks(const commtest_allreduce_options_t *options, int processes, char *why)
{
    if (processes < 2 && !options->list && !options->help) {
        snprintf(why, COMMTEST_WHY,
                 "one process has nobody to add up with: start two or more, as in mpirun -np 2");
        return false;
    }
    for (int i = 0; i < options->ranks_count; ++i) {
        if (options->ranks[i] > processes) {
            snprintf(why, COMMTEST_WHY, "--ranks %d: there are %d processes", options->ranks[i], processes);
            return false;
        }
    }
    return true;
}

bool commtest_allreduce_parse(commtest_allreduce_options_t *options, int argc, char **argv, int processes,
                              char *why)
{
    int option;

    *options = (commtest_allreduce_options_t){.repetitions = 11, .warm_up = 2};
    for (int i = 0; i < COMMTEST_FORMS; ++i) {
        options->forms[i] = true;
    }
    options->operations[COMMTEST_SUM] = true;
    options->protocols[commtest_protocol_find(0, 6) - commtest_protocols] = true;
    options->ranks[0] = processes;
    options->ranks_count = 1;
    options->progress = isatty(STDERR_FILENO);
    if (!parse_doubles(options, default_doubles, why)) {
        return false;
    }
    opterr = 0;
    optind = 1;
    while (-1 != (option = getopt_long(argc, argv, ":", known, NULL))) {
        if (':' == option || '?' == option) {
            snprintf(why, COMMTEST_WHY, "%s %s; see --help", argv[optind - 1],
                     ':' == option ? "takes an argument" : "is no option");
            return false;
        }
        if (!take(options, option, optarg, why)) {
            return false;
        }
    }
    if (optind < argc) {
        snprintf(why, COMMTEST_WHY, "%s is no option; see --help", argv[optind]);
        return false;
    }
    return check_ranks(options, processes, why);
}
