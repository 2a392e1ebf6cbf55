package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of processor times in /proc.
const tick = time.Second / 100

// treeCPU is the processor time that each group of processes has used, with
// their children and those of them that have ended and been waited for; exact
// to a tick for each. All are looked at once, as there may be hundreds.
func treeCPU(groups ...[]int) []time.Duration {
	type process struct {
		parent int
		used   time.Duration
	}
	all := map[int]process{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name in brackets may hold anything; from the state on there are only numbers.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		number := func(i int) (n int) { n, _ = strconv.Atoi(fields[i-3]); return n } // as proc(5) counts them
		all[pid] = process{number(4), time.Duration(number(14)+number(15)+number(16)+number(17)) * tick}
	}
	sums := make([]time.Duration, len(groups))
	for pid := range all {
		for up := pid; up > 1; up = all[up].parent {
			if i := slices.IndexFunc(groups, func(roots []int) bool { return slices.Contains(roots, up) }); i >= 0 {
				sums[i] += all[pid].used
				break
			}
		}
	}
	return sums
}

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(fmt.Sprint("getrusage: ", err)) // which knows this process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
