//go:build !unix

package main

// setUmask does nothing, because there is no umask.
func setUmask() {}
