package timecontrol_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// recordedStart is the start of the archive of the tests, which ends about a second later.
var recordedStart = time.Date(2026, 11, 23, 0, 57, 8, 0, time.UTC)

// scriptedControl is a Control whose server sends messages, and what that leads to: events, the
// positions of fetches, and acknowledgements.
func scriptedControl(t *testing.T, source timecontrol.Source, script []timecontrol.Message) (log []string) {
	t.Helper()
	pc, err := pmapi.Open(t.Context(), "../../../../archive/testdata/v3")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	ids, err := pc.Lookup(t.Context(), []string{"sample.double.million"})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	set := setMessage()
	set.Source = source
	served := make(chan error, 1)
	go func() { served <- serveScript(there, script) }()
	conn, err := timecontrol.NewConn(t.Context(), here, set)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	control := &timecontrol.Control{Conn: conn, Context: pc, Delta: time.Second,
		Notify: func(e timecontrol.Event) { log = append(log, e.String()) }}
	for {
		err := control.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		mode, position, delta := pc.Mode()
		log = append(log, fmt.Sprintf("fetch %v +%.1f %v", mode, position.Sub(recordedStart).Seconds(), delta))
		var r pdu.Result
		switch err := pc.Fetch(t.Context(), ids, &r); {
		case errors.Is(err, pdu.ErrEOL):
			err = control.AtEnd()
			if err != nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Fatal(err)
		default:
			if err := control.Done(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	return log
}

// serveScript answers the handshake, sends messages, and wants each step to be acknowledged.
func serveScript(nc net.Conn, script []timecontrol.Message) error {
	defer nc.Close()
	read := func(n int) (m timecontrol.Message, err error) {
		b := make([]byte, n)
		if _, err := io.ReadFull(nc, b); err != nil {
			return m, err
		}
		return m, m.Decode(b)
	}
	m, err := read(98)
	if err != nil {
		return err
	}
	m.Command = timecontrol.CommandAck
	for _, m := range append([]timecontrol.Message{m}, script...) {
		b, err := m.Append(nil)
		if err != nil {
			return err
		}
		if _, err := nc.Write(b); err != nil {
			return err
		}
		want := timecontrol.Message{Command: timecontrol.CommandShow}
		switch m.Command {
		case timecontrol.CommandStep:
			want = timecontrol.Message{Command: timecontrol.CommandAck, Position: m.Position}
		case timecontrol.CommandAck:
		default:
			continue
		}
		got, err := read(88)
		if err != nil || got.Command != want.Command || !got.Position.Equal(want.Position) {
			return fmt.Errorf("after %v: %+v, %w, want %+v", m.Command, got, err, want)
		}
	}
	return nil
}

func TestControl(t *testing.T) {
	at := func(m timecontrol.Message, sec float64) timecontrol.Message {
		m.Source, m.Position = timecontrol.SourceArchive, recordedStart.Add(time.Duration(sec*1e9))
		if m.Delta == 0 {
			m.Delta = time.Second
		}
		return m
	}
	step := timecontrol.Message{Command: timecontrol.CommandStep, State: timecontrol.Forward}
	back := timecontrol.Message{Command: timecontrol.CommandStep, State: timecontrol.Backward}
	half := step
	half.Delta = time.Second / 2
	mode := func(s timecontrol.State) timecontrol.Message {
		return timecontrol.Message{Command: timecontrol.CommandMode, State: s}
	}
	const (
		rewind   = "\n[Time Control] Rewind/Reverse ...\n"
		position = "\n[Time Control] Repositioned in archive ...\n"
		resume   = "\n[Time Control] Resume ...\n"
		end      = "\n[Time Control] End of Archive ...\n"
	)
	for _, tt := range []struct {
		name   string
		script []timecontrol.Message
		want   []string
	}{
		{"forward", []timecontrol.Message{at(step, 1), at(step, 7)}, // only the first sets the position
			[]string{"fetch interp +1.0 1s", "fetch interp +2.0 1s", end}},
		{"back", []timecontrol.Message{at(back, 1.5), at(back, 1), at(step, 1)},
			[]string{rewind, position, "fetch interp +1.0 1s"}},
		{"pause", []timecontrol.Message{at(step, 1), mode(timecontrol.Stopped), at(half, 1), at(half, 1.5)},
			[]string{"fetch interp +1.0 1s", resume, "new interval:  0.50 sec\n", "fetch interp +1.0 500ms", "fetch interp +1.5 500ms"}},
		{"drag", []timecontrol.Message{at(step, 1), {Command: timecontrol.CommandDrag}, at(step, 1.2), {Command: timecontrol.CommandBounds}, {Command: 512}},
			[]string{"fetch interp +1.0 1s", position, "fetch interp +1.2 1s"}},
		{"end", []timecontrol.Message{at(step, 50), at(step, 51), mode(timecontrol.Forward), at(step, 1)},
			[]string{"fetch interp +50.0 1s", end, "fetch interp +51.0 1s", position, "fetch interp +1.0 1s"}},
		{"zone", []timecontrol.Message{{Command: timecontrol.CommandZone, Zone: "CET-1", Label: "here"}, at(step, 1), {Command: timecontrol.CommandSet}, at(step, 1)},
			[]string{"new timezone: CET-1 (here)\n", "fetch interp +1.0 1s", position, "fetch interp +1.0 1s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, scriptedControl(t, timecontrol.SourceArchive, tt.script)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestControlLive sends steps of a source whose position no server sets, after messages that are
// not steps.
func TestControlLive(t *testing.T) {
	const rewind, resume = "\n[Time Control] Rewind/Reverse ...\n", "\n[Time Control] Resume ...\n"
	step := timecontrol.Message{Command: timecontrol.CommandStep, State: timecontrol.Forward, Delta: time.Second, Position: recordedStart}
	back := step
	back.State = timecontrol.Backward
	play := timecontrol.Message{Command: timecontrol.CommandMode, State: timecontrol.Forward}
	stop := timecontrol.Message{Command: timecontrol.CommandMode, State: timecontrol.Stopped}
	script := []timecontrol.Message{step, step, back, step, play, step, stop, step, {Command: timecontrol.CommandDrag}, step}
	var got []string
	for _, line := range scriptedControl(t, timecontrol.SourceHost, script) {
		if strings.HasPrefix(line, "fetch") {
			line = "fetch"
		}
		got = append(got, line)
	}
	want := []string{"fetch", "fetch", rewind, resume, "fetch", resume, "fetch", resume, "fetch", resume, "fetch"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
