# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of startup, from lines: round ranks configuration job init finalize mpirun cpu, in milliseconds.

{
    for (i = 4; i <= 8; ++i) {
        us[$1, $2 " " $3 " " i] = $i
    }
}
END {
    split("job init finalize mpirun cpu", title, " ")
    many = split(list, name, " ")
    lines = split(counts, np, " ")
    printf "\n%5s  %-13s", "np", "with"
    for (i = 1; i <= 5; ++i) {
        printf " %9s %6s", title[i], "ratio"
    }
    printf "   (ms; medians of %d rounds)\n", rounds
    for (k = 1; k <= lines; ++k) {
        for (j = 1; j <= many; ++j) {
            printf "%5d  %-13s", np[k], name[j]
            for (i = 1; i <= 5; ++i) {
                printf " %9s %6s", show(over(np[k] " " name[j] " " i + 3, ""), "%.1f"),
                    j == 1 ? "" : show(over(np[k] " " name[j] " " i + 3, np[k] " " name[1] " " i + 3), "%.3f")
            }
            printf "\n"
        }
    }
}
