package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// metadata is the metadata of a Reader's metrics at one time.
type metadata struct {
	context pdu.LabelSet
	host    string
	metrics []*Metric
	ids     []pdu.PMID // of the metrics
	indoms  map[pdu.InDom]*InDom
	fetches uint64 // number of fetches that named instances
	errs    []error
}

// readMetadata requests the metadata of a Reader. It returns an error that concerns the whole
// source, and keeps the errors of single metrics.
func readMetadata(ctx context.Context, r *Reader) (*metadata, error) {
	m := &metadata{indoms: map[pdu.InDom]*InDom{}}
	names, err := m.names(ctx, r)
	if err != nil || len(names) == 0 {
		return m, err
	}
	if err := m.describe(ctx, r, names); err != nil || len(m.ids) == 0 {
		return m, err
	}
	if err := m.texts(ctx, r.Context); err != nil {
		return nil, err
	}
	if err := m.labels(ctx, r.Context); err != nil {
		return nil, err
	}
	var ok bool
	if m.host, ok = m.context.Lookup("hostname"); !ok {
		m.host = r.Context.HostName(ctx)
	}
	return m, nil
}

// names returns the names of all metrics below those of the Reader, each once.
func (m *metadata) names(ctx context.Context, r *Reader) ([]string, error) {
	roots := r.Names
	if len(roots) == 0 {
		roots = []string{""}
	}
	var names []string
	seen := map[string]bool{}
	for _, root := range roots {
		below, err := r.Context.Traverse(ctx, root)
		if err := m.keep(err); err != nil {
			return nil, err
		}
		for _, name := range below {
			if !seen[name] {
				seen[name] = true
				names = append(names, strings.Clone(name)) // the name may share the memory of a whole reply
			}
		}
	}
	return names, nil
}

// itemCodes are the errors that concern one name, metric or instance domain. They do not include
// pdu.ErrTimeout, because the collector may be silent as well as an agent.
var itemCodes = []pdu.Error{pdu.ErrName, pdu.ErrNonLeaf, pdu.ErrPMID, pdu.ErrNoAgent, pdu.ErrInDom, pdu.ErrText, pdu.ErrNoLabels, pdu.ErrAgain}

// keep keeps an error about one item, and returns any other error.
func (m *metadata) keep(err error) error {
	if err == nil {
		return nil
	}
	if err := ignoreItem(err); err != nil {
		return err
	}
	m.errs = append(m.errs, err)
	return nil
}

// ignoreItem returns err unless it is about one item.
func ignoreItem(err error) error {
	if slices.ContainsFunc(itemCodes, func(code pdu.Error) bool { return errors.Is(err, code) }) {
		return nil
	}
	return err
}

// keepItems keeps the errors of single items. Any other error is that of the whole request, which
// then has no results.
func (m *metadata) keepItems(err error) error {
	bulk, ok := errors.AsType[*pmapi.BulkError](err)
	if !ok {
		return err
	}
	for _, err := range bulk.Unwrap() {
		if !errors.Is(err, pdu.ErrText) && !errors.Is(err, pdu.ErrNotHost) { // an archive without texts has the second
			m.errs = append(m.errs, err)
		}
	}
	return nil
}

