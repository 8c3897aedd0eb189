/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The pieces of memory that datatypes of Open MPI's describe: from any element on they are those that come
 * there from the begin on, and to begin in the middle is no more work than at the begin. Updates that come in
 * pieces do not look for their places at all.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"

#include "mpi_fixture.h"

static size_t named;  /* pieces that convertors have named */
static size_t sought; /* positions of convertors that have been looked for */

static int32_t counted_raw(opal_convertor_t *convertor, struct iovec *iov, uint32_t *count, size_t *length)
{
    const int32_t rc = opal_convertor_raw(convertor, iov, count, length);

    named += *count;
    return rc;
}

static void counted_seek(opal_convertor_t *convertor, size_t position)
{
    sought += position != convertor->bConverted;
    mca_common_fastpath_convertor_seek(convertor, position);
}

#define opal_convertor_raw                 counted_raw
#define mca_common_fastpath_convertor_seek counted_seek
#include "ompi/mca/osc/fastpath/osc_fastpath_atomic.c"
#include "ompi/mca/osc/fastpath/osc_fastpath_memory.c"
#include "ompi/mca/osc/fastpath/osc_fastpath_pieces.c"
#undef mca_common_fastpath_convertor_seek
#undef opal_convertor_raw

enum { MEMORY = 65536, ORIGIN = MEMORY / 2, MOST = 8192 };

static char memory[MEMORY];

/* Where each byte of the packed form lies, in the memory. */
static size_t list(ompi_datatype_t *type, size_t count, size_t offset, size_t places[MOST])
{
    const mca_osc_fastpath_memory_t all = {.address = memory + ORIGIN, .type = type, .count = count};
    mca_osc_fastpath_pieces_t pieces;
    struct iovec piece;
    size_t listed = 0;

    mca_osc_fastpath_pieces_begin(&pieces, &all, offset);
    while (mca_osc_fastpath_pieces_next(&pieces, SIZE_MAX, &piece)) {
        for (size_t i = 0; i < piece.iov_len; ++i) {
            assert_true(MOST > listed);
            places[listed++] = (size_t) ((char *) piece.iov_base + i - memory);
        }
    }
    mca_osc_fastpath_pieces_end(&pieces);
    return listed;
}

static void check_offsets(const char *name, ompi_datatype_t *type, size_t count, size_t element)
{
    static size_t all[MOST], some[MOST];
    size_t bytes;

    assert_int_equal(OMPI_SUCCESS, ompi_datatype_commit(&type));
    bytes = list(type, count, 0, all);
    assert_int_equal(bytes, count * type->super.size);
    for (size_t offset = element; offset <= bytes; offset += element) {
        if (bytes - offset != list(type, count, offset, some)
            || 0 != memcmp(some, all + offset, (bytes - offset) * sizeof(some[0]))) {
            fail_msg("%s: from byte %zu on there are other pieces", name, offset);
        }
    }
    assert_int_equal(OMPI_SUCCESS, ompi_datatype_destroy(&type));
}

static void test_vectors(void **state)
{
    ompi_datatype_t *const base = &ompi_mpi_int.dt;
    ompi_datatype_t *inner, *type;

    (void) state;
    ompi_datatype_create_vector(40, 1, 2, base, &type);
    check_offsets("single elements", type, 3, sizeof(int));
    ompi_datatype_create_vector(40, 3, 5, base, &type);
    check_offsets("blocks", type, 3, sizeof(int));
    ompi_datatype_create_vector(20, 7, -9, base, &type);
    check_offsets("blocks backwards", type, 2, sizeof(int));
    ompi_datatype_create_vector(5, 2, 3, base, &inner);
    ompi_datatype_create_vector(4, 2, 4, inner, &type);
    check_offsets("a vector of vectors", type, 3, sizeof(int));
    ompi_datatype_create_resized(inner, -8, 100, &type);
    ompi_datatype_destroy(&inner);
    check_offsets("a vector with gaps around it", type, 5, sizeof(int));
}

