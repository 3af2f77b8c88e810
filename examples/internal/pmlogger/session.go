package pmlogger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/recordpipe"
)

// A session is a recording session. The program that has started this one sends commands through a
// pipe.
type session struct {
	w       io.Writer
	control *recordpipe.Control
	logger  pmlc.Logger
	host    string // that is recorded
	confirm string // the program that shows dialogs
	tmp     string // a directory for their texts
	begun   time.Time
}

// run executes the commands until the program that started it has exited. It reports whether that
// ends the logger.
func (s *session) run(ctx context.Context) (stop bool) {
	for {
		c, err := s.control.Next()
		if err != nil {
			if wrong, ok := errors.AsType[*recordpipe.Error](err); ok {
				fmt.Fprintf(s.w, "Error: %v\n", wrong)
			}
			return s.askToStop(ctx)
		}
		switch c {
		case recordpipe.Status:
			s.tell(ctx, "Warning", s.howToEnd())
		case recordpipe.Detach:
			s.tell(ctx, "Error", "The application that launched pmlogger has asked pmlogger to continue independently and the PCP archive will grow at "+
				s.growth()+".\n\n"+s.howToEnd())
			return false
		case recordpipe.Stop:
			s.tell(ctx, "Error", "The application that launched pmlogger has terminated this PCP recording session.\n")
			return true
		}
	}
}

// tell shows a dialog.
func (s *session) tell(ctx context.Context, severity, text string) {
	s.dialog(ctx, severity, s.progress()+text, "-icon", "info", "-b", "Close")
}

// askToStop asks the user whether the logger should stop because the program that started it has
// exited. It returns true if no dialog can be shown.
func (s *session) askToStop(ctx context.Context) (stop bool) {
	text := s.progress() + "The application that launched pmlogger has exited and you must decide if the PCP recording session should be terminated or continued." +
		"  If recording is continued the PCP archive will grow at " + s.growth() + ".\n\n" + s.howToEnd() + "\n\nTerminate this PCP recording session now?"
	answer, err := s.dialog(ctx, "Error", text, "-icon", "question", "-B", "Yes", "-b", "No")
	return err != nil || answer == "Yes"
}

// elapsed returns the duration of the session, at least a second.
func (s *session) elapsed() time.Duration {
	return max(time.Since(s.begun).Round(time.Second), time.Second)
}

// longSession is the minimum duration of a session whose time is printed in minutes.
const longSession = 240 * time.Second

// progress returns the text at the start of all dialogs.
func (s *session) progress() string {
	for1 := fmt.Sprintf("%d seconds", s.elapsed()/time.Second)
	if s.elapsed() >= longSession {
		for1 = fmt.Sprintf("%d minutes", s.elapsed()/time.Minute)
	}
	text := fmt.Sprintf("PCP recording for the archive folio \"%s\" and the host \"%s\" has been in progress for %s and in that time the pmlogger process has created an archive of %d bytes.\n\n",
		s.control.Folio, s.host, for1, s.logger.Status().Bytes)
	if s.control.Replay {
		text += "This archive may be replayed with the following command:\n  $ pmafm " + s.control.Folio + " replay\n\n"
	}
	return text
}

// growth returns the growth rate of the archive.
func (s *session) growth() string {
	perHour := float64(s.logger.Status().Bytes) / s.elapsed().Hours() / 1024
	return fmt.Sprintf("the rate of %.1f Kbytes per hour or %.1f Mbytes per day", perHour, perHour*24/1024)
}

func (s *session) howToEnd() string {
	return fmt.Sprintf("At any time this pmlogger process may be terminated with the following command:\n  $ pmsignal -s TERM %d\n", os.Getpid())
}

// dialog shows a text and returns the answer. If the program for dialogs fails, the text goes to
// the log.
func (s *session) dialog(ctx context.Context, severity, text string, args ...string) (answer string, err error) {
	f, err := os.CreateTemp(s.tmp, "msg")
	if err == nil {
		defer os.Remove(f.Name())
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(s.w, "Error: failed create temporary message file for recording session dialog")
		return "", err
	}
	args = append([]string{"-c", "-header", "PCP Archive Recording Session - " + s.control.Creator, "-file", f.Name()}, args...)
	out, err := exec.CommandContext(ctx, s.confirm, args...).Output()
	answer = strings.TrimSpace(string(out))
	if err == nil && len(out) == 0 {
		err = errors.New("no answer")
	}
	if err != nil {
		fmt.Fprintf(s.w, "\n%s: pmconfirm(1) failed for recording session dialog\nDialog:\n%s", severity, text)
	}
	return answer, err
}
