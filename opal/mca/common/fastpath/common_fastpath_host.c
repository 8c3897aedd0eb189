/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/class/opal_free_list.h"
#include "opal/class/opal_hash_table.h"
#include "opal/class/opal_list.h"
#include "opal/datatype/opal_convertor.h"
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

/* Bytes of a mutex as we know it, which the headers of Open MPI 5.0 and 6.0 do not say. A test build
 * overrides it. */
#if !defined(FASTPATH_MUTEX_SIZE)
#    define FASTPATH_MUTEX_SIZE sizeof(opal_mutex_t)
#endif

static const mca_common_fastpath_layout_t layouts[] = {
    {.type = OBJ_CLASS(opal_mutex_t), .size = FASTPATH_MUTEX_SIZE},
    MCA_COMMON_FASTPATH_LAYOUT(opal_list_t),
    MCA_COMMON_FASTPATH_LAYOUT(opal_free_list_t),
    MCA_COMMON_FASTPATH_LAYOUT(opal_hash_table_t),
    MCA_COMMON_FASTPATH_LAYOUT(opal_convertor_t),
    MCA_COMMON_FASTPATH_LAYOUT(opal_proc_t),
};

bool mca_common_fastpath_layouts_ok(const mca_base_component_t *component,
                                    const mca_common_fastpath_layout_t *table, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (table[i].size != table[i].type->cls_sizeof) {
            opal_output(0,
                        "fastpath: component %s/%s was built for an Open MPI whose %s has %zu bytes and not "
                        "%zu: not used",
                        component->mca_type_name, component->mca_component_name, table[i].type->cls_name,
                        table[i].size, table[i].type->cls_sizeof);
            return false;
        }
    }
    return true;
}

bool mca_common_fastpath_host_ok(const mca_base_component_t *component)
{
    static const char built_for[] = FASTPATH_BUILT_FOR_SERIES;
    const char *running;
    size_t length = series_of(opal_version_string, &running);

    if (sizeof(built_for) - 1 == length && 0 == memcmp(built_for, running, length)) {
        return mca_common_fastpath_layouts_ok(component, layouts, sizeof(layouts) / sizeof(layouts[0]));
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

/* The file in the build tree, or the installed one. */
static FILE *open_help(const char *file)
{
    const char *const dirs[] = {getenv("FASTPATH_HELP_DIR"), FASTPATH_INSTALLED_HELP_DIR};
    FILE *stream = NULL;

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && NULL == stream; ++i) {
        char path[PATH_MAX];

        if (NULL != dirs[i] && (int) sizeof(path) > snprintf(path, sizeof(path), "%s/%s", dirs[i], file)) {
            stream = fopen(path, "r");
        }
    }
    return stream;
}

/* The lines between "[topic]" and the next topic, between two bars: a format, malloc'ed, or NULL. */
static char *load_topic(FILE *stream, const char *topic)
{
    static const char bar[] = "--------------------------------------------------------------------------\n";
    const size_t length = strlen(topic);
    bool inside = false;
    char *text = NULL, line[1024];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (NULL == out) {
        return NULL;
    }
    fputs(bar, out);
    while (NULL != fgets(line, sizeof(line), stream)) {
        if ('[' == line[0]) {
            if (inside) {
                break;
            }
            inside = 0 == strncmp(line + 1, topic, length) && ']' == line[1 + length];
        } else if (inside && '#' != line[0]) {
            fputs(line, out);
        }
    }
    fputs(bar, out);
    if (0 != fclose(out) || !inside) {
        free(text);
        text = NULL;
    }
    return text;
}

/* One call for the whole text, so that the texts of two processes do not mix. */
__opal_attribute_format__(__printf__, 1, 0) static void print_text(const char *format, va_list args)
{
    char *text = NULL;

    if (0 <= vasprintf(&text, format, args)) {
        fputs(text, stderr);
        free(text);
    }
}

static void show_help(const char *file, const char *topic, va_list args)
{
    FILE *stream = open_help(file);
    char *format = NULL;

    if (NULL != stream) {
        format = load_topic(stream, topic);
        (void) fclose(stream);
    }
    if (NULL != format) {
        print_text(format, args);
        free(format);
    } else {
        opal_output(0, "fastpath: \"%s\", whose text is not in %s: set FASTPATH_HELP_DIR or install again",
                    topic, file);
    }
}

void mca_common_fastpath_show_help(const char *file, const char *topic, ...)
{
    va_list args;

    va_start(args, topic);
    show_help(file, topic, args);
    va_end(args);
}

void mca_common_fastpath_show_help_once(const char *file, const char *topic, ...)
{
    va_list args;

    va_start(args, topic);
    if (FASTPATH_SHOWS_PRIVATE_HELP) {
        (void) opal_show_vhelp(file, topic, true, args);
    } else {
        show_help(file, topic, args);
    }
    va_end(args);
}

void mca_common_fastpath_show_help_fatal(const char *file, const char *topic, ...)
{
    const struct timespec time_to_report = {.tv_sec = 1};
    va_list args;

    if (!mca_common_fastpath_reporting_rank()) {
        (void) nanosleep(&time_to_report, NULL); /* the end of the job ends it */
        return;
    }
    va_start(args, topic);
    show_help(file, topic, args);
    va_end(args);
}

bool mca_common_fastpath_reporting_rank(void)
{
    return 0 == opal_process_info.my_local_rank;
}
