/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * ompi/runtime/ompi_spc.h of Open MPI 5.0 and 6.0 includes opal/prefetch.h by the path that it has in Open
 * MPI's sources.
 */
#ifndef FASTPATH_SHIM_OPAL_INCLUDE_PREFETCH_H
#define FASTPATH_SHIM_OPAL_INCLUDE_PREFETCH_H

#include "opal/prefetch.h"

#endif /* FASTPATH_SHIM_OPAL_INCLUDE_PREFETCH_H */
