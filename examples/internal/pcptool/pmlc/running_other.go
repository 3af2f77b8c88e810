//go:build !unix

package pmlc

// running reports whether there is a process, which cannot be found out here: it may be.
func running(int) bool { return true }
