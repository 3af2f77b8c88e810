//go:build !linux

package collector

// domainName returns no NIS domain on this system.
func domainName() string { return "" }
