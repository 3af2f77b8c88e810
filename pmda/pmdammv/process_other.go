//go:build !unix

package pmdammv

// alive is true: nothing is known of processes, and a file of one that has ended is better than none of all.
func alive(int) bool { return true }
