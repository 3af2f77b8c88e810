//go:build !unix

package handover

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Daemonize returns errors.ErrUnsupported.
func Daemonize(time.Duration, *os.File) (parent bool, started func(), err error) {
	return true, nil, fmt.Errorf("running in the background: %w: use -f", errors.ErrUnsupported)
}
