/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What process 0 prints, and writes as CSV.
 */

#ifndef FASTPATH_COMMTEST_REPORT_H
#define FASTPATH_COMMTEST_REPORT_H

#include <stdio.h>

#include "measure.h"

/** Whom MPI comes from, how many processes, and what the clocks are worth. */
void commtest_report_head(const commtest_setup_t *setup, int processes);

/** What is measured next. */
void commtest_report_begin(const commtest_experiment_t *experiment, const commtest_partners_t *partners);

/** One line for each size of packet, and the line that fits them; into csv as well unless that is NULL. */
void commtest_report_end(FILE *csv, const commtest_setup_t *setup, const commtest_experiment_t *experiment,
                         const commtest_partners_t *partners, const commtest_result_t *results, int count);

/** The first line of the CSV file. */
void commtest_report_csv_head(FILE *csv);

#endif /* FASTPATH_COMMTEST_REPORT_H */
