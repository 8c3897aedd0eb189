# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The plots of report --surface, from its CSV files: out is the directory, ext what the plots' names end in.

set datafile separator ','
set datafile missing ''
set key autotitle columnhead
csv(name) = out.'/'.name.'.csv'
plotfile(name) = out.'/'.name.'.'.ext
stack_title(column_) = column_ eq 'stock' ? 'ob1' : column_ eq 'ucx' ? 'UCX' : column_ eq 'mpich' ? 'MPICH' : column_
colours = '#c05020 #808080 #40a060 #2060a0'
columns = system("head -n 1 '".csv('surface-times')."' | cut -d, -f3- | tr , ' '")
colour(with) = with eq 'stock' ? word(colours, 1) : with eq 'ucx' ? word(colours, 2) : with eq 'mpich' ? word(colours, 3) : word(colours, 4)

# Size 0 has no place on this axis.
set logscale x 2
set xlabel 'bytes'
set xrange [4:8388608]
set xtics ('8' 8, '64' 64, '512' 512, '4 KiB' 4096, '32 KiB' 32768, '256 KiB' 262144, '2 MiB' 2097152)
set grid lc rgb '#dddddd'
set key top left

set output plotfile('surface-latency')
set title 'Ping-pong (MPI\_Send, MPI\_Recv), 2 ranks: time of one way'
set ylabel 'us'
set logscale y
latency(with) = strcol(1) eq 'latency' ? column(with) : NaN
plot for [with in columns] csv('surface-times') using 2:(latency(with)) \
     with linespoints lw (with eq 'fastpath' ? 3 : 1.5) pt 7 ps 0.6 lc rgb colour(with) title stack_title(with)
unset logscale y

set output plotfile('surface')
set title 'fastpath / best of the others: time, 2 ranks'
set ylabel 'ratio of times'
set yrange [0:*]
set key outside right center
ways = 'latency anysource sendrecv nonblocking rate vector subarray allreduce'
way_names = 'Send/Recv ANY\_SOURCE Sendrecv nonblocking windows vectors subarrays Allreduce'
plot for [i=1:words(ways)] csv('surface') using 1:(column(word(ways, i))) \
     with linespoints lw 1.5 pt i ps 0.6 title word(way_names, i), 1 lc rgb '#000000' dt 2 notitle
