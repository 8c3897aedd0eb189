# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The plots of report, from its CSV files: out is the directory, ext what the plots' names end in, nps the numbers of
# ranks.  Columns are those of the files' first lines.

set datafile separator ','
set datafile missing ''
set key autotitle columnhead
set style fill solid 0.85 noborder
stock = '#c05020'
fastpath = '#2060a0'
csv(name) = out.'/'.name.'.csv'
plotfile(name) = out.'/'.name.'.'.ext

set output plotfile('staged')
set title 'Ping-pong of 8 bytes in stages, 2 ranks'
set ylabel 'us one way'
set yrange [0:*]
set grid ytics lc rgb '#dddddd'
set boxwidth 0.6
set xtics rotate by -15
set nokey
colour(row) = row == 0 ? 0x808080 : row == 1 ? 0xc05020 : 0x2060a0
plot csv('staged') using 0:5:(colour($0)):xtic(1) with boxes lc rgb variable, \
     '' using 0:5:(sprintf('%.3f', $5)) with labels offset 0, 0.7
unset xtics

# From here on ranks are the axis.
set key outside right center
set xlabel 'ranks'
set logscale x 2
set xtics
set for [np in nps] xtics add (np np + 0)

set output plotfile('pairs-latency')
set title 'Ping-pong of 8 bytes, all pairs: minimum, average and maximum'
set logscale y
set autoscale y
plot csv('pairs-latency') using ($1 * 0.97):4:3:5 with yerrorlines lw 2 pt 7 lc rgb stock title 'stock', \
     '' using ($1 * 1.03):7:6:8 with yerrorlines lw 2 pt 7 lc rgb fastpath title 'fastpath'
unset logscale y

set output plotfile('pairs-rate')
set title 'Ping-pong of 2 000 000 bytes, all pairs: minimum, average and maximum'
set ylabel 'MB/s'
set yrange [0:*]
plot csv('pairs-rate') using ($1 * 0.97):4:3:5 with yerrorlines lw 2 pt 7 lc rgb stock title 'stock', \
     '' using ($1 * 1.03):7:6:8 with yerrorlines lw 2 pt 7 lc rgb fastpath title 'fastpath'

set output plotfile('rings')
set title 'Rings of MPI\_Sendrecv, 8 bytes, one rank per core while all others sleep'
set ylabel 'us'
set logscale y
set autoscale y
few(column_) = $2 == few_ranks ? column(column_) : NaN
stats csv('rings') using 2 name 'members' nooutput
few_ranks = members_min
plot csv('rings') using 1:(few(3)) with linespoints lw 2 dt 2 pt 6 lc rgb stock title 'stock, natural, cold', \
     '' using 1:(few(6)) with linespoints lw 2 dt 2 pt 4 lc rgb stock title 'stock, random, cold', \
     '' using 1:(few(9)) with linespoints lw 2 pt 6 lc rgb stock title 'stock, natural, warm', \
     '' using 1:(few(12)) with linespoints lw 2 pt 4 lc rgb stock title 'stock, random, warm', \
     '' using 1:(few(4)) with linespoints lw 2 dt 2 pt 6 lc rgb fastpath title 'fastpath, natural, cold', \
     '' using 1:(few(7)) with linespoints lw 2 dt 2 pt 4 lc rgb fastpath title 'fastpath, random, cold', \
     '' using 1:(few(10)) with linespoints lw 2 pt 6 lc rgb fastpath title 'fastpath, natural, warm', \
     '' using 1:(few(13)) with linespoints lw 2 pt 4 lc rgb fastpath title 'fastpath, random, warm'
unset logscale y

set output plotfile('modes')
set title '8 bytes between 2 ranks while the others sleep: fastpath / stock'
set ylabel 'ratio of times'
set yrange [0:*]
ratio(mode) = strcol(1) eq mode ? column('over_stock') : NaN
plot for [mode in 'latency anysource sendrecv nonblocking rate'] csv('modes') \
     using 2:(ratio(mode)) with linespoints lw 2 pt 7 title mode
unset logscale x

set output plotfile('behind')
set title 'Receive of 8 bytes behind messages that wait, or posted receives'
set ylabel 'us one way'
set xlabel 'how many'
set logscale xy
set autoscale y
set xtics autofreq
unset for [np in nps] xtics
set xtics
behind(queue, column_) = strcol(1) eq queue ? column(column_) : NaN
plot for [queue in 'unexpected posted'] csv('behind') using 2:(behind(queue, 'stock')) \
         with linespoints lw 2 pt (queue eq 'posted' ? 4 : 6) lc rgb stock title 'stock, '.queue, \
     for [queue in 'unexpected posted'] csv('behind') using 2:(behind(queue, 'fastpath')) \
         with linespoints lw 2 pt (queue eq 'posted' ? 4 : 6) lc rgb fastpath title 'fastpath, '.queue
unset logscale

# Bars of each MPI beside each other.
set style data histograms
set style histogram clustered gap 1
set xtics rotate by -15 noenhanced
set ylabel 'us one way'
set yrange [0:*]
set key outside right center noenhanced autotitle columnhead
colour_of(with) = with eq 'stock' ? stock : with eq 'fastpath' ? fastpath : with eq 'ucx' ? '#408040' : '#a08020'
name_of(with) = with eq 'stock' ? 'ob1 (stock)' : with eq 'ucx' ? 'UCX' : with eq 'mpich' ? 'MPICH' : with

set output plotfile('distance')
set title 'Ping-pong of 8 bytes by distance of two cores'
set xlabel 'two cores of'
plot for [with in withs] csv('distance') using (column(with)):xtic(1) lc rgb colour_of(with) title name_of(with)

set output plotfile('distance-rate')
set title 'Bandwidth of long messages by distance of two cores'
set ylabel 'MB/s'
plot for [with in withs] csv('distance') using (column(with.'_mb_per_s')):xtic(1) lc rgb colour_of(with) title name_of(with)

set output plotfile('others')
set title 'Ping-pong of 8 bytes by what other ranks do'
set ylabel 'us one way'
set xlabel 'ranks, and what all but two of them do'
set logscale y
set yrange [0.1:*]
plot for [with in 'stock fastpath'] csv('others') using (column(with)):xtic(strcol(1).' '.strcol(2)) \
     lc rgb colour_of(with) title name_of(with)

set output plotfile('ragged')
set title 'How far apart ranks leave a collective'
set ylabel 'us from the first to the last'
set xlabel 'ranks, collective'
set yrange [0.01:*]
plot for [with in withs] csv('ragged') using (column(with.'_apart')):xtic(strcol(1).' '.strcol(2)) \
     lc rgb colour_of(with) title name_of(with)
unset logscale y
set style data lines

# The rank-by-rank matrices.
set key autotitle columnhead
unset key
unset grid
set xtics autofreq
set xlabel 'rank that begins'
set ylabel 'other rank'
set yrange [*:*] reverse
set cblabel 'us one way'
set size ratio 1
set tics front out
do for [with in 'stock fastpath'] {
    do for [np in nps] {
        set output plotfile('matrix-'.with.'-'.np)
        set title 'Ping-pong of 8 bytes: '.with.', '.np.' ranks'
        plot csv('matrix-'.with.'-'.np) matrix with image
    }
}
