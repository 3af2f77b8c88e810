package collector

import "golang.org/x/sys/unix"

// pin keeps the thread on a processor, if it may be there.
func pin(processor int) {
	var set unix.CPUSet
	set.Set(processor)
	_ = unix.SchedSetaffinity(0, &set) // a processor that is not ours: the thread stays free
}
