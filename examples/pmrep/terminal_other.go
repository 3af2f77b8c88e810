//go:build !unix

package main

// windowRows is the height of the terminal, which is not known.
func windowRows() int { return 0 }

// resizes are the heights that the terminal gets.
func resizes() <-chan int { return nil }
