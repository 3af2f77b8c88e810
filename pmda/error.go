package pmda

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// An OpError says which operation of an agent failed, on what, and why.
type OpError struct {
	Op    string // such as "register", "attach instance domain" or "remove"
	Agent string // the agent's name; empty if it is not known
	Name  string // of the metric, dynamic root or instance domain; empty if there is none
	Site  string // FILE:LINE of the call that registered or attached it; empty for other operations
	Err   error  // the cause
}

// Error returns the text of the error, such as `pmda: agent cache: register "cache.hits": the name
// is in use (/src/cache/main.go:12)`.
func (e *OpError) Error() string {
	s := "pmda: "
	if e.Agent != "" {
		s += "agent " + e.Agent + ": "
	}
	s += e.Op
	if e.Name != "" {
		s += " " + strconv.Quote(e.Name)
	}
	s += ": " + e.Err.Error()
	if e.Site != "" {
		s += " (" + e.Site + ")"
	}
	return s
}

// callSite returns the place in the program that called this package, as FILE:LINE.
func callSite() string {
	const pkg = "github.com/pcp-go/pcp/pmda."
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.File != "" && !strings.HasPrefix(f.Function, pkg) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *OpError) Timeout() bool { return ctxwait.TimedOut(e.Err) }
