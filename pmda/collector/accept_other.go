//go:build !unix

package collector

// temporary reports whether accepting may succeed later.
func temporary(error) bool { return false }

// outOfDescriptors reports whether accepting failed because the process or the system is out of
// descriptors.
func outOfDescriptors(error) bool { return false }
