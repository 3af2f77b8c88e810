package pmlc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/strftime"
	"github.com/pcp-go/pcp/pdu"
)

// A session is a client of a Server.
type session struct {
	*Server
	ctx     context.Context // of Serve
	conn    net.Conn
	pdus    *pdu.Conn
	denied  logconf.Ops
	version int  // 0 until the client has sent it
	late    bool // the reply to the next request

	idle atomic.Int64 // since when it has no request, in nanoseconds since 1970; 0 while it has one
}

// isIdle reports whether the client has had no request for idleTime.
func (c *session) isIdle(now time.Time) bool {
	since := c.idle.Load()
	return since != 0 && now.Sub(time.Unix(0, since)) >= idleTime
}

// qaDelay is by how much a reply is late after QA 1.
const qaDelay = 5 * time.Second

// serve answers requests until the client goes, which is no error, or is disconnected.
func (c *session) serve() error {
	c.pdus.MaxLen = MaxRequest
	c.pdus.Partial = func(waiting bool) {
		if waiting && c.version != 0 {
			c.conn.SetReadDeadline(time.Now().Add(c.timeout()))
		}
	}
	c.conn.SetReadDeadline(time.Now().Add(c.timeout()))
	if err := c.write(int32(os.Getpid()), pdu.Status{Code: pdu.Error(cmp.Or(c.Version, Version3))}); err != nil {
		return err
	}
	for {
		if c.version != 0 {
			c.conn.SetReadDeadline(time.Time{})
		}
		c.idle.Store(time.Now().UnixNano())
		h, body, err := c.pdus.Read()
		c.idle.Store(0)
		switch {
		case errors.Is(err, io.EOF), gone(err):
			return nil
		case err != nil:
			return err
		}
		if err := c.handle(h.Kind, body); err != nil {
			return err
		}
	}
}

// write sends a PDU within the time that a client has to read it.
func (c *session) write(from int32, p pdu.PDU) error {
	c.conn.SetWriteDeadline(time.Now().Add(c.timeout()))
	return c.pdus.Write(from, p)
}

// handle answers a request. An error ends the session.
func (c *session) handle(k pdu.Kind, body []byte) error {
	if k == pdu.KindCreds {
		return c.creds(body)
	}
	if c.late {
		c.late = false
		select {
		case <-c.ctx.Done():
		case <-time.After(qaDelay):
		}
	}
	var reply pdu.PDU
	var err error
	switch {
	case c.version == 0:
		return c.hangUp(errors.New("a request before the version"))
	case k == KindRequest:
		var r Request
		if err := r.Decode(body); err != nil {
			return c.hangUp(err)
		}
		switch r {
		case RequestStatus:
			reply = c.status()
		case RequestNewVolume:
			reply, err = c.newVolume()
		case RequestSync:
			reply, err = c.sync()
		case RequestQA, RequestQA + 1:
			c.late = r != RequestQA
			reply = pdu.Status{}
		default:
			return c.hangUp(fmt.Errorf("unknown request %d", r))
		}
	case k == KindControl:
		reply, err = c.control(body)
	default:
		return c.hangUp(fmt.Errorf("unexpected %s", kindName(k)))
	}
	c.conn.SetWriteDeadline(time.Now().Add(c.timeout()))
	if err == nil {
		err = c.pdus.Queue(0, reply)
	}
	if err != nil {
		return c.write(0, pdu.Status{Code: pdu.FromError(err)})
	}
	return c.pdus.Flush()
}

// hangUp tells the client that it has broken the protocol, and ends the session.
func (c *session) hangUp(err error) error {
	if e := c.write(0, pdu.Status{Code: pdu.ErrIPC}); e != nil {
		return e
	}
	return err
}

// creds is the version of the client. Without one, nothing changes.
func (c *session) creds(body []byte) error {
	var p pdu.Creds
	if err := p.Decode(body); err != nil {
		return c.hangUp(err)
	}
	switch v := int(p.Version); {
	case v == 0:
	case v < Version2 || v > cmp.Or(c.Version, Version3):
		return c.hangUp(fmt.Errorf("version %d", v))
	default:
		c.version = v
	}
	return nil
}

// allow is pdu.ErrPermission if the client may not do something.
func (c *session) allow(op logconf.Ops) error {
	if c.denied&op != 0 {
		return pdu.ErrPermission
	}
	return nil
}

func (c *session) status() pdu.PDU {
	s, now := c.Logger.Status(), time.Now()
	return &Status{Version: c.version, Start: s.Start, Last: s.Last, Now: now, Active: !s.Start.IsZero(), Volume: s.Volume, Size: s.Size,
		Host: s.Host, Source: c.Source, Zone: s.TimeZone, ZoneInfo: s.ZoneInfo,
		LoggerZone: cmp.Or(os.Getenv("TZ"), strftime.Zone(now))}
}

func (c *session) newVolume() (pdu.PDU, error) {
	if err := c.allow(logconf.OpMandatory); err != nil {
		return nil, err
	}
	if !c.volumes.allow(time.Now()) {
		c.log().Warn("pmlc: new volume refused: too many requests", slog.String("client", c.conn.RemoteAddr().String()))
		return nil, pdu.ErrAgain
	}
	n, err := c.Logger.NewVolume("pmlc request")
	return pdu.Status{Code: pdu.Error(n)}, err
}

func (c *session) sync() (pdu.PDU, error) {
	return pdu.Status{}, c.Logger.Sync()
}

func (c *session) control(body []byte) (pdu.PDU, error) {
	var p ControlReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	op := logconf.OpAdvisory
	switch {
	case p.Enquire:
		op = logconf.OpEnquire
	case p.Control == logger.Mandatory:
		op = logconf.OpMandatory
	}
	if err := c.allow(op); err != nil {
		return nil, err
	}
	for i, t := range p.Targets {
		if len(t.Insts) == 1 && t.Insts[0] == pdu.NoInst { // of a metric without instances
			p.Targets[i].Insts = nil
		}
	}
	var states []logger.MetricState
	var err error
	if p.Enquire {
		states, err = c.Logger.Enquire(c.ctx, p.Targets)
	} else {
		states, err = c.Logger.Control(c.ctx, p.Control, p.State, p.Interval, p.Targets)
		if c.Controlled != nil {
			c.Controlled(c.conn.RemoteAddr(), &p, states, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return statesPDU(states), nil
}
