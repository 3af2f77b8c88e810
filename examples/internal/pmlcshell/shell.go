// Package pmlcshell implements the command language and the output of pmlc(1).
package pmlcshell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

// A Shell executes the commands that it reads. Its exported fields are set before the first call of
// a method. It may be used by one goroutine at a time.
type Shell struct {
	In       io.Reader
	Out, Err io.Writer // not buffered, so that the echo, the results and errors are in order
	// Interactive prints prompts; Echo the input.
	Interactive, Echo bool
	// Host is the host of commands that name no host.
	Host string
	// MapDir is the directory of the loggers' map files. SocketDirs are those of their sockets.
	MapDir     string
	SocketDirs []string
	// Timeout is the time to wait for a logger. 0 means no limit.
	Timeout time.Duration
	// Names replaces the name space of the collector. Nil means the collector's.
	Names *pmns.Tree
	// Dial connects to a collector.
	Dial func(ctx context.Context, host string) (*pmapi.Context, error)

	client  *pmlc.Client
	id      loggerID
	host    string         // of client
	metrics *pmapi.Context // of the client's collector; nil if it is not connected yet
	zone    zone
	hinted  bool // that only instances that there are can be specified
	quit    bool
	lex     *lexer
}

// SetZone sets the zone of times: that of a TZ, or the logger's.
func (s *Shell) SetZone(tz string, logger bool) {
	switch {
	case logger:
		s.zone.kind = zoneLogger
	case tz != "":
		s.zone = zone{zoneNamed, tz}
	}
}

// Run executes the commands of the input.
func (s *Shell) Run(ctx context.Context) {
	defer s.disconnect()
	p := &parser{Shell: s}
	s.lex = &lexer{in: bufio.NewReader(s.In), line: 1, prompt: s.prompt, unexpected: func(c byte) {
		s.errorf("Error", s.lex.line, "Unexpected character '%c'", c)
	}}
	if s.Echo {
		s.lex.echo = s.Out
	}
	p.lex = s.lex
	p.run(ctx)
	if s.Interactive && !s.quit {
		s.printf("\n")
	}
}

func (s *Shell) prompt() {
	switch {
	case !s.Interactive:
	case s.lex.braces:
		s.printf("? ")
	default:
		s.printf("pmlc> ")
	}
}

func (s *Shell) printf(format string, args ...any) { fmt.Fprintf(s.Out, format, args...) }

// warnf prints on standard error.
func (s *Shell) warnf(format string, args ...any) { fmt.Fprintf(s.Err, format, args...) }

// errorf reports an error, or a message of another severity, with the line of the input.
func (s *Shell) errorf(severity string, line int, format string, args ...any) {
	s.warnf("%s [<stdin>, line %d]\n", severity, line)
	if text := fmt.Sprintf(format, args...); text != "" {
		s.warnf("%s\n", text)
	}
}

// Banner prints the text that a user at a terminal sees first.
func (s *Shell) Banner() {
	s.printf("Performance Co-Pilot Logger Control (pmlc), Version %s\n\n%s\n", version, menu)
}
