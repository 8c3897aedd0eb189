/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Ways to add vectors up: MPI_Allreduce, and what can be written with exchanges by any protocol.
 */

#ifndef FASTPATH_COMMTEST_FORMS_H
#define FASTPATH_COMMTEST_FORMS_H

#include <mpi.h>
#include <stdbool.h>

#include "protocol.h"

/** Who adds up, and how messages go. */
typedef struct {
    const commtest_protocol_t *protocol;
    MPI_Comm comm;
    int rank;
    int ranks;
    MPI_Op op;     /**< commutative */
    double *spare; /**< room for a vector */
} commtest_group_t;

/** A form.  Each works with any number of processes and elements. */
typedef struct {
    const char *name;
    bool by_mpi;   /**< has no protocol of ours */
    bool in_place; /**< takes its vector from result; the others take it from vector */
    void (*run)(const commtest_group_t *group, const double *vector, double *result, int count);
} commtest_form_t;

enum { COMMTEST_FORMS = 6 };

/** All forms, those of MPI first, COMMTEST_FORMS of them and then one without a name. */
extern const commtest_form_t commtest_forms[];

#endif /* FASTPATH_COMMTEST_FORMS_H */
