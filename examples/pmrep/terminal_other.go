//go:build !unix

package main

// resizes are the heights that the terminal gets.
func resizes() <-chan int { return nil }
