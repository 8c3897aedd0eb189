/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "work.h"

unsigned long work_done;

/* The compiler puts a call of this into every basic block of what it compiles with
 * -fsanitize-coverage=trace-pc, which this file is not. */
void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    ++work_done;
}
