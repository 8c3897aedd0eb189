/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Stand-in for a header that Open MPI installs only when configured with --enable-peruse.
 *
 * ompi/peruse/peruse-internal.h, which the base request headers include, needs nothing from it but
 * this type.  The directory is searched after Open MPI's own, so a full installation wins.
 */
#ifndef FASTPATH_SHIM_PERUSE_H
#define FASTPATH_SHIM_PERUSE_H

typedef void *peruse_event_h;

#endif /* FASTPATH_SHIM_PERUSE_H */
