package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of processor times in /proc.
const tick = time.Second / 100

// treeCPU is the processor time that processes, their children, and those of
// them that have ended and been waited for, have used; exact to a tick for
// each.
func treeCPU(roots ...int) time.Duration {
	type process struct {
		parent int
		used   time.Duration
	}
	all := map[int]process{}
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		// The name in brackets may hold anything; from the state on there are only numbers.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		number := func(i int) (n int) { n, _ = strconv.Atoi(fields[i-3]); return n } // as proc(5) counts them
		all[pid] = process{number(4), time.Duration(number(14)+number(15)+number(16)+number(17)) * tick}
	}
	var sum time.Duration
	for pid := range all {
		for up := pid; up > 1; up = all[up].parent {
			if slices.Contains(roots, up) {
				sum += all[pid].used
				break
			}
		}
	}
	return sum
}

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(fmt.Sprint("getrusage: ", err)) // which knows this process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
