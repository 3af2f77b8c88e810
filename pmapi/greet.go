package pmapi

import (
	"crypto/tls"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
)

// greet reads the challenge of the collector and requests the features that the client wants: first
// TLS, then a login and a container. After a login or a container it waits until the collector has
// accepted them.
func (l *link) greet(d *Dialer) (err error) {
	if l.features, err = pdu.ReadChallenge(l.pdus); err != nil {
		return err
	}
	secure, err := d.secureFeatures(l.features, l.local)
	if err != nil {
		return err
	}
	want, logsIn, err := d.identity.features(l.features, l.local)
	if err != nil {
		return err
	}
	var config *tls.Config
	if secure != 0 {
		if config, err = d.tlsConfig(); err != nil {
			return fmt.Errorf("%w: %w", pdu.ErrNotConn, err)
		}
	}
	var c sasl.Credentials
	if logsIn {
		if c, err = d.identity.credentials(d.AskLogin != nil); err != nil {
			return err
		}
	}
	if err := l.pdus.Write(l.pid, pdu.Creds{Version: pdu.ProtocolVersion, Features: secure | want}); err != nil {
		return err
	}
	if secure != 0 {
		if err := l.startTLS(config); err != nil {
			return err
		}
	}
	if logsIn {
		if err := l.logIn(d.identity.method, c, l.local || l.secured != nil && verifies(config)); err != nil {
			return err
		}
	}
	if want&pdu.FeatureContainer != 0 {
		if err := l.pdus.Write(l.pid, pdu.Attr{Key: pdu.AttrContainer, Value: []byte(d.identity.container)}); err != nil {
			return err
		}
	}
	if want == 0 {
		return nil
	}
	return l.confirm()
}

// verifies reports whether a connection with TLS verifies the collector's identity.
func verifies(c *tls.Config) bool { return !c.InsecureSkipVerify || c.VerifyConnection != nil }
