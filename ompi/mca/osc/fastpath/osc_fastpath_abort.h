/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Ending the job where another process would wait for ever.
 */
#ifndef MCA_OSC_FASTPATH_ABORT_H
#define MCA_OSC_FASTPATH_ABORT_H

#include "osc_fastpath.h"

/** There is no memory for what another process waits for: the job ends, with a message that names it. */
void mca_osc_fastpath_no_memory(const char *what) __opal_attribute_noreturn__;

#endif /* MCA_OSC_FASTPATH_ABORT_H */
