package pmda

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// client is the client with a number of the collector's. The Handler is told of
// a new one before its first request.
func (s *session) client(from int32) *Client {
	c, ok := s.clients[from]
	if !ok {
		c = s.newClient(from)
		s.clients[from] = c
		s.h.Attributes(c)
	}
	return c
}

func (s *session) newClient(from int32) *Client {
	s.seq++
	return NewClient(uint32(from), s.seq)
}

// end forgets a client. The collector tells every agent of every end, so it may
// not be known.
func (s *session) end(from int32) {
	c, ok := s.clients[from]
	if !ok {
		c = s.newClient(from)
	}
	delete(s.clients, from)
	if s.req != nil && s.req.Client == c {
		s.req = nil
	}
	s.h.EndClient(c)
}

// endAll ends the clients that are left when the connection has gone.
func (s *session) endAll() {
	for from := range s.clients {
		func() {
			defer func() { s.panicked(recover(), pdu.KindError) }()
			s.end(from)
		}()
	}
}

// request says on whose behalf the Handler is asked. It is the same value until
// something differs.
func (s *session) request(from int32) *Request {
	c := s.client(from)
	if r := s.req; r == nil || r.Client != c || r.Context != s.context || r.Profile != s.profile {
		s.req = &Request{Client: c, Context: s.context, Profile: s.profile}
	}
	return s.req
}

// attribute changes a client.
func (s *session) attribute(from int32, p pdu.Attr) error {
	var c Client
	if old, ok := s.clients[from]; ok {
		c = *old
	} else {
		c = *s.newClient(from)
	}
	value := strings.TrimRight(string(p.Value), "\x00")
	var err error
	switch p.Attr {
	case pdu.AttrUsername:
		c.User = value
	case pdu.AttrContainer:
		c.Container = value
	case pdu.AttrUserID:
		c.UID, err = strconv.Atoi(value)
	case pdu.AttrGroupID:
		c.GID, err = strconv.Atoi(value)
	case pdu.AttrProcessID:
		c.PID, err = strconv.Atoi(value)
	}
	if err != nil {
		return fmt.Errorf("attribute %v of client %d: %w", p.Attr, from, err)
	}
	s.clients[from] = &c
	s.h.Attributes(&c)
	return nil
}
