package sasl

import (
	"slices"
	"strings"
)

// A Mechanism is a way to log in.
type Mechanism struct {
	Name string
	// Clear says that the password is in the messages, so that whoever can read the connection or
	// plays the server has it.
	Clear bool
	// NewServer begins the server's side of a login.
	NewServer func(Users) Server
	// NewClient begins the client's side.
	NewClient func(Credentials) Client
}

// A Server is the server's side of a login.
type Server interface {
	// Next takes the client's next message and returns the challenge to send, unless it is done:
	// then the user of User has logged in. The first message is the initial response, nil if there
	// is none. An error, of type *Error, ends the login.
	Next(response []byte) (challenge []byte, done bool, err error)
	// User is who has logged in, empty before.
	User() string
}

// A Client is the client's side of a login.
type Client interface {
	// Next takes the server's next challenge and returns the response. The first call is for the
	// initial response, with a nil challenge; a nil response says that there is none. An error, of
	// type *Error, ends the login.
	Next(challenge []byte) (response []byte, err error)
	// Done reports whether no further challenge is awaited.
	Done() bool
}

// Credentials are what a client logs in with. The identity that it asks for is the user's own.
type Credentials struct{ User, Password string }

// mechanisms are all, in the order in which servers offer them.
var mechanisms = []Mechanism{
	{Name: "PLAIN", Clear: true, NewServer: newPlainServer, NewClient: newPlainClient},
	{Name: "LOGIN", Clear: true, NewServer: newLoginServer, NewClient: newLoginClient},
	{Name: "SCRAM-SHA-256", NewServer: newScramServer, NewClient: newScramClient},
}

// Mechanisms returns all mechanisms, in the order in which servers offer them: PLAIN, LOGIN and
// SCRAM-SHA-256.
func Mechanisms() []Mechanism { return slices.Clone(mechanisms) }

// Find returns the mechanism of a name in any case, and false if there is none.
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
