# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of crowd, from lines: round configuration pattern bytes median least, in microseconds.

{
    us[$1, $2 " " $3 " " $4] = $5
    if (!(($3, $4) in seen)) {
        seen[$3, $4]
        line[++lines] = $3 " " $4
    }
}
END {
    many = split(list, name, " ")
    printf "\n%-11s %8s", "pattern", "bytes"
    for (j = 1; j <= many; ++j) {
        printf " %9s", name[j]
    }
    printf " %9s   (us; medians of %d rounds)\n", "/ best", rounds
    for (k = 1; k <= lines; ++k) {
        split(line[k], field, " ")
        printf "%-11s %8d", field[1], field[2]
        rest = 0
        for (j = 1; j <= many; ++j) {
            printf " %9s", rounded(over(name[j] " " line[k], ""), 4)
            if (name[j] != "fastpath") {
                others[++rest] = name[j] " " line[k]
            }
        }
        find_least("best " line[k], others, rest)
        printf " %9s\n", show(over("fastpath " line[k], "best " line[k]), "%.2f")
    }
}
