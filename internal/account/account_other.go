//go:build !unix

// Package account gives up the privileges of the user who started a program.
package account

import (
	"errors"
	"fmt"
)

// Exists is false.
func Exists(string) bool { return false }

// IDs fails.
func IDs(name string) (uid, gid int, err error) {
	return 0, 0, fmt.Errorf("user %s: %w", name, errors.ErrUnsupported)
}

// Become fails.
func Become(name string) error {
	return fmt.Errorf("switch to user %s: %w", name, errors.ErrUnsupported)
}
