package collector

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

const (
	// handshakeFree is the number of bytes of a handshake that are not charged to the client. It is
	// more than a client's certificate takes, and less than the allowance of a client.
	handshakeFree = 16 << 10

	// handshakeCost is the memory that each byte of a longer handshake takes: it is read, joined to
	// a message, and parsed.
	handshakeCost = 4

	// handshakeMost is the maximum number of bytes that a client sends in a handshake. crypto/tls
	// accepts certificates of 256 KiB.
	handshakeMost = 320 << 10

	// tlsMemory is about the additional memory of a connection with TLS: keys, certificates, and
	// the buffer of a record of 16 KiB.
	tlsMemory = 32 << 10

	// closeNotifyTime limits the write of the closing message of a connection.
	closeNotifyTime = 100 * time.Millisecond
)

// A tlsSetup is the TLS configuration of a Server. It does not change.
type tlsSetup struct {
	config  *tls.Config // nil for no TLS
	require bool        // Server.RequireClientCert
}

// SetTLS replaces the TLS configuration for later handshakes. Nil disables TLS. The Server makes a
// copy of config. Connections that use TLS continue. SetTLS does not change the field TLS, which
// has the configuration at the start.
func (s *Server) SetTLS(config *tls.Config) {
	s.init()
	s.secure.Store(s.newTLSSetup(config))
}

// newTLSSetup completes a configuration. If clients need a certificate, the handshake of a client
// without one fails.
func (s *Server) newTLSSetup(config *tls.Config) *tlsSetup {
	t := &tlsSetup{require: s.RequireClientCert}
	if config == nil {
		return t
	}
	complete := func(c *tls.Config) *tls.Config {
		c = c.Clone()
		c.DynamicRecordSizingDisabled = true // otherwise a long reply is many short writes
		c.SessionTicketsDisabled = true      // clients do not resume sessions
		if t.require {
			c.ClientAuth = tls.RequireAndVerifyClientCert
			if c.ClientCAs == nil {
				c.ClientCAs = x509.NewCertPool() // nil means the system's authorities
			}
		}
		return c
	}
	t.config = complete(config)
	if choose := config.GetConfigForClient; choose != nil && t.require {
		t.config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			c, err := choose(hello)
			if c == nil || err != nil {
				return nil, err
			}
			return complete(c), nil
		}
	}
	return t
}

// features returns the TLS features of the challenge.
func (t *tlsSetup) features() pdu.Features {
	var f pdu.Features
	if t.config != nil {
		f |= pdu.FeatureSecure | pdu.FeatureSecureAck
	}
	if t.require {
		f |= pdu.FeatureCertRequired
	}
	return f
}

// secure carries out what a client's CREDS request about TLS, and checks that they request what
// the Server requires.
func (r *request) secure(wanted pdu.Features) error {
	c := r.client
	setup := c.s.secure.Load()
	switch {
	case wanted&pdu.FeatureSecure == 0:
		if _, local := c.conn.(inProcess); setup.require && c.secured == nil && !local && !localAddr(c.conn.RemoteAddr()) {
			return pdu.ErrNeedClientCert
		}
		return nil
	case c.secured != nil:
		return fmt.Errorf("%w: TLS was started before", pdu.ErrIPC)
	case setup.config == nil:
		if wanted&pdu.FeatureSecureAck != 0 { // C pmcd also sends two errors: this one for the ack
			if err := r.write(pdu.Status{Code: pdu.ErrNotConn}, 0); err != nil {
				return err
			}
		}
		return pdu.ErrNotConn
	}
	if err := c.reserve("TLS", tlsMemory); err != nil {
		return err
	}
	c.tlsMemory = tlsMemory
	if wanted&pdu.FeatureSecureAck != 0 {
		if err := r.write(pdu.Status{}, 0); err != nil {
			return err
		}
	}
	return c.startTLS(setup.config)
}

// A handshakeError reports a failed handshake. The connection cannot be used any more.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

// startTLS performs the TLS handshake with a client, within a time limit. During the handshake it
// holds up no agent and no other client.
func (c *client) startTLS(config *tls.Config) error {
	c.limitWrite(time.Now())
	stream := &tlsStream{Conn: c.conn, client: c}
	c.pdus.Separate = true
	c.pdus.Upgrade(func(raw io.ReadWriter) io.ReadWriter {
		stream.raw = raw
		c.secured = tls.Server(stream, config)
		return c.secured
	})
	c.requestEnded() // so that the end of the Server need not wait for this client
	var limit time.Time
	if t := c.s.limits.handshake; t > 0 {
		limit = time.Now().Add(t)
	}
	c.readBy(limit)
	err := c.secured.Handshake()
	c.release(stream.charged)
	stream.client = nil
	if err != nil {
		return &handshakeError{err}
	}
	c.readBy(time.Time{})
	if !c.requestStarts() {
		return &handshakeError{errClosed}
	}
	return nil
}

// A tlsStream is the stream below TLS. During the handshake it charges the client for the bytes
// that it receives.
type tlsStream struct {
	net.Conn
	raw     io.ReadWriter
	client  *client // nil after the handshake
	n       int
	charged int
}

var errLongHandshake = errors.New("the handshake is too long")

func (s *tlsStream) Read(p []byte) (int, error) {
	n, err := s.raw.Read(p)
	if s.client == nil {
		return n, err
	}
	if s.n += n; s.n > handshakeMost {
		return n, errLongHandshake
	}
	if more := s.n*handshakeCost - s.charged; s.n > handshakeFree && more > 0 {
		if err := s.client.reserve("TLS handshake", more); err != nil {
			return n, err
		}
		s.charged += more
	}
	return n, err
}

func (s *tlsStream) Write(p []byte) (int, error) { return s.raw.Write(p) }

// SetWriteDeadline replaces the deadline by a short one. Only the close of a TLS connection calls
// it, before its last message. So the Server does not wait long for a client that does not read.
func (s *tlsStream) SetWriteDeadline(time.Time) error {
	return s.Conn.SetWriteDeadline(time.Now().Add(closeNotifyTime))
}

// closeTLS sends the closing message of TLS to a client that has not closed the connection, and
// closes the connection.
func (c *client) closeTLS(gone bool) {
	if c.secured != nil && !gone && c.secured.ConnectionState().HandshakeComplete {
		c.secured.Close()
	}
}

// noteCreds records whether the CREDS of a client have failed. If so, it denies all operations
// until other CREDS succeed. Otherwise the client would be served without what it or the Server
// requires.
func (c *client) noteCreds(failed bool) {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	c.admission.failed = failed
	c.updateDenied()
}
