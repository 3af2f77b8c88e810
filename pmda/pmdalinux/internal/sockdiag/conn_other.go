//go:build !linux

package sockdiag

import "errors"

// A conn is a netlink socket, which only Linux has.
type conn struct{}

func openConn() (*conn, error) { return nil, errors.ErrUnsupported }

func (c *conn) write([]byte) error { return errors.ErrUnsupported }

func (c *conn) read([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (c *conn) close() {}
