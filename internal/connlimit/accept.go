package connlimit

import (
	"context"
	"errors"
	"net"
	"time"
)

// Accept pauses for minPause to maxPause after an error.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Accept returns the next connection of a listener. After an error that retry accepts it tries
// again, after a pause that gets longer with each error. Accept returns any error once ctx has
// ended, so the caller must check ctx.
func Accept(ctx context.Context, ln net.Listener, retry func(error) bool) (net.Conn, error) {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		conn, err := ln.Accept()
		if err == nil || ctx.Err() != nil || !retry(err) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Temporary reports whether an error of Accept is temporary, such as a lack of descriptors.
func Temporary(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	//lint:ignore SA1019 Accept has no other way to tell.
	return ok && t.Temporary()
}
