# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of report, printed and as CSV in the directory out, from results.csv
#
#     round,with,ranks,what,bytes,us,least_us
#
# and pairs.csv, round,with,ranks,from,to,us,mbyte_per_s.  nps are the numbers of ranks, column says which of the
# times counts.  A result's key is "with ranks what bytes".

FNR == 1 {
    ++file
    next
}
file == 1 {
    key = $2 " " $3 " " $4 " " $5
    us[$1, key] = $column
    seen[$2] = 1
    if ($4 ~ /^natural-warm/) {
        rings[$3, $5] = 1
    }
    if ($4 ~ /^at-/ && !(substr($4, 4) in known_distance)) {
        known_distance[substr($4, 4)] = 1
        distances[++distance_count] = substr($4, 4)
    }
    if ($4 ~ /^at-/ && $5 > long_message) {
        long_message = $5
    }
    if ($4 ~ /^unexpected-/) {
        depth = substr($4, 12)
        if (!(depth in known_depth)) {
            known_depth[depth] = 1
            depths[++depth_count] = depth
        }
    }
}
file == 2 {
    us[$1, "pair " $2 " " $3 " " $4 " " $5] = $6
    measured[$2, $3, $4, $5] = 1
    seen_pairs[$2, $3] = 1
}

function value(with, np, what, bytes)
{
    return over(with " " np " " what " " bytes, "")
}

# The same divided by another configuration, or by another number of ranks or bytes.
function ratio(with, np, what, bytes, base)
{
    return over(with " " np " " what " " bytes, base)
}

function to(with, np, what, bytes, other)
{
    return ratio(with, np, what, bytes, other " " np " " what " " bytes)
}

function floors(with, np, what, bytes)
{
    return ratio(with, np, what, bytes, FLOOR)
}

function title(text)
{
    printf "\n%s\n\n", text
}

# A row of a table, for who reads and as CSV. It begins with these texts, and ends in the table's file.
function begin(text, line)
{
    row_text = text
    row_line = line
}

# Layout is how wide a column is, format what a number looks like.
function put(number, layout, format)
{
    row_text = row_text sprintf(layout, show(number, format))
    row_line = row_line "," exact(number)
}

# A column's head.
function head(text, layout, name)
{
    row_text = row_text sprintf(layout, text)
    row_line = row_line "," name
}

function end(name)
{
    print row_text
    csv(name, row_line)
}

# What the tables of several configurations begin with: all of them, and what fastpath takes of stock's time.
function heads(    i)
{
    for (i = 1; i <= rivals; ++i) {
        head(rival[i], " %9s", rival[i])
    }
    head("fastpath", " %9s", "fastpath")
    head("/ stock", " %8s", "over_stock")
}

function compared(np, what, bytes,    i)
{
    for (i = 1; i <= rivals; ++i) {
        put(value(rival[i], np, what, bytes), " %9s", "%.3f")
    }
    put(value("fastpath", np, what, bytes), " %9s", "%.3f")
    put(to("fastpath", np, what, bytes, "stock"), " %8s", "%.3f")
}

# The same with the fastest of them, and with the floor.
function heads_best()
{
    heads()
    head("/ best", " %8s", "over_best")
    head("/ floor", " %8s", "over_floor")
}

function compared_best(np, what, bytes)
{
    compared(np, what, bytes)
    find_best(np, what, bytes)
    put(to("fastpath", np, what, bytes, "best"), " %8s", "%.3f")
    put(floors("fastpath", np, what, bytes), " %8s", "%.2f")
}

function staged(    i, b, with, name)
{
    title("1. Ping-pong of 2 ranks in stages, us one way")
    printf "%-34s", ""
    for (b = 1; b <= 3; ++b) {
        printf "%8d bytes  / stock / floor", size[b]
    }
    printf "\n%-34s%14s%18s\n", "one cache line without MPI (floor)", "", show(over(FLOOR, ""), "%.3f")
    csv("staged", "stage,us_0,over_stock_0,over_floor_0,us_8,over_stock_8,over_floor_8,us_40,over_stock_40,over_floor_40")
    csv("staged", "floor,,,," exact(over(FLOOR, "")) ",,,,,")
    for (i = 1; i <= stage_count; ++i) {
        with = stage_of[i]
        if (!(with in seen)) {
            continue
        }
        name = stage_name[i]
        sub(/^ */, "", name)
        begin(sprintf("%-34s", stage_name[i]), name)
        for (b = 1; b <= 3; ++b) {
            put(value(with, 2, "latency", size[b]), "%14s", "%.3f")
            put(to(with, 2, "latency", size[b], "stock"), "%9s", "%.3f")
            put(floors(with, 2, "latency", size[b]), "%8s", "%.2f")
        }
        end("staged")
    }
    printf "%-34s%46s\n", "  the same, MPI_THREAD_MULTIPLE", show(value("threads", 2, "latency", 8), "%.3f") "  (" \
        show(ratio("threads", 2, "latency", 8, "fastpath 2 latency 8"), "%.2f") " of one thread)"
}

