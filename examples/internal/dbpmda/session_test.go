package dbpmda

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

const names = `root { simple dynamic }
simple { numfetch 253:0:0 color 253:0:1 now 253:2:4 group }
simple.group { x 253:9:9 }
dynamic { some 253:*:* }
`

// resultAddress is the address of a result and its time of day, in the zone of the machine.
var resultAddress = regexp.MustCompile(`dump from 0x[0-9a-f]+ timestamp: \S+ \S+`)

// transcript returns the output of a session on both streams, with prompts and commands.
func transcript(t testing.TB, script string, prepare func(d *debugger)) string {
	t.Helper()
	var out strings.Builder
	d := newDebugger(&out, &out)
	d.timeout = 60
	var err error
	if d.names, err = pmns.Parse("names", strings.NewReader(names)); err != nil {
		t.Fatal(err)
	}
	d.in.add(strings.NewReader(script), source{prompt: "> ", echo: true})
	if prepare != nil {
		prepare(d)
	}
	d.run()
	d.closeAgent()
	d.out.Flush()
	return resultAddress.ReplaceAllString(out.String(), "dump")
}

// useConfiguration gives the agent simple its configuration file.
func useConfiguration(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "simple"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "simple", "simple.conf"), []byte("sec,min,hour\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_PMDAS_DIR", dir)
}

// TestEmbedded has a session with an agent within this process.
func TestEmbedded(t *testing.T) {
	useConfiguration(t)
	script, want := readTestdata(t, "embedded.dbpmda"), readTestdata(t, "embedded.txt")
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(transcript(t, script, nil)+"\n", "\n")); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHelp has a usage and a text for every command, and no other.
func TestHelp(t *testing.T) {
	for word := range commands {
		if out := transcript(t, "help "+word+"\n", nil); !strings.Contains(out, "\n\n"+word) || word != "label" && helpTexts[word] == "" && word != "help" {
			if word != "help" {
				t.Errorf("help %s: %s", word, out)
			}
		}
	}
	for word := range helpTexts {
		if commands[word].parse == nil {
			t.Errorf("help on %s, which is no command", word)
		}
	}
	for _, u := range usages {
		if commands[u.command].parse == nil {
			t.Errorf("usage of %s, which is no command", u.command)
		}
	}
}

// TestCarets has errors at the start, in the middle, in several words and behind tabs.
func TestCarets(t *testing.T) {
	got := transcript(t, "foo\n\tfoo bar\ndesc simple.color @ x\nfetch simple.nosuch,simple.color\ndesc 1.\n", nil)
	want := "> foo\n    ^ at or near here\nError: Unrecognized command\nType 'help' for a list of commands.\n" +
		"> \tfoo bar\n \t    ^ at or near here\nError: Unrecognized command\nType 'help' for a list of commands.\n" +
		"> desc simple.color @ x\n                    ^ at or near here\nError: Illegal character\nType 'help' for a list of commands.\n" +
		"> fetch simple.nosuch,simple.color\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("transcript %s\nwant it to begin with\n%s", got, want)
	}
}

// TestConnections has the same session over each kind of connection.
func TestConnections(t *testing.T) {
	program := pcptest.Build(t, "./examples/simple")
	dir := pcptest.ShortDir(t)
	useConfiguration(t)
	script := "status\ndesc simple.color\nfetch simple.color 253.0.99\ninstance 253.0\ninstance 253.9\nlabel domain\nstore simple.color \"1\"\nclose\nclose\n"
	pipe := transcript(t, "open pipe "+program+" -d 253 -l "+filepath.Join(dir, "log")+"\n"+script, nil)
	if !strings.Contains(pipe, "inst [2 or ???] value 201") || !strings.Contains(pipe, "Error PDU: Unknown or illegal instance domain identifier") {
		t.Fatalf("over a pipe:\n%s", pipe)
	}
	socket := filepath.Join(dir, "socket")
	p := pcptest.Start(t, pcptest.Daemon{Path: program, Args: []string{"-d", "253", "-l", filepath.Join(dir, "log"), "-u", socket}})
	for {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		select {
		case <-p.Done():
			t.Fatalf("the agent has ended: %s", p.Log())
		default:
		}
	}
	unix := ""
	pcptest.Retry(t, func() string { // it may not listen yet
		unix = transcript(t, "open socket unix "+socket+"\n"+script, nil)
		if strings.Contains(unix, "refused") {
			return unix
		}
		return ""
	})
	behind := func(s string) string { return s[strings.Index(s, "> desc"):] }
	if diff := cmp.Diff(behind(pipe), behind(unix)); diff != "" {
		t.Errorf("transcript (-pipe +unix):\n%s", diff)
	}
}

