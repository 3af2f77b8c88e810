package sasl

import (
	"slices"
	"strings"
)

// A Mechanism is a way to log in.
type Mechanism struct {
	Name string
	// Clear says that the messages contain the password, so that an eavesdropper or a false server
	// gets it.
	Clear bool
	// NewServer begins the server's side of a login.
	NewServer func(Users) Server
	// NewClient begins the client's side.
	NewClient func(Credentials) Client
}

// A Server is the server's side of a login.
type Server interface {
	// Next takes the client's next message and returns the challenge to send. If done, User has
	// logged in. The first message is the initial response, or nil without one. An error, of type
	// *Error, ends the login.
	Next(response []byte) (challenge []byte, done bool, err error)
	// User returns the name of the user after the login, empty before.
	User() string
}

// A Client is the client's side of a login.
type Client interface {
	// Next takes the server's next challenge and returns the response. The first call has a nil
	// challenge and returns the initial response, or nil without one. An error, of type *Error,
	// ends the login.
	Next(challenge []byte) (response []byte, err error)
	// Done reports whether no further challenge is awaited.
	Done() bool
}

// Credentials are the user name and the password of a client. The client requests no other
// identity.
type Credentials struct{ User, Password string }

// mechanisms are all mechanisms, in the order that servers offer.
var mechanisms = []Mechanism{
	{Name: "PLAIN", Clear: true, NewServer: newPlainServer, NewClient: newPlainClient},
	{Name: "LOGIN", Clear: true, NewServer: newLoginServer, NewClient: newLoginClient},
	{Name: "SCRAM-SHA-256", NewServer: newScramServer, NewClient: newScramClient},
}

// Mechanisms returns all mechanisms, in the order that servers offer: PLAIN, LOGIN, SCRAM-SHA-256.
func Mechanisms() []Mechanism { return slices.Clone(mechanisms) }

// Find returns the mechanism of a name, in upper or lower case, and whether it exists.
func Find(name string) (Mechanism, bool) {
	for _, m := range mechanisms {
		if strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return Mechanism{}, false
}

// Choose returns the mechanism that a client takes of those that a server offers, names separated
// by blanks: SCRAM-SHA-256 rather than PLAIN rather than LOGIN; and the last two only if clear says
// that the connection keeps others from reading the password, or that the user wants it so. The
// error, an *Error, is ErrNoMechanism.
func Choose(offered string, clear bool) (Mechanism, error) {
	names := strings.Fields(offered)
	for _, name := range []string{"SCRAM-SHA-256", "PLAIN", "LOGIN"} {
		m, _ := Find(name)
		if (clear || !m.Clear) && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return m, nil
		}
	}
	for _, name := range names {
		if m, ok := Find(name); ok && m.Clear {
			return Mechanism{}, fail(ErrNoMechanism, "only mechanisms that show the password to whoever can read the connection")
		}
	}
	return Mechanism{}, fail(ErrNoMechanism, "No worthy mechs found")
}
