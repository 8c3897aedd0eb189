/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "options.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

static const char *const program_names[] = {"basic", "overlapped", NULL};
static const char *const command_names[] = {"swap", "sendrecv", NULL};
static const char *const who_names[] = {"pair", "turns", "pairs", NULL};

void commtest_options_help(FILE *file)
{
    fputs("usage: mpirun -np N fastpath-commtest [OPTION ...]\n"
          "\n"
          "Sends a volume of fixed size as 1, 2, 4 ... packets, each from and to memory of its own, by the "
          "protocols of\n"
          "COMMTEST, and reports what the slowest process takes.\n"
          "\n"
          "  --total SIZE        the volume that each process sends and receives (default: 1M)\n"
          "  --packet SIZE       the smallest packet; the volume is a power of two times it (default: 64)\n"
          "  --commands LIST     swap, sendrecv or all (default: swap)\n"
          "  --programs LIST     basic, overlapped (receives preposted, completion of sends delayed) or all "
          "(default: basic)\n"
          "  --protocols LIST    such as \"0,3 1,10\", or all that there are for the program (default: 0,6)\n"
          "  --who LIST          pair (process 0 and its partner; sendrecv: the cycle of process 0), turns "
          "(that with each\n"
          "                      partner in turn), pairs (all processes at once) or all of these (default: "
          "pair)\n"
          "  --distance LIST     between partners (default: 1)\n"
          "  --to LIST           instead of distances: whom each process sends to, for --who pairs\n"
          "  --repetitions N     times that are taken (default: 11)\n"
          "  --iterations N      volumes in each of these (default: 1)\n"
          "  --warm-up N         volumes before (default: 2)\n"
          "  --csv FILE          all figures, a line for each\n"
          "  --clock estimated   estimates the differences of clocks on one node, too\n"
          "  --progress          says on standard error where it is, also if that is no terminal\n"
          "  --list              every combination of program, command and protocol, and the calls of both "
          "sides\n",
          file);
}

static void set_defaults(commtest_options_t *options)
{
    *options = (commtest_options_t){
        .total = 1 << 20, .packet = 64, .repetitions = 11, .iterations = 1, .warm_up = 2};
    options->programs[0] = options->commands[COMMTEST_SWAP] = options->who[0] = true;
    options->protocols[commtest_protocol_find(0, 6) - commtest_protocols] = true;
    options->distances[0] = options->distance_count = 1;
    options->progress = isatty(STDERR_FILENO);
}

enum {
    TOTAL = 1,
    PACKET,
    COMMANDS,
    PROGRAMS,
    PROTOCOLS,
    WHO,
    DISTANCE,
    TO,
    REPETITIONS,
    ITERATIONS,
    WARM_UP,
    CSV,
    CLOCK,
    PROGRESS,
    LIST,
    HELP
};

static const struct option known[] = {
    {"total", required_argument, NULL, TOTAL},
    {"packet", required_argument, NULL, PACKET},
    {"commands", required_argument, NULL, COMMANDS},
    {"programs", required_argument, NULL, PROGRAMS},
    {"protocols", required_argument, NULL, PROTOCOLS},
    {"who", required_argument, NULL, WHO},
    {"distance", required_argument, NULL, DISTANCE},
    {"to", required_argument, NULL, TO},
    {"repetitions", required_argument, NULL, REPETITIONS},
    {"iterations", required_argument, NULL, ITERATIONS},
    {"warm-up", required_argument, NULL, WARM_UP},
    {"csv", required_argument, NULL, CSV},
    {"clock", required_argument, NULL, CLOCK},
    {"progress", no_argument, NULL, PROGRESS},
    {"list", no_argument, NULL, LIST},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static bool take(commtest_options_t *options, int option, const char *text, char *why)
{
    bool every_program;

    switch (option) {
    case TOTAL:
        return commtest_parse_size("--total", text, &options->total, why);
    case PACKET:
        return commtest_parse_size("--packet", text, &options->packet, why);
    case COMMANDS:
        return commtest_parse_words("--commands", text, command_names, options->commands,
                                    &options->any_command, why);
    case PROGRAMS:
        return commtest_parse_words("--programs", text, program_names, options->programs, &every_program,
                                    why);
    case PROTOCOLS:
        return commtest_parse_protocols(text, options->protocols, &options->any_protocol, why);
    case WHO:
        return commtest_parse_words("--who", text, who_names, options->who, &options->any_who, why);
    case DISTANCE:
        options->distance_count =
            commtest_parse_numbers("--distance", text, 0, options->distances, COMMTEST_DISTANCES, why);
        return options->distance_count > 0;
    case TO:
        options->to_count = commtest_parse_numbers("--to", text, 0, options->to, COMMTEST_TARGETS, why);
        return options->to_count > 0;
    case REPETITIONS:
        return commtest_parse_number("--repetitions", text, 1, &options->repetitions, why);
    case ITERATIONS:
        return commtest_parse_number("--iterations", text, 1, &options->iterations, why);
    default:
        return commtest_parse_number("--warm-up", text, 0, &options->warm_up, why);
    }
}

/* Those without an argument that could be wrong. */
static bool take_flag(commtest_options_t *options, int option, const char *text, bool *taken, char *why)
{
    *taken = true;
    switch (option) {
    case CSV:
        options->csv = text;
        return true;
    case CLOCK:
        options->estimate_clock = true;
        if (0 != strcmp("estimated", text)) {
            snprintf(why, COMMTEST_WHY, "--clock takes estimated, not \"%s\"", text);
            return false;
        }
        return true;
    case PROGRESS:
        options->progress = true;
        return true;
    case LIST:
        options->list = true;
        return true;
    case HELP:
        options->help = true;
        return true;
    default:
        *taken = false;
        return true;
    }
}

static bool check_volume(const commtest_options_t *options, char *why)
{
    int packets = options->total / options->packet;

    if (0 != options->total % options->packet || 0 == packets || 0 != (packets & (packets - 1))) {
        snprintf(why, COMMTEST_WHY,
                 "--total has to be a power of two times --packet: %d is not 1, 2, 4, ... times %d",
                 options->total, options->packet);
        return false;
    }
    return true;
}

bool commtest_options_parse(commtest_options_t *options, int argc, char **argv, char *why)
{
    int option;

    set_defaults(options);
    opterr = 0;
    optind = 1;
    while (-1 != (option = getopt_long(argc, argv, ":", known, NULL))) {
        bool taken;

        if (':' == option || '?' == option) {
            snprintf(why, COMMTEST_WHY, "%s %s; see --help", argv[optind - 1],
                     ':' == option ? "takes an argument" : "is no option");
            return false;
        }
        if (!take_flag(options, option, optarg, &taken, why)
            || (!taken && !take(options, option, optarg, why))) {
            return false;
        }
    }
    if (optind < argc) {
        snprintf(why, COMMTEST_WHY, "%s is no option; see --help", argv[optind]);
        return false;
    }
    if (options->to_count > 0) { /* says it all */
        options->who[0] = options->who[1] = options->any_who = false;
        options->who[2] = true;
        options->distance_count = 1;
    }
    return check_volume(options, why);
}
