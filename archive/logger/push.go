package logger

import (
	"cmp"
	"context"
	"net/url"

	"github.com/pcp-go/pcp/archive/push"
)

// A pusher is the state of the receiver of a Logger's archive. The zero pusher is for an archive in
// files.
type pusher struct {
	sender  *push.Sender
	url     string
	away    bool // receiverLost was reported, and not receiverRestored after it
	full    bool // there was no room for the latest record
	left    int  // records that were dropped since pushFull
	leftAll int
}

// connectPush connects to the receiver of the archive, if Options.Push is set.
func (l *Logger) connectPush(ctx context.Context) error {
	o := l.opts.Push
	if o == nil {
		return nil
	}
	with := *o
	with.Notify = func() {
		select {
		case l.wake <- struct{}{}:
		default:
		}
		if o.Notify != nil {
			o.Notify()
		}
	}
	s, err := with.New(ctx)
	if err != nil {
		return err
	}
	l.push = pusher{sender: s, url: withoutPassword(o.URL)}
	l.opts.Base = cmp.Or(l.opts.Base, l.push.url)
	return nil
}

// withoutPassword returns a URL without its user and password.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = nil
	return u.String()
}

// tendPush reports changes of the receiver's state. An error ends the logger.
func (l *Logger) tendPush() error {
	p := &l.push
	if p.sender == nil {
		return nil
	}
	s := p.sender.Stats()
	if away := !s.Connected; away != p.away {
		p.away = away
		if away {
			l.report(receiverLost{p.url, s.Failure})
		} else {
			l.report(receiverRestored{p.url})
		}
	}
	l.publish()
	return p.sender.Err()
}

// hasRoom reports whether there is room for another record. If not, it counts the record as
// dropped.
func (p *pusher) hasRoom(l *Logger) bool {
	if p.sender == nil {
		return true
	}
	full := p.sender.Full()
	switch {
	case full && !p.full:
		l.report(pushFull{p.url})
	case !full && p.full:
		l.report(pushLeftOut{p.url, p.left})
		p.left = 0
	}
	if p.full = full; full {
		p.left++
		p.leftAll++
		l.gap = true
	}
	return !full
}

// closePush sends the remaining records.
func (l *Logger) closePush(ctx context.Context) error {
	p := &l.push
	if p.sender == nil {
		return nil
	}
	if p.full {
		l.report(pushLeftOut{p.url, p.left})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := p.sender.Close(ctx)
	l.publish()
	return err
}
