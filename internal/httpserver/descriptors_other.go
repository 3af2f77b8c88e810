//go:build !unix

package httpserver

// maxDescriptors returns limit, because the system has no limit of descriptors.
func maxDescriptors(limit int) int { return limit }
