# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# What compare and report share: medians over rounds.  us[ROUND, KEY] has the results, rounds their number; those of
# report have the key "with ranks what bytes", and rival[1], ..., rival[rivals] are what fastpath is compared with.

function median(values, n,    i, j, t)
{
    for (i = 2; i <= n; ++i) {
        t = values[i]
        for (j = i - 1; j >= 1 && values[j] > t; --j) {
            values[j + 1] = values[j]
        }
        values[j + 1] = t
    }
    return n == 0 ? "" : n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}

# Median over the rounds of one key, divided by another key of the same round if there is one.
function over(one, base,    r, n, values)
{
    n = 0
    for (r = 1; r <= rounds; ++r) {
        if ((r, one) in us && (base == "" || ((r, base) in us && us[r, base] > 0))) {
            values[++n] = us[r, one] / (base == "" ? 1 : us[r, base])
        }
    }
    return median(values, n)
}

function show(value, format)
{
    return value == "" ? "-" : sprintf(format, value)
}

# To DIGITS significant digits, and to the whole number where those do not suffice: tables have no exponents.
function rounded(value, digits)
{
    return show(value, value >= 10 ^ digits - .5 ? "%.0f" : "%." digits "g")
}

# As it stands in a CSV file, "-" (which csv leaves out) if it is not known.
function exact(number)
{
    return show(number, "%.6g")
}

# One line of a table as CSV, in the directory out; unknown figures are empty.
function csv(name, line)
{
    gsub(/,-/, ",", line)
    print line >(out "/" name ".csv")
}

# With whom fastpath is compared: stock, and those of the others that were measured, which are keys of seen.
function find_rivals(    all, count, i)
{
    count = split("stock ucx mpich", all, " ")
    for (i = 1; i <= count; ++i) {
        if (i == 1 || all[i] in seen) {
            rival[++rivals] = all[i]
            rival_names = rival_names (i == 1 ? "" : " ") all[i]
        }
    }
}

# The least of some keys, from[1] to from[count], per round, becomes the key "into".
function find_least(into, from, count,    r, i)
{
    for (r = 1; r <= rounds; ++r) {
        for (i = 1; i <= count; ++i) {
            if ((r, from[i]) in us && (!((r, into) in us) || us[r, from[i]] < us[r, into])) {
                us[r, into] = us[r, from[i]]
            }
        }
    }
}

# The fastest of those that we are compared with.
function find_best(np, what, bytes,    i, key)
{
    for (i = 1; i <= rivals; ++i) {
        key[i] = rival[i] " " np " " what " " bytes
    }
    find_least("best " np " " what " " bytes, key, rivals)
}
