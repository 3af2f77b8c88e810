package daemonfile

import (
	"fmt"
	"net"
	"os"
)

// Notify sends the service manager, if there is one, a state as sd_notify(3) does.
func Notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
