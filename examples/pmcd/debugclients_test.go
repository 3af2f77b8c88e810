package main

import (
	"fmt"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// clientMasks hide what differs between two collectors with the same clients: ends of lines that C pmcd leaves out, and numbers.
var clientMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(agent\[\d+\])(\[|__pm)`), "$1\n$2"},
	{regexp.MustCompile(`(?m)^\[.*\] pmcd\(\d+\) Info: `), ""},
	{regexp.MustCompile(`fd=\d+`), "fd=N"},
	{regexp.MustCompile(`client\[\d+\]`), "client[N]"},
	{regexp.MustCompile(`\((/\S*/s),`), "(SOCKET,"},
	{regexp.MustCompile(`processid=\d+`), "processid=N"},
	{regexp.MustCompile(`\[len=\d+\]: attr=0xe value="\d+\."`), `[len=N]: attr=0xe value="N."`},
	{regexp.MustCompile(`ctx=\d+`), "ctx=N"},
	{regexp.MustCompile(`context \d+ close`), "context N close"},
	{regexp.MustCompile(`payload=".*"`), "payload"}, // other mechanisms
	{regexp.MustCompile(`__pmSendAttr \[len=\d+\]: payload`), "__pmSendAttr payload"},
}

var clientLines = regexp.MustCompile(`^(__pmAcc|CheckAccountAccess|DoCreds|pmcd: send client|__pmSendAttr|__pmDecodeAttr|Attribute: |NotifyEndContext|__pmDecodeCreds|__pmSendError)`)

// clientDebug is the lines about clients in a part of a log, each once: who comes first may differ, and how often a port is probed.
func clientDebug(log string) []string {
	for _, m := range clientMasks {
		log = m.pattern.ReplaceAllString(log, m.with)
	}
	var lines []string
	for line := range strings.SplitSeq(log, "\n") {
		if clientLines.MatchString(line) && !strings.Contains(line, "code=-12391") { // that is for agents, of which ours tells those that know the client
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestInteropDebugClients compares what C pmcd and ours print of clients, with the debug options that are about those.
func TestInteropDebugClients(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]string{
		"open":  "",
		"hosts": `disallow hosts "127.0.0.1" : store; allow hosts "unix:" : all; allow hosts "*" : fetch, maximum 100 connections;`,
		"none":  `disallow hosts "127.0.0.1" : all; allow hosts "unix:" : all;`,
		"users": fmt.Sprintf(`allow users %s : fetch, maximum 10 connections;`, me.Username),
		"me":    fmt.Sprintf(`disallow users %s : all;`, me.Username),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := func(program string) []string {
				p := pcptest.StartPMCD(t, pcptest.Config{
					Program: program, Shipped: []string{"pmcd", "sample"}, Access: rules, Args: []string{"-D", "access,auth,attr,context"},
				})
				tcp, unix := p.Host(), "unix://"+p.Socket()
				commands := []string{"pminfo -h HOST -f sample.colour", "pminfo -h HOST --container=box -f sample.colour", "pminfo -h HOST pmcd.version"}
				if name == "me" {
					commands = commands[:1] // refused clients with a container get another error, too
				}
				for _, command := range commands {
					for _, host := range []string{unix, tcp} {
						if host == tcp && (name == "users" || name == "me") {
							continue // it would ask for a password
						}
						pcptest.Run(t, nil, "", strings.Fields(strings.ReplaceAll(command, "HOST", host))...)
					}
				}
				p.Stop()
				return clientDebug(p.Log())
			}
			want, got := look(""), look(pcptest.Build(t, "./examples/pmcd"))
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 6 {
				t.Errorf("%d lines (-C +Go):\n%s", len(want), diff)
			}
		})
	}
}

// TestInteropDebugStore: a store into pmcd.control.debug replaces the debug options, those that have no bit, too.
func TestInteropDebugStore(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	if os.Geteuid() != 0 {
		t.Skip("only root may store into it")
	}
	look := func(program string) (outputs, lines []string) {
		p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd", "sample"}, Args: []string{"-D", "access,context"}})
		for _, command := range []string{"pminfo -f pmcd.control.debug", "pmstore pmcd.control.debug 2048", "pminfo sample.colour", "pmstore pmcd.control.debug 0", "pminfo -f pmcd.control.debug"} {
			words := strings.Fields(command)
			out, errs, _ := pcptest.Run(t, nil, "", append([]string{words[0], "-h", "unix://" + p.Socket()}, words[1:]...)...)
			outputs = append(outputs, out+errs)
		}
		p.Stop()
		_, log, _ := strings.Cut(p.Log(), "AcceptNewClient") // of the first client after the store
		for _, m := range clientMasks {
			log = m.pattern.ReplaceAllString(log, m.with)
		}
		for line := range strings.SplitSeq(log, "\n") {
			if clientLines.MatchString(line) || strings.HasPrefix(line, "endclient") {
				lines = append(lines, strings.Split(line, " (fd")[0])
			}
		}
		return outputs, slices.Compact(lines)
	}
	wantOut, want := look("")
	gotOut, got := look(pcptest.Build(t, "./examples/pmcd"))
	if diff := cmp.Diff(wantOut, gotOut); diff != "" {
		t.Errorf("output (-C +Go):\n%s", diff)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("log (-C +Go):\n%s", diff)
	}
}

// nameNoise is what C pmcd prints while it searches for names, and looks up those below one, one by one.
var nameNoise = regexp.MustCompile(`(?m)^(pmGetChildren\(.*\n(  name.*\n)*|pmLookupName\(1,.* returns \d and \.\.\.\n  name.*\npmLookupName\(1.*\n)`)

var nameLines = regexp.MustCompile(`^(DecodeNameReq|DoPMNSTraverse|__pm|namelist|statuslist|IDlist|  name|  status|  PMID|pmLookupName)`)

// TestInteropDebugNames compares what C pmcd and ours print of requests about names.
func TestInteropDebugNames(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe")
	look := func(program string) (lines []string) {
		p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"sample"}, Args: []string{"-D", "pmns"}})
		for _, command := range []string{"pminfo HOST sample.dupnames", "pminfo HOST -m 29.0.5", "pminfo HOST nosuch.x", "pminfo HOST -f sample.colour sample.bin",
			"pmprobe HOST sample.aggregate nosuch"} {
			words := strings.Fields(command)
			pcptest.Run(t, nil, "", append([]string{words[0], "-h", p.Host()}, words[2:]...)...)
		}
		p.Stop()
		_, log, _ := strings.Cut(p.Log(), "pmcd request port") // the names were loaded before
		for line := range strings.SplitSeq(nameNoise.ReplaceAllString(log, ""), "\n") {
			if nameLines.MatchString(line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	want, got := look(""), look(pcptest.Build(t, "./examples/pmcd"))
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 40 {
		t.Errorf("%d lines (-C +Go):\n%s", len(want), diff)
	}
}

// TestInteropDebugMetadata compares what C pmcd and ours print of instances and labels, and of names that are looked up.
func TestInteropDebugMetadata(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe")
	metadata := regexp.MustCompile(`^(pmInResult|  \[\d+\] inst|__pmSendLabel|__pmDecodeLabel|\[\d+\] pmLabelSet|pmLabelSet AT|    \{|    \[\d+\] name|pmLookupName\([2-9])`)
	pointers := regexp.MustCompile(`0x[0-9a-f]{6,}( |\))|<:.*:>`)
	look := func(program string) (lines []string) {
		p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd", "sample"}, Args: []string{"-D", "indom,labels,pmapi"}})
		for _, command := range []string{"pminfo HOST -f sample.colour sample.aggregate sample.bin", "pminfo HOST -l sample.colour sample.dupnames.two.bin pmcd.pdu_in.total",
			"pmprobe HOST -I sample.colour pmcd.version sample.bin", "pmval HOST -s 1 -t 0.01 -i red,blue sample.colour", "pmval HOST -s 1 -t 0.01 -i 100 sample.bin"} {
			words := strings.Fields(command)
			pcptest.Run(t, nil, "", append([]string{words[0], "-h", p.Host()}, words[2:]...)...)
		}
		p.Stop()
		for line := range strings.SplitSeq(pointers.ReplaceAllString(p.Log(), "AT$1"), "\n") {
			if metadata.MatchString(line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	want, got := look(""), look(pcptest.Build(t, "./examples/pmcd"))
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 100 {
		t.Errorf("%d lines (-C +Go):\n%s", len(want), diff)
	}
}

// TestInteropDebugConfig compares what C pmcd and ours print of access rules that they read, and of settings.
func TestInteropDebugConfig(t *testing.T) {
	pcptest.Need(t, "pmcd")
	wanted := regexp.MustCompile(`^((HOST|USER|GROUP) ACCESS|Host access list|User access list|Group access list|pmgetconfig: PCP_(PMDAS_DIR|TLSCONF_PATH))`)
	look := func(program string) (lines []string) {
		p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd"}, Args: []string{"-D", "appl1,config"},
			Access: `disallow hosts "10.0.0.*", "127.0.0.1" : store; allow hosts "unix:" : all; allow hosts "*" : fetch, maximum 100 connections;
			allow users root : all; disallow groups root : all except fetch;`})
		p.Stop()
		agents := regexp.MustCompile(`PCP_PMDAS_DIR=.*`) // each has a directory of its own
		for line := range strings.SplitSeq(agents.ReplaceAllString(p.Log(), "PCP_PMDAS_DIR=DIR"), "\n") {
			if wanted.MatchString(line) && (!strings.HasPrefix(line, "pmget") || !slices.Contains(lines, line)) { // it may be asked for again
				lines = append(lines, line)
			}
		}
		slices.Sort(lines)
		return lines
	}
	want, got := look(""), look(pcptest.Build(t, "./examples/pmcd"))
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 13 {
		t.Errorf("%d lines (-C +Go):\n%s", len(want), diff)
	}
}
