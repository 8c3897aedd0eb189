/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Patterns of two ranks with derived datatypes, each to and fro and, with "-both" in its name, each way at
 * the same time.  A size is that of the data, without the gaps, and a multiple of 64.
 */

#include "bench.h"
#include "patterns.h"

enum { DOUBLE = sizeof(double) };

/* What is sent or received: so many of a datatype, in a buffer of its own. */
typedef struct {
    MPI_Datatype type;
    int count;
    char *buffer;
    size_t bytes; /* of the buffer */
} side_t;

static side_t out, in;

static side_t side(MPI_Datatype type, int count)
{
    side_t result = {.type = type, .count = count};
    MPI_Aint lower, extent, true_lower, true_extent;

    MPI_Type_commit(&result.type);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    result.bytes = (size_t) (true_lower + true_extent) + (size_t) extent * (size_t) (count - 1);
    result.buffer = calloc(1, result.bytes);
    if (NULL == result.buffer) {
        fprintf(stderr, "patterns: no memory for a datatype of %zu bytes\n", result.bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return result;
}

static void free_sides(void)
{
    free(out.buffer);
    free(in.buffer);
    MPI_Type_free(&out.type);
    MPI_Type_free(&in.type);
}

static void use(MPI_Datatype (*make)(int), int size, int count)
{
    out = side(make(size), count);
    in = side(make(size), count);
}

static int *numbers(int count)
{
    int *list = malloc((size_t) count * sizeof(*list));

    if (NULL == list) {
        fprintf(stderr, "patterns: no memory for a list of %d blocks\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return list;
}

/* Blocks of 8 bytes, half of what they lie in. */
static MPI_Datatype words(int size)
{
    MPI_Datatype type;

    MPI_Type_vector(size / DOUBLE, 1, 2, MPI_DOUBLE, &type);
    return type;
}

/* Blocks of 1 KiB, or of half of what there is. */
static MPI_Datatype blocks(int size)
{
    const int block = (2048 <= size ? 1024 : size / 2) / DOUBLE;
    MPI_Datatype type;

    MPI_Type_vector(size / DOUBLE / block, block, 2 * block, MPI_DOUBLE, &type);
    return type;
}

/* An inner cube of a larger one: planes of 8 x 8 of each 10 x 10 doubles. */
static MPI_Datatype cube(int size)
{
    const int planes = 512 <= size ? size / 512 : 1, lines = 512 <= size ? 8 : size / 64;
    const int all[] = {planes + 2, 10, 10}, part[] = {planes, lines, 8}, from[] = {1, 1, 1};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, all, part, from, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

/* Structs of 4 bytes, 1 byte and 8 bytes, 16 bytes apart. */
static MPI_Datatype fields(int size)
{
    const int lengths[] = {1, 1, 1};
    const MPI_Aint places[] = {0, 4, 8};
    const MPI_Datatype types[] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype one, type;

    MPI_Type_create_struct(3, lengths, places, types, &one);
    MPI_Type_contiguous(size / 13, one, &type);
    MPI_Type_free(&one);
    return type;
}

/* Blocks of 12 bytes at places without a pattern. */
static MPI_Datatype scattered(int size)
{
    const int count = size / 12;
    int *places = numbers(count);
    unsigned seed = 1;
    MPI_Datatype type;

    for (int i = 0, at = 0; i < count; ++i) {
        places[i] = at;
        at += 3 + (int) ((seed = seed * 1103515245u + 12345u) >> 16) % 4;
    }
    MPI_Type_create_indexed_block(count, 3, places, MPI_INT, &type);
    free(places);
    return type;
}

/* Blocks of 1 to 15 doubles at places without a pattern. */
static MPI_Datatype uneven(int size)
{
    const int count = size / 64;
    int *places = numbers(count), *lengths = numbers(count);
    MPI_Datatype type;

    for (int i = 0, at = 0; i < count; ++i) {
        const int half = 1 + i / 2 % 7;

        lengths[i] = 0 == i % 2 ? half : 16 - half; /* 16 for each two */
        places[i] = at;
        at += lengths[i] + 1 + i % 3;
    }
    MPI_Type_indexed(count, lengths, places, MPI_DOUBLE, &type);
    free(lengths);
    free(places);
    return type;
}

static int columns_of(int size)
{
    return 16384 <= size ? 128 : 8;
}

/* A column of a matrix, so that several of them are the matrix column by column. */
static MPI_Datatype column(int size)
{
    const int columns = columns_of(size);
    MPI_Datatype one, type;

    MPI_Type_vector(size / DOUBLE / columns, 1, columns, MPI_DOUBLE, &one);
    MPI_Type_create_resized(one, 0, DOUBLE, &type);
    MPI_Type_free(&one);
    return type;
}

/* The same data without gaps. */
static side_t packed(const side_t *other)
{
    MPI_Datatype type;
    int bytes;

    MPI_Type_size(other->type, &bytes);
    MPI_Type_contiguous(bytes / DOUBLE * other->count, MPI_DOUBLE, &type);
    return side(type, 1);
}

/* What is not sent: elements of 64 bytes with 8 bytes of padding. */
static MPI_Datatype padded(int size)
{
    MPI_Datatype one, type;

    (void) size;
    MPI_Type_contiguous(64 / DOUBLE, MPI_DOUBLE, &one);
    MPI_Type_create_resized(one, 0, 72, &type);
    MPI_Type_free(&one);
    return type;
}

static void use_words(int size)
{
    use(words, size, 1);
}

static void use_blocks(int size)
{
    use(blocks, size, 1);
}

static void use_cube(int size)
{
    use(cube, size, 1);
}

static void use_fields(int size)
{
    use(fields, size, 1);
}

static void use_scattered(int size)
{
    use(scattered, size, 1);
}

static void use_uneven(int size)
{
    use(uneven, size, 1);
}

static void use_columns(int size)
{
    use(column, size, columns_of(size));
}

/* A matrix whose rows arrive as columns. */
static void use_transposed(int size)
{
    in = side(column(size), columns_of(size));
    out = packed(&in);
}

static void use_padded(int size)
{
    use(padded, size, size / 64);
}

static void use_gathered(int size)
{
    out = side(blocks(size), 1);
    in = packed(&out);
}

static void use_spread(int size)
{
    in = side(blocks(size), 1);
    out = packed(&in);
}

static void receive(void)
{
    MPI_Recv(in.buffer, in.count, in.type, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    bench_read(in.buffer, in.bytes);
}

static void to_and_fro(int size)
{
    (void) size;
    if (!patterns_first()) {
        receive();
    }
    bench_fill(out.buffer, out.bytes, 1);
    MPI_Send(out.buffer, out.count, out.type, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD);
    if (patterns_first()) {
        receive();
    }
}

static void exchange(int size)
{
    (void) size;
    bench_fill(out.buffer, out.bytes, 1);
    MPI_Sendrecv(out.buffer, out.count, out.type, patterns_partner(), PATTERNS_TAG, in.buffer, in.count,
                 in.type, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_read(in.buffer, in.bytes);
}

const patterns_t patterns_types[] = {{"words", to_and_fro, use_words, free_sides},
                                     {"words-both", exchange, use_words, free_sides},
                                     {"blocks", to_and_fro, use_blocks, free_sides},
                                     {"blocks-both", exchange, use_blocks, free_sides},
                                     {"cube", to_and_fro, use_cube, free_sides},
                                     {"cube-both", exchange, use_cube, free_sides},
                                     {"fields", to_and_fro, use_fields, free_sides},
                                     {"fields-both", exchange, use_fields, free_sides},
                                     {"scattered", to_and_fro, use_scattered, free_sides},
                                     {"scattered-both", exchange, use_scattered, free_sides},
                                     {"uneven", to_and_fro, use_uneven, free_sides},
                                     {"uneven-both", exchange, use_uneven, free_sides},
                                     {"columns", to_and_fro, use_columns, free_sides},
                                     {"columns-both", exchange, use_columns, free_sides},
                                     {"transposed", to_and_fro, use_transposed, free_sides},
                                     {"transposed-both", exchange, use_transposed, free_sides},
                                     {"padded", to_and_fro, use_padded, free_sides},
                                     {"padded-both", exchange, use_padded, free_sides},
                                     {"gathered", to_and_fro, use_gathered, free_sides},
                                     {"gathered-both", exchange, use_gathered, free_sides},
                                     {"spread", to_and_fro, use_spread, free_sides},
                                     {"spread-both", exchange, use_spread, free_sides},
                                     {NULL, NULL, NULL, NULL}};
