# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# What can `make check` use?  Without cmocka the unit tests are left out, and configure says so.
AC_DEFUN([FASTPATH_FIND_TEST_TOOLS], [
fastpath_have_cmocka=no
AC_CHECK_LIB([cmocka], [_cmocka_run_group_tests],
    [AC_MSG_CHECKING([for cmocka.h])
     AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
]])], [fastpath_have_cmocka=yes])
     AC_MSG_RESULT([$fastpath_have_cmocka])])
AS_IF([test no = $fastpath_have_cmocka],
    [AC_MSG_WARN([cmocka was not found, so the unit tests are left out (Debian: apt install libcmocka-dev)])])
AM_CONDITIONAL([HAVE_CMOCKA], [test yes = $fastpath_have_cmocka])
])