# Minimum, average and maximum over the pairs of ranks: latency or rate.
function by_pairs(number, name, file_name, what, unit, format,    n, i, np, k)
{
    title(number ". HPCC-style ping-pong, " name)
    begin(sprintf("%5s %-9s", "ranks", ""), "ranks,with")
    head("pairs", " %7s", "pairs")
    for (k = 1; k <= 3; ++k) {
        head(part[k], " %9s", part[k])
    }
    head("avg / stock", " %12s", "over_stock")
    if (what == "pair-latency") {
        head("/ floor", " %8s", "over_floor")
    }
    end(file_name)
    for (n = 1; n <= np_count; ++n) {
        for (i = 1; i <= shown_count; ++i) {
            np = np_list[n]
            if ((shown[i], np) in seen_pairs) {
                pairs_line(shown[i], np, what, file_name, format)
            }
        }
    }
    print "  " unit
}

function pairs_line(with, np, what, file_name, format,    k)
{
    begin(sprintf("%5d %-9s", np, with), np "," with)
    put(value(with, np, "pair-count", 8), " %7s", "%d")
    for (k = 1; k <= 3; ++k) {
        put(value(with, np, what "-" part[k], 8), " %9s", format)
    }
    put(to(with, np, what "-avg", 8, "stock"), " %12s", "%.3f")
    if (what == "pair-latency") {
        put(floors(with, np, what "-avg", 8), " %8s", "%.2f")
    }
    end(file_name)
}

# Latency of each pair of ranks: as CSV for all, printed for few ranks.
function matrix(with, np, print_it,    i, j, at)
{
    if (print_it) {
        printf "\n  %s, %d ranks: latency of each pair in ns (across: who begins)\n\n", with, np
    }
    for (j = 0; j < np; ++j) {
        begin("  ", "")
        for (i = 0; i < np; ++i) {
            at = (with, np, i, j) in measured ? over("pair " with " " np " " i " " j, "") : ""
            row_text = row_text sprintf(" %5s", i == j ? "-" : at == "" ? "." : sprintf("%d", at * 1000 + 0.5))
            row_line = row_line (i ? "," : "") (at == "" ? "nan" : sprintf("%.4f", at))
        }
        print row_line >(out "/matrix-" with "-" np ".csv")
        if (print_it) {
            print row_text
        }
    }
}

function matrices(    n, i, printed)
{
    for (n = 1; n <= np_count; ++n) {
        if (np_list[n] <= 40) {
            printed = np_list[n]
        }
    }
    for (i = 1; i <= shown_count; ++i) {
        for (n = 1; n <= np_count; ++n) {
            if ((shown[i], np_list[n]) in seen_pairs) {
                matrix(shown[i], np_list[n], np_list[n] == printed)
            }
        }
    }
}

function all_rings(    n, m)
{
    title("4. Rings: MPI_Sendrecv of 8 bytes to both sides, us each, at the slowest rank")
    begin(sprintf("%5s %8s %-14s", "ranks", "in ring", "ring"), "ranks,in_ring,ring")
    heads()
    end("rings")
    for (n = 1; n <= np_count; ++n) {
        for (m = 2; m <= np_list[n]; ++m) {
            if ((np_list[n], m) in rings) {
                ring_lines(np_list[n], m)
            }
        }
    }
    print "  Cold: the first step, after a barrier.  Warm: after 100 more steps.  Random: ten orders of the ranks."
    print "  Rings of fewer ranks than there are: one on each core while all others are asleep.  Rings of all ranks, where"
    print "  they are more than cores, are a measurement of waiting and of the scheduler, not of latency."
}

function ring_lines(np, members,    k, w, what)
{
    for (w = 1; w <= 2; ++w) {
        for (k = 1; k <= 2; ++k) {
            what = ring_what[k] "-" ring_state[w]
            begin(sprintf("%5d %8d %-14s", np, members, ring_what[k] ", " ring_state[w]), np "," members "," what)
            compared(np, what, members)
            end("rings")
        }
    }
}

function modes(    n, k, np, what)
{
    title("5. 8 bytes between 2 of the ranks; the others are connected and asleep outside MPI; us")
    begin(sprintf("%-14s %5s", "", "ranks"), "mode,ranks")
    heads_best()
    head("/ 2 ranks", " %9s", "over_2_ranks")
    end("modes")
    for (k = 1; k <= 5; ++k) {
        what = mode[k]
        for (n = 1; n <= np_count; ++n) {
            np = np_list[n]
            begin(sprintf("%-14s %5d", n == 1 ? mode_name[k] : "", np), what "," np)
            compared_best(np, what, 8)
            put(ratio("fastpath", np, what, 8, "fastpath 2 " what " 8"), " %9s", "%.3f")
            end("modes")
        }
    }
    print "  rate: time of one message of windows of 64.  Sendrecv and nonblocking: time of one exchange."
}

