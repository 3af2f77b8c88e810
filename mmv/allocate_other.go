//go:build unix && !linux

package mmv

import "os"

// allocate leaves it to writing to reserve the space of a file.
func allocate(*os.File, int) error { return nil }
