# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The plots of report, from its CSV files: out is the directory, ext what the plots' names end in, nps the numbers of
# ranks, withs what was measured, matrices with what and how many ranks.  Columns are those of the files' first lines.

set datafile separator ','
set datafile missing NaN
set key autotitle columnhead
set style fill solid 0.85 noborder
stock = '#c05020'
fastpath = '#2060a0'
csv(name) = out.'/'.name.'.csv'
plotfile(name) = out.'/'.name.'.'.ext
colour_of(with) = with eq 'stock' ? stock : with eq 'fastpath' ? fastpath : with eq 'ucx' ? '#408040' : '#a08020'
name_of(with) = with eq 'stock' ? 'ob1 (stock)' : with eq 'ucx' ? 'UCX' : with eq 'mpich' ? 'MPICH' : with

set output plotfile('staged')
set title 'Ping-pong of 8 bytes in stages, 2 ranks'
set ylabel 'us one way'
set yrange [0:*]
set grid ytics lc rgb '#dddddd'
set boxwidth 0.6
set xtics rotate by -15
set offsets 0, 0, graph 0.08, 0 # room for numbers over bars
set nokey
colour(name) = name eq 'floor' ? 0x808080 : name eq 'UCX' ? 0x408040 : name eq 'MPICH' ? 0xa08020 \
    : name[1:3] eq 'out' ? 0xc05020 : 0x2060a0
plot csv('staged') using 0:5:(colour(strcol(1))):xtic(1) with boxes lc rgb variable, \
     '' using 0:5:(sprintf('%.3f', $5)) with labels offset 0, 0.7
unset offsets
unset xtics

# From here on ranks are the axis.
set key outside right center
set xlabel 'ranks'
set logscale x 2
set xtics
set xrange [1.6:word(nps, words(nps)) * 1.25]
set for [np in nps] xtics add (np np + 0)

set output plotfile('pairs-latency')
set title 'Ping-pong of 8 bytes, all pairs: minimum, average and maximum'
set logscale y
set autoscale y
of(with, column_) = strcol('with') eq with ? column(column_) : NaN
# Beside each other, not over each other.
beside(with) = column('ranks') * 1.05 ** (with eq 'stock' ? -1.5 : with eq 'ucx' ? -0.5 : with eq 'mpich' ? 0.5 : 1.5)
plot for [with in withs] csv('pairs-latency') using (beside(with)):(of(with, 'avg')):(of(with, 'min')):(of(with, 'max')) \
     with yerrorlines lw 2 pt 7 lc rgb colour_of(with) title name_of(with)
unset logscale y

set output plotfile('pairs-rate')
set title 'Ping-pong of 2 000 000 bytes, all pairs: minimum, average and maximum'
set ylabel 'MB/s'
set yrange [0:*]
plot for [with in withs] csv('pairs-rate') using (beside(with)):(of(with, 'avg')):(of(with, 'min')):(of(with, 'max')) \
     with yerrorlines lw 2 pt 7 lc rgb colour_of(with) title name_of(with)

set ylabel 'us at the slowest rank'
set logscale y
set autoscale y
stats csv('rings') using 2 name 'members' nooutput
ring(kind, with) = column('in_ring') == members_min && strcol('ring') eq kind ? column(with) : NaN
do for [state in 'warm cold'] {
    set output plotfile('rings-'.state)
    set title 'Rings of MPI\_Sendrecv, 8 bytes, '.(state eq 'warm' ? 'after 100 steps' : 'first step').'; others asleep'
    plot for [kind in 'natural random'] for [with in withs] csv('rings') using 1:(ring(kind.'-'.state, with)) \
         with linespoints lw 2 dt 1 + (kind eq 'random') pt 6 - 2 * (kind eq 'random') lc rgb colour_of(with) \
         title name_of(with).', '.kind
}
unset logscale y

set output plotfile('modes')
set title '8 bytes between 2 ranks while the others sleep: fastpath / stock'
set ylabel 'ratio of times'
set yrange [0:*]
ratio(mode) = strcol(1) eq mode ? column('over_stock') : NaN
plot for [mode in 'latency anysource sendrecv nonblocking rate'] csv('modes') \
     using 2:(ratio(mode)) with linespoints lw 2 pt 7 title mode
unset logscale x
set autoscale x

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
plot for [queue in 'unexpected posted'] for [with in withs] csv('behind') using 2:(behind(queue, with)) \
     with linespoints lw 2 dt 1 + (queue eq 'posted') pt 6 - 2 * (queue eq 'posted') lc rgb colour_of(with) \
     title name_of(with).', '.queue
unset logscale

# Bars of each MPI beside each other.
set style data histograms
set style histogram clustered gap 1
set xtics rotate by -15 noenhanced
set ylabel 'us one way'
set yrange [0:*]
set key outside right center noenhanced autotitle columnhead

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
set cblabel 'us one way'
set size ratio 1
set tics front out
set xtics norotate
do for [i=1:words(matrices):2] {
    np = word(matrices, i + 1) + 0
    step = ceil(np / 8.0)
    set xrange [-0.5:np - 0.5]
    set yrange [np - 0.5:-0.5]
    set xtics 0, step
    set ytics 0, step
    set output plotfile('matrix-'.word(matrices, i).'-'.np)
    set title 'Ping-pong of 8 bytes: '.name_of(word(matrices, i)).', '.np.' ranks'
    plot csv('matrix-'.word(matrices, i).'-'.np) matrix with image
}
