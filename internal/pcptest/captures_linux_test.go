package pcptest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var record = flag.String("record", "", "directory to write the golden captures to (see pdu/testdata/captures/README.md)")

const goldenDir = "../../pdu/testdata/captures"

// A recording says which PDUs a golden capture has. Each file is one recording, of a pmcd of its
// own, so that the state of the agents is the same each time.
type recording struct {
	file    string
	about   string
	agents  []string
	unix    bool       // clients come over the unix socket
	access  string     // access section
	tools   [][]string // commands run one after the other with -h HOST, each a connection
	direct  string     // or: requests in hexadecimal, sent one by one over one connection, see sendAll
	pipe    string     // record the PDUs between pmcd and this pipe agent instead of the clients'
	outlive bool       // kill the agents before the last request
}

var recordings = []recording{
	{file: "pminfo-sample-types", about: "every type, scalar and with instances", agents: []string{"sample"},
		tools: [][]string{
			{"pminfo", "-dmtf", "sample.long.one", "sample.ulong.million", "sample.longlong.ten", "sample.ulonglong.million",
				"sample.float.hundred", "sample.double.million", "sample.string.null", "sample.string.hullo",
				"sample.aggregate.null", "sample.aggregate.hullo", "sample.aggregate.write_me", "sample.bin", "sample.colour",
				"sample.longlong.bin", "sample.double.bin", "sample.string.bin", "sample.negative", "sample.bigid"},
		}},
	{file: "pminfo-sample-errors", about: "no values, errors for one metric, errors for a whole request", agents: []string{"sample"},
		tools: [][]string{
			{"pminfo", "-dmtTlf", "sample.bad", "sample.noinst", "sample.needprofile", "sample.bogus_bin", "sample.part_bin"},
			{"pmstore", "sample.error_code", "-12357"},
			{"pminfo", "-dtf", "sample.error_check"},
		}},
	{file: "pminfo-sample-events", about: "event arrays of both kinds, four fetches for a whole cycle", agents: []string{"sample"},
		tools: slices.Concat(
			repeat(4, "pminfo", "-f", "sample.event.records", "sample.event.highres_records", "sample.event.no_indom_records"),
			[][]string{{"pminfo", "-x", "sample.event.records", "sample.event.no_indom_records"}},
		)},
	{file: "pminfo-sample-labels", about: "labels at every level, over the unix socket (optional context labels)",
		agents: []string{"sample"}, unix: true,
		tools: [][]string{
			{"pminfo", "-l", "sample.bin", "sample.colour", "sample.rapid", "sample.write_me", "sample.mirage", "sample.long.one"},
		}},
	{file: "pminfo-sample-text", about: "help text, one-line and full, of metrics and instance domains", agents: []string{"sample"},
		tools: [][]string{
			{"pminfo", "-tT", "sample.bin", "sample.colour", "sample.event.records", "sample.long"},
			{"pminfo", "-IT", "sample.bin", "sample.colour"},
		}},
	{file: "pminfo-simple", about: "all there is to know of an agent", agents: []string{"simple"},
		tools: [][]string{{"pminfo", "-dmtTlf", "simple"}}},
	{file: "pminfo-trivial", about: "all there is to know of an agent without anything optional", agents: []string{"trivial"},
		tools: [][]string{{"pminfo", "-dmtTlf", "trivial"}}},
	{file: "pminfo-pmcd", about: "pmcd's own metrics", agents: []string{"pmcd"},
		tools: [][]string{
			{"pminfo", "-dmtf", "pmcd.version", "pmcd.pid", "pmcd.seqnum", "pmcd.numagents", "pmcd.numclients", "pmcd.timezone",
				"pmcd.services", "pmcd.feature", "pmcd.agent", "pmcd.pdu_in", "pmcd.pdu_out", "pmcd.build", "pmcd.hostname"},
			{"pminfo", "-l", "pmcd.pdu_in.fetch"},
		}},
	{file: "pminfo-names", about: "a traversal, dynamic names, unknown names", agents: []string{"sample"},
		tools: [][]string{
			{"pminfo", "-m", "sample"},
			{"pminfo", "-dmf", "sample.secret"},
			{"pmstore", "sample.ghosts.visible", "3"},
			{"pminfo", "-dmtTlf", "sample.ghosts"},
			{"pminfo", "-f", "no.such.metric"},
			{"pminfo", "-f", "sample.nosuch"},
			{"pminfo", "-f", "sample.secret.nosuch"},
			{"pminfo", "-f", "sample.bin.nosuch"},
		}},
	{file: "pmprobe", about: "values, instances and errors as pmprobe asks for them", agents: []string{"sample", "simple"},
		tools: [][]string{
			{"pmprobe", "-v", "sample.colour", "sample.bad", "sample.string", "simple", "no.such.metric"},
			{"pmprobe", "-I", "sample.colour", "sample.bin"},
			{"pmprobe", "-iF", "sample.colour"},
		}},
	{file: "pmval", about: "repeated fetches, with instances by name", agents: []string{"sample"},
		tools: [][]string{
			{"pmval", "-s", "2", "-t", "0.05", "sample.colour"},
			{"pmval", "-s", "2", "-t", "0.05", "-i", "bin-300,bin-500", "sample.bin"},
			{"pmval", "-s", "1", "-i", "bin-301", "sample.bin"},
			{"pmval", "-s", "3", "-t", "0.05", "sample.rapid"},
		}},
	{file: "pmstore", about: "stores of every type, and those that fail", agents: []string{"sample", "simple", "trivial"},
		tools: [][]string{
			{"pmstore", "sample.write_me", "42"},
			{"pmstore", "sample.long.write_me", "-7"},
			{"pmstore", "sample.ulong.write_me", "4294967295"},
			{"pmstore", "sample.longlong.write_me", "-1234567890123"},
			{"pmstore", "sample.ulonglong.write_me", "12345678901234"},
			{"pmstore", "sample.float.write_me", "1.5"},
			{"pmstore", "sample.double.write_me", "-2.25e100"},
			{"pmstore", "sample.string.write_me", "abcde"},
			{"pmstore", "sample.aggregate.write_me", "0x0102030405"},
			{"pmstore", "-i", "bin-300,bin-500", "sample.bin", "7"},
			{"pmstore", "sample.colour", "9"},
			{"pmstore", "sample.long.one", "2"},
			{"pmstore", "simple.color", "300"},
			{"pmstore", "trivial.time", "1"},
		}},
	{file: "access", about: "a store, then a connection, refused by access control", agents: []string{"sample"},
		access: `disallow ".*" : store;` + "\n" + `disallow ":*" : all;`,
		tools: [][]string{
			{"pmstore", "sample.write_me", "42"},
		}},
	{file: "access-unix", about: "a connection refused by access control: the extended ERROR", agents: []string{"sample"}, unix: true,
		access: `disallow "local:*" : all;`,
		tools:  [][]string{{"pminfo", "-f", "sample.write_me"}}},
	{file: "container", about: "a container named in the connection", agents: []string{"sample"}, unix: true,
		tools: [][]string{{"pminfo", "--container=abc", "-f", "sample.long.one"}}},
	{file: "direct", about: "requests that the tools do not make, or not alone", agents: []string{"pmcd", "sample", "linux"}, direct: `
		# FETCH before any PROFILE: PM_ERR_NOPROFILE
		00000020 00007003 00001092 00000000 00000000 00000000 00000001 0f000020
		# PROFILE has no reply
		! 0000001c 00007002 00001092 00000000 00000000 00000000 00000000
		# low resolution: an unknown item and an unknown domain
		00000028 00007003 00001092 00000000 00000000 00000000 00000003 00800000 00818c00 64000401
		# high resolution
		00000024 00007014 00001092 00000000 00000000 00000000 00000002 0f000800 0f000020
		# high resolution, failing
		00000024 00007014 00001092 00000000 00000000 00000000 00000002 00818c00 64000401
		# descriptors: one, unknown, of an unknown domain
		00000010 00007004 00001092 0f000020
		00000010 00007004 00001092 00818c00
		00000010 00007004 00001092 64000401
		# several descriptors at once, the second unknown
		00000020 00007016 00001092 ffffffff 00000003 00800800 00818c63 0f000014
		# instances: all, the name of 5, the id of "1 minute", an unknown name, an unknown indom
		00000020 00007006 00001092 0f000002 00000000 00000000 ffffffff 00000000
		00000020 00007006 00001092 0f000002 00000000 00000000 00000005 00000000
		00000028 00007006 00001092 0f000002 00000000 00000000 ffffffff 00000008 31206d69 6e757465
		00000024 00007006 00001092 0f000002 00000000 00000000 ffffffff 00000003 6f6e657e
		00000020 00007006 00001092 0f0003ff 00000000 00000000 ffffffff 00000000
		# help: one-line of an indom, full of a metric, of an unknown metric
		00000014 00007008 00001092 0f000002 00000009
		00000014 00007008 00001092 0f000800 00000006
		00000014 00007008 00001092 00818c00 00000005
		# names: of an id, an id of a name, children, a traversal, an unknown name
		00000018 0000700d 00001092 00000000 00000001 0f000020
		0000002c 0000700e 00001092 0000000e 00000000 00000001 0000000d 73616d70 6c652e63 6f6c6f75 727e7e7e
		00000024 0000700f 00001092 00000001 0000000d 73616d70 6c652e73 65637265 747e7e7e
		00000024 0000700f 00001092 00000000 0000000d 73616d70 6c652e73 65637265 747e7e7e
		00000024 00007010 00001092 00000000 0000000d 73616d70 6c652e73 65637265 747e7e7e
		00000018 00007010 00001092 00000000 00000004 6e6f7065
		# labels: context, domain 29, indom 29.1, cluster 29.0, item 29.0.64, instances of 29.2
		00000014 00007012 00001092 ffffffff 00000001
		00000014 00007012 00001092 0000001d 00000002
		00000014 00007012 00001092 07400001 00000004
		00000014 00007012 00001092 07400000 00000008
		00000014 00007012 00001092 07400040 00000010
		00000014 00007012 00001092 07400002 00000020
		# a profile with two instance domains
		! 00000048 00007002 00001092 00000000 00000000 00000002 00000000 07400001 00000000 00000002 00000000 07400002 00000001 00000001 00000000 00000000 00000002 000000c8
		00000024 00007003 00001092 00000000 00000000 00000000 00000002 07400005 07400006
		# an ERROR, which is for agents alone, and a type that nobody knows: PM_ERR_IPC
		00000010 00007000 00001092 ffffcf99
		0000000c 00007fff 00001092`},
	{file: "agent-died", about: "a fetch right after the agent has died: a state change before the answer", agents: []string{"sample"},
		outlive: true, direct: `
		! 0000001c 00007002 00001092 00000000 00000000 00000000 00000000
		00000020 00007003 00001092 00000000 00000000 00000000 00000001 0740000a
		# the agent has been killed: ERROR +4, then the answer
		00000020 00007003 00001092 00000000 00000000 00000000 00000001 0740000a
		00000020 00007003 00001092 00000000 00000000 00000000 00000001 0740000a
		00000010 00007004 00001092 0740000a
		00000020 00007006 00001092 07400001 00000000 00000000 ffffffff 00000000
		00000014 00007008 00001092 0740000a 00000005`},
	{file: "pipe-simple", about: "pmcd and the agent simple, clients on the unix socket", agents: []string{"simple"}, unix: true, pipe: "simple",
		tools: [][]string{
			{"pminfo", "-dmtTlf", "simple"},
			{"pmstore", "simple.numfetch", "3"},
			{"pmstore", "simple.color", "300"},
			{"pmval", "-s", "1", "-i", "green", "simple.color"},
			{"pminfo", "-f", "simple.nosuch"},
		}},
	{file: "pipe-trivial", about: "pmcd and the agent trivial, clients over TCP", agents: []string{"trivial"}, pipe: "trivial",
		tools: [][]string{{"pminfo", "-dmtTlf", "trivial"}, {"pmstore", "trivial.time", "3"}}},
	{file: "pipe-sample", about: "pmcd and the agent sample, clients on the unix socket", agents: []string{"sample"}, unix: true, pipe: "sample",
		tools: [][]string{
			{"pminfo", "-dtf", "sample.bin", "sample.string.hullo", "sample.aggregate.hullo", "sample.double.million"},
			{"pminfo", "-l", "sample.bin", "sample.write_me"},
			{"pminfo", "-f", "sample.event.records", "sample.event.highres_records"},
			{"pminfo", "-f", "sample.event.records", "sample.event.highres_records"},
			{"pminfo", "-dmf", "sample.secret"},
			{"pmstore", "sample.string.write_me", "abcde"},
			{"pmstore", "-i", "bin-300", "sample.bin", "7"},
			{"pminfo", "-f", "sample.bad.nosupport", "sample.bad.unknown"},
			{"pminfo", "--container=abc", "-f", "sample.long.one"},
		}},
}

