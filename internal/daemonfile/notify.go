package daemonfile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// Register creates the file of a service's process identifier and tells the service manager that
// the service is ready. It returns the error of each, because a service can do without them.
// unregister removes the file and tells the service manager that the service is stopping.
func Register(pidFile string) (unregister func(), pidErr, notifyErr error) {
	f, pidErr := createPID(pidFile)
	notifyErr = Notify("READY=1\nMAINPID=" + strconv.Itoa(os.Getpid()))
	return func() {
		_ = Notify("STOPPING=1") // an error would change nothing now
		if f != nil {
			_ = errors.Join(f.Remove(), f.Close()) // a file that is left does no harm
		}
	}, pidErr, notifyErr
}

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
