//go:build !linux && !darwin && !freebsd

package trace

import "net"

// maxSegment returns how many bytes a TCP segment of a connection holds, or 0 if that is unknown.
func maxSegment(net.Conn) int { return 0 }