func repeat(n int, argv ...string) [][]string { return slices.Repeat([][]string{argv}, n) }

// TestCaptures records every recording and compares the order and types of its PDUs with those of
// the golden capture: contents hold times and pids. With -record=DIR it writes the captures there
// instead.
func TestCaptures(t *testing.T) {
	Need(t, "pmcd", "pminfo", "pmprobe", "pmval", "pmstore")
	for _, rec := range recordings {
		t.Run(rec.file, func(t *testing.T) {
			if *record != "" {
				rec.write(t, filepath.Join(*record, rec.file+".txt"), rec.play(t))
				return
			}
			golden := filepath.Join(goldenDir, rec.file+".txt")
			want, err := ReadCapture(golden)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := os.ReadFile(golden); !strings.Contains(string(b), "# "+version()+"; ") {
				t.Skipf("%s was not recorded from the %s that is installed here", golden, version())
			}
			got := rec.play(t)
			if diff := cmp.Diff(outline(rec, want), outline(rec, got)); diff != "" {
				t.Errorf("the golden capture has other PDUs than a new one (-golden +new):\n%s", diff)
			}
		})
	}
}

func version() string { return "PCP " + Conf("PCP_VERSION") }

// outline lists the sections, directions and types. Left out is what pmcd sends an agent besides
// requests: when it repeats a profile, and whether it notes the end of a client before the next
// one's first request, differs from run to run.
func outline(rec recording, pdus []PDU) []string {
	var o []string
	for _, p := range pdus {
		if rec.pipe != "" && p.Dir == ToServer && (p.Type() == 0x7000 || p.Type() == 0x7002) {
			continue
		}
		o = append(o, fmt.Sprintf("%s: %s %x", p.Section, p.Dir, p.Type()))
	}
	return o
}

