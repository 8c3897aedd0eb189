# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of report --surface, printed and as surface.csv and surface-times.csv in the directory out, from results.csv:
# all sizes in all ways of talking, fastpath beside the best of the others.

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

function row(bytes,    w, value, best, text, line)
{
    text = sprintf("%8s", bytes_text(bytes))
    line = bytes
    for (w = 1; w <= ways; ++w) {
        value = cell(way[w], bytes)
        best = value == "" ? "" : over("best 2 " way[w] " " bytes, "")
        text = text sprintf("  %6s %8s", show(value, "%.2f"), best == "" ? "" : sprintf("(%.3g)", best))
        line = line "," exact(value) "," exact(best)
    }
    print text
    csv("surface", line)
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
    times()
}
