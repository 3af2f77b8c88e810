//go:build unix

package daemonfile

import "net"

// Leave has Close leave the socket in its directory, since it belongs to another process by now.
func (l *listener) Leave() { l.left.Store(true) }

// Inherit makes the file of a unix socket, which another process has made and whose listener this
// one has got, this one's own: Close of the result removes it.
func Inherit(l net.Listener) (net.Listener, error) {
	e, err := openEntry(l.Addr().String())
	if err != nil {
		return nil, err
	}
	if e.own, err = e.dir.Lstat(e.name); err != nil {
		e.close()
		return nil, err
	}
	return &listener{Listener: l, entry: e}, nil
}
