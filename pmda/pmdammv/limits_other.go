//go:build !unix

package pmdammv

// maxOpen returns 0, because on this system an open file could not be replaced.
func maxOpen(int) int { return 0 }
