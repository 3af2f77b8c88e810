package collector

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmns"
)

// noting returns the counterpart of testdata/versionagent.c: an agent that records how its
// functions are called.
func noting(notes io.Writer) *pmda.Agent {
	a := &pmda.Agent{Name: "versionagent", Domain: programDomain, ClientAttributes: true}
	pmda.Register(a, pmda.Metric[int32]{Name: "version.value",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
			fmt.Fprintln(notes, "fetch")
			return 7, nil
		}})
	a.OnRequest(func(context.Context, pdu.Kind, *pmda.Request) error { fmt.Fprintln(notes, "check"); return nil })
	a.OnReply(func(kind pdu.Kind, _ *pmda.Request) {
		if kind == pdu.KindFetch {
			fmt.Fprintln(notes, "result")
		}
		fmt.Fprintln(notes, "done")
	})
	a.OnEndClient(func(c *pmda.Client) { fmt.Fprintln(notes, "end", c.ID) })
	o := override.In(a)
	o.Labels = func(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
		fmt.Fprintln(notes, "label", uint32(of.Class))
		return o.Next.Labels(ctx, r, of)
	}
	o.PMID = func(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
		fmt.Fprintln(notes, "pmid", name)
		return 0, pdu.ErrName
	}
	o.Names = func(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
		fmt.Fprintln(notes, "name", id)
		return nil, pdu.ErrPMID
	}
	o.Children = func(_ context.Context, _ *pmda.Request, name string) ([]pmns.Child, error) {
		fmt.Fprintln(notes, "children", name, 0)
		return nil, pdu.ErrName
	}
	o.Traverse = func(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
		fmt.Fprintln(notes, "children", name, 1)
		return nil, pdu.ErrName
	}
	return a
}

// unanswered matches the calls of C agents for PDUs without a reply. C agents call their check
// and done callbacks for these, too.
var unanswered = regexp.MustCompile(`(?m)^check\n(?:profile\n|attr .*\n|(end .*\n))done\n`)

// TestInteropCallbacks runs the same dbpmda session with an agent of C's library and with one of
// ours. The functions of both agents must be called in the same order.
func TestInteropCallbacks(t *testing.T) {
	pcptest.Need(t, "dbpmda")
	dir := pcptest.ShortDir(t)
	program := pcptest.BuildC(t, filepath.Join("testdata", "versionagent.c"), "-lpcp_pmda", "-lpcp")
	names := filepath.Join(dir, "names")
	if err := os.WriteFile(names, []byte("root {\n\tversion\n}\nversion {\n\tvalue\t30:0:0\n\tdynamic\t30:*:*\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	play := func(agent string) (transcript, notes string) {
		file := filepath.Join(dir, "notes")
		defer os.Remove(file)
		out := pcptest.DBPMDA(t, pcptest.Session{Dir: dir, Names: names, Script: "open pipe " + agent + `
getdesc off
fetch version.value
fetch version.value version.value 30.0.9
desc version.value
desc 30.0.9
attr "username" "joe"
instance 30.1
text version.value
store version.value "3"
profile 30.1 none
fetch version.value
label context
label domain
label cluster 30.0
label item version.value
label indom 30.1
name 30.0.9
pmid version.dynamic.x
children version.dynamic
traverse version.dynamic
desc version.value
`})
		_, out, _ = strings.Cut(out, "\ndbpmda> getdesc")
		pcptest.Retry(t, func() string { // the agent ends after dbpmda
			b, err := os.ReadFile(file)
			if notes = unanswered.ReplaceAllString(string(b), "$1"); err != nil || !strings.HasSuffix(notes, "\nend 0\n") {
				return fmt.Sprintf("%v: %s", err, b)
			}
			return ""
		})
		return out, notes
	}
	want, wantNotes := play(program + " 7 4 " + filepath.Join(dir, "notes"))
	got, gotNotes := play(fmt.Sprintf("/usr/bin/env %s=noting=%s %s", programEnv, filepath.Join(dir, "notes"), os.Args[0]))
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Split(wantNotes, "\n"), strings.Split(gotNotes, "\n")); diff != "" {
		t.Errorf("calls (-C +Go):\n%s", diff)
	}
	if !strings.Contains(wantNotes, "check\nfetch\nresult\ndone\n") {
		t.Errorf("notes of PCP's agent:\n%s", wantNotes)
	}
}
