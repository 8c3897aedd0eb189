/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "opal_config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/runtime/opal.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"

/* Length of the leading "major.minor" of a version such as "4.1.4" or "v5.0.7rc1"; sets *start to it. */
static size_t series_of(const char *version, const char **start)
{
    const char *end;

    while ('\0' != *version && !isdigit((unsigned char) *version)) {
        ++version;
    }
    *start = version;
    end = version + strspn(version, "0123456789");
    if ('.' == *end) {
        end += 1 + strspn(end + 1, "0123456789");
    }
    return (size_t) (end - version);
}

bool mca_common_fastpath_host_ok(const mca_base_component_t *component)
{
    static const char built_for[] = FASTPATH_BUILT_FOR_SERIES;
    const char *running;
    size_t length = series_of(opal_version_string, &running);

    if (sizeof(built_for) - 1 == length && 0 == memcmp(built_for, running, length)) {
        return true;
    }
    opal_output(0, "fastpath: component %s/%s was built for Open MPI %s but this is %.*s: not used",
                component->mca_type_name, component->mca_component_name, built_for, (int) length, running);
    return false;
}

void mca_common_fastpath_help_dir(void)
{
    const char *build_tree = getenv("FASTPATH_HELP_DIR");

    if (NULL != build_tree) {
        (void) opal_show_help_add_dir(build_tree);
    }
    (void) opal_show_help_add_dir(FASTPATH_INSTALLED_HELP_DIR);
}

void mca_common_fastpath_show_help(const char *file, const char *topic, ...)
{
    va_list args;
    char *text;

    va_start(args, topic);
    text = opal_show_help_vstring(file, topic, true, args);
    va_end(args);
    if (NULL != text) {
        fputs(text, stderr); /* one call, so that the texts of two processes do not mix */
        free(text);
    }
}

bool mca_common_fastpath_speaker(void)
{
    return 0 == opal_process_info.my_local_rank;
}
