/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Where processes run, as each publishes it: for peers that share our cores though nothing else says so.
 * Containers of one machine look like hosts of their own.
 */
#ifndef MCA_PML_FASTPATH_PLACE_H
#define MCA_PML_FASTPATH_PLACE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/common/fastpath/common_fastpath_machine.h"

/** What a process publishes of where it runs. */
typedef struct {
    uint8_t boot_id[MCA_COMMON_FASTPATH_BOOT_ID_SIZE]; /**< of its kernel; zeros: not known */
    cpu_set_t cores; /**< that it could run on in MPI_Init; sent as far as there is something in it */
} mca_pml_fastpath_place_t;

/** Find out where this process runs. To be called before the modex. */
void mca_pml_fastpath_place_find(void);

/** @return where this process runs */
const mca_pml_fastpath_place_t *mca_pml_fastpath_place_own(void);

/** @return bytes of a place that say something; those behind are zero */
size_t mca_pml_fastpath_place_size(const mca_pml_fastpath_place_t *place);

#endif /* MCA_PML_FASTPATH_PLACE_H */
