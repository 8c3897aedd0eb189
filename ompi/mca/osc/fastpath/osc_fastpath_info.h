/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Info keys of windows.
 */
#ifndef MCA_OSC_FASTPATH_INFO_H
#define MCA_OSC_FASTPATH_INFO_H

#include "osc_fastpath.h"

/** Read a window's info keys and announce them to MPI_Win_get_info. */
int mca_osc_fastpath_info_init(mca_osc_fastpath_module_t *module, opal_info_t *info);

#endif /* MCA_OSC_FASTPATH_INFO_H */
