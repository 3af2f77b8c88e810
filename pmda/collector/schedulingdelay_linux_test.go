package collector

import "golang.org/x/sys/unix"

// pin binds the thread to a processor, if that is allowed.
func pin(processor int) {
	var set unix.CPUSet
	set.Set(processor)
	_ = unix.SchedSetaffinity(0, &set) // on failure the thread is not bound
}
