package collector_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

// versionNames has the names of the agent testdata/versionagent.c.
const versionNames = "root {\n\tversion\n}\nversion {\n\tvalue\t30:0:0\n\tdynamic\t30:*:*\n}\n"

// askAll sends requests of each kind to an agent of an interface version. It returns the replies,
// and the calls that the agent has recorded.
func askAll(t *testing.T, version int, host, notes string) string {
	t.Helper()
	c, err := pmapi.Dial(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := pdu.MakePMID(30, 0, 0)
	var got strings.Builder
	var r pdu.Result
	say := func(what string, v any, err error) {
		s := fmt.Sprint(v)
		if err != nil {
			s = pdu.FromError(err).Error()
		}
		fmt.Fprintf(&got, "%s: %s\n", what, s)
	}
	err = c.Fetch(t.Context(), []pdu.PMID{id}, &r)
	say("fetch", r.Len(), err)
	d, err := c.Desc(t.Context(), id)
	say("desc", d, err)
	text, err := c.Text(t.Context(), id, pdu.TextOneLine)
	say("text", text, err)
	domain, err := c.DomainLabels(t.Context(), 30)
	say("labels of the domain", string(domain.JSON), err)
	item, err := c.ItemLabels(t.Context(), id)
	say("labels of the item", string(item.JSON), err)
	say("store", "", c.Store(t.Context(), "version.value", 1))
	_, err = c.Lookup(t.Context(), []string{"version.dynamic.x"})
	say("pmid", "", err)
	_, err = c.Names(t.Context(), pdu.MakePMID(30, 0, 9))
	say("name", "", err)
	_, err = c.Children(t.Context(), "version.dynamic")
	say("children", "", err)
	names, err := c.Traverse(t.Context(), "version.dynamic")
	say("traverse", names, err)
	c.Close()
	pcptest.Retry(t, func() string { // until the agent has learned of the end of this client
		b, err := os.ReadFile(notes)
		_, after, _ := strings.Cut(string(b), "\nchildren version.dynamic 1\n")
		if version >= 5 && !strings.Contains(after, "\nend ") {
			return fmt.Sprintf("%v: %s", err, b)
		}
		return ""
	})
	c, err = pmapi.Dial(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 { // the second one shows that the first is complete
		err = c.Fetch(t.Context(), []pdu.PMID{id}, &r)
		say("fetch", r.Len(), err)
	}
	var b []byte
	pcptest.Retry(t, func() string { // the agent writes its notes after the reply
		if b, err = os.ReadFile(notes); err != nil || strings.Count(string(b), "result\ndone\n") != 3 {
			return fmt.Sprintf("%v: %s", err, b)
		}
		return ""
	})
	return got.String() + normalNotes(string(b))
}

// normalNotes returns the notes of an agent without what may vary: the numbers of clients, the
// order of their attributes, and the ends of clients that the agent does not know, which pmcd also
// reports. A check alone belongs to a profile, or to an end of a client below version 5.
func normalNotes(text string) string {
	if i := strings.Index(text, "check\nfetch"); !strings.Contains(text[:i], "attr") {
		text = text[i:]
	} else {
		text = text[strings.Index(text, "check\nattr"):]
	}
	var lines []string
	attrs := 0 // the number of lines of attributes at the end
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch f[0] {
		case "check", "done", "profile":
			continue
		case "attr":
			line = "attr " + f[2] + "\n"
			attrs++
			lines = append(lines, line)
			slices.Sort(lines[len(lines)-attrs:])
			continue
		case "end":
			line = "end\n"
		}
		lines, attrs = append(lines, line), 0
	}
	return strings.Join(lines, "")
}

// TestInteropVersions runs agents of C's library, of all interface versions, under our collector
// and under C pmcd. The agents must get the same calls, and clients the same replies.
func TestInteropVersions(t *testing.T) {
	pcptest.Need(t, "pmcd")
	program := pcptest.BuildC(t, filepath.Join("testdata", "versionagent.c"), "-lpcp_pmda", "-lpcp")
	const auth = 4
	for version := 2; version <= 7; version++ {
		for _, how := range []struct {
			network string // of a socket; empty is a pipe
			flags   int
		}{{"", 0}, {"", auth}, {[]string{"unix", "inet"}[version%2], auth}} {
			t.Run(strings.TrimSpace(fmt.Sprintf("version %d, flags %d %s", version, how.flags, how.network)), func(t *testing.T) {
				t.Parallel()
				dir := pcptest.ShortDir(t)
				agent := func(notes string) (conf pmcdconf.Agent, line string) {
					conf = pmcdconf.Agent{Name: "version", Domain: 30, Kind: "pipe",
						Argv: []string{program, strconv.Itoa(version), strconv.Itoa(how.flags), filepath.Join(dir, notes)}}
					line = "pipe binary"
					if how.network != "" {
						conf.Kind, conf.Network, conf.Address = "socket", how.network, filepath.Join(dir, notes+".s")
						if how.network == "inet" {
							conf.Port = pcptest.FreePort(t)
							conf.Address = strconv.Itoa(conf.Port)
						}
						conf.Argv = append(conf.Argv, how.network, conf.Address)
						line = "socket " + how.network + " " + conf.Address
					}
					return conf, "version 30 " + line + " " + strings.Join(conf.Argv, " ")
				}
				_, line := agent("c")
				c := pcptest.StartPMCD(t, pcptest.Config{PMNS: versionNames, Agents: []string{line}})
				names, err := pmns.Parse("names", strings.NewReader(versionNames))
				if err != nil {
					t.Fatal(err)
				}
				s := collectortest.CloseAtEnd(t, &collector.Server{Names: names})
				_, unix := serveForTools(t, s)
				conf, _ := agent("go")
				if err := s.StartAgent(conf); err != nil {
					t.Fatal(err)
				}
				want := askAll(t, version, "unix://"+c.Socket(), filepath.Join(dir, "c"))
				got := askAll(t, version, unix, filepath.Join(dir, "go"))
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("under C pmcd and ours (-C +Go):\n%s", diff)
				}
			})
		}
	}
}
