//go:build !linux

package collector

// domainName is what the system says of NIS domains: nothing.
func domainName() string { return "" }
