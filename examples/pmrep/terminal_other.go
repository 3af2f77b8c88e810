//go:build !unix

package main

// resizes returns nil because this system does not report new sizes of the terminal.
func resizes() <-chan int { return nil }