// scripted opens an agent that exchanges versions, and then answers every request with the bytes of
// a PDU.
func scripted(t testing.TB, reply []byte) func(d *debugger) {
	return func(d *debugger) {
		ours, its := net.Pipe()
		go func() {
			defer its.Close()
			c := pdu.NewConn(its)
			if _, err := pdu.AgentHello(c, 1, 0); err != nil {
				return
			}
			for {
				h, _, err := c.Read()
				if err != nil || h.Kind == pdu.KindError {
					return
				}
				if h.Kind == pdu.KindProfile || h.Kind == pdu.KindAttr {
					continue
				}
				if _, err := its.Write(reply); err != nil {
					return
				}
			}
		}()
		d.newAgent(&agent{name: "scripted", wait: func() { io.Copy(io.Discard, ours) }}, ours)
	}
}

const requests = `desc simple.color
fetch simple.color
instance 253.0
instance 253.0 red
text simple.color
label domain
label instances 253.0
name 253.0.1
pmid simple.color
children simple
traverse simple
desc dynamic.some.thing
getdesc on
getiname on
fetch simple.color
store simple.color "1"
`

var readyCode = int32(pdu.ErrPMDAReady)

// header is that of a PDU.
func header(length int, kind pdu.Kind) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(length))
	b = binary.BigEndian.AppendUint32(b, uint32(kind))
	return binary.BigEndian.AppendUint32(b, 0)
}

// TestHostile has an agent that answers all requests with the same PDU.
func TestHostile(t *testing.T) {
	for kind := pdu.KindError; kind <= pdu.KindDescs; kind++ {
		for _, n := range []int{0, 4, 8, 20, 40, 100} {
			for _, fill := range []byte{0, 1, 0x40, 0xff} {
				body := []byte(strings.Repeat(string([]byte{fill}), n))
				out := transcript(t, requests, scripted(t, append(header(12+n, kind), body...)))
				if got := strings.Count(out, "> "); got < strings.Count(requests, "\n") {
					t.Fatalf("%v of %d bytes %#x: ended after %d commands:\n%s", kind, n, fill, got, out)
				}
			}
		}
	}
	for want, reply := range map[string][]byte{
		"Error: __pmGetPDU() failed: Result size exceeded":  header(1<<31-1, pdu.KindText),
		"Error: __pmGetPDU() failed: IPC protocol failure":  header(-1, pdu.KindText),
		"Error: __pmGetPDU() failed: wrong PDU (7009)":      append(header(20, pdu.KindText), make([]byte, 8)...),
		"Error PDU: PMDA is now responsive to requests":     binary.BigEndian.AppendUint32(header(16, pdu.KindError), uint32(readyCode)),
		"Error: __pmDecodeDesc() failed: IPC protocol fail": header(12, pdu.KindDesc),
	} {
		if out := transcript(t, requests, scripted(t, reply)); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestSilent has an agent that does not send its version, and an agent that ends.
func TestSilent(t *testing.T) {
	t.Parallel()
	got := transcript(t, "status\n", func(d *debugger) {
		ours, its := net.Pipe()
		t.Cleanup(func() { its.Close() })
		d.timeout = 0
		d.newAgent(&agent{name: "silent", inFD: 5}, ours)
	})
	if !strings.HasPrefix(got, "__pmGetPDU(5): Timeout waiting for a response from PMCD\nWarning: no version exchange with PMDA silent after 0 secs\n") ||
		!strings.Contains(got, "PMDA PMAPI Version:     unknown!\n") {
		t.Errorf("an agent without a version: %s", got)
	}
	got = transcript(t, "desc simple.color\n", func(d *debugger) {
		ours, its := net.Pipe()
		its.Close()
		d.newAgent(&agent{name: "gone"}, ours)
	})
	if !strings.HasPrefix(got, "pmdaversion: expecting PDU_CREDS, got EOF\n") || !strings.Contains(got, "Error: __pmSendDescReq() failed: ") {
		t.Errorf("an agent that has ended: %s", got)
	}
}

// FuzzCommands passes arbitrary bytes to the grammar, with an agent. It leaves out commands with
// effects outside the program.
func FuzzCommands(f *testing.F) {
	for _, name := range []string{"grammar", "sample"} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".dbpmda"))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			f.Add(line)
		}
	}
	useConfiguration(f)
	f.Fuzz(func(t *testing.T, script string) {
		for _, word := range []string{"pipe", "socket", "dso", "namespace", "wait", "watch"} {
			if strings.Contains(script, word) {
				t.Skip(word)
			}
		}
		out := transcript(t, script, func(d *debugger) {
			d.openDSO("simple", "simple_init", 253)
		})
		lines := strings.Count(script, "\n") + 1
		if limit := (lines + len(script)) * 4096; len(out) > limit {
			t.Errorf("%d bytes of output for %d of input", len(out), len(script))
		}
	})
}
