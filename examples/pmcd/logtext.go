package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/pcp-go/pcp/internal/pmlog"
)

// logger logs to w. With a configuration file the lines that scripts look for in pmcd's log come before those of the collector
// that say the same.
func (d *daemon) logger(w io.Writer, level slog.Level) *slog.Logger {
	l := pmlog.New(w, "pmcd", level)
	if d.config == "" {
		return l
	}
	h := &pmcdLines{l.Handler(), w, new(sync.Map), new(sync.Once)}
	if !d.noRestart {
		h.noRestart.Do(func() {})
	}
	return slog.New(h)
}

// pmcdLines adds the lines of pmcd.
type pmcdLines struct {
	slog.Handler
	w    io.Writer
	died *sync.Map // domains of agents that have died and were not restarted

	noRestart *sync.Once // says at the first death that PMCD_RESTART_AGENTS disables restarts; done if it does not
}

func (h *pmcdLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &pmcdLines{h.Handler.WithAttrs(attrs), h.w, h.died, h.noRestart}
}

func (h *pmcdLines) WithGroup(name string) slog.Handler {
	return &pmcdLines{h.Handler.WithGroup(name), h.w, h.died, h.noRestart}
}

// Enabled lets everything come, since pmcd says more than the collector does at this level.
func (h *pmcdLines) Enabled(context.Context, slog.Level) bool { return true }

func (h *pmcdLines) Handle(ctx context.Context, r slog.Record) error {
	attrs := map[string]slog.Value{}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value
		return true
	})
	info := func(text string) error {
		return h.Handler.Handle(ctx, slog.NewRecord(r.Time, slog.LevelInfo, text, r.PC))
	}
	var err error
	switch r.Message {
	case "agent died":
		h.died.Store(attrs["domain"].Int64(), true)
		err = info(cleanup(attrs, fmt.Sprintf("protocol failure for fd=%v", attrs["fd"])))
		h.noRestart.Do(func() {
			fmt.Fprintln(h.w, "Warning: restartAgents=0 from PMCD_RESTART_AGENTS=0 in environment")
		})
	case "agent ended":
		why := "unconfigured"
		if attrs["shutdown"].Bool() {
			why = "terminated"
		}
		err = info(cleanup(attrs, why))
	case "agent started":
		if _, died := h.died.LoadAndDelete(attrs["domain"].Int64()); died {
			err = info("Auto-restarting agents.")
		}
	case "agent not started":
		err = h.notStarted(attrs)
	}
	if h.Handler.Enabled(ctx, r.Level) {
		err = errors.Join(err, h.Handler.Handle(ctx, r))
	}
	return err
}

// cleanup says that an agent has ended, why, and with which status of its process, if that is known.
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

// notStarted says why an agent in another process has not said in time what it is.
func (h *pmcdLines) notStarted(attrs map[string]slog.Value) error {
	why, _ := attrs["err"].Any().(error)
	var err error
	switch {
	case errors.Is(why, io.EOF), errors.Is(why, io.ErrUnexpectedEOF):
		_, err = fmt.Fprintf(h.w, "pmcd: unexpected end-of-file at initial exchange with %v PMDA\n", attrs["agent"])
	case errors.Is(why, os.ErrDeadlineExceeded):
		_, err = fmt.Fprintf(h.w, "pmcd: error at initial PDU exchange with %v PMDA: Timeout waiting for a response from PMCD\n", attrs["agent"])
	}
	return err
}
