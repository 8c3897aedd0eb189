# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# From what "lstopo-no-graphics --of console" prints: two processors at each distance there is, nearest first, one line each
#
#     LABEL FIRST SECOND FAR_FIRST FAR_SECOND
#
# The first is always the first one of all.  LABEL names the smallest thing that both are in, with dashes for blanks.
# FAR_... is a processor of another NUMA node than that of the first or second, or "-" where there is one node.
# allowed, if it is set, are the processors that may be used, with commas between them.

function enter(depth, what, id)
{
    depth_of[what] = depth
    in_now[what] = id
}

# What was entered at this depth or deeper ends; a NUMA node is one for what stands beside it, too.
function leave(depth,    what)
{
    for (what in in_now) {
        if (depth_of[what] > depth || (depth_of[what] == depth && what != "NUMANode")) {
            delete in_now[what]
        }
    }
}

function nearest(one, two,    i)
{
    for (i = 1; i <= kinds; ++i) {
        if (where[one, kind[i]] != "" && where[one, kind[i]] == where[two, kind[i]]) {
            return i
        }
    }
    return kinds + 1
}

function far(one,    p)
{
    for (p = 1; p <= count; ++p) {
        if (node[p] != node[one]) {
            return cpu[p]
        }
    }
    return "-"
}

BEGIN {
    kinds = split("Core L2 L3 Die NUMANode Package", kind, " ")
    split("one-core one-L2-cache one-L3-cache one-die one-NUMA-node one-package other-package", label, " ")
    limited = split(allowed, list, ",")
    for (i = 1; i <= limited; ++i) {
        may[list[i]] = 1
    }
}
{
    match($0, /^ */)
    depth = RLENGTH
    leave(depth)
    parts = split(substr($0, depth + 1), part, / [+] /)
    for (i = 1; i <= parts; ++i) {
        split(part[i], word, " ")
        if (word[1] != "PU") {
            enter(depth, word[1], word[2])
            continue
        }
        number = part[i]
        if (!sub(/.*P#/, "", number)) { # hwloc leaves it out where it is the other one
            number = word[2]
            sub(/.*#/, "", number)
        }
        sub(/[^0-9].*/, "", number)
        if (limited && !(number in may)) {
            continue
        }
        cpu[++count] = number
        for (k = 1; k <= kinds; ++k) {
            where[count, kind[k]] = in_now[kind[k]]
        }
        node[count] = in_now["NUMANode"]
        # two packages may share a node
        where[count, "NUMANode"] = in_now["Package"] "/" in_now["NUMANode"]
    }
}
END {
    for (p = 2; p <= count; ++p) {
        at = nearest(1, p)
        if (!(at in seen)) {
            seen[at] = p
        }
    }
    for (at = 1; at <= kinds + 1; ++at) {
        if (at in seen) {
            print label[at], cpu[1], cpu[seen[at]], far(1), far(seen[at])
        }
    }
}
