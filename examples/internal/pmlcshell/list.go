package pmlcshell

import (
	"context"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A metric is one in the list of a request.
type metric struct {
	name  string // for printing
	desc  pdu.Desc
	all   bool // instances
	insts []pdu.InstID
	names []pdu.Instance // of its instance domain, when they are needed
}

// newMetric returns a metric of a request. It escapes names of collectors, so that they cannot
// control the terminal.
func newMetric(name string, desc pdu.Desc) *metric {
	return &metric{name: terminal.EscapeName(name), desc: desc}
}

func (m *metric) singular() bool { return m.desc.InDom == pdu.NoInDom }

// A metricList collects the metrics of a request.
type metricList struct {
	*Shell
	line    func() int
	metrics []*metric
	spec    []*metric // of the name that was read last
	fresh   bool      // no instance of it has been read
	bad     bool      // the request is not made
	err     error     // the first failure of a look-up, which pmlc(1) reports for all names after it, too
}

// add adds the metrics with or below a name.
func (l *metricList) add(ctx context.Context, name string) {
	l.spec, l.fresh = nil, true
	if l.err == nil {
		l.err = l.lookup(ctx, name)
	}
	if l.err == nil && len(l.metrics) > 0 { // as in C, a name without metrics is passed over if it is not the first
		return
	}
	l.bad = true
	l.errorf("Warning", l.line(), "Problem with lookup for metric \"%s\" ...", name)
	if l.err != nil {
		l.warnf("Reason: %v\n", pdu.FromError(l.err))
		return
	}
	l.err = pdu.ErrPMID
}

// lookup finds the metrics of a name. It leaves out metrics that the agent does not know.
func (l *metricList) lookup(ctx context.Context, name string) error {
	pc := l.Shell.metrics
	names, err := pc.Traverse(ctx, name)
	if err != nil {
		return err
	}
	ids, err := pc.Lookup(ctx, names)
	if ids == nil {
		return err
	}
	for i, id := range ids {
		if pmapi.ErrorAt(err, i) != nil || id == pdu.NoPMID {
			continue
		}
		at := slices.IndexFunc(l.metrics, func(m *metric) bool { return m.desc.PMID == id })
		if at >= 0 {
			if !slices.Contains(l.spec, l.metrics[at]) { // by another name
				l.spec = append(l.spec, l.metrics[at])
			}
			continue
		}
		desc, err := pc.Desc(ctx, id)
		switch {
		case err != nil && pdu.FromError(err) != pdu.ErrPMID:
			return err
		case err != nil || desc.Type == pdu.TypeNoSupport:
			continue
		}
		m := newMetric(names[i], desc)
		l.metrics, l.spec = append(l.metrics, m), append(l.spec, m)
	}
	return nil
}

// all ends a name without instances.
func (l *metricList) all() {
	for _, m := range l.spec {
		switch {
		case m.all && m.singular():
			l.warnf("Warning: %s has already been specified\n", m.name)
		case m.all:
			l.warnf("Warning: already using all instances for %s\n", m.name)
		case len(m.insts) > 0:
			l.warnf("Warning: %s had instance(s) specified previously.\n         Using all instances since none specified this time\n", m.name)
		}
		m.all, m.insts = true, nil
	}
}

// some ends a name with instances.
func (l *metricList) some() {
	if l.err != nil {
		return
	}
	for _, m := range l.spec {
		if m.all {
			l.warnf("Warning: instance(s) specified for %s\n         (already using all instances)\n", m.name)
		}
	}
}

// addInstance adds an instance to the metrics of a name. The instance has a name, or a number if
// name is empty.
func (l *metricList) addInstance(ctx context.Context, name string, number int32) {
	if l.err != nil || len(l.spec) == 0 {
		return
	}
	if l.fresh && !l.sameInDom() {
		l.bad, l.err = true, pdu.ErrInDom
		return
	}
	l.fresh = false
	for _, m := range l.spec {
		if err := l.addTo(ctx, m, name, number); err != nil {
			l.bad, l.err = true, err
			return
		}
	}
}

// sameInDom checks that the metrics of a name have the same instance domain.
func (l *metricList) sameInDom() bool {
	first, ok, told := l.spec[0], true, false
	for _, m := range l.spec {
		switch {
		case m.singular():
			l.warnf("Error: %s has no instance domain but an instance was specified\n", m.name)
			ok = false
		case m.desc.InDom != first.desc.InDom:
			if !told {
				l.warnf("Error: different instance domains:\n    %s (%s)\n", first.name, indomText(first.desc.InDom))
			}
			l.warnf("    %s (%s)\n", m.name, indomText(m.desc.InDom))
			ok, told = false, true
		}
	}
	return ok
}

func indomText(d pdu.InDom) string {
	if d == pdu.NoInDom {
		return "PM_INDOM_NULL"
	}
	return d.String()
}

// addTo adds an instance to a metric.
func (l *metricList) addTo(ctx context.Context, m *metric, name string, number int32) error {
	if err := l.instances(ctx, m); err != nil {
		return err
	}
	at := slices.IndexFunc(m.names, func(i pdu.Instance) bool {
		if name == "" {
			return i.ID == pdu.InstID(number)
		}
		return strings.EqualFold(i.Name, name)
	})
	switch {
	case at < 0 && m.all && name != "":
		l.warnf("Warning: instance name %s not currently in metric %s's instance domain\n         (getting all instances anyway)\n", name, m.name)
	case at < 0 && m.all:
		l.warnf("Warning: instance number %d not currently in metric %s's instance domain\n         (getting all instances anyway)\n", number, m.name)
	case at < 0:
		l.noInstance(m, name, number)
		return pdu.ErrInst
	case m.all:
	case slices.Contains(m.insts, m.names[at].ID) && name != "":
		l.warnf("Warning: instance name %s already specified for metric %s\n", name, m.name)
	case slices.Contains(m.insts, m.names[at].ID):
		l.warnf("Warning: instance number %d already specified for %s\n", number, m.name)
	default:
		m.insts = append(m.insts, m.names[at].ID)
	}
	return nil
}

// noInstance reports an instance that does not exist. The first time it also prints an explanation.
func (l *metricList) noInstance(m *metric, name string, number int32) {
	if name != "" {
		l.warnf("Error: metric %s currently has no instance named %s\n", m.name, name)
	} else {
		l.warnf("Error: metric %s currently has no instance number %d\n", m.name, number)
	}
	if !l.hinted {
		l.warnf("    - you may only specify metric instances active now.  However if no\n" +
			"      instances are specified, pmlogger will use all of the instances\n" +
			"      available at the time the metric is logged\n")
		l.hinted = true
	}
}

// instances requests the instance domain of a metric.
func (s *Shell) instances(ctx context.Context, m *metric) error {
	if m.names != nil || m.singular() {
		return nil
	}
	var err error
	m.names, err = s.metrics.Instances(ctx, m.desc.InDom)
	return err
}
