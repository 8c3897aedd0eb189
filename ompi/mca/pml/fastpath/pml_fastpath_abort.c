/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <unistd.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "pml_fastpath.h"

void mca_pml_fastpath_abort(const char *topic, const char *what, const char *reason)
{
    mca_common_fastpath_show_help("help-mpi-pml-fastpath.txt", topic, opal_process_info.nodename, what,
                                  reason);
    ompi_rte_abort(1, NULL);
    _exit(1); /* ompi_rte_abort does not return, but does not say so */
}
