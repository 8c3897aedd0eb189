/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Windows: how they come and go, and how messages find them.
 */
#ifndef MCA_OSC_FASTPATH_WINDOW_H
#define MCA_OSC_FASTPATH_WINDOW_H

#include "osc_fastpath.h"

/** Prepare what all windows share; in osc_init. */
int mca_osc_fastpath_windows_init(void);

/** Undo it. */
void mca_osc_fastpath_windows_fini(void);

/** osc_select: make a window. Collective. */
int mca_osc_fastpath_select(ompi_win_t *win, void **base, size_t size, fastpath_osc_disp_unit_t disp_unit,
                            ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model);

#endif /* MCA_OSC_FASTPATH_WINDOW_H */