static void test_others(void **state)
{
    const int lengths[] = {3, 1, 5, 2, 0, 4}, places[] = {10, 3, 20, 30, 0, -8};
    ompi_datatype_t *inner, *type;

    (void) state;
    MPI_Type_indexed(6, lengths, places, &ompi_mpi_double.dt, &type);
    check_offsets("blocks of any length", type, 3, sizeof(double));
    MPI_Type_indexed(6, lengths, places, &ompi_mpi_short.dt, &inner);
    ompi_datatype_create_vector(3, 2, 3, inner, &type);
    ompi_datatype_destroy(&inner);
    check_offsets("a vector of them", type, 2, sizeof(short));
    ompi_datatype_create_contiguous(6, &ompi_mpi_int.dt, &inner);
    ompi_datatype_create_resized(inner, 0, 40, &type);
    check_offsets("one block with a gap behind it", type, 9, sizeof(int));
    ompi_datatype_create_resized(inner, -4, 40, &type);
    ompi_datatype_destroy(&inner);
    check_offsets("one block with gaps around it", type, 9, sizeof(int));
    ompi_datatype_create_vector(6, 2, 3, &ompi_mpi_double_int.dt, &type);
    check_offsets("pairs", type, 2, sizeof(double) + sizeof(int));
}

/* Memory is looked at by nobody, so it need not be there. */
static void test_work(void **state)
{
    const int blocks = 1000000;
    mca_osc_fastpath_memory_t all = {.count = 1};
    const size_t offsets[] = {4, 8 << 10, 4000000 - 4, 6 << 20};

    (void) state;
    ompi_datatype_create_vector(blocks, 2, 3, &ompi_mpi_int.dt, &all.type);
    assert_int_equal(OMPI_SUCCESS, ompi_datatype_commit(&all.type));
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); ++i) {
        mca_osc_fastpath_pieces_t pieces;
        struct iovec piece;

        named = 0;
        mca_osc_fastpath_pieces_begin(&pieces, &all, offsets[i]);
        assert_true(mca_osc_fastpath_pieces_next(&pieces, SIZE_MAX, &piece));
        mca_osc_fastpath_pieces_end(&pieces);
        assert_in_range(named, 1, 2 * MCA_OSC_FASTPATH_PIECES);
    }
    assert_int_equal(OMPI_SUCCESS, ompi_datatype_destroy(&all.type));
}

/* An update of `parts` parts of a type with gaps, and what it leaves in memory. */
static void check_update(ompi_datatype_t *element, bool atomic, size_t parts)
{
    const int lengths[] = {3, 1, 5, 2, 0, 4, 1}, places[] = {10, 3, 20, 30, 0, -8, 27};
    const size_t size = element->super.size, length = 8 * size;
    static char origin[1024];
    static size_t all[MOST];
    mca_osc_fastpath_walk_t walk;
    mca_osc_fastpath_update_t update = {
        .length = length, .element = element, .op = &ompi_mpi_op_replace.op, .atomic = atomic, .walk = &walk};

    assert_true(parts * length <= sizeof(origin));
    MPI_Type_indexed(7, lengths, places, element, &update.memory.type);
    assert_int_equal(OMPI_SUCCESS, ompi_datatype_commit(&update.memory.type));
    update.memory.address = memory + ORIGIN;
    update.memory.count = parts / 2;
    assert_true(parts * length == list(update.memory.type, parts / 2, 0, all));
    memset(memory, 0, sizeof(memory));
    mca_osc_fastpath_walk_begin(&walk);
    sought = 0;
    for (size_t i = 0; i < parts; ++i, update.offset += length) {
        for (size_t k = 0; k < length; ++k) {
            origin[update.offset + k] = (char) (update.offset + k + 1);
        }
        update.origin = origin + update.offset;
        assert_int_equal(OMPI_SUCCESS, mca_osc_fastpath_update(&update));
    }
    assert_int_equal(0, sought);
    mca_osc_fastpath_walk_end(&walk);
    for (size_t i = 0; i < parts * length; ++i) {
        assert_int_equal(origin[i], memory[all[i]]);
    }
    assert_int_equal(OMPI_SUCCESS, ompi_datatype_destroy(&update.memory.type));
}

static void test_updates(void **state)
{
    (void) state;
    check_update(&ompi_mpi_int.dt, true, 8);
    check_update(&ompi_mpi_int.dt, false, 8);
    check_update(&ompi_mpi_double.dt, true, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_updates),
    };

    return cmocka_run_group_tests(tests, begin_mpi, end_mpi);
}
