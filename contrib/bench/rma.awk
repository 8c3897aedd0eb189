# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of rma, from lines: round configuration kind/epoch bytes median least.  column says which of the two times,
# medium is "node" or "tcp".

# What issue 14 asks for, as a ratio to the best of the others; "" where it asks for nothing.
function goal(key, epoch)
{
    epoch = key
    sub(/^[^\/]*\//, "", epoch)
    sub(/ .*/, "", epoch)
    if (epoch ~ /^8(put|get)/) {
        return 1.05
    }
    if (medium == "tcp") {
        return epoch in must ? must[epoch] : ""
    }
    if (key ~ /^allocated/) {
        return epoch == "lockx_put_unlock" ? 0.8 : epoch ~ /_flush/ ? 1.05 : ""
    }
    return 1.0
}

BEGIN {
    # The "must" column of the measurements that the issue names, for two hosts.
    split("lockx_put_unlock 0.52 locks_put_unlock 0.52 lockx_get_unlock 0.42 lockx_put_get_unlock 0.45 " \
          "lockx_4put_unlock 0.55 lockx_unlock 0.05 lockx[put_flush] 0.45 lockx[32put_flush] 0.70 " \
          "lockall[put_flush] 1.05 lockall[32put_flush] 1.05 lockall[put_get_flush] 0.65 lockall[fop_flush] 1.10 " \
          "lockall[cas_flush] 1.10 lockall[getacc8_flush] 1.10 lockall[acc8_flush] 1.10 fence_put 0.80 pscw_put 1.0",
          words, " ")
    for (i = 1; i in words; i += 2) {
        must[words[i]] = words[i + 1]
    }
}

{
    key = $3 " " $4
    us[$1, $2 " " key] = $column
    if (!(key in seen)) {
        seen[key] = 1
        keys[++count] = key
    }
    if ($2 != "fastpath" && $2 != "ob1" && (!(($1, "best " key) in us) || us[$1, "best " key] > $column)) {
        us[$1, "best " key] = $column
    }
}
END {
    many = split(list, name, " ")
    printf "\n%-34s %9s", "window/epoch (us)", "bytes"
    for (i = 1; i <= many; ++i) {
        printf " %9s", name[i]
    }
    printf "  %-6s %8s %6s   (medians of %d rounds)\n", "best", "/ best", "goal", rounds
    for (k = 1; k <= count; ++k) {
        split(keys[k], part, " ")
        printf "%-34s %9d", part[1], part[2]
        best = ""
        for (i = 1; i <= many; ++i) {
            value = over(name[i] " " keys[k], "")
            printf " %9s", show(value, value < 100 ? "%.3f" : "%.1f")
            if (value != "" && name[i] != "fastpath" && name[i] != "ob1" && (best == "" || value < least)) {
                best = name[i]
                least = value
            }
        }
        ratio = over("fastpath " keys[k], "best " keys[k])
        wanted = goal(keys[k])
        printf "  %-6s %8s %6s%s\n", best == "" ? "-" : best, show(ratio, "%.3f"), show(wanted, "%.2f"),
            (ratio != "" && wanted != "" && ratio > wanted) ? " *" : ""
    }
    print "* above the goal"
}
