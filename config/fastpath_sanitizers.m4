# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# --enable-sanitizers: components and tests that report their own invalid accesses and undefined behaviour.
#
# Everything is built with them, the tests' programs too, because the runtime has to be there before a
# component is loaded. What is found ends the process. Without the check of bool, for which gcc 12 reads a volatile
# bool but once: WAIT_SYNC_RELEASE of Open MPI's headers, a loop that waits for one, would never end.
AC_DEFUN([FASTPATH_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
        [build for tests with the compiler's sanitizers (default LIST: address,undefined)])],
    [], [enable_sanitizers=no])
AS_CASE([$enable_sanitizers], [yes], [enable_sanitizers=address,undefined])
AS_IF([test no != $enable_sanitizers],
    [AC_MSG_CHECKING([whether $CC knows -fsanitize=$enable_sanitizers])
     CFLAGS="$CFLAGS -fsanitize=$enable_sanitizers -fno-sanitize=bool -fno-sanitize-recover=all -fno-omit-frame-pointer"
     AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
         [AC_MSG_RESULT([yes])],
         [AC_MSG_RESULT([no])
          AC_MSG_ERROR([nothing can be built with -fsanitize=$enable_sanitizers, see config.log: use a compiler that can (gcc or clang with its runtime libraries), or leave --enable-sanitizers out.])])])
FASTPATH_SANITIZERS_ENABLED=$enable_sanitizers
AC_SUBST([FASTPATH_SANITIZERS_ENABLED])
])
