//go:build !unix

package pmcdprocess

// setUmask does nothing, because there is no umask.
func setUmask() {}
