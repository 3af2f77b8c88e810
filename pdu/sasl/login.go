package sasl

// A loginServer is the server's side of LOGIN.
type loginServer struct {
	clearServer
	step int
	name string // from the client, not verified
}

func newLoginServer(u Users) Server { return &loginServer{clearServer: clearServer{users: u}} }

func (s *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	s.step++
	switch s.step {
	case 1:
		if len(response) > 0 {
			return nil, false, fail(ErrProtocol, "an initial response to LOGIN")
		}
		return []byte("Username:"), false, nil
	case 2:
		if s.name = string(response); s.name == "" {
			return nil, false, errNoUserName
		}
		return []byte("Password:"), false, nil
	case 3:
		if err := s.check(s.name, string(response)); err != nil {
			return nil, false, err
		}
		return nil, true, nil
	}
	return nil, false, fail(ErrProtocol, "a response after the end of LOGIN")
}

// A loginClient is the client's side of LOGIN.
type loginClient struct {
	Credentials
	step int
}

func newLoginClient(c Credentials) Client { return &loginClient{Credentials: c} }

func (c *loginClient) Done() bool { return c.step == 3 }

func (c *loginClient) Next([]byte) ([]byte, error) {
	c.step++
	switch {
	case c.step == 1 && c.User == "":
		return nil, errNoUserName
	case c.step == 1:
		return nil, nil
	case c.step == 2:
		return []byte(c.User), nil
	case c.step == 3:
		return []byte(c.Password), nil
	}
	return nil, fail(ErrProtocol, "a challenge after the password")
}
