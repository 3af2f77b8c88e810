package timecontrol_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/pdu"
)

var start = time.Unix(902428472, 257504000)

// setMessage returns the message that pmval sends.
func setMessage() timecontrol.Message {
	return timecontrol.Message{Command: timecontrol.CommandSet, Source: timecontrol.SourceArchive, Delta: time.Second,
		Position: start, Start: start, End: start.Add(8 * time.Second), Zone: "UTC", Label: "gonzo"}
}

func messages() []timecontrol.Message {
	return []timecontrol.Message{
		setMessage(),
		{Command: timecontrol.CommandSet, Source: timecontrol.SourceNone},
		{Command: timecontrol.CommandStep, State: timecontrol.Backward, Mode: timecontrol.ModeFast, Delta: -1500 * time.Millisecond, Position: start},
		{Command: timecontrol.CommandZone, Zone: "CET-1CEST,M3.5.0,M10.5.0/3"},
		{Command: timecontrol.CommandAck, Position: time.Unix(-5, 1000)},
	}
}

func TestMessage(t *testing.T) {
	for _, m := range messages() {
		b, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		var got timecontrol.Message
		if err := got.Decode(b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMessageErrors(t *testing.T) {
	for _, tt := range []struct {
		m    timecontrol.Message
		want error
	}{
		{timecontrol.Message{Command: timecontrol.CommandZone, Zone: strings.Repeat("x", timecontrol.MaxData-2)}, nil},
		{timecontrol.Message{Command: timecontrol.CommandZone, Zone: strings.Repeat("x", timecontrol.MaxData-1)}, pdu.ErrTooBig},
		{timecontrol.Message{Command: timecontrol.CommandZone, Label: "a\x00b"}, pdu.ErrArg},
	} {
		if _, err := tt.m.Append(nil); !errors.Is(err, tt.want) {
			t.Errorf("%.30q: %v, want %v", tt.m.Zone, err, tt.want)
		}
	}
	set := setMessage()
	good, err := set.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"short":        func(b []byte) []byte { return b[:87] },
		"magic":        func(b []byte) []byte { b[0]++; return b },
		"length":       func(b []byte) []byte { b[4]++; return b },
		"microseconds": func(b []byte) []byte { copy(b[48:], "\xff\xff\xff\x7f\xff\xff\xff\x7f"); return b },
		"seconds":      func(b []byte) []byte { copy(b[40:], "\xff\xff\xff\x7f\xff\xff\xff\x7f"); return b },
		"interval":     func(b []byte) []byte { copy(b[24:], "\xff\xff\xff\x7f\xff\xff\xff\x7f"); return b },
		"unterminated": func(b []byte) []byte { b[len(b)-1] = 'x'; return b },
	} {
		m := timecontrol.Message{Label: "as it was"}
		if err := m.Decode(change(append([]byte(nil), good...))); !errors.Is(err, pdu.ErrIPC) || m.Label != "as it was" {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, m := range messages() {
		b, err := m.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, again timecontrol.Message
		if err := m.Decode(b); err != nil {
			if m != (timecontrol.Message{}) || !errors.Is(err, pdu.ErrIPC) {
				t.Fatalf("%+v with error %v", m, err)
			}
			return
		}
		c, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Decode(c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}
