package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	system "github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

const (
	// loginTimeout is how long a client may take for each message of a login.
	loginTimeout = 10 * time.Second

	// mostLogin is the length of the longest message of a login.
	mostLogin = 2047

	// mostFailedLogins is how many logins may fail on a connection, which then ends.
	mostFailedLogins = 5

	// mostContainer is the length of the longest name of a container that a client may ask for.
	mostContainer = 255
)

// authFeatures returns the features of the challenge that concern the client's identity.
func (s *Server) authFeatures() pdu.Features {
	f := pdu.FeatureContainer
	if s.Users != nil {
		f |= pdu.FeatureAuth
	}
	if s.needsCreds() {
		f |= pdu.FeatureCredsRequired
	}
	return f
}

// needsCreds reports whether the Server serves only clients whose user is known.
func (s *Server) needsCreds() bool { return s.CredsRequired || s.access.Load().NeedsAccount() }

// identify carries out what a client's CREDS request about its identity, such as a login or the
// name of a container. refused is the error of the access rules for the client's previous
// identity. It is ignored if the client logs in.
func (r *request) identify(wanted pdu.Features, refused error) error {
	c := r.client
	logsIn := wanted&pdu.FeatureAuth != 0
	if wanted&pdu.FeatureCredsRequired != 0 {
		// The C library then does not log in if the user is known, even with FeatureAuth.
		_, uid, _ := peer(c.conn)
		logsIn = uid < 0
	}
	switch {
	case logsIn && c.s.Users == nil:
		return pdu.ErrUnsupported
	case logsIn:
		if err := c.logIn(); err != nil {
			return err
		}
	case refused != nil:
		c.logDenial(refused)
		return refused
	}
	if wanted&pdu.FeatureContainer != 0 {
		name, err := c.readContainer()
		if err != nil {
			return err
		}
		c.changeInfo(func(info *pmda.Client) { info.Container = name })
	} else if info := c.info.Load(); !logsIn && hasAttributes(info) {
		c.s.sendAttributes(info)
	}
	return nil
}

// logIn lets a client log in. On success the new identity replaces the old one everywhere. On
// failure the client gets back the identity that it had when it connected.
func (c *client) logIn() error {
	c.noteCreds(true) // everything is denied until the login succeeds
	user, err := c.limitedExchange()
	if err != nil {
		c.forgetAccount()
		c.setIdentity("")
		c.logFailure(err)
		if c.failedLogins++; c.failedLogins >= mostFailedLogins {
			c.disconnect(0) // after the error
		}
		return err
	}
	c.s.log.Info(fmt.Sprintf("Successful authentication for user %q", user), slog.Any("addr", c.conn.RemoteAddr()))
	c.setIdentity(user)
	err = c.checkAccount()
	c.logDenial(err)
	return err
}

// logDenial logs why the access rules deny a client everything. err is the error of the rules for
// its account.
func (c *client) logDenial(err error) {
	info := c.info.Load()
	c.admission.mu.Lock()
	denied := c.admission.host.denied | c.admission.account.denied
	c.admission.mu.Unlock()
	var why string
	switch {
	case errors.Is(err, pdu.ErrConnLimit):
		why = "an access rule allows no further connection of this user"
	case err != nil && info.User != "" && info.UID < 0:
		why = "the user has no account on this computer"
	case err != nil && info.UID < 0:
		why = "clients have to log in"
	case err != nil:
		why = "the access rules for users and groups deny all operations"
	case denied == access.OpAll:
		why = "the access rules for the client's host and for its user together deny all operations"
	default:
		return
	}
	c.s.log.Warn("client may do nothing: "+why, slog.String("user", info.User), slog.Int("uid", info.UID), slog.Any("addr", c.conn.RemoteAddr()))
}

// limitedExchange is like exchange, but fails if too many recent logins of the user from the
// client's address have failed.
func (c *client) limitedExchange() (user string, err error) {
	users := newLimitedUsers(c)
	user, err = c.exchange(users)
	return user, users.result(err)
}

// setIdentity sets the client's identity to a user after a successful login. If user is empty, it
// restores the identity that the client had when it connected.
func (c *client) setIdentity(user string) {
	pid, uid, gid := peer(c.conn)
	if user != "" {
		var err error
		lookup := c.s.LookupAccount
		if lookup == nil {
			lookup = system.IDs
		}
		if uid, gid, err = lookup(user); err != nil {
			uid, gid = -1, -1
		}
	}
	c.changeInfo(func(info *pmda.Client) { info.PID, info.UID, info.GID, info.User = pid, uid, gid, user })
}

// changeInfo changes the attributes of a client that agents know, and sends them to the agents.
func (c *client) changeInfo(change func(*pmda.Client)) {
	c.s.mu.Lock() // otherwise a new agent could get the old attributes after the new ones
	defer c.s.mu.Unlock()
	info := *c.info.Load()
	old := info
	change(&info)
	if info == old {
		return
	}
	c.info.Store(&info)
	c.s.sendAttributes(&info)
}

