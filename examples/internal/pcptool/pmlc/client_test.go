package pmlc

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

const greeting3 = "00000010 00007000 0000004d 00000003"

// answer is a server that sends a greeting, and after each PDU of the client, the next reply; then
// it closes the connection, unless the last reply is "wait".
func answer(t *testing.T, greeting string, replies ...string) string {
	return pcptest.Serve(t, func(conn net.Conn) {
		conn.Write(unhex(t, greeting))
		if len(unhex(t, greeting)) < 16 {
			return
		}
		c := pdu.NewConn(conn)
		c.Read() // the version
		for _, r := range replies {
			if _, _, err := c.Read(); err != nil {
				return
			}
			if r == "wait" {
				io.Copy(io.Discard, conn)
				return
			}
			conn.Write(unhex(t, r))
		}
	})
}

func TestDialErrors(t *testing.T) {
	for _, tt := range []struct {
		name, greeting string
		want           error
	}{
		{"busy", "00000010 00007000 00000000 ffffff9e", errBusy},
		{"refused", "00000010 00007000 00000000 ffffcf9d", pdu.ErrPermission},
		{"version 1", "00000010 00007000 00000000 00000001", pdu.ErrIPC},
		{"no greeting", "", io.EOF},
		{"half a greeting", "00000010 00007000", io.ErrUnexpectedEOF},
		{"another PDU", "00000010 00007003 00000000 00000003", pdu.ErrIPC},
		{"a collector", "00000014 00007000 00000000 00000000 02010e44", pdu.ErrIPC},
		{"something else", "48545450 2f312e31 20343030 20426164", pdu.ErrTooBig},
	} {
		if c, err := Dial(t.Context(), "tcp", answer(t, tt.greeting)); !errors.Is(err, tt.want) || c != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := Dial(t.Context(), "unix", t.TempDir()+"/none"); err == nil {
		t.Error("connected to nothing")
	}
}

// Versions above ours are answered with ours.
func TestDialNewerServer(t *testing.T) {
	c, err := Dial(t.Context(), "tcp", answer(t, "00000010 00007000 0000004d 00000009", done16))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Version() != Version3 || c.PID() != 77 {
		t.Errorf("version %d, PID %d", c.Version(), c.PID())
	}
	if err := c.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}

// After an error of the logger the connection can be used, after others it is closed.
func TestClientErrors(t *testing.T) {
	one := []logger.Target{{PMID: 1}}
	for _, tt := range []struct {
		name, reply string
		want        error
		usable      bool
	}{
		{"refused", "00000010 00007000 00000000 ffffcf9d", pdu.ErrPermission, true},
		{"malformed states", "00000018 00007001 00000000 00000000 00000000 00000005", pdu.ErrIPC, false},
		{"another PDU", "0000000c 00008002 00000000", pdu.ErrIPC, false},
		{"a number", "00000010 00007000 00000000 00000007", pdu.ErrIPC, false},
		{"too long", "7ffffb00 00007001 00000000", pdu.ErrTooBig, false},
		{"half", "00000018 00007001", io.ErrUnexpectedEOF, false},
		{"nothing", "", io.EOF, false},
	} {
		replies := []string{tt.reply}
		if tt.usable {
			replies = append(replies, done16)
		}
		c, err := Dial(t.Context(), "tcp", answer(t, greeting3, replies...))
		if err != nil {
			t.Fatal(err)
		}
		states, err := c.Enquire(t.Context(), one)
		if !errors.Is(err, tt.want) || states != nil {
			t.Errorf("%s: %v, %v; want %v", tt.name, states, err, tt.want)
		}
		switch err2 := c.Sync(t.Context()); {
		case tt.usable && err2 != nil:
			t.Errorf("%s: then %v", tt.name, err2)
		case !tt.usable && err2 != err:
			t.Errorf("%s: then %v", tt.name, err2)
		}
		c.Close()
	}
}

// A request that cannot be encoded is not sent, and changes nothing.
func TestClientRefuses(t *testing.T) {
	c, err := Dial(t.Context(), "tcp", answer(t, greeting3, done16))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Enquire(t.Context(), nil); !errors.Is(err, pdu.ErrIPC) {
		t.Error(err)
	}
	if err := c.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClientWaits(t *testing.T) {
	t.Run("greeting", func(t *testing.T) {
		addr := pcptest.Serve(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
		_, err := (&Dialer{Timeout: 10 * time.Millisecond}).Dial(t.Context(), "tcp", addr)
		if pdu.FromError(err) != pdu.ErrTimeout {
			t.Error(err)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		d := &Dialer{Timeout: 200 * time.Millisecond}
		c, err := d.Dial(t.Context(), "tcp", answer(t, greeting3, "wait"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Sync(t.Context()); pdu.FromError(err) != pdu.ErrTimeout {
			t.Error(err)
		}
		if err := c.Sync(t.Context()); pdu.FromError(err) != pdu.ErrTimeout {
			t.Errorf("again: %v", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		c, err := Dial(t.Context(), "tcp", answer(t, greeting3, "wait"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := c.Sync(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