// describe looks names up and describes their metrics, each under its first name.
func (m *metadata) describe(ctx context.Context, r *Reader, names []string) error {
	all, err := r.Context.Lookup(ctx, names)
	if err := m.keepItems(err); err != nil {
		return err
	}
	first := make(map[pdu.PMID]string, len(all))
	var ids []pdu.PMID
	for i, id := range all {
		if _, known := first[id]; !known && id != pdu.NoPMID {
			first[id] = names[i]
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	descs, err := r.Context.Descs(ctx, ids)
	if err := m.keepItems(err); err != nil {
		return err
	}
	for i, desc := range descs {
		name := first[ids[i]]
		if ids[i] == pdu.EventFlagsPMID || ids[i] == pdu.EventMissedPMID {
			continue // they stand for parts of event records, and never have values
		}
		if desc.PMID == pdu.NoPMID || r.Keep != nil && !r.Keep(name, desc) {
			continue
		}
		m.metrics = append(m.metrics, &Metric{Name: name, Desc: desc, InDom: m.indom(desc.InDom)})
		m.ids = append(m.ids, desc.PMID)
	}
	return nil
}

func (m *metadata) indom(id pdu.InDom) *InDom {
	if id == pdu.NoInDom {
		return nil
	}
	d := m.indoms[id]
	if d == nil {
		d = &InDom{ID: id}
		m.indoms[id] = d
	}
	return d
}

func (m *metadata) texts(ctx context.Context, c *pmapi.Context) error {
	lines, err := c.Texts(ctx, m.ids, pdu.TextOneLine)
	if err := m.keepItems(err); err != nil {
		return err
	}
	help, err := c.Texts(ctx, m.ids, pdu.TextHelp)
	if err := m.keepItems(err); err != nil {
		return err
	}
	for i, metric := range m.metrics {
		metric.Line, metric.Help = lines[i], help[i]
	}
	return nil
}

// labels requests the labels of each domain, instance domain and cluster once, and then the
// labels of all metrics.
func (m *metadata) labels(ctx context.Context, c *pmapi.Context) error {
	var err error
	if m.context, err = c.ContextLabels(ctx); errors.Is(err, pdu.ErrNoLabels) {
		return nil
	} else if err := m.keep(err); err != nil {
		return err
	}
	levels := map[any]pdu.LabelSet{} // by domain, instance domain, and a PMID with item 0 for the cluster
	level := func(key any, ask func() (pdu.LabelSet, error)) (pdu.LabelSet, error) {
		if set, known := levels[key]; known {
			return set, nil
		}
		set, err := ask()
		levels[key] = set
		return set, m.keep(err)
	}
	var own []*Metric // all except derived metrics, which have no labels
	var ids []pdu.PMID
	for i, metric := range m.metrics {
		if m.ids[i].Domain() != pdu.DynamicDomain {
			own, ids = append(own, metric), append(ids, m.ids[i])
		}
	}
	if len(ids) == 0 {
		return nil
	}
	items, err := c.ItemLabelSets(ctx, ids)
	if err := m.keepItems(err); err != nil {
		return err
	}
	for i, metric := range own {
		id := metric.Desc.PMID
		domain, err := level(id.Domain(), func() (pdu.LabelSet, error) { return c.DomainLabels(ctx, id.Domain()) })
		if err != nil {
			return err
		}
		var indom pdu.LabelSet
		if d := metric.InDom; d != nil {
			if indom, err = level(d.ID, func() (pdu.LabelSet, error) { return c.InDomLabels(ctx, d.ID) }); err != nil {
				return err
			}
		}
		cluster := pdu.MakePMID(id.Domain(), id.Cluster(), 0)
		ofCluster, err := level(cluster, func() (pdu.LabelSet, error) { return c.ClusterLabels(ctx, id) })
		if err != nil {
			return err
		}
		if metric.Labels, err = pdu.MergeLabels(nil, domain, indom, ofCluster, items[i]); err != nil {
			m.errs = append(m.errs, fmt.Errorf("labels of %s: %w", metric.Name, err))
		}
	}
	return nil
}

// nameHost adds a label hostname to a context without one, from the label of the archive.
func (m *metadata) nameHost() error {
	if _, ok := m.context.Lookup("hostname"); ok {
		return nil
	}
	host, err := json.Marshal(m.host)
	if err != nil {
		return err
	}
	named, err := pdu.ParseLabels(pdu.LabelContext, `{"hostname":`+string(host)+`}`, false)
	if err != nil {
		return err
	}
	m.context, err = pdu.MergeLabels(nil, named, m.context)
	return err
}

// nameInstances requests the names and labels of each domain that has a value with an unknown
// instance.
func (m *metadata) nameInstances(ctx context.Context, c *pmapi.Context, s *Snapshot) error {
	m.fetches++
	for metric, values := range s.All() {
		d := metric.InDom
		if d == nil || d.readFor == m.fetches {
			continue
		}
		for i := range values.Len() {
			if d.instances[values.Inst(i)] != nil {
				continue
			}
			if err := m.readInstances(ctx, c, d); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// readInstances reads the instances of a domain. An unchanged instance keeps its *Instance.
func (m *metadata) readInstances(ctx context.Context, c *pmapi.Context, d *InDom) error {
	d.readFor = m.fetches
	list, err := c.Instances(ctx, d.ID)
	if err != nil {
		return ignoreItem(err) // instances without names have their numbers
	}
	labels := map[pdu.InstID]pdu.LabelSet{}
	sets, err := c.InstanceLabels(ctx, d.ID)
	if err := ignoreItem(err); err != nil {
		return err
	}
	for _, set := range sets {
		labels[set.Inst] = set
	}
	now := make(map[pdu.InstID]*Instance, len(list))
	for _, inst := range list {
		set, ok := labels[inst.ID]
		if !ok {
			set.Inst = inst.ID
		}
		old := d.instances[inst.ID]
		if old != nil && old.Name == inst.Name && slices.Equal(old.Labels.JSON, set.JSON) {
			now[inst.ID] = old
			continue
		}
		now[inst.ID] = &Instance{ID: inst.ID, Name: strings.Clone(inst.Name), Labels: set}
	}
	d.instances = now
	return nil
}
