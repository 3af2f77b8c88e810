//go:build !unix

// Package account finds users of the system and switches the process to one of
// them, as daemons do that root starts.
package account

import (
	"errors"
	"fmt"
)

// Exists returns false: systems other than Unix have no users here.
func Exists(string) bool { return false }

// IDs fails: systems other than Unix have no numbers of users.
func IDs(name string) (uid, gid int, err error) {
	return 0, 0, fmt.Errorf("user %s: %w", name, errors.ErrUnsupported)
}

// Become fails, for the same reason.
func Become(name string) error {
	return fmt.Errorf("switch to user %s: %w", name, errors.ErrUnsupported)
}
