//go:build !unix

package main

// headerRows is how many rows there are below a header.
func headerRows() int { return defaultRows }
