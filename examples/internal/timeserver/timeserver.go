// Package timeserver has a time control server for tests. A test decides what it sends.
package timeserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
)

// A Server is a time control server that sends the messages of a test.
type Server struct {
	Port     string
	listener net.Listener
}

// New makes a server that listens until the test ends.
func New(t testing.TB) *Server {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return &Server{Port: port, listener: ln}
}

// Close stops listening, so that clients are refused.
func (s *Server) Close() { s.listener.Close() }

// Serve serves one client. commands is a comma-separated list: "step N [DELTA]" and "back N" step
// to N seconds after the start, and "stop", "play", "drag", "set" and "zone" send the other
// messages. It returns the messages of the client.
func (s *Server) Serve(commands string) (log []string, err error) {
	nc, err := s.listener.Accept()
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	set, err := receive(nc)
	if err != nil {
		return nil, err
	}
	log = append(log, fmt.Sprint(set))
	m := set
	m.Command = timecontrol.CommandAck
	position := set.Position
	for _, c := range append([]string{"ack "}, strings.Split(commands, ",")...) {
		if c != "ack " {
			m = message(c, set)
		}
		if m.Position.IsZero() {
			m.Source, m.Delta, m.Position = set.Source, set.Delta, position
		}
		position = m.Position
		b, err := m.Append(nil)
		if err != nil {
			return log, err
		}
		if _, err := nc.Write(b); err != nil {
			return log, nil // the client has ended
		}
		if m.Command != timecontrol.CommandStep && m.Command != timecontrol.CommandAck {
			continue
		}
		answer, err := receive(nc)
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return log, nil // PCP's tools end their connections so
		} else if err != nil {
			return log, err
		}
		log = append(log, fmt.Sprint(answer))
	}
	return log, nil
}

// receive receives a message of a client.
func receive(nc net.Conn) (m timecontrol.Message, err error) {
	const headerLen = 88
	b := make([]byte, headerLen)
	if _, err := io.ReadFull(nc, b); err != nil {
		return m, err
	}
	rest := make([]byte, binary.NativeEndian.Uint32(b[4:])-headerLen)
	if _, err := io.ReadFull(nc, rest); err != nil {
		return m, err
	}
	err = m.Decode(append(b, rest...))
	m.State, m.Mode = 0, 0 // of a SET they are anything
	return m, err
}

// message returns the message of a command. Its position is zero if the command has no position.
func message(command string, set timecontrol.Message) (m timecontrol.Message) {
	var name string
	var seconds, delta int
	n, _ := fmt.Sscan(command, &name, &seconds, &delta)
	switch name {
	case "step", "back":
		m = timecontrol.Message{Command: timecontrol.CommandStep, State: timecontrol.Forward, Source: set.Source, Delta: set.Delta,
			Position: set.Start.Add(time.Duration(seconds) * time.Second)}
		if name == "back" {
			m.State = timecontrol.Backward
		}
		if n == 3 {
			m.Delta = time.Duration(delta) * time.Second
		}
	case "stop":
		m = timecontrol.Message{Command: timecontrol.CommandMode, State: timecontrol.Stopped}
	case "play":
		m = timecontrol.Message{Command: timecontrol.CommandMode, State: timecontrol.Forward}
	case "drag":
		m = timecontrol.Message{Command: timecontrol.CommandDrag}
	case "set":
		m = timecontrol.Message{Command: timecontrol.CommandSet}
	case "zone":
		m = timecontrol.Message{Command: timecontrol.CommandZone, Zone: "CET-1", Label: "here"}
	}
	return m
}
