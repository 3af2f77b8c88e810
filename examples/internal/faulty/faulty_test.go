package faulty

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

func runner(t *testing.T) *toolcmp.Runner {
	pcptest.Need(t, "pminfo", "pmprobe", "pmstore")
	return &toolcmp.Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}
}

// TestLines compares the output of PCP's tools and ours for the agent.
func TestLines(t *testing.T) {
	r := runner(t)
	tables, err := filepath.Glob("testdata/*.lines")
	if err != nil || tables == nil {
		t.Fatalf("no tables: %v", err)
	}
	for _, table := range tables {
		t.Run(strings.TrimSuffix(filepath.Base(table), ".lines"), func(t *testing.T) {
			lines, err := toolcmp.ReadTable(table, map[string]string{"O": Start(t)})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lines {
				switch diff := r.Compare(t, l); {
				case l.Differs == "" && diff != "":
					t.Errorf("%s\n(-PCP +ours):\n%s", l, diff)
				case l.Differs != "" && diff == "":
					t.Errorf("%s\nno longer differs: %s", l, l.Differs)
				}
			}
		})
	}
}

// TestFaults compares what PCP's tools and ours print when a request fails. Where ours need fewer
// requests than PCP's, or make them in another order, the lines need only one of the kind.
func TestFaults(t *testing.T) {
	r := runner(t)
	collector := Start(t)
	kinds := map[string][]pdu.Kind{
		"traverse": {pdu.KindPMNSTraverse}, "lookup": {pdu.KindPMNSNames}, "names": {pdu.KindPMNSIDs},
		"fetch": {pdu.KindFetch, pdu.KindHighResFetch}, "desc": {pdu.KindDescReq, pdu.KindDescIDs},
		"instances": {pdu.KindInstanceReq}, "text": {pdu.KindTextReq}, "store": {pdu.KindResult}, "labels": {pdu.KindLabelReq},
	}
	for _, tt := range []struct {
		kind  string
		n     int
		lines string
	}{
		{"traverse", 1, `pminfo;pminfo -v;pminfo -f odd.half odd.named odd.desc;pmprobe;pmprobe -v odd.half odd.named odd.desc;pmprobe -F`},
		{"traverse", 2, `pminfo -f odd.named odd.half odd.desc;pmprobe -I odd.named odd.half odd.desc`},
		{"lookup", 1, `pminfo -f odd.half odd.named;pminfo -m odd.half odd.named;pminfo odd.half;pmprobe odd.half odd.named;pmprobe -F odd.half odd.nosuch;
			pmprobe -fi odd.half;pmstore -Fi zero odd.store.some 5`},
		{"lookup", 2, `pminfo -b 1 -m odd.named odd.desc.odd`},
		{"names", 1, `pminfo 245.0.1;pminfo -f 245.0.1 odd.half`},
		{"fetch", 1, `pminfo -f odd.half odd.named;pminfo -b 1 -f odd.named;pminfo -v odd.half odd.named;pmprobe odd.half odd.named;pmprobe -b 2 -v odd.named odd.half;
			pmprobe -fI odd.half;pmstore odd.store.some 5`},
		{"fetch", 2, `pminfo -b 1 -f odd.named odd.desc.odd;pmprobe -b 2 odd.named odd.half odd.desc;pmstore odd.store.some 5;pmstore -F odd.store.some 5`},
		{"desc", 1, `pminfo -d odd.half;pminfo -f odd.half;pminfo -v odd.half;pminfo -t odd.half;pmprobe -v odd.half;pmprobe -fi odd.half;pmprobe odd.half;pmstore odd.store.some 5`},
		{"instances", 1, `pminfo -f odd.half;pminfo -F odd.half;pminfo -f odd.named;pmprobe -I odd.half;pmprobe -i odd.half;pmprobe -fI odd.half;pmprobe odd.half;
			pmstore -i zero odd.store.some 5`},
		{"text", 1, `pminfo -t odd.named odd.newlines;pminfo -T odd.named;pminfo -T odd.half;pminfo -d odd.named`},
		{"store", 1, `pmstore odd.store.some 5;pmstore -F -i zero odd.store.some 5`},
		{"labels", 1, `pminfo -f odd.half;pmprobe -v odd.half`},
	} {
		for _, code := range []pdu.Error{pdu.ErrAgain, 0} {
			host := Fault{Kinds: kinds[tt.kind], N: tt.n, Code: code}.Start(t, collector)
			for line := range strings.SplitSeq(tt.lines, ";") {
				if strings.HasPrefix(line, "pminfo -b 1") && code == 0 {
					continue // PCP's has made fewer requests when the connection breaks
				}
				compareAt(t, r, collector, host, line, tt.kind, code)
			}
		}
	}
}

// TestFeatures compares PCP's tools and ours with collectors that lack a feature.
func TestFeatures(t *testing.T) {
	r := runner(t)
	collector := Start(t)
	for _, hidden := range []pdu.Features{pdu.FeatureLabels, pdu.FeatureHighRes, pdu.FeatureDescs, 0xffff} {
		host := Fault{Hidden: hidden}.Start(t, collector)
		for line := range strings.SplitSeq(`pminfo -l odd.half odd.named;pminfo -s odd.named odd.store.some;pminfo -dmtTf odd.half odd.nothing odd.named;
			pmprobe -v odd.half odd.nothing odd.named;pmstore -F odd.store.some 5`, ";") {
			compareAt(t, r, collector, host, line, "without", hidden)
		}
	}
}

// compareAt compares the tools on a line, which lacks the host. Before each run the agent has its
// first values.
func compareAt(t *testing.T, r *toolcmp.Runner, collector, host, line string, what ...any) {
	t.Helper()
	args := strings.Fields(line)
	before := [][]string{{"pmstore", "-h", collector, "odd.store.u32", "999"}}
	l := toolcmp.Line{Before: before, Place: host, Text: line, Args: append([]string{args[0], "-h", host}, args[1:]...)}
	if diff := r.Compare(t, l); diff != "" {
		t.Errorf("%s, %v (-PCP +ours):\n%s", strings.TrimSpace(line), what, diff)
	}
}
