package pmapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
)

// A Login has the credentials for a collector. An empty field is unknown.
type Login struct {
	Host           string // the host and port of the collector, or its socket; must not be changed
	User, Password string
}

// An identity is what a context tells collectors about itself: the user to log in as, and the
// container whose metrics it requests.
type identity struct {
	wanted                    bool // the specification asks for a login, which a collector may require too
	user, password, method    string
	hasPassword, hasContainer bool
	container                 string

	mu     sync.Mutex
	answer *Login // the answer of AskLogin, unless the login failed with it
}

// newIdentity returns the identity that a host specification gives.
func (n Dialer) newIdentity(h hostspec.Spec) *identity {
	i := &identity{container: n.Container, hasContainer: n.Container != ""}
	for _, a := range h.Attrs {
		switch a.Name {
		case "username":
			i.user, i.wanted = a.Value, true
		case "password":
			i.password, i.hasPassword, i.wanted = a.Value, true, true
		case "method":
			i.method, i.wanted = a.Value, true
		case "realm", "userauth":
			i.wanted = true
		case "container":
			i.container, i.hasContainer = a.Value, true
		}
	}
	return i
}

const (
	errNoProcess pdu.Error = -3 // ESRCH, as in the C library, for a container without a name

	maxContainer = 255 // that of a collector.Server
)

// features returns the features to request from a collector that offers features, and whether the
// client must log in. local says that the collector knows the user of the process.
func (i *identity) features(offered pdu.Features, local bool) (want pdu.Features, logIn bool, err error) {
	switch {
	case i.hasContainer && i.container == "":
		return 0, false, errNoProcess
	case len(i.container) > maxContainer || strings.IndexByte(i.container, 0) >= 0:
		return 0, false, pdu.ErrInvalid
	}
	if i.wanted {
		want |= pdu.FeatureAuth
	}
	if i.hasContainer {
		want |= pdu.FeatureContainer
	}
	switch missing := want &^ offered; {
	case missing&pdu.FeatureAuth != 0:
		return 0, false, fmt.Errorf("%w: the collector has no users to log in", pdu.ErrUnsupported)
	case missing != 0:
		return 0, false, fmt.Errorf("%w: the collector has no containers", pdu.ErrUnsupported)
	}
	if offered&pdu.FeatureCredsRequired != 0 && !local { // else the C pmcd ignores the other features
		want |= pdu.FeatureCredsRequired
	}
	return want, want&(pdu.FeatureAuth|pdu.FeatureCredsRequired) != 0, nil
}

// errAsk ends a connection whose login requires an answer of the user, because the answer may take
// longer than the collector waits.
var errAsk = errors.New("the user is to be asked who to log in as")

// credentials returns what to log in with. The error is errAsk if the user must be asked first.
func (i *identity) credentials(canAsk bool) (sasl.Credentials, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.answer != nil:
		return sasl.Credentials{User: i.answer.User, Password: i.answer.Password}, nil
	case canAsk && (i.user == "" || !i.hasPassword):
		return sasl.Credentials{}, errAsk
	}
	return sasl.Credentials{User: i.user, Password: i.password}, nil
}

// ask calls the function that asks the user for the missing credentials.
func (i *identity) ask(ctx context.Context, addr string, ask func(context.Context, *Login) error) error {
	l := Login{Host: addr, User: i.user, Password: i.password}
	if err := ask(ctx, &l); err != nil {
		return err
	}
	i.setAnswer(&l)
	return nil
}

func (i *identity) setAnswer(l *Login) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = l
}

// connect makes a connection to an address. If it must ask the user, it asks without a connection
// and then makes a new one, so that the collector need not wait.
func (n Dialer) connect(ctx context.Context, network, addr string) (*link, error) {
	l, err := n.connectOnce(ctx, network, addr)
	if errors.Is(err, errAsk) {
		if err := n.identity.ask(ctx, addr, n.AskLogin); err != nil {
			return nil, err
		}
		l, err = n.connectOnce(ctx, network, addr)
	}
	if errors.Is(err, sasl.ErrAuth) || errors.Is(err, sasl.ErrNoUser) {
		n.identity.setAnswer(nil)
	}
	return l, err
}

// logIn logs in by a mechanism that the collector offers, or by method. A password crosses a
// connection that others can read only if method says so. Without credentials the error says that a
// user is required, as in libpcp, and not that no mechanism is secure enough.
func (l *link) logIn(method string, c sasl.Credentials, secure bool) error {
	challenge, err := l.readLogin()
	if err != nil {
		return err
	}
	offered := string(challenge)
	if method != "" {
		offered, secure = method, true
	}
	secure = secure || c == sasl.Credentials{}
	m, err := sasl.Choose(offered, secure)
	if err != nil {
		return err
	}
	client := m.NewClient(c)
	response, err := client.Next(nil)
	response = append([]byte(m.Name+"\x00"), response...)
	for {
		if err != nil {
			return err
		}
		if err := l.pdus.Write(l.pid, pdu.Attr{Value: response}); err != nil || client.Done() {
			return err
		}
		if challenge, err = l.readLogin(); err == nil {
			response, err = client.Next(challenge)
		}
	}
}

// readLogin reads the collector's next message of a login.
func (l *link) readLogin() ([]byte, error) {
	h, body, err := l.pdus.Read()
	if err != nil {
		return nil, err
	}
	if h.Kind == pdu.KindError {
		return nil, statusError(body)
	}
	var p pdu.Attr
	if h.Kind != pdu.KindAttr {
		return nil, h.Unexpected(pdu.KindAttr)
	}
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	return p.Value, nil
}

// statusError returns the code of an ERROR PDU.
func statusError(body []byte) error {
	var s pdu.Status
	if err := s.Decode(body); err != nil {
		return err
	}
	if s.Code < 0 {
		return s.Code
	}
	return pdu.ErrIPC
}

// confirm waits until the collector has accepted the CREDS and the PDUs that belong to it. The
// collector replies to these only if it refuses them. The client would take such a reply for the
// reply to its first request, and each later reply for that to the request after it. So confirm
// makes a request with a known reply.
func (l *link) confirm() error {
	if err := l.pdus.Write(l.pid, pdu.DescReq{PMID: pdu.NoPMID}); err != nil {
		return err
	}
	h, body, err := l.pdus.Read()
	if err != nil {
		return err
	}
	if h.Kind != pdu.KindError {
		return h.Unexpected(pdu.KindError)
	}
	if err := statusError(body); err != error(pdu.ErrNoAgent) && err != error(pdu.ErrPMID) {
		return err
	}
	return nil
}
