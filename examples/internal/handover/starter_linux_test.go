package handover

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// starterDialogue runs a starter that gets a launch, and returns what it says and its input.
func starterDialogue(t *testing.T, l launch) (*json.Decoder, io.Closer) {
	t.Helper()
	in, orders := io.Pipe()
	reports, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer out.Close()
		runStarter(in, out)
	}()
	t.Cleanup(func() {
		orders.Close()
		reports.Close()
		<-ended
	})
	if err := json.NewEncoder(orders).Encode(l); err != nil {
		t.Fatal(err)
	}
	return json.NewDecoder(reports), orders
}

// socketOf is where a starter awaits the files.
func socketOf(t *testing.T, reports *json.Decoder) string {
	t.Helper()
	var r starterReport
	if err := reports.Decode(&r); err != nil || r.Socket == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Socket
}

// TestStarter: a starter starts a command with the files that it gets, and says how that ends.
func TestStarter(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	reports, _ := starterDialogue(t, launch{Path: "/bin/sh", Args: []string{"sh", "-c", "pwd; echo $WORD two  words >&3; exit 7"},
		Env: []string{"WORD=with blanks"}, Dir: "/", Files: 3, From: os.Getpid()})
	if err := sendFiles(socketOf(t, reports), []*os.File{w, w, w}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var started, ended starterReport
	if err := reports.Decode(&started); err != nil || started.PID <= 1 || started.Ended != "" {
		t.Errorf("%+v, %v", started, err)
	}
	if err := reports.Decode(&ended); err != nil || ended.Ended != "exit status 7" {
		t.Errorf("%+v, %v", ended, err)
	}
	if b, err := io.ReadAll(r); string(b) != "/\nwith blanks two words\n" || err != nil {
		t.Errorf("wrote %q, %v", b, err)
	}
}

// TestStarterRefuses checks that a starter accepts files only from the process that its launch
// names, starts nothing with fewer files than expected, and reports why.
func TestStarterRefuses(t *testing.T) {
	reports, orders := starterDialogue(t, launch{Path: "/bin/true", Args: []string{"true"}, Files: 2, From: os.Getppid()})
	c, err := net.Dial("unix", socketOf(t, reports))
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("another process's connection: %d, %v", n, err)
	}
	c.Close()
	orders.Close()

	reports, _ = starterDialogue(t, launch{Path: "/bin/true", Args: []string{"true"}, Files: 3, From: os.Getpid()})
	if err := sendFiles(socketOf(t, reports), []*os.File{os.Stdout, os.Stderr}); err != nil {
		t.Fatal(err)
	}
	var r starterReport
	if err := reports.Decode(&r); err != nil || r.PID != 0 || !strings.Contains(r.Ended, "2 files came, not 3") {
		t.Errorf("%+v, %v", r, err)
	}
}