function vectors(    b)
{
    title("6. Ping-pong of a vector of 8-byte blocks with gaps of 8 bytes, 2 ranks, us one way")
    begin(sprintf("%8s", "bytes"), "bytes")
    heads_best()
    end("vector")
    for (b = 1; b <= 2; ++b) {
        begin(sprintf("%8d", vector_bytes[b]), vector_bytes[b])
        compared_best(2, "vector", vector_bytes[b])
        end("vector")
    }
}

function waiting(    d, q, what)
{
    title("7. Receive of 8 bytes behind messages or receives of other tags, 2 ranks")
    begin(sprintf("%-12s %7s", "", ""), "queue,depth")
    heads()
    head("/ ucx", " %8s", "over_ucx")
    head("instructions: stock  fastpath", "   %18s", "stock_instructions,fastpath_instructions")
    end("behind")
    for (q = 1; q <= 2; ++q) {
        for (d = 1; d <= depth_count; ++d) {
            what = queue[q] "-" depths[d]
            begin(sprintf("%-12s %7d", queue[q], depths[d]), queue[q] "," depths[d])
            compared(2, what, 8)
            put(to("fastpath", 2, what, 8, "ucx"), " %8s", "%.3f")
            put(value("stock", 2, "instructions-" what, 8), "   %19s", "%d")
            put(value("fastpath", 2, "instructions-" what, 8), " %9s", "%d")
            end("behind")
        }
    }
    print "  us one way, while as many wait at both sides; instructions of one MPI_Recv whose message has arrived"
}

# Latency, and bandwidth from the time of a long message.
function by_distance(    d, i, what, of, with)
{
    title("8. By distance of two cores: 8 bytes, us one way, and " long_message + 0 " bytes, MB/s")
    begin(sprintf("%-26s", ""), "distance")
    heads_best()
    for (i = 1; i <= shown_count; ++i) {
        with = shown[i]
        head(with " MB/s", " %13s", with "_mb_per_s")
    }
    end("distance")
    for (d = 1; d <= distance_count; ++d) {
        what = distances[d]
        of = what
        gsub(/-/, " ", of)
        sub(/ far$/, " (segments far)", of)
        begin(sprintf("%-26s", of), of)
        compared_best(2, "at-" what, 8)
        for (i = 1; i <= shown_count; ++i) {
            with = value(shown[i], 2, "at-" what, long_message)
            put(with == "" ? "" : long_message / with, " %13s", "%.0f")
        }
        end("distance")
    }
    print "  Both ranks start on these cores.  \"Segments far\" (--far): they start on another NUMA node and move."
}

function busy_others(    n, k, np, what)
{
    title("9. Ping-pong of 8 bytes, us one way, by what all other ranks do")
    begin(sprintf("%5s %-24s", "ranks", "others"), "ranks,others")
    heads()
    end("others")
    for (n = 1; n <= np_count; ++n) {
        np = np_list[n]
        for (k = 1; k <= 3 && np > 2; ++k) {
            what = k == 1 ? "latency" : "latency-" others[k]
            if (k > 1 && value("fastpath", np, what, 8) == "") {
                continue
            }
            begin(sprintf("%5d %-24s", np, others_name[k]), np "," others[k])
            compared(np, what, 8)
            end("others")
        }
    }
    print "  Up to 16 ranks.  With more ranks than cores this is mostly how they share cores while they wait."
}

function ragged(    n, k, c, i)
{
    title("10. Collectives: what they take at the slowest rank, and how far apart ranks leave them, us")
    begin(sprintf("%5s %-12s", "ranks", ""), "ranks,collective")
    for (k = 1; k <= 2; ++k) {
        for (i = 1; i <= shown_count; ++i) {
            c = shown[i]
            head(c (k == 1 ? "" : " apart"), " %14s", c (k == 1 ? "" : "_apart"))
        }
    }
    end("ragged")
    for (n = 1; n <= np_count; ++n) {
        ragged_line(np_list[n], "barrier", "barrier", 0)
        ragged_line(np_list[n], "allreduce", "allreduce-all", 8)
    }
}

function ragged_line(np, name, what, bytes,    k, i)
{
    begin(sprintf("%5d %-12s", np, name), np "," name)
    for (k = 1; k <= 2; ++k) {
        for (i = 1; i <= shown_count; ++i) {
            put(value(shown[i], np, k == 1 ? what : name "-apart", bytes), " %14s", "%.2f")
        }
    }
    end("ragged")
}

