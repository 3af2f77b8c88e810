//go:build !unix

package collector

import (
	"errors"
	"net"
	"os"
)

// ListenerFile returns errors.ErrUnsupported on this system.
func ListenerFile(net.Listener) (*os.File, error) {
	return nil, opError("copy listener", "", errors.ErrUnsupported)
}
