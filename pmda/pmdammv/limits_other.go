//go:build !unix

package pmdammv

// maxOpen is how many files may be kept open: none, since a file that is open cannot be replaced.
func maxOpen(int) int { return 0 }