func (rec recording) write(t *testing.T, path string, pdus []PDU) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s.\n# %s; agents: %s.\n", rec.about, version(), strings.Join(rec.agents, ", "))
	if rec.access != "" {
		fmt.Fprintf(&b, "# Access section: %s\n", strings.ReplaceAll(rec.access, "\n", " "))
	}
	if err := WriteCapture(&b, pdus); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.String())
}

// play makes the recording and returns its PDUs, without what identifies the machine.
func (rec recording) play(t *testing.T) []PDU {
	t.Helper()
	c := Config{Shipped: rec.agents, Access: rec.access, Args: []string{"-H", "localhost"}}
	if rec.outlive {
		c.Env = append(c.Env, "PMCD_RESTART_AGENTS=0")
	}
	kept := filepath.Join(t.TempDir(), "pipe")
	if rec.pipe != "" {
		set := Agents(t, rec.agents...)
		c = Config{PMNS: set.PMNS, Env: set.Env, Args: c.Args}
		tap := Build(t, "./internal/pcptest/stdiotap") + " " + kept + " "
		c.Agents = []string{strings.Replace(set.Conf, " binary ", " binary "+tap, 1)}
	}
	pmcd := StartPMCD(t, c)
	r := Record(t, "tcp", pmcd.Addr())
	if rec.unix {
		r = Record(t, "unix", pmcd.Socket())
	}
	titles := []string{"requests"}
	if rec.direct != "" {
		rec.sendAll(t, r, pmcd)
	} else {
		titles = nil
		for _, argv := range rec.tools {
			Run(t, nil, "", slices.Insert(slices.Clone(argv), 1, "-h", r.Host())...)
			titles = append(titles, strings.Join(argv, " "))
		}
	}
	pdus, err := r.PDUs()
	if err != nil {
		t.Fatal(err)
	}
	if rec.pipe != "" {
		pmcd.Stop()
		if pdus, err = ReadCapture(kept); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pdus {
		if n := 0; rec.pipe == "" {
			fmt.Sscanf(pdus[i].Section, "connection %d", &n)
			pdus[i].Section = titles[min(n, len(titles))-1]
		} else {
			pdus[i].Section = strings.Join(titles, "; ")
		}
		anonymise(pdus[i].Bytes)
	}
	rec.annotate(pdus)
	return pdus
}

// annotate gives the requests of rec.direct the comments above them. The first request of the
// connection is CREDS.
func (rec recording) annotate(pdus []PDU) {
	var notes []string
	note := ""
	for line := range strings.Lines(rec.direct) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "# "); ok {
			note = text
		} else if line != "" {
			notes, note = append(notes, note), ""
		}
	}
	n := -1
	for i, p := range pdus {
		if p.Dir == ToServer {
			if n >= 0 && n < len(notes) {
				pdus[i].Note = notes[n]
			}
			n++
		}
	}
}

