# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of report --surface, printed and as surface.csv, surface-bare.csv and surface-times.csv in the directory out,
# from results.csv: all sizes in all ways of talking, fastpath beside the best of the others and beside no MPI at all.

FNR == 1 {
    next
}
{
    us[$1, $2 " " $3 " " $4 " " $5] = $column
    measured[$4, $5] = 1
    seen[$2] = 1
    if (!(("bytes", $5) in known)) {
        known["bytes", $5] = 1
        size[++sizes] = $5 + 0
    }
}

function in_order(    i, j, t)
{
    for (i = 2; i <= sizes; ++i) {
        t = size[i]
        for (j = i - 1; j >= 1 && size[j] > t; --j) {
            size[j + 1] = size[j]
        }
        size[j + 1] = t
    }
}

function bytes_text(bytes)
{
    return bytes >= 1048576 ? bytes / 1048576 " MiB" : bytes >= 1024 ? bytes / 1024 " KiB" : bytes ""
}

# One cell: fastpath / the best, and the best's time.
function cell(what, bytes,    value)
{
    if (!((what, bytes) in measured)) {
        return ""
    }
    find_best(2, what, bytes)
    value = over("fastpath 2 " what " " bytes, "best 2 " what " " bytes)
    if (value != "") {
        sum += log(value)
        ++cells
        if (value > worst) {
            worst = value
            worst_name = way_name[what] ", " bytes_text(bytes)
        }
    }
    return value
}

# A ratio and the time that it is one to.
function pair(value, base)
{
    return sprintf("  %6s %8s", show(value, "%.2f"), base == "" ? "" : "(" rounded(base, 3) ")")
}

function row(bytes,    w, value, best, text, line)
{
    text = sprintf("%8s", bytes_text(bytes))
    line = bytes
    for (w = 1; w <= ways; ++w) {
        value = cell(way[w], bytes)
        best = value == "" ? "" : over("best 2 " way[w] " " bytes, "")
        text = text pair(value, best)
        line = line "," exact(value) "," exact(best)
    }
    print text
    csv("surface", line)
}

# The quickest of the ways in which bare has measured a pattern.  Where the ring, which mostly is, has no figure, because a
# cache line never took what --line says, the others tell nothing.
function find_bare(what, bytes,    key, r)
{
    key[1] = "bare 2 " what "-ring " bytes
    key[2] = "bare 2 " what "-read " bytes
    key[3] = "bare 2 " what "-both " bytes
    key[4] = "bare 2 " what "-nontemporal " bytes
    for (r = 1; r <= rounds; ++r) {
        if (!((r, key[1]) in us)) {
            delete us[r, key[2]]
            delete us[r, key[3]]
            delete us[r, key[4]]
        }
    }
    find_least("bare 2 " what " " bytes, key, 4)
}

# fastpath / no MPI, and what that takes.
function bare_table(    count, pattern, b, w, line, text, value, base, any)
{
    count = split("latency sendrecv rate allreduce", pattern, " ")
    printf "\nfastpath / the same pattern without MPI (its us; contrib/bench/bare)\n\n%8s", "bytes"
    line = "bytes"
    for (w = 1; w <= count; ++w) {
        printf "  %15s", way_name[pattern[w]]
        line = line "," pattern[w] "," pattern[w] "_bare_us"
    }
    print ""
    csv("surface-bare", line)
    for (b = 1; b <= sizes; ++b) {
        text = sprintf("%8s", bytes_text(size[b]))
        line = size[b]
        any = 0
        for (w = 1; w <= count; ++w) {
            find_bare(pattern[w], size[b])
            value = over("fastpath 2 " pattern[w] " " size[b], "bare 2 " pattern[w] " " size[b])
            base = over("bare 2 " pattern[w] " " size[b], "")
            any = any || base != ""
            text = text pair(value, base)
            line = line "," exact(value) "," exact(base)
        }
        if (any) {
            print text
            csv("surface-bare", line)
        }
    }
}

# The median time of each in each way, for the plot.
function times(    b, w, i, line, value)
{
    line = "way,bytes"
    for (i = 1; i <= rivals; ++i) {
        line = line "," rival[i]
    }
    csv("surface-times", line ",fastpath")
    for (w = 1; w <= ways; ++w) {
        for (b = 1; b <= sizes; ++b) {
            if ((way[w], size[b]) in measured) {
                line = way[w] "," size[b]
                for (i = 1; i <= rivals + 1; ++i) {
                    value = over((i > rivals ? "fastpath" : rival[i]) " 2 " way[w] " " size[b], "")
                    line = line "," exact(value)
                }
                csv("surface-times", line)
            }
        }
    }
}

END {
    ways = split("latency anysource sendrecv nonblocking rate vector subarray allreduce", way, " ")
    split("Send/Recv|ANY_SOURCE|Sendrecv|nonblocking|window of 64|vector|subarray|Allreduce", name, "|")
    find_rivals()
    in_order()
    line = "bytes"
    printf "\nfastpath / best of %s (the best's us), 2 ranks, medians of %d rounds\n\n%8s", rival_names, rounds, "bytes"
    for (w = 1; w <= ways; ++w) {
        way_name[way[w]] = name[w]
        printf "  %15s", name[w]
        line = line "," way[w] "," way[w] "_best_us"
    }
    print ""
    csv("surface", line)
    for (b = 1; b <= sizes; ++b) {
        row(size[b])
    }
    if (cells) {
        printf "\n%d cells: geometric mean %.3f, worst %.2f (%s)\n", cells, exp(sum / cells), worst, worst_name
    }
    bare_table()
    times()
}
