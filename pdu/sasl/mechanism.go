package sasl

import (
	"slices"
	"strings"
)

// A Mechanism is a way to log in.
type Mechanism struct {
	Name string
	// Clear means that the messages contain the password, so an eavesdropper or a false server can
	// read it.
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

// Find returns the mechanism of a name, ignoring case, and whether it exists.
func Find(name string) (Mechanism, bool) {
	for _, m := range mechanisms {
		if strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return Mechanism{}, false
}

// Choose returns the mechanism that a client should use. offered has the names that the server
// offers, separated by blanks. Choose prefers SCRAM-SHA-256 to PLAIN, and PLAIN to LOGIN. It
// returns the last two only if clear is true: the connection is private, or the user allows a
// readable password. The error is an *Error with ErrNoMechanism.
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
