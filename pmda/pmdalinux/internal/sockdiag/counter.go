package sockdiag

// A Counter counts the sockets of a family and protocol of the Internet. It is for one
// goroutine at a time.
type Counter struct {
	Family   uint8 // syscall.AF_INET or AF_INET6
	Protocol uint8 // syscall.IPPROTO_TCP or IPPROTO_UDP

	lister
}

// Count counts the sockets that exist now. After an error the counts are zero and the next Count
// opens a new netlink socket.
func (c *Counter) Count() (n Counts, err error) {
	var body [64]byte
	err = c.list(appendInetRequest(body[:0], c.Family, c.Protocol), func(body []byte) bool { return n.add(body, c.Family) })
	if err != nil {
		return Counts{}, err
	}
	return n, nil
}

// A UnixCounter is a Counter of the sockets of the Unix domain.
type UnixCounter struct{ lister }

// Count is Counter.Count.
func (c *UnixCounter) Count() (n UnixCounts, err error) {
	var body [64]byte
	err = c.list(appendUnixRequest(body[:0]), n.add)
	if err != nil {
		return UnixCounts{}, err
	}
	return n, nil
}

// A lister has the kernel list sockets.
type lister struct {
	conn     *conn
	sequence uint32
	buf      []byte
	bytes    int // how long all replies were together
}

// replyBuffer is how much the kernel writes into a part of a reply at most. It takes the
// length of the reader's buffer, up to this one.
const replyBuffer = 32 << 10

// maxSockets is more sockets than a kernel has room for. A reply that has more never ends.
const maxSockets = 1 << 26

// list requests a list and calls add with the message of each socket. After an error it closes the
// netlink socket, which may still hold the rest of the list.
func (l *lister) list(body []byte, add func([]byte) bool) error {
	err := l.listOpen(body, add)
	if err != nil {
		l.Close()
	}
	return err
}

func (l *lister) listOpen(body []byte, add func([]byte) bool) error {
	if l.conn == nil {
		conn, err := openConn()
		if err != nil {
			return err
		}
		l.conn = conn
	}
	if l.buf == nil {
		l.buf = make([]byte, replyBuffer)
	}
	l.sequence++
	if err := l.conn.write(appendRequest(l.buf[:0], l.sequence, body)); err != nil {
		return err
	}
	for sockets := 0; sockets <= maxSockets; {
		m, err := l.conn.read(l.buf)
		if err != nil {
			return err
		}
		l.bytes += m
		n, err := decode(l.buf[:m], l.sequence, add)
		switch {
		case err == errEnd:
			return nil
		case err != nil:
			return err
		case n == 0:
			return errDamaged // it would have no end
		}
		sockets += n
	}
	return errDamaged
}

// Close closes the netlink socket. The next Count opens another one.
func (l *lister) Close() {
	if l.conn != nil {
		l.conn.close()
		l.conn = nil
	}
}
