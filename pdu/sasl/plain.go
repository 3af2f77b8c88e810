package sasl

import (
	"bytes"
	"strings"
)

// A clearServer is the common part of the servers that receive the password in the clear.
type clearServer struct {
	users Users
	user  string
}

func (s *clearServer) User() string { return s.user }

// check checks the password of a user.
func (s *clearServer) check(user, password string) error {
	v, err := verifierOf(s.users, user)
	if err != nil {
		return err
	}
	if !v.Check(password) {
		return fail(ErrAuth, "Password verification failed")
	}
	s.user = user
	return nil
}

// A plainServer is the server's side of PLAIN.
type plainServer struct{ clearServer }

func newPlainServer(u Users) Server { return &plainServer{clearServer{users: u}} }

func (s *plainServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if response == nil {
		return []byte{}, false, nil
	}
	part := bytes.Split(response, []byte{0})
	switch {
	case len(part) < 2:
		return nil, false, fail(ErrProtocol, "Can only find author (no password)")
	case len(part) < 3:
		return nil, false, fail(ErrProtocol, "Can only find author/en (no password)")
	case len(part) > 3:
		return nil, false, fail(ErrProtocol, "Got more data than we were expecting in the PLAIN plugin")
	}
	author, user := string(part[0]), string(part[1])
	if user == "" {
		return nil, false, fail(ErrParam, "no user name")
	}
	if err := s.check(user, string(part[2])); err != nil {
		return nil, false, err
	}
	if author != "" && author != user {
		s.user = ""
		return nil, false, errIdentity
	}
	return nil, true, nil
}

var errIdentity = fail(ErrAuth, "Requested identity not authenticated identity")

// A plainClient is the client's side of PLAIN.
type plainClient struct {
	Credentials
	sent bool
}

func newPlainClient(c Credentials) Client { return &plainClient{Credentials: c} }

func (c *plainClient) Done() bool { return c.sent }

func (c *plainClient) Next([]byte) ([]byte, error) {
	switch {
	case c.sent:
		return nil, fail(ErrProtocol, "a challenge after the password")
	case c.User == "":
		return nil, errNoUserName
	case strings.ContainsRune(c.User+c.Password, 0):
		return nil, fail(ErrParam, "a NUL in the user name or the password")
	}
	c.sent = true
	return []byte(c.User + "\x00" + c.User + "\x00" + c.Password), nil
}

var errNoUserName = fail(ErrParam, "no user name")
