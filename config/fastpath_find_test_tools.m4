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
# For tests that count work in basic blocks (test/unit/work.h).
AC_MSG_CHECKING([how $CC counts basic blocks])
fastpath_saved_CFLAGS=$CFLAGS
FASTPATH_COUNT_CFLAGS=-fsanitize-coverage=trace-pc
CFLAGS="$CFLAGS $FASTPATH_COUNT_CFLAGS"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [], [FASTPATH_COUNT_CFLAGS=])
CFLAGS=$fastpath_saved_CFLAGS
AC_MSG_RESULT([${FASTPATH_COUNT_CFLAGS:-not at all}])
AC_SUBST([FASTPATH_COUNT_CFLAGS])
])
