# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of ways, from lines: round configuration pattern bytes median least, in microseconds.

{
    us[$1, $2 " " $3 " " $4] = $5
    if (!(($3, $4) in seen)) {
        seen[$3, $4]
        line[++lines] = $3 " " $4
    }
}
END {
    many = split(list, name, " ")
    for (j = 1; j <= many; ++j) {
        compared = compared || name[j] == "before"
    }
    printf "\n%-15s %8s", "pattern", "bytes"
    for (j = 1; j <= many; ++j) {
        printf " %9s", name[j]
    }
    printf " %9s%s   (us; medians of %d rounds)\n", "/ best", compared ? "  / before" : "", rounds
    for (k = 1; k <= lines; ++k) {
        split(line[k], field, " ")
        printf "%-15s %8d", field[1], field[2]
        rest = 0
        for (j = 1; j <= many; ++j) {
            printf " %9s", rounded(over(name[j] " " line[k], ""), 4)
            if (name[j] != "fastpath" && name[j] != "before") {
                others[++rest] = name[j] " " line[k]
            }
        }
        find_least("best " line[k], others, rest)
        ratio = over("fastpath " line[k], "best " line[k])
        printf " %9s", show(ratio, "%.2f")
        if (ratio != "") {
            ++ratios
            logarithms += log(ratio)
            slower += ratio > 1.02
        }
        if (compared) {
            printf "  %8s", show(over("fastpath " line[k], "before " line[k]), "%.2f")
        }
        printf "\n"
    }
    if (ratios) {
        printf "\n%d figures: geometric mean %.2f of the best, %d above 1.02\n", ratios, exp(logarithms / ratios), slower
    }
}