// sendAll sends the requests of rec.direct one by one, each when the reply to the one before it has
// come; "! " marks those that have no reply.
func (rec recording) sendAll(t *testing.T, r *Recorder, pmcd *PMCD) {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(runTimeout))
	reply := func() { readPDU(t, c) }
	reply() // the challenge
	send(t, c, "00000014 0000700c 00001092 00000001 01020000")
	replies := 0
	for line := range strings.Lines(rec.direct) {
		line = strings.TrimSpace(line)
		request, silent := strings.CutPrefix(line, "! ")
		if line == "" || line[0] == '#' {
			continue
		}
		send(t, c, request)
		if silent {
			continue
		}
		reply()
		if replies++; rec.outlive && replies == 1 {
			for _, a := range descendants(pmcd.PID()) {
				syscall.Kill(a.pid, syscall.SIGKILL)
				awaitEnd(a, endTimeout)
			}
		} else if rec.outlive && replies == 2 {
			reply() // the reply follows the state change
		}
	}
}

func send(t *testing.T, c net.Conn, request string) {
	t.Helper()
	b, err := parsePDU(request)
	if err == nil {
		_, err = c.Write(b)
	}
	if err != nil {
		t.Fatalf("request %s: %v", request, err)
	}
}

func readPDU(t *testing.T, c net.Conn) {
	t.Helper()
	one := errors.New("one")
	err := Tap(stopAfter{one}, c, func([]byte) {})
	if !errors.Is(err, one) {
		t.Fatalf("no reply: %v", err)
	}
}

// stopAfter ends a Tap at the first PDU.
type stopAfter struct{ err error }

func (s stopAfter) Write([]byte) (int, error) { return 0, s.err }

var identifying = regexp.MustCompile(`"(?:hostname|machineid|domainname)":"([^"]*)"`)

// anonymise overwrites what identifies the machine with as many other letters: lengths and offsets
// stay.
func anonymise(pdu []byte) {
	for _, m := range identifying.FindAllSubmatchIndex(pdu, -1) {
		copy(pdu[m[2]:m[3]], bytes.Repeat([]byte("a"), m[3]-m[2]))
	}
}
