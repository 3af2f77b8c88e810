package pcptest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// headerLen is the length of a PDU header: length, type and sender, each a big-endian 32-bit word.
const headerLen = 12

// maxPDU bounds a recorded PDU. Nothing that the tests record comes near.
const maxPDU = 64 << 20

// Tap copies PDUs from src to dst until src ends, and calls seen with each one before it is passed
// on, so that a request is always seen before its reply. It returns nil at the end of src, also in
// the middle of a PDU (whose bytes are passed on). From a length that cannot be a PDU's on, bytes
// are passed on unseen and the error says so at the end.
func Tap(dst io.Writer, src io.Reader, seen func(pdu []byte)) error {
	for {
		var head [headerLen]byte
		n, err := io.ReadFull(src, head[:])
		if err != nil {
			return passOn(dst, head[:n], err)
		}
		size := binary.BigEndian.Uint32(head[:])
		if size < headerLen || size > maxPDU {
			if _, err := dst.Write(head[:]); err != nil {
				return err
			}
			if _, err := io.Copy(dst, src); err != nil {
				return err
			}
			return fmt.Errorf("pcptest: invalid PDU length %d: the rest was passed on unrecorded", size)
		}
		p := make([]byte, size)
		copy(p, head[:])
		n, err = io.ReadFull(src, p[headerLen:])
		if err != nil {
			return passOn(dst, p[:headerLen+n], err)
		}
		seen(p)
		if _, err := dst.Write(p); err != nil {
			return err
		}
	}
}

// passOn writes the part of a PDU that came before its source ended with err.
func passOn(dst io.Writer, part []byte, err error) error {
	if len(part) > 0 {
		if _, werr := dst.Write(part); werr != nil {
			return werr
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Recorder is a proxy that keeps the PDUs passing through it. It is safe for concurrent use.
type Recorder struct {
	network, target string
	ln              net.Listener
	wg              sync.WaitGroup

	mu    sync.Mutex
	quiet sync.Cond // live fell to 0
	live  int       // connections being served
	conns []net.Conn
	pdus  [][]PDU // by connection, in the order of acceptance
	errs  []error
}

// Record starts a proxy in front of the server at addr, which is reached over network ("tcp" or
// "unix"); the proxy listens on the same kind of socket. It ends with the test.
func Record(t testing.TB, network, addr string) *Recorder {
	t.Helper()
	own := "localhost:0"
	if network == "unix" {
		own = filepath.Join(ShortDir(t), "tap")
	}
	ln, err := net.Listen(network, own)
	if err != nil {
		t.Fatalf("pcptest: recorder: %v", err)
	}
	r := &Recorder{network: network, target: addr, ln: ln}
	r.quiet.L = &r.mu
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		r.ln.Close()
		r.mu.Lock()
		for _, c := range r.conns {
			c.Close()
		}
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

// Addr returns the address that clients dial: host:port or the path of a socket.
func (r *Recorder) Addr() string { return r.ln.Addr().String() }

// Host returns what the PCP tools take after -h to connect through the recorder.
func (r *Recorder) Host() string {
	if r.network == "unix" {
		return "unix://" + r.Addr()
	}
	_, port, _ := net.SplitHostPort(r.Addr())
	return "localhost:" + port
}

// PDUs returns what was recorded, connection after connection, each a section titled "connection N"
// from 1. Call it when the clients have ended: it waits until both directions of their connections
// are closed.
func (r *Recorder) PDUs() ([]PDU, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.live > 0 {
		r.quiet.Wait()
	}
	var all []PDU
	for i, c := range r.pdus {
		for _, p := range c {
			p.Section = fmt.Sprintf("connection %d", i+1)
			all = append(all, p)
		}
	}
	return all, errors.Join(r.errs...)
}

func (r *Recorder) accept() {
	for {
		client, err := r.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(r.network, r.target)
		r.mu.Lock()
		if err != nil {
			r.errs = append(r.errs, err)
			r.mu.Unlock()
			client.Close()
			continue
		}
		r.live++
		i := len(r.pdus)
		r.pdus = append(r.pdus, nil)
		r.conns = append(r.conns, client, server)
		r.mu.Unlock()
		r.wg.Go(func() { r.serve(i, client, server) })
	}
}

// serve passes PDUs both ways until both sides have ended.
func (r *Recorder) serve(i int, client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { r.tap(i, ToServer, server, client) })
	both.Go(func() { r.tap(i, ToClient, client, server) })
	both.Wait()
	client.Close()
	server.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live--; r.live == 0 {
		r.quiet.Broadcast()
	}
}

func (r *Recorder) tap(i int, d Dir, dst, src net.Conn) {
	err := Tap(dst, src, func(p []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pdus[i] = append(r.pdus[i], PDU{Dir: d, Bytes: p})
	})
	if err != nil && !isReset(err) {
		r.mu.Lock()
		r.errs = append(r.errs, err)
		r.mu.Unlock()
	}
	// Pass the end on. When this side broke, the other cannot go on either.
	if c, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		c.CloseWrite()
	} else {
		dst.Close()
	}
}

// isReset reports whether a connection ended in a way that a peer may choose: PCP's servers and
// tools close with data unread.
func isReset(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