// logFailure logs why a login has failed. For reasons of the mechanism it uses the texts of C
// pmcd.
func (c *client) logFailure(err error) {
	attrs := []slog.Attr{slog.Any("addr", c.conn.RemoteAddr()), slog.Uint64("client", c.info.Load().Seq)}
	message := "login failed"
	if e, ok := errors.AsType[*sasl.Error](err); ok {
		message = e.Reason
	} else {
		attrs = append(attrs, slog.Any("err", err))
	}
	c.s.log.LogAttrs(context.Background(), slog.LevelError, message, attrs...)
}

// mechanisms returns the mechanisms that the client may use to log in. Mechanisms that send the
// password in clear text are included only if the connection is secure.
func (c *client) mechanisms() []sasl.Mechanism {
	secure := c.secure()
	return slices.DeleteFunc(sasl.Mechanisms(), func(m sasl.Mechanism) bool {
		return m.Clear && !secure || c.s.Mechanisms != nil &&
			!slices.ContainsFunc(c.s.Mechanisms, func(name string) bool { return strings.EqualFold(name, m.Name) })
	})
}

// secure reports whether the connection is protected from eavesdropping: it uses TLS, a unix
// socket or memory of this process.
func (c *client) secure() bool {
	if c.secured != nil {
		return true
	}
	switch c.conn.(type) {
	case *net.UnixConn, inProcess:
		return true
	}
	return false
}

// exchange runs a client's login as one of users, and returns the user's name.
func (c *client) exchange(users sasl.Users) (user string, err error) {
	offered := c.mechanisms()
	if len(offered) == 0 {
		return "", &sasl.Error{Code: sasl.ErrNoMechanism, Reason: "Generating client mechanism list: no mechanism available"}
	}
	var names []string
	for _, m := range offered {
		names = append(names, m.Name)
	}
	message, err := c.ask([]byte(strings.Join(names, " ")))
	if err != nil {
		return "", err
	}
	if len(message) == 0 {
		return "", &sasl.Error{Code: sasl.ErrParam, Reason: "no mechanism from the client"}
	}
	name, response, initial := bytes.Cut(message, []byte{0})
	i := slices.IndexFunc(offered, func(m sasl.Mechanism) bool { return strings.EqualFold(m.Name, string(name)) })
	if i < 0 {
		return "", &sasl.Error{Code: sasl.ErrNoMechanism, Reason: fmt.Sprintf("Couldn't find mech %.20q", name)}
	}
	if !initial {
		response = nil
	}
	server := offered[i].NewServer(users)
	for {
		challenge, done, err := server.Next(response)
		switch {
		case err != nil:
			return "", err
		case done:
			return server.User(), nil
		}
		if response, err = c.ask(challenge); err != nil {
			return "", err
		}
	}
}

// ask sends a client a message of a login and returns the answer, which is valid until the next
// read.
func (c *client) ask(message []byte) ([]byte, error) {
	c.limitWrite(time.Now())
	if err := c.pdus.Write(0, pdu.Attr{Value: message}); err != nil {
		return nil, err
	}
	p, err := c.readAttr(loginTimeout)
	if err == nil && len(p.Value) > mostLogin {
		err = fmt.Errorf("%w: a message of %d bytes", pdu.ErrIPC, len(p.Value))
	}
	return p.Value, err // as in C pmcd, any key is accepted
}

// readContainer waits for the name of the container that a client has announced.
func (c *client) readContainer() (string, error) {
	limit := c.s.limits.timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	p, err := c.readAttr(limit)
	switch {
	case err != nil:
		return "", err
	case p.Key != pdu.AttrContainer:
		return "", fmt.Errorf("%w: %v in place of the container", pdu.ErrIPC, p.Key)
	case !isContainer(p.Value):
		return "", pdu.ErrInvalid
	}
	return string(p.Value), nil
}

// isContainer reports whether a text can be the name of a container.
func isContainer(name []byte) bool {
	for _, b := range name {
		if !scan.IsAlnum(b) && b != '.' && b != '_' && b != '-' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= mostContainer
}

// readAttr waits for an ATTR that belongs to the CREDS in progress. If the client sends another
// PDU, or sends the ATTR too late, it may try other CREDS. The attribute is valid until the next
// read.
func (c *client) readAttr(limit time.Duration) (p pdu.Attr, err error) {
	c.releaseRequest() // the next PDU is charged separately
	c.requestEnded()   // so that the end of the Server need not wait for this client
	c.readBy(time.Now().Add(limit))
	h, body, err := c.pdus.Read()
	c.readBy(time.Time{})
	if !c.requestStarts() {
		return p, errClosed
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return p, pdu.ErrTimeout
	case err != nil:
		return p, err
	case h.Kind == pdu.KindError:
		var s pdu.Status
		if s.Decode(body) == nil && s.Code < 0 {
			return p, s.Code // the client gives up; C pmcd sends back its reason
		}
	}
	if h.Kind != pdu.KindAttr {
		return p, h.Unexpected(pdu.KindAttr)
	}
	return p, p.Decode(body)
}

// forgetAccount stops counting a client for the user that it was logged in as.
func (c *client) forgetAccount() {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	c.admission.known = false
	c.admission.account.clear()
}
