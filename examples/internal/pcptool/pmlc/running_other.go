//go:build !unix

package pmlc

// running returns true, because this system cannot tell whether a process exists.
func running(int) bool { return true }
