/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waiting for requests.
 */
#ifndef MCA_PML_FASTPATH_WAIT_H
#define MCA_PML_FASTPATH_WAIT_H

#include "pml_fastpath.h"

BEGIN_C_DECLS

/** Put our functions into Open MPI's table of those that wait, unless a parameter forbids it or nothing would
 * be gained: no btl/fastsm. */
void mca_pml_fastpath_waits_install(void);

/** Put back what was there before. Does nothing when ours are not there. */
void mca_pml_fastpath_waits_remove(void);

END_C_DECLS

#endif /* MCA_PML_FASTPATH_WAIT_H */
