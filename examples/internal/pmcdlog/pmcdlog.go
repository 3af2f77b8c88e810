// Package pmcdlog adds to the log of a collector the lines that scripts look for in pmcd's log.
package pmcdlog

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

// Lines is the part of a log that has the words of pmcd. Reset of a nil *Lines does nothing.
type Lines struct {
	w     io.Writer
	alone bool // omit what the collector logs in other words

	mu            sync.Mutex
	died          map[int64]bool  // domains of agents that have died and were not restarted
	saysNoRestart bool            // the next death is the first, and PMCD_RESTART_AGENTS disables restarts
	refused       map[string]bool // hosts whose refusal was logged since the last reset
	refusedSince  time.Time       // when the first of them was refused
	unlogged      int             // refusals that were not logged, because there are too many hosts
}

// New returns a log that writes to w the lines of pmcd, and those of the collector from level on.
// Lines of pmcd precede lines of the collector that say the same. With alone they replace them.
// NoRestart says that PMCD_RESTART_AGENTS disables restarts, which pmcd mentions when an agent
// dies.
func New(w io.Writer, level slog.Level, alone, noRestart bool) (*slog.Logger, *Lines) {
	l := &Lines{w: w, alone: alone, saysNoRestart: noRestart, died: map[int64]bool{}, refused: map[string]bool{}}
	return slog.New(&handler{pmlog.New(w, "pmcd", level).Handler(), l}), l
}

// Reset makes the next refusal of each host be logged again.
func (t *Lines) Reset() {
	if t != nil {
		t.mu.Lock()
		t.forgetRefused()
		t.mu.Unlock()
	}
}

// forgetRefused makes refusals be logged again, and logs how many were not logged.
func (t *Lines) forgetRefused() {
	if t.unlogged > 0 {
		fmt.Fprintf(t.w, "access violations of more hosts than %d: %d not logged\n", maxRefused, t.unlogged)
	}
	clear(t.refused)
	t.unlogged = 0
}

// A handler adds the lines of pmcd.
type handler struct {
	slog.Handler
	*Lines
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.Lines}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.Lines}
}

// Enabled returns true, because pmcd logs more than the collector does at its level.
func (h *handler) Enabled(context.Context, slog.Level) bool { return true }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
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
		h.Handler.Handle(ctx, slog.NewRecord(r.Time, slog.LevelInfo, text, r.PC)) // there is no other place to report an error
	}
	_, more := attrs["err"] // pmcd does not log the error of an agent that has ended
	more = more && (r.Message == "agent died" || r.Message == "agent unconfigured")
	h.mu.Lock()
	said := h.say(r.Message, attrs, r.Time, info)
	h.mu.Unlock()
	if said && h.alone && !more || !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// say writes a message of the collector in pmcd's words. It returns false if pmcd has no words for
// it.
func (h *handler) say(message string, attrs map[string]slog.Value, now time.Time, info func(string)) bool {
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
	case "client closed": // pmcd does not log clients that left before their reply
		err, _ := attrs["err"].Any().(error)
		return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	default:
		return false
	}
	return true
}

// Refusals of at most maxRefused hosts are logged within refusedTime.
const (
	maxRefused  = 1000
	refusedTime = time.Hour
)

// clientRefused logs that the access rules refuse a host, once until the next reset.
func (h *handler) clientRefused(attrs map[string]slog.Value, now time.Time) bool {
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

// cleanup returns the line for an agent that has ended. It has the status of the process if that is
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

// notStarted logs why an agent in another process has not been started.
func (h *handler) notStarted(attrs map[string]slog.Value) bool {
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
