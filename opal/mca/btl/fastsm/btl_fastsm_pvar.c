/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * MPI_T performance variables.
 */

#include "opal_config.h"

#include "opal/mca/common/fastpath/common_fastpath_pvar.h"

#include "btl_fastsm.h"

void mca_btl_fastsm_pvar_register(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const int counter = MCA_BASE_PVAR_CLASS_COUNTER;
    /* for what is counted before anybody can look: of a counter tools see what is added while they do */
    const int size = MCA_BASE_PVAR_CLASS_SIZE;
    const struct {
        const char *name;
        const char *text;
        int class;
        _Atomic unsigned long *counter;
    } pvars[] = {
        {"bell_scans", "Times that this process looked at all doorbells", counter, &component->bell_scans},
        {"fifo_full", "Attempts to send that found the FIFO to a local process full", counter,
         &component->fifo_full},
        {"deep_fifos_assigned", "Senders that have moved to a deeper FIFO of this process", counter,
         &component->deep_fifos_assigned},
        {"deep_fifos_obtained", "Times that this process has moved to a deeper FIFO of a receiver", counter,
         &component->deep_fifos_obtained},
        {"deep_fifos_refused", "Times that this process asked for a deeper FIFO and was refused", counter,
         &component->deep_fifos_refused},
        {"peers_read", "Processes whose memory this one could read when it met them", size,
         &component->peers_read},
        {"peers_not_read", "Processes whose memory this one could not read when it met them", size,
         &component->peers_not_read},
        {"peers_written", "Processes whose memory this one could write to when it met them", size,
         &component->peers_written},
        {"peers_not_written", "Processes whose memory this one could not write to when it met them", size,
         &component->peers_not_written},
    };

    for (size_t i = 0; i < sizeof(pvars) / sizeof(pvars[0]); ++i) {
        mca_common_fastpath_pvar_register(&component->super.btl_version, pvars[i].name, pvars[i].text,
                                          pvars[i].class, pvars[i].counter);
    }
}
