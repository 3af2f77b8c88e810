// Package recordpipe reads the control pipe of a recording session. pmlogger(1) has it with option
// -x.
package recordpipe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxMessage is how long a message on a control pipe may be, without its end of line, as
// pmlogger(1) has it.
const maxMessage = 4095

// A Command is a command of the launcher of a recording session to a logger.
type Command byte

// The commands.
const (
	Status Command = '?' // show what has been recorded
	Detach Command = 'D' // go on without the launcher, which will send nothing more
	Stop   Command = 'Q' // end
)

// String returns the command as it is sent on the pipe.
func (c Command) String() string { return string(rune(c)) }

// unknown is the text of C's pmlogger for a name that it does not know.
const unknown = "<unknown>"

// A Control is a logger's end of the control pipe (option -x of pmlogger(1)). The launcher of a
// recording session sends lines to it: those that describe the session, and commands.
//
//	V0         the version of this protocol
//	FFOLIO     the folio
//	PCREATOR   the launcher
//	R          the launcher can replay the folio
//	? D Q      a Command
//
// It is for one goroutine at a time.
type Control struct {
	Folio   string // its name as the launcher has it, "<unknown>" until it is told
	Creator string // the launcher's name, "<unknown>" until it is told
	Replay  bool   // pmafm(1) can have the launcher replay the folio

	lines *bufio.Reader
	err   error
}

// Read returns a Control that reads from a pipe.
func Read(pipe io.Reader) *Control {
	return &Control{Folio: unknown, Creator: unknown, lines: bufio.NewReaderSize(pipe, maxMessage+1)}
}

// Next waits for a command. Earlier lines about the session set the fields of c. The error is
// io.EOF when the launcher has gone, or a *Error. C's pmlogger treats both as Stop
// unless its user says otherwise. All later calls return the same error.
func (c *Control) Next() (Command, error) {
	for c.err == nil {
		var line string
		if line, c.err = c.readLine(); c.err != nil {
			break
		}
		switch {
		case line == "?" || line == "D" || line == "Q":
			return Command(line[0]), nil
		case line == "R":
			c.Replay = true
		case strings.HasPrefix(line, "F"):
			c.Folio = line[1:]
		case strings.HasPrefix(line, "P"):
			c.Creator = line[1:]
		case isVersion0(line):
		default:
			c.err = &Error{"illegal", line}
		}
	}
	return 0, c.err
}

// isVersion0 reports whether a message gives version 0, the only version.
func isVersion0(line string) bool {
	digits, ok := strings.CutPrefix(line, "V")
	n, err := strconv.ParseUint(digits, 10, 64)
	return ok && err == nil && n == 0
}

// readLine reads a message without its end of line.
func (c *Control) readLine() (string, error) {
	line, err := c.lines.ReadSlice('\n')
	switch {
	case err == nil:
		return string(line[:len(line)-1]), nil
	case errors.Is(err, bufio.ErrBufferFull):
		return "", &Error{"absurd", string(line[:100])}
	case errors.Is(err, io.EOF) && len(line) > 0:
		return "", &Error{"incomplete", string(line)}
	}
	return "", err
}

// A Error reports an invalid message on the control pipe. Its text is that of C's pmlogger.
type Error struct {
	Reason  string // "illegal"; "incomplete", if the pipe ends in it; "absurd", if it is too long
	Message string // an absurd one is cut
}

// Error returns the text of the error with the message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s recording session control message: %q", e.Reason, e.Message)
}
