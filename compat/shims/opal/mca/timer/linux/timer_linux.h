/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Stand-in for a header that Open MPI does not install; opal/mca/timer/base/base.h reaches it through
 * the macro MCA_timer_IMPLEMENTATION_HEADER.
 *
 * The three symbols are exported by libopen-pal.
 */
#ifndef FASTPATH_SHIM_TIMER_LINUX_H
#define FASTPATH_SHIM_TIMER_LINUX_H

#include "opal_config.h"
#include "opal/sys/timer.h"

OPAL_DECLSPEC extern opal_timer_t (*opal_timer_base_get_cycles)(void);
OPAL_DECLSPEC extern opal_timer_t (*opal_timer_base_get_usec)(void);
OPAL_DECLSPEC extern opal_timer_t opal_timer_base_get_freq(void);

#define OPAL_TIMER_CYCLE_NATIVE    OPAL_HAVE_SYS_TIMER_GET_CYCLES
#define OPAL_TIMER_CYCLE_SUPPORTED OPAL_HAVE_SYS_TIMER_GET_CYCLES
#define OPAL_TIMER_USEC_NATIVE     OPAL_HAVE_SYS_TIMER_GET_CYCLES
#define OPAL_TIMER_USEC_SUPPORTED  OPAL_HAVE_SYS_TIMER_GET_CYCLES

#endif /* FASTPATH_SHIM_TIMER_LINUX_H */
