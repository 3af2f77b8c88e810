package pmapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/pdu"
)

// A secureMode says whether connections are encrypted.
type secureMode int

// Whether connections are encrypted.
const (
	secureOff     secureMode = iota // no
	secureRelaxed                   // if the collector can
	secureEnforce                   // yes, or there is no connection
)

// errNotConnected is ENOTCONN.
const errNotConnected pdu.Error = -107

// closeNotifyTime limits how long the Close of a TLS connection waits until its last message is
// sent.
const closeNotifyTime = 100 * time.Millisecond

// A peer is what TLS must know about the collector.
type peer struct {
	name  string // that its certificate ought to have
	unix  bool   // a unix socket
	local bool   // of this computer, as far as the specification says
}

// secureFor sets whether the connections of a specification are encrypted. A protocol other than
// "pcps:" requests nothing, as in the C library, even with the attribute "secure". With "pcps:", an
// unknown value of the attribute enforces TLS, where the C library uses no TLS.
func (d *Dialer) secureFor(h hostspec.Spec) {
	if h.Protocol == hostspec.PCPS {
		d.secure = secureEnforce
		if v, _ := h.Attr("secure"); v == "relaxed" {
			d.secure = secureRelaxed
		}
	}
	d.peer = peer{name: h.Host.Name, unix: h.Protocol == hostspec.Unix || h.Protocol == hostspec.Local}
	d.peer.local = d.peer.unix || strings.Contains(h.Host.Name, "localhost")
	if d.peer.unix {
		d.peer.name, _ = os.Hostname()
	}
}

// secureFeatures returns the features of TLS to request from a collector that offers features, 0
// for no TLS.
func (d *Dialer) secureFeatures(offered pdu.Features, local bool) (pdu.Features, error) {
	has := offered&pdu.FeatureSecure != 0
	switch {
	case d.secure == secureEnforce && !has:
		return 0, fmt.Errorf("%w: the collector has no TLS", pdu.ErrUnsupported)
	case d.secure != secureEnforce && offered&pdu.FeatureCertRequired != 0 && !d.peer.local:
		return 0, fmt.Errorf("%w: it is used with TLS enforced, as by pcps://", pdu.ErrNeedClientCert)
	case d.secure == secureOff || !has:
		return 0, nil
	case local && offered&pdu.FeatureCredsRequired != 0:
		return 0, nil // PCP's pmcd would never acknowledge it there
	}
	return pdu.FeatureSecure | pdu.FeatureSecureAck | offered&pdu.FeatureCertRequired, nil
}

// tlsConfig returns the configuration of a connection.
func (d *Dialer) tlsConfig() (*tls.Config, error) {
	config := d.TLS
	if config == nil && d.tlsFile != nil {
		var err error
		if config, err = d.tlsFile.Config(); err != nil {
			return nil, err
		}
	}
	if config == nil {
		return &tls.Config{ServerName: d.peer.name}, nil
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = d.peer.name
	}
	return config, nil
}

// startTLS waits for the collector's acknowledgement and then does the handshake.
func (l *link) startTLS(config *tls.Config) error {
	h, body, err := l.pdus.Read()
	if err != nil {
		return err
	}
	var ack pdu.Status
	switch {
	case h.Kind != pdu.KindError:
		return h.Unexpected(pdu.KindError)
	case ack.Decode(body) != nil:
		return pdu.ErrIPC
	case ack.Code < 0:
		return fmt.Errorf("the collector refuses TLS: %w", ack.Code)
	}
	l.pdus.Separate = true
	l.pdus.Upgrade(func(raw io.ReadWriter) io.ReadWriter {
		l.secured = tls.Client(&tlsStream{l.conn, raw}, config)
		return l.secured
	})
	switch err := l.secured.Handshake(); {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case err == io.EOF:
		return fmt.Errorf("the collector has closed the connection in the handshake of TLS: %w", errNotConnected)
	default:
		return tlsError{err}
	}
}

// A tlsError is the reason why a TLS handshake failed. Its code is always pdu.ErrTLS.
type tlsError struct{ cause error }

func (e tlsError) Error() string   { return pdu.ErrTLS.Error() + ": " + e.cause.Error() }
func (e tlsError) Unwrap() []error { return []error{pdu.ErrTLS, e.cause} }

// A tlsStream is the stream below TLS.
type tlsStream struct {
	net.Conn
	raw io.ReadWriter
}

func (s *tlsStream) Read(p []byte) (int, error)  { return s.raw.Read(p) }
func (s *tlsStream) Write(p []byte) (int, error) { return s.raw.Write(p) }

// SetWriteDeadline is what Close of a tls.Conn calls, alone, before its last message.
func (s *tlsStream) SetWriteDeadline(time.Time) error {
	return s.Conn.SetWriteDeadline(time.Now().Add(closeNotifyTime))
}
