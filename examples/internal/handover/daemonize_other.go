//go:build !unix

package handover

import (
	"errors"
	"fmt"
)

// Daemonize returns errors.ErrUnsupported.
func Daemonize() (parent bool, listening func(), err error) {
	return true, nil, fmt.Errorf("running in the background: %w: use -f", errors.ErrUnsupported)
}