# One line of the summary: figure must be at most limit, with 2 % of tolerance.
function bar(text, limit, figure,    verdict)
{
    figure = figure == "" ? "" : exact(figure) + 0
    verdict = figure == "" ? "not measured" : figure <= limit * 1.02 ? "met" : "not met"
    printf "  %-62s <= %.2f  %7s  %s\n", text, limit, show(figure, "%.3f"), verdict
    csv("summary", text "," limit "," exact(figure) "," verdict)
    ++verdicts[verdict]
}

function summary(    n, np, q, first, last)
{
    title("11. The bars (medians, 2 % of tolerance)")
    csv("summary", "what,limit,seen,verdict")
    bar("ping-pong of 8 bytes / floor", 1.25, floors("fastpath", 2, "latency", 8))
    bar("ping-pong of 8 bytes / stock", 0.60, to("fastpath", 2, "latency", 8, "stock"))
    bar("ping-pong of 0 bytes / floor", 1.25, floors("fastpath", 2, "latency", 0))
    bar("ping-pong of 0 bytes / stock", 0.60, to("fastpath", 2, "latency", 0, "stock"))
    bar("ping-pong of 40 bytes / floor", 1.35, floors("fastpath", 2, "latency", 40))
    for (n = 2; n <= np_count; ++n) {
        bar("ping-pong of 8 bytes with " np_list[n] " ranks / with 2", 1.03,
            ratio("fastpath", np_list[n], "latency", 8, "fastpath 2 latency 8"))
    }
    for (n = 1; n <= np_count; ++n) {
        np = np_list[n]
        bar("from MPI_ANY_SOURCE with " np " ranks / named", 1.10,
            ratio("fastpath", np, "anysource", 8, "fastpath " np " latency 8"))
    }
    bar("MPI_Sendrecv of 8 bytes / best of " rival_names, 0.60, to("fastpath", 2, "sendrecv", 8, "best"))
    bar("Irecv Isend Waitall of 8 bytes / best of " rival_names, 0.60, to("fastpath", 2, "nonblocking", 8, "best"))
    bar("time per message in windows of 64 / best of " rival_names, 0.40, to("fastpath", 2, "rate", 8, "best"))
    bar("vector of 64 bytes / best of " rival_names, 0.60, to("fastpath", 2, "vector", 64, "best"))
    bar("vector of 1 KiB / best of " rival_names, 0.60, to("fastpath", 2, "vector", 1024, "best"))
    first = depths[1]
    last = depths[depth_count]
    for (q = 1; q <= 2 && depth_count > 1; ++q) {
        bar("instructions behind " last " " queue[q] " / behind " first, 1.05,
            ratio("fastpath", 2, "instructions-" queue[q] "-" last, 8,
                "fastpath 2 instructions-" queue[q] "-" first " 8"))
        bar("time behind " last " " queue[q] " / ucx", 0.90, to("fastpath", 2, queue[q] "-" last, 8, "ucx"))
    }
    bar("MPI_THREAD_MULTIPLE and one active thread / single", 1.30,
        ratio("threads", 2, "latency", 8, "fastpath 2 latency 8"))
    printf "\n  %d met, %d not met, %d not measured\n", verdicts["met"], verdicts["not met"], verdicts["not measured"]
}

END {
    FLOOR = "floor 2 floor 8"
    np_count = split(nps, np_list, " ")
    split("0 8 40", size, " ")
    split("64 1024", vector_bytes, " ")
    split("min avg max", part, " ")
    split("natural random", ring_what, " ")
    split("cold warm", ring_state, " ")
    split("unexpected posted", queue, " ")
    stage_count = split("stock ucx mpich none send receive fastpath", stage_of, " ")
    split("out of the box (stock)|UCX|MPICH|fastpath with nothing immediate|  + send|  + receive|  + data (all of it)", stage_name, "|")
    split("latency anysource sendrecv nonblocking rate", mode, " ")
    split("named|MPI_ANY_SOURCE|Sendrecv|nonblocking|rate", mode_name, "|")
    split("asleep blocked polling", others, " ")
    split("asleep outside MPI|blocked in MPI_Recv|polling with MPI_Test", others_name, "|")
    find_rivals()
    for (n = 1; n <= rivals; ++n) {
        shown[n] = rival[n]
    }
    shown[shown_count = n] = "fastpath"
    staged()
    by_pairs(2, "8 bytes, us one way", "pairs-latency", "pair-latency",
        "Two ranks at a time, each on a core of its own; all others are asleep outside MPI.", "%.3f")
    matrices()
    by_pairs(3, "2 000 000 bytes, MB/s", "pairs-rate", "pair-rate", "As in 2.  More is better.", "%.0f")
    all_rings()
    modes()
    vectors()
    waiting()
    by_distance()
    busy_others()
    ragged()
    summary()
}
