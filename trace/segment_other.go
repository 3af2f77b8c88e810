//go:build !linux && !darwin && !freebsd

package trace

import "net"

// maxSegment is how many bytes one TCP segment of a connection holds, 0 if that cannot be known.
func maxSegment(net.Conn) int { return 0 }
