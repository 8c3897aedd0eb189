# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of compare, from lines: round configuration mode bytes median least.  column says which of the two
# times.

{
    key = $3 " " $4
    us[$1, $2 " " key] = $column
    if ($2 == "floor") {
        floor = "floor " key
    } else if (!(key in seen)) {
        seen[key] = 1
        keys[++count] = key
    }
}
END {
    printf "\n%-16s %9s  %-10s %10s %9s %9s   (us; medians of %d rounds)\n",
        "mode", "bytes", "with", "time", "/ floor", "/ stock", rounds
    printf "%-16s %9s  %-10s %10s\n", "one line", "8", "floor", show(over(floor, ""), "%.3f")
    many = split(list, name, " ")
    for (k = 1; k <= count; ++k) {
        split(keys[k], part, " ")
        for (i = 1; i <= many; ++i) {
            small = part[2] <= 40 && part[1] != "rate"
            printf "%-16s %9d  %-10s %10s %9s %9s\n", part[1], part[2], name[i],
                show(over(name[i] " " keys[k], ""), "%.3f"),
                show(small ? over(name[i] " " keys[k], floor) : "", "%.2f"),
                show(over(name[i] " " keys[k], "stock " keys[k]), "%.3f")
        }
    }
}
