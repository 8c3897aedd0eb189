/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_fastpath_cores.h"

/* A hierarchy of control groups: where its files are, and which group of it is ours. Allocated, with all that
 * is long: whoever waits reads it, perhaps a thread with a small stack. */
typedef struct {
    char mount[PATH_MAX]; /* with the prefix */
    char top[PATH_MAX];   /* the group that is mounted there */
    char group[PATH_MAX]; /* ours, from the hierarchy's root */
    bool version2;

    /* while files are read */
    char directory[2 * PATH_MAX];
    char name[2 * PATH_MAX + 32]; /* of one */
    char line[3 * PATH_MAX];      /* of it */
    char point[PATH_MAX];         /* words of a line */
    char options[PATH_MAX];
} hierarchy_t;

/* @return whether it is one of the words, which are separated by commas */
static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = words; NULL != at; at = strchr(at, ',')) {
        at += ',' == *at;
        if (0 == strncmp(at, word, length) && ('\0' == at[length] || ',' == at[length])) {
            return true;
        }
    }
    return false;
}

static FILE *open_below(hierarchy_t *hierarchy, const char *directory, const char *path)
{
    const int length = snprintf(hierarchy->name, sizeof(hierarchy->name), "%s%s", directory, path);

    return (int) sizeof(hierarchy->name) > length ? fopen(hierarchy->name, "r") : NULL;
}

/* Which group is ours: lines of /proc/self/cgroup are NUMBER:CONTROLLERS:PATH, without controllers for
 * version 2. */
static bool find_group(const char *root, hierarchy_t *hierarchy)
{
    FILE *stream = open_below(hierarchy, root, "/proc/self/cgroup");
    bool found = false;

    while (NULL != stream && !found && NULL != fgets(hierarchy->line, sizeof(hierarchy->line), stream)) {
        char *controllers = strchr(hierarchy->line, ':');
        char *path = NULL == controllers ? NULL : strchr(++controllers, ':');

        if (NULL == path) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = hierarchy->version2 ? '\0' == *controllers : has_word(controllers, "cpu");
        if (found) {
            found = (int) sizeof(hierarchy->group)
                    > snprintf(hierarchy->group, sizeof(hierarchy->group), "%s", path);
        }
    }
    if (NULL != stream) {
        fclose(stream);
    }
    return found;
}

/* Where its files are. Lines of /proc/self/mountinfo are ID PARENT DEVICE TOP MOUNT OPTIONS [FIELDS] - TYPE
 * SOURCE OPTIONS. */
static bool find_mount(const char *root, hierarchy_t *hierarchy)
{
    FILE *stream = open_below(hierarchy, root, "/proc/self/mountinfo");
    bool found = false;
    char type[64];

    while (NULL != stream && !found && NULL != fgets(hierarchy->line, sizeof(hierarchy->line), stream)) {
        const char *rest = strstr(hierarchy->line, " - ");

        if (NULL == rest
            || 2 != sscanf(hierarchy->line, "%*s %*s %*s %4095s %4095s", hierarchy->top, hierarchy->point)
            || 2 != sscanf(rest, " - %63s %*s %4095s", type, hierarchy->options)) {
            continue;
        }
        found = hierarchy->version2 ? 0 == strcmp(type, "cgroup2")
                                    : 0 == strcmp(type, "cgroup") && has_word(hierarchy->options, "cpu");
        if (found) {
            found = (int) sizeof(hierarchy->mount)
                    > snprintf(hierarchy->mount, sizeof(hierarchy->mount), "%s%s", root, hierarchy->point);
        }
    }
    if (NULL != stream) {
        fclose(stream);
    }
    return found;
}

/* Reads the first two words of a file of the directory. Returns how many there are. */
static int read_words(hierarchy_t *hierarchy, const char *path, char words[2][32])
{
    FILE *stream = open_below(hierarchy, hierarchy->directory, path);
    int count = 0;

    if (NULL != stream) {
        count = fscanf(stream, "%31s %31s", words[0], words[1]);
        fclose(stream);
    }
    return count;
}

