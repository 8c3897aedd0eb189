/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 * The part of the message queue interface between debuggers and MPI libraries
 * (version 2) that msgq.c uses. Open MPI does not install a header of it. Names
 * and layouts are the interface's.
 */

#ifndef MQS_H
#define MQS_H

#include <stddef.h>

enum { MQS_VERSION = 2 };

/* Opaque to the other side. */
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;
typedef struct _mqs_image_info mqs_image_info;
typedef struct _mqs_process_info mqs_process_info;

typedef unsigned long mqs_taddr_t; /**< an address in the target */
typedef long mqs_tword_t;          /**< a number in the target */

enum { mqs_ok = 0, mqs_no_information, mqs_end_of_list };
enum { mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages };
enum { mqs_st_pending, mqs_st_matched, mqs_st_complete };

/** Bytes that the target's basic types take. */
typedef struct {
    int short_size, int_size, long_size, long_long_size, pointer_size, bool_size, size_t_size;
} mqs_target_type_sizes;

typedef struct {
    mqs_taddr_t unique_id;
    mqs_tword_t local_rank;
    mqs_tword_t size;
    char name[64];
} mqs_communicator;

typedef struct {
    int status;
    mqs_tword_t desired_local_rank; /**< in the communicator, -1 for any */
    mqs_tword_t desired_global_rank;
    int tag_wild;
    mqs_tword_t desired_tag;
    mqs_tword_t desired_length; /**< bytes */
    int system_buffer;
    mqs_taddr_t buffer;
    mqs_tword_t actual_local_rank, actual_global_rank, actual_tag, actual_length;
    char extra_text[5][64];
} mqs_pending_operation;

/* What the library calls. */
typedef struct {
    void *(*allocate)(size_t);
    void (*release)(void *);
    void (*print)(const char *);
    char *(*error_string)(int);
    void (*put_image_info)(mqs_image *, mqs_image_info *);
    mqs_image_info *(*get_image_info)(mqs_image *);
    void (*put_process_info)(mqs_process *, mqs_process_info *);
    mqs_process_info *(*get_process_info)(mqs_process *);
} mqs_basic_callbacks;

typedef struct {
    void (*get_type_sizes)(mqs_process *, mqs_target_type_sizes *);
    int (*find_function)(mqs_image *, char *, int language, mqs_taddr_t *);
    int (*find_symbol)(mqs_image *, char *, mqs_taddr_t *);
    mqs_type *(*find_type)(mqs_image *, char *, int language);
    int (*field_offset)(mqs_type *, char *);
    int (*size_of)(mqs_type *);
} mqs_image_callbacks;

typedef struct {
    int (*get_global_rank)(mqs_process *);
    mqs_image *(*get_image)(mqs_process *);
    int (*fetch_data)(mqs_process *, mqs_taddr_t, int, void *);
    void (*target_to_host)(mqs_process *, const void *, void *, int);
} mqs_process_callbacks;

#endif /* MQS_H */
