package pmdalinux_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// TestLabels compares the labels of all our metrics, instance domains and
// instances with those of the C agent, on this machine.
func TestLabels(t *testing.T) {
	their, our := cAgent(t, ""), ourAgent(t, "")
	names := slices.DeleteFunc(commonMetrics(t, our, their), func(n string) bool {
		return our.desc(n).PMID.Domain() != pmdalinux.Domain
	})
	// Devices may come and go between the two snapshots.
	var diff string
	for range 3 {
		if diff = cmp.Diff(their.labels(names), our.labels(names)); diff == "" {
			return
		}
	}
	t.Error("(-theirs +ours)\n", diff)
}

// desc returns the descriptor of a metric.
func (s agentClient) desc(name string) pdu.Desc {
	s.t.Helper()
	ids, err := s.Lookup(s.t.Context(), []string{name})
	if err != nil {
		s.t.Fatal(name, err)
	}
	d, err := s.Desc(s.t.Context(), ids[0])
	if err != nil {
		s.t.Fatal(name, err)
	}
	return d
}

// labels returns the labels of metrics by level: domain, clusters, metrics, instance domains and
// instances.
func (s agentClient) labels(names []string) map[string]string {
	s.t.Helper()
	ctx := s.t.Context()
	s.snapshot(names) // the C agent has no instances before the first fetch
	all := map[string]string{}
	one := func(what string) func(pdu.LabelSet, error) {
		return func(set pdu.LabelSet, err error) {
			if err != nil {
				s.t.Fatal(what, err)
			}
			all[what] = fmt.Sprint(set, set.Err)
		}
	}
	one("domain")(s.DomainLabels(ctx, pmdalinux.Domain))
	for _, name := range names {
		d := s.desc(name)
		one(name)(s.ItemLabels(ctx, d.PMID))
		one(fmt.Sprint("cluster ", d.PMID.Cluster()))(s.ClusterLabels(ctx, d.PMID))
		domain := fmt.Sprint("instance domain ", d.InDom)
		if _, done := all[domain]; done || d.InDom == pdu.NoInDom {
			continue
		}
		one(domain)(s.InDomLabels(ctx, d.InDom))
		sets, err := s.InstanceLabels(ctx, d.InDom)
		// The C agent has no instances for a file that only root may read.
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			s.t.Fatal(domain, err)
		}
		for _, set := range sets {
			all[fmt.Sprint("instance ", set.Inst, " of ", d.InDom)] = set.String()
		}
	}
	return all
}
