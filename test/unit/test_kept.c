/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Memory of messages that are kept: blocks are large enough, are used again, and those that are not in use
 * are few. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_kept.c"

enum { BLOCKS = 64 };

static int begin(void **state)
{
    (void) state;
    mca_pml_fastpath_kept_init();
    return 0;
}

static int end(void **state)
{
    (void) state;
    mca_pml_fastpath_kept_fini();
    return 0;
}

static void classes_fit(void **state)
{
    (void) state;
    for (size_t bytes = SHORTEST; bytes <= LONGEST; ++bytes) {
        const unsigned class = block_class(bytes);

        assert_true(has_class(bytes));
        assert_true(CLASSES > class);
        assert_true(bytes <= block_size(class));
        assert_true(bytes >= (0 == class ? SHORTEST : block_size(class - 1) + 1));
        assert_true((block_size(class) - bytes) * 4 <= bytes);
    }
    assert_false(has_class(SHORTEST - 1));
    assert_false(has_class(LONGEST + 1));
}

static void used_again(void **state)
{
    void *block = mca_pml_fastpath_kept_alloc(70000), *other;

    (void) state;
    assert_non_null(block);
    memset(block, 1, 70000);
    assert_int_equal(mca_pml_fastpath_kept_spare(), 0);
    mca_pml_fastpath_kept_free(block, 70000);
    assert_true(mca_pml_fastpath_kept_spare() >= 70000);
    other = mca_pml_fastpath_kept_alloc(1000);
    assert_ptr_not_equal(other, block);
    mca_pml_fastpath_kept_free(other, 1000);
    assert_ptr_equal(mca_pml_fastpath_kept_alloc(70001), block);
    mca_pml_fastpath_kept_free(block, 70001);
    mca_pml_fastpath_kept_free(NULL, 70001);
}

/* What is short or long is malloc's. */
static void others_not_kept(void **state)
{
    static const size_t others[] = {1, SHORTEST - 1, LONGEST + 1};

    (void) state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        void *block = mca_pml_fastpath_kept_alloc(others[i]);

        assert_non_null(block);
        memset(block, 1, others[i]);
        mca_pml_fastpath_kept_free(block, others[i]);
        assert_int_equal(mca_pml_fastpath_kept_spare(), 0);
    }
}

static void alloc_and_free(size_t bytes)
{
    void *block[BLOCKS];

    for (int i = 0; i < BLOCKS; ++i) {
        block[i] = mca_pml_fastpath_kept_alloc(bytes);
        assert_non_null(block[i]);
        memset(block[i], i, bytes);
    }
    for (int i = 0; i < BLOCKS; ++i) {
        assert_int_equal(((unsigned char *) block[i])[bytes - 1], i);
        mca_pml_fastpath_kept_free(block[i], bytes);
        assert_true(mca_pml_fastpath_kept_spare() <= MCA_PML_FASTPATH_KEPT_SPARE);
    }
}

/* A program's messages change their length: those of before do not stay for good. */
static void few_are_spare(void **state)
{
    (void) state;
    alloc_and_free(3 * MCA_PML_FASTPATH_KEPT_SPARE / BLOCKS);
    assert_true(mca_pml_fastpath_kept_spare() > MCA_PML_FASTPATH_KEPT_SPARE / 2);
    alloc_and_free(MCA_PML_FASTPATH_KEPT_SPARE / BLOCKS / 2);
    assert_non_null(blocks.free[block_class(MCA_PML_FASTPATH_KEPT_SPARE / BLOCKS / 2)]);
    for (int round = 0; round < 3; ++round) {
        alloc_and_free(2 * MCA_PML_FASTPATH_KEPT_SPARE / BLOCKS);
    }
    assert_null(blocks.free[block_class(3 * MCA_PML_FASTPATH_KEPT_SPARE / BLOCKS)]);
}

/* Of long ones two are kept, of the length that was in use last, and others beside them. */
static void two_long_ones(void **state)
{
    const size_t length = MCA_PML_FASTPATH_KEPT_LONGEST, shorter = length / 4;
    void *block[3], *other;

    (void) state;
    other = mca_pml_fastpath_kept_alloc(100000);
    for (int i = 0; i < 3; ++i) {
        block[i] = mca_pml_fastpath_kept_alloc(shorter);
    }
    mca_pml_fastpath_kept_free(other, 100000);
    for (int i = 0; i < 3; ++i) {
        mca_pml_fastpath_kept_free(block[i], shorter);
    }
    assert_in_range(mca_pml_fastpath_kept_spare(), 2 * shorter + 100000, 3 * shorter);
    assert_ptr_equal(mca_pml_fastpath_kept_alloc(shorter), block[1]);
    assert_ptr_equal(mca_pml_fastpath_kept_alloc(shorter), block[0]);
    mca_pml_fastpath_kept_free(block[0], shorter);
    mca_pml_fastpath_kept_free(block[1], shorter);
    for (int i = 0; i < 2; ++i) {
        block[i] = mca_pml_fastpath_kept_alloc(length);
    }
    for (int i = 0; i < 2; ++i) {
        mca_pml_fastpath_kept_free(block[i], length);
    }
    assert_in_range(mca_pml_fastpath_kept_spare(), 2 * length, 2 * length + 200000);
    assert_ptr_equal(mca_pml_fastpath_kept_alloc(100000), other);
    mca_pml_fastpath_kept_free(other, 100000);
}

/* As many can be borrowed as are kept; more, where they are needed. */
static void borrowed_ones_are_kept(void **state)
{
    static const size_t lengths[] = {300000, MCA_PML_FASTPATH_KEPT_LONGEST};

    (void) state;
    for (int i = 0; i < 2; ++i) {
        void *block[BLOCKS], *more;
        int count = 0;

        while (NULL != (block[count] = mca_pml_fastpath_kept_borrow(lengths[i], false))) {
            memset(block[count++], 1, lengths[i]);
            assert_true(BLOCKS > count);
        }
        assert_true(2 <= count);
        more = mca_pml_fastpath_kept_borrow(lengths[i], true);
        assert_non_null(more);
        mca_pml_fastpath_kept_give_back(more, lengths[i]);
        for (int j = 0; j < count; ++j) {
            mca_pml_fastpath_kept_give_back(block[j], lengths[i]);
        }
        assert_true((size_t) count * lengths[i] <= mca_pml_fastpath_kept_spare());
        for (int j = 0; j < count; ++j) {
            block[j] = mca_pml_fastpath_kept_borrow(lengths[i], false);
            assert_non_null(block[j]);
        }
        assert_null(mca_pml_fastpath_kept_borrow(lengths[i], false));
        for (int j = 0; j < count; ++j) {
            mca_pml_fastpath_kept_give_back(block[j], lengths[i]);
        }
        mca_pml_fastpath_kept_give_back(NULL, lengths[i]);
    }
    assert_null(mca_pml_fastpath_kept_borrow(LONGEST + 1, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(classes_fit, begin, end),
        cmocka_unit_test_setup_teardown(used_again, begin, end),
        cmocka_unit_test_setup_teardown(others_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(few_are_spare, begin, end),
        cmocka_unit_test_setup_teardown(two_long_ones, begin, end),
        cmocka_unit_test_setup_teardown(borrowed_ones_are_kept, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
