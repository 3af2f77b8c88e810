package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// logger logs to w. With a configuration file the lines that scripts look for in pmcd's log come
// before those of the collector that say the same; in the place of PCP's pmcd they take their
// place.
func (d *daemon) logger(w io.Writer, level slog.Level) *slog.Logger {
	l := pmlog.New(w, "pmcd", level)
	if d.config == "" {
		return l
	}
	d.lines = &pmcdText{w: w, alone: d.installed, saysNoRestart: d.noRestart, died: map[int64]bool{}, refused: map[string]bool{}}
	return slog.New(&pmcdLines{l.Handler(), d.lines})
}

// pmcdText is what the lines of pmcd depend on.
type pmcdText struct {
	w     io.Writer
	alone bool // leave out what the collector says in other words

	mu            sync.Mutex
	died          map[int64]bool  // domains of agents that have died and were not restarted
	saysNoRestart bool            // the next death is the first, and PMCD_RESTART_AGENTS disables restarts
	refused       map[string]bool // hosts of which the log says so, until the collector is reset
	refusedSince  time.Time       // when the first of them was refused
	unlogged      int             // refusals of which the log says nothing, as there are too many hosts
}

// reset makes the next refusal of a host be logged again.
func (t *pmcdText) reset() {
	if t != nil {
		t.mu.Lock()
		t.forgetRefused()
		t.mu.Unlock()
	}
}

// forgetRefused makes refusals be logged again, and says of how many the log has said nothing.
func (t *pmcdText) forgetRefused() {
	if t.unlogged > 0 {
		fmt.Fprintf(t.w, "access violations of more hosts than %d: %d not logged\n", maxRefused, t.unlogged)
	}
	clear(t.refused)
	t.unlogged = 0
}

// pmcdLines adds the lines of pmcd.
type pmcdLines struct {
	slog.Handler
	*pmcdText
}

func (h *pmcdLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &pmcdLines{h.Handler.WithAttrs(attrs), h.pmcdText}
}

func (h *pmcdLines) WithGroup(name string) slog.Handler {
	return &pmcdLines{h.Handler.WithGroup(name), h.pmcdText}
}

// Enabled lets everything come, since pmcd says more than the collector does at this level.
func (h *pmcdLines) Enabled(context.Context, slog.Level) bool { return true }

func (h *pmcdLines) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(strings.TrimPrefix(r.Message, "\n"), "->") || r.Message == "<empty>" { // an event trace or a table of clients
		h.mu.Lock()
		defer h.mu.Unlock()
		_, err := fmt.Fprintln(h.w, r.Message)
		return err
	}
	attrs := map[string]slog.Value{}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value
		return true
	})
	info := func(text string) {
		h.Handler.Handle(ctx, slog.NewRecord(r.Time, slog.LevelInfo, text, r.PC)) // a log that takes no more cannot say so
	}
	_, more := attrs["err"] // of the end of an agent pmcd does not say so
	more = more && (r.Message == "agent died" || r.Message == "agent unconfigured")
	h.mu.Lock()
	said := h.say(r.Message, attrs, r.Time, info)
	h.mu.Unlock()
	if said && h.alone && !more || !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// say says in pmcd's words what the collector says, and reports whether it has such words.
func (h *pmcdLines) say(message string, attrs map[string]slog.Value, now time.Time, info func(string)) bool {
	switch message {
	case "agent died":
		h.died[attrs["domain"].Int64()] = true
		info(cleanup(attrs, fmt.Sprintf("protocol failure for fd=%v", attrs["fd"])))
		if h.saysNoRestart {
			fmt.Fprintln(h.w, "Warning: restartAgents=0 from PMCD_RESTART_AGENTS=0 in environment")
			h.saysNoRestart = false
		}
	case "agent ended":
		why := "unconfigured"
		if attrs["shutdown"].Bool() {
			why = "terminated"
		}
		info(cleanup(attrs, why))
	case "agent unconfigured": // its end has been logged
	case "agent started":
		if d := attrs["domain"].Int64(); h.died[d] {
			delete(h.died, d)
			info("Auto-restarting agents.")
			fmt.Fprintf(h.w, "Restarting any deceased agents:\n    \"%v\" agent\n", attrs["agent"])
		}
	case "agent not started":
		return h.notStarted(attrs)
	case "client refused":
		return h.clientRefused(attrs, now)
	case "client closed": // pmcd has no word for one that has gone without waiting for its reply
		err, _ := attrs["err"].Any().(error)
		return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	default:
		return false
	}
	return true
}

// Of so many hosts the log says that they were refused; of others when that is so long ago.
const (
	maxRefused  = 1000
	refusedTime = time.Hour
)

// clientRefused says that the access rules do not let a host in, once until the next reset.
func (h *pmcdLines) clientRefused(attrs map[string]slog.Value, now time.Time) bool {
	slot, new := attrs["slot"]
	if !new { // it was let in before
		return false
	}
	host := attrs["host"].String()
	if h.refused[host] {
		return true
	}
	if len(h.refused) >= maxRefused {
		if now.Sub(h.refusedSince) < refusedTime {
			h.unlogged++
			return true
		}
		h.forgetRefused()
	}
	if len(h.refused) == 0 {
		h.refusedSince = now
	}
	h.refused[host] = true
	err, _ := attrs["err"].Any().(error)
	code := pdu.FromError(err)
	fmt.Fprintf(h.w, "access violation from host %s\nendclient client[%v]: (fd %v) %v (%d)\n", host, slot, attrs["fd"], code, int32(code))
	return true
}

// cleanup says that an agent has ended, why, and with which status of its process, if that is
// known.
func cleanup(attrs map[string]slog.Value, why string) string {
	text := fmt.Sprintf("CleanupAgent ...\nCleanup \"%v\" agent (dom %v): %s", attrs["agent"], attrs["domain"], why)
	if _, ended := attrs["process"]; ended {
		if status := attrs["status"].Int64(); status>>16 != 0 {
			text += fmt.Sprintf(", signal(%d)", status>>16)
		} else {
			text += fmt.Sprintf(", exit(%d)", status>>8)
		}
	}
	return text
}

// notStarted says why an agent in another process has not been started.
func (h *pmcdLines) notStarted(attrs map[string]slog.Value) bool {
	why, _ := attrs["err"].Any().(error)
	name := attrs["agent"]
	_, dialled := errors.AsType[*net.OpError](why)
	exec, unknown := errors.AsType[*fs.PathError](why)
	switch {
	case unknown && exec.Op == "fork/exec":
		fmt.Fprintf(h.w, "pmcd: error starting %s: %v\npmcd: unexpected end-of-file at initial exchange with %v PMDA\n", exec.Path, pdu.FromError(exec.Err), name)
	case dialled:
		fmt.Fprintf(h.w, "pmcd: Error connecting to \"%v\" agent : %v\n", name, pdu.FromError(why))
	case errors.Is(why, io.EOF), errors.Is(why, io.ErrUnexpectedEOF):
		fmt.Fprintf(h.w, "pmcd: unexpected end-of-file at initial exchange with %v PMDA\n", name)
	case errors.Is(why, os.ErrDeadlineExceeded), errors.Is(why, pdu.ErrTimeout):
		fmt.Fprintf(h.w, "pmcd: error at initial PDU exchange with %v PMDA: %v\n", name, pdu.ErrTimeout)
	case errors.Is(why, pdu.ErrTooBig), errors.Is(why, pdu.ErrIPC):
		fmt.Fprintf(h.w, "pmcd: error at initial PDU exchange with %v PMDA: %v\n", name, pdu.ErrIPC)
	default:
		return false
	}
	return true
}
