/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Long puts and gets that the kernel copies, which a target that is inside MPI takes part in.
 */
#ifndef MCA_OSC_FASTPATH_LONG_H
#define MCA_OSC_FASTPATH_LONG_H

#include "osc_fastpath.h"

/** A put or get of one piece is long from so many bytes on. */
#define MCA_OSC_FASTPATH_LONG ((size_t) 256 << 10)

/**
 * Copy one long piece of a COPY peer's memory, which may be accessed.
 *
 * @return whether it could be; else errno says why not
 */
bool mca_osc_fastpath_copy_long(mca_osc_fastpath_peer_t *peer, bool put, void *here, uintptr_t there,
                                size_t length);

#endif /* MCA_OSC_FASTPATH_LONG_H */
