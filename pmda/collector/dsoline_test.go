package collector

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// TestLabelsOfDSO checks that the program of a "dso" line without labels gets those that pmcd gives
// the shared object.
func TestLabelsOfDSO(t *testing.T) {
	own, err := pdu.MakeLabels(pdu.LabelDomain, map[string]string{"agent": "own"}, false)
	if err != nil {
		t.Fatal(err)
	}
	known := []pdu.LabelSet{own}
	other := errors.New("other")
	dso := &agent{conf: pmcdconf.Agent{Kind: "dso"}}
	inProcess := &agent{conf: dso.conf, local: &collectortest.Agent{}}
	pipe := &agent{conf: pmcdconf.Agent{Kind: "pipe"}}
	for _, tt := range []struct {
		name  string
		agent *agent
		label string // of the configuration
		class pdu.LabelClass
		sets  []pdu.LabelSet
		err   error
		want  string
		errs  error
	}{
		{"none", dso, "jbd2", pdu.LabelDomain, nil, pdu.ErrNoLabels, `{"agent":"jbd2"}`, nil},
		{"none, empty", dso, "jbd2", pdu.LabelDomain, nil, nil, `{"agent":"jbd2"}`, nil},
		{"prefix", dso, "pmdajbd2 DSO", pdu.LabelDomain, nil, nil, `{"agent":"jbd2"}`, nil},
		{"quotes", dso, `a"b`, pdu.LabelDomain, nil, nil, `{"agent":"a\"b"}`, nil},
		{"of a metric", dso, "jbd2", pdu.LabelItem, nil, pdu.ErrNoLabels, "", nil},
		{"its own", dso, "jbd2", pdu.LabelDomain, known, nil, `{"agent":"own"}`, nil},
		{"other error", dso, "jbd2", pdu.LabelDomain, nil, other, "", other},
		{"pipe", pipe, "jbd2", pdu.LabelDomain, nil, pdu.ErrNoLabels, "", pdu.ErrNoLabels},
		{"in this process", inProcess, "jbd2", pdu.LabelDomain, nil, pdu.ErrNoLabels, "", pdu.ErrNoLabels},
	} {
		tt.agent.setName(tt.label)
		sets, err := tt.agent.labelsOfDSO(tt.class, tt.sets, tt.err)
		got := ""
		for _, s := range sets {
			got += string(s.JSON)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.errs) || (err == nil) != (tt.errs == nil) {
			t.Errorf("%s: error %v, want %v (-want +got):\n%s", tt.name, err, tt.errs, diff)
		}
	}
}
