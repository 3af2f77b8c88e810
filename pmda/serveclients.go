package pmda

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// requestOf returns the Request of a client with the latest profile. It is the same pointer as long
// as nothing in it changes.
func (s *session) requestOf(from int32) *Request {
	c := s.client(from)
	if r := s.current; r == nil || r.Client != c || r.ContextID != s.context || r.Profile != s.profile {
		s.current = &Request{Client: c, ContextID: s.context, Profile: s.profile, session: s}
	}
	return s.current
}

// client returns the client of a slot. It passes a new client to the Handler before its first
// request.
func (s *session) client(from int32) *Client {
	c, ok := s.clients[from]
	if !ok {
		c = s.newClient(from)
		s.clients[from] = c
		s.h.SetClient(c)
	}
	return c
}

func (s *session) newClient(from int32) *Client {
	s.seq++
	return NewClient(uint32(from), s.seq)
}

// endClient forgets a client. The collector sends the end of every client to every agent, so the
// client may be unknown.
func (s *session) endClient(from int32) {
	c, ok := s.clients[from]
	if !ok {
		c = s.newClient(from)
	}
	delete(s.clients, from)
	if s.current != nil && s.current.Client == c {
		s.current = nil
	}
	s.h.EndClient(c)
}

// endClients ends the remaining clients when the connection has ended.
func (s *session) endClients() {
	for from := range s.clients {
		func() {
			defer func() { s.logPanic(recover(), pdu.KindError) }()
			s.endClient(from)
		}()
	}
}

// setAttribute replaces a client with one that has the changed attribute.
func (s *session) setAttribute(from int32, body []byte) error {
	var p pdu.Attr
	if err := p.Decode(body); err != nil {
		return err
	}
	var c Client
	if old, ok := s.clients[from]; ok {
		c = *old
	} else {
		c = *s.newClient(from)
	}
	value := strings.TrimRight(string(p.Value), "\x00")
	var err error
	switch p.Key {
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
		return fmt.Errorf("attribute %v of client %d: %w", p.Key, from, err)
	}
	s.clients[from] = &c
	s.h.SetClient(&c)
	return nil
}