/* The limit of the directory's group in cores; 0: none. */
static double limit_of(hierarchy_t *hierarchy)
{
    char quota[2][32], period[2][32];
    double time, of;

    if (hierarchy->version2) {
        if (2 != read_words(hierarchy, "/cpu.max", quota)) {
            return 0;
        }
        time = strtod(quota[0], NULL); /* "max" is no number */
        of = strtod(quota[1], NULL);
    } else {
        if (1 > read_words(hierarchy, "/cpu.cfs_quota_us", quota)
            || 1 > read_words(hierarchy, "/cpu.cfs_period_us", period)) {
            return 0;
        }
        time = strtod(quota[0], NULL); /* -1: none */
        of = strtod(period[0], NULL);
    }
    return 0 < time && 0 < of ? time / of : 0;
}

/* The part of our group's path that lies below the mount; the group itself is mounted where a container
 * shows no more. */
static const char *below_mount(const hierarchy_t *hierarchy)
{
    const size_t length = strlen(hierarchy->top);

    if (0 == strcmp(hierarchy->top, "/")) {
        return hierarchy->group;
    }
    return 0 == strncmp(hierarchy->group, hierarchy->top, length)
                   && ('/' == hierarchy->group[length] || '\0' == hierarchy->group[length])
               ? hierarchy->group + length
               : "";
}

/* The least limit of a hierarchy's groups from ours to the one that is mounted. */
static double least_limit(const char *root, hierarchy_t *hierarchy)
{
    double least = 0;
    size_t mount;

    if (!find_group(root, hierarchy) || !find_mount(root, hierarchy)) {
        return 0;
    }
    mount = strlen(hierarchy->mount);
    snprintf(hierarchy->directory, sizeof(hierarchy->directory), "%s%s", hierarchy->mount,
             below_mount(hierarchy));
    for (;;) {
        const double limit = limit_of(hierarchy);
        char *last = strrchr(hierarchy->directory + mount, '/');

        if (0 < limit && (0 == least || limit < least)) {
            least = limit;
        }
        if (NULL == last) {
            return least;
        }
        *last = '\0';
    }
}

double mca_common_fastpath_cores_quota(const char *root)
{
    hierarchy_t *hierarchy = malloc(sizeof(*hierarchy));
    double one, two;

    if (NULL == hierarchy) {
        return 0;
    }
    hierarchy->version2 = false;
    one = least_limit(root, hierarchy);
    hierarchy->version2 = true;
    two = least_limit(root, hierarchy);
    free(hierarchy);
    return 0 < one && (0 == two || one < two) ? one : two;
}

/* @return whether everything is in a that is in b */
static bool contains(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_EQUAL(&both, b);
}

/* Processes that may run nowhere but on these cores, this one among them. */
static size_t count_within(const cpu_set_t *cores, size_t others, mca_common_fastpath_cores_mask_fn_t mask_of,
                           void *context)
{
    size_t count = 1;
    cpu_set_t mask;

    for (size_t i = 0; i < others; ++i) {
        count += mask_of(context, i, &mask) && contains(cores, &mask);
    }
    return count;
}

bool mca_common_fastpath_cores_short(const cpu_set_t *own, size_t others,
                                     mca_common_fastpath_cores_mask_fn_t mask_of, void *context)
{
    cpu_set_t reach = *own, mask, both;

    if (count_within(own, others, mask_of, context) > (size_t) CPU_COUNT(own)) {
        return true;
    }
    for (size_t i = 0; i < others; ++i) {
        if (mask_of(context, i, &mask)) {
            CPU_AND(&both, own, &mask);
            if (0 < CPU_COUNT(&both)) {
                CPU_OR(&reach, &reach, &mask);
            }
        }
    }
    return !CPU_EQUAL(&reach, own)
           && count_within(&reach, others, mask_of, context) > (size_t) CPU_COUNT(&reach);
}
