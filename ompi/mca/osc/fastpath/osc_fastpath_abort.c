/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "osc_fastpath_abort.h"

void mca_osc_fastpath_no_memory(const char *what)
{
    mca_common_fastpath_show_help("help-mpi-osc-fastpath.txt", "no memory", opal_process_info.nodename, what);
    ompi_rte_abort(OMPI_ERR_OUT_OF_RESOURCE, NULL);
    abort();
}
