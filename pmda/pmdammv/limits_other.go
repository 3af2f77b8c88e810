//go:build !unix

package pmdammv

// maxOpen returns 0: no file may be kept open, because an open file cannot be replaced.
func maxOpen(int) int { return 0 }
