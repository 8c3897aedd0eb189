# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# Does mpirun take Open MPI's search path for components away?
#
# With Open MPI 5.0, what PMIx's parameter file says about mca_base_component_path is set for every rank as well. Where
# a distribution names PMIx's own directory there, as Debian 13 does, ranks see no component but those that are linked
# into Open MPI. opal_mca_base_component_path, the same parameter's long name, comes before that.
#
# Sets and substitutes FASTPATH_SEARCH_PATH_FILE (the parameter file that gets a line with it on installation, or
# nothing when that is not needed) and FASTPATH_SEARCH_PATH (the line's value). A site's file is one that PMIx reads
# after its own, a user's the one of Open MPI.
AC_DEFUN([FASTPATH_CHECK_SEARCH_PATH], [
AC_ARG_WITH([pmix-conf-dir],
    [AS_HELP_STRING([--with-pmix-conf-dir=DIR],
        [where PMIx has its pmix-mca-params.conf (default: as found beside its library); "no" leaves its parameters alone])],
    [], [with_pmix_conf_dir=yes])
FASTPATH_SEARCH_PATH_FILE=
FASTPATH_SEARCH_PATH=
AS_IF([test 5.0 = "$OMPI_SERIES" && test no != "$with_pmix_conf_dir"], [
    AC_MSG_CHECKING([whether PMIx takes Open MPI's component path away])
    fastpath_pmix_prefix=`${PKG_CONFIG:-pkg-config} --variable=prefix pmix 2>/dev/null`
    AS_CASE([$with_pmix_conf_dir],
        [yes], [fastpath_candidates="$fastpath_pmix_prefix/etc $fastpath_pmix_prefix/share $OMPI_LIBDIR/../../pmix2/share $OMPI_LIBDIR/pmix2/share"],
        [fastpath_candidates=$with_pmix_conf_dir])
    fastpath_pmix_conf_dir=
    for fastpath_candidate in $fastpath_candidates; do
        AS_IF([grep '^ *mca_base_component_path *=' "$fastpath_candidate/pmix-mca-params.conf" >/dev/null 2>&1],
            [fastpath_pmix_conf_dir=`cd "$fastpath_candidate" && pwd`; break])
    done
    AS_IF([test -z "$fastpath_pmix_conf_dir"],
        [AC_MSG_RESULT([no])],
        [AC_MSG_RESULT([yes, in $fastpath_pmix_conf_dir])
         AS_CASE([$with_component_dir],
            [yes|no], [FASTPATH_SEARCH_PATH_FILE=$fastpath_pmix_conf_dir/pmix-mca-params-override.conf
                       FASTPATH_SEARCH_PATH=SYS_DEFAULT:USER_DEFAULT],
            [user],   [FASTPATH_SEARCH_PATH_FILE=$HOME/.openmpi/mca-params.conf
                       FASTPATH_SEARCH_PATH=USER_DEFAULT:SYS_DEFAULT])])])
AC_SUBST([FASTPATH_SEARCH_PATH_FILE])
AC_SUBST([FASTPATH_SEARCH_PATH])
])
