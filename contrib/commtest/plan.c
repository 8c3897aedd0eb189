/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool commtest_plan_partners(const commtest_experiment_t *experiment, const commtest_options_t *options,
                            commtest_partners_t *partners)
{
    if (0 == options->to_count) {
        return commtest_partners_at(partners, experiment->command, experiment->who, experiment->distance,
                                    experiment->turn);
    }
    if (options->to_count != partners->processes) {
        snprintf(partners->why, sizeof(partners->why),
                 "--to names the partners of %d processes, and there are %d", options->to_count,
                 partners->processes);
        return false;
    }
    memcpy(partners->to, options->to, (size_t) options->to_count * sizeof(*options->to));
    return commtest_partners_link(partners, experiment->command);
}

/* A process that has received a packet knows that its neighbour has sent it, and so on round the cycle: it is
 * never further ahead than the cycle is long.  Twice that, because MPI may know only later that a packet has
 * been received. */
double commtest_plan_ahead(const commtest_partners_t *partners, const commtest_options_t *options, int packet)
{
    double all = (double) (options->total / packet) * options->iterations;
    double most = 2.0 * partners->longest + 8.0;

    return all < most ? all : most;
}

/* 1: can be, 0: is left out, -1: is refused. */
static int judge(const commtest_experiment_t *experiment, const commtest_options_t *options,
                 commtest_partners_t *partners, char *why)
{
    const commtest_protocol_t *protocol = experiment->protocol;
    const char *refusal = commtest_protocol_refusal(protocol, experiment->overlapped);

    if (NULL != refusal) {
        snprintf(why, COMMTEST_WHY, "protocol (%d,%d), %s, %s: see --list", protocol->ordered,
                 protocol->number, protocol->what, refusal);
        return options->any_protocol ? 0 : -1;
    }
    if (!commtest_plan_partners(experiment, options, partners)) {
        snprintf(why, COMMTEST_WHY, "%s", partners->why);
        return options->any_who || options->any_command ? 0 : -1;
    }
    if (commtest_protocol_buffered(protocol)
        && commtest_plan_ahead(partners, options, options->total) * (double) options->total > INT_MAX / 2) {
        snprintf(why, COMMTEST_WHY,
                 "protocol (%d,%d) would need a buffer for MPI_Bsend above 1 GiB: reduce --total",
                 protocol->ordered, protocol->number);
        return options->any_protocol ? 0 : -1;
    }
    return 1;
}

/* All turns of one experiment. */
static bool add(commtest_plan_t *plan, commtest_experiment_t experiment, const commtest_options_t *options,
                commtest_partners_t *partners, char *why)
{
    int turns = 0 == options->to_count
                    ? commtest_partners_turns(experiment.who, experiment.distance, partners->processes)
                    : 1;

    for (experiment.turn = 1; experiment.turn <= turns; ++experiment.turn) {
        int verdict = judge(&experiment, options, partners, why);

        if (verdict > 0) {
            commtest_experiment_t *more =
                realloc(plan->experiments, (size_t) (plan->count + 1) * sizeof(*plan->experiments));

            if (NULL == more) {
                snprintf(why, COMMTEST_WHY, "no memory");
                return false;
            }
            plan->experiments = more;
            plan->experiments[plan->count++] = experiment;
        } else if (verdict < 0) {
            return false;
        }
    }
    return true;
}

/* Every protocol with one program and command. */
static bool add_protocols(commtest_plan_t *plan, commtest_experiment_t experiment,
                          const commtest_options_t *options, commtest_partners_t *partners, char *why)
{
    for (int who = 0; who < 3; ++who) {
        for (int d = 0; options->who[who] && d < options->distance_count; ++d) {
            for (int i = 0; i < COMMTEST_PROTOCOLS; ++i) {
                experiment.who = (commtest_who_t) who;
                experiment.distance = 0 == options->to_count ? options->distances[d] : 0;
                experiment.protocol = &commtest_protocols[i];
                if (options->protocols[i] && !add(plan, experiment, options, partners, why)) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool commtest_plan_make(commtest_plan_t *plan, const commtest_options_t *options, int processes, char *why)
{
    commtest_partners_t partners;
    bool good = processes >= 2;

    *plan = (commtest_plan_t){NULL, 0};
    if (!good) {
        snprintf(why, COMMTEST_WHY,
                 "one process has nobody to talk to: start two or more, as in mpirun -np 2");
        return false;
    }
    good = commtest_partners_open(&partners, processes);
    for (int program = 0; program < 2; ++program) {
        for (int command = 0; good && command < 2; ++command) {
            commtest_experiment_t experiment = {.overlapped = program > 0,
                                                .command = (commtest_command_t) command};

            if (options->programs[program] && options->commands[command]) {
                good = add_protocols(plan, experiment, options, &partners, why);
            }
        }
    }
    commtest_partners_close(&partners);
    return good && plan->count > 0; /* none: why is that of the last that was left out */
}
