//go:build !unix

package requestport

import "net"

// setBacklog does nothing, because the system chooses the backlog.
func setBacklog(net.Listener, int) {}
