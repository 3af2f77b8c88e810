//go:build unix

package mmv_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/mmv"
)

// A model is a registry and what its values must be, by metric and instance.
type model struct {
	dir       string
	reg       mmv.Registry
	domains   []*mmv.InDom
	vecs      map[string]*mmv.Vec[mmv.Counter]
	texts     map[string]*mmv.Vec[mmv.Text]
	domainOf  map[string]int // of metrics
	want      map[string]map[string]string
	published bool
}

// TestModel registers, sets, removes, publishes and closes in random order. Readers always see
// the values.
func TestModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{dir: dir, vecs: make(map[string]*mmv.Vec[mmv.Counter]), texts: make(map[string]*mmv.Vec[mmv.Text]),
			domainOf: make(map[string]int), want: make(map[string]map[string]string)}
		m.reg.Name, m.reg.Process = "model", mmv.ProcessOn
		defer m.reg.Close()
		for range 2 {
			m.domains = append(m.domains, m.reg.InDom(fmt.Sprint("d", len(m.domains)), mmv.Domain{Text: "A domain"}))
		}
		t.Repeat(map[string]func(*rapid.T){
			"counter": m.addCounter, "text": m.addText, "update": m.update, "remove": m.remove, "label": m.label,
			"publish": m.publish, "close": m.close, "": m.check,
		})
	})
}

func (m *model) register(t *rapid.T) (name string, d *mmv.InDom, spec mmv.Metric) {
	n := rapid.IntRange(0, len(m.domains)-1).Draw(t, "domain")
	name = fmt.Sprintf("m%d.%s", len(m.domainOf), rapid.StringMatching(`[a-z]{1,70}`).Draw(t, "name"))
	m.domainOf[name], m.want[name] = n, make(map[string]string)
	return name, m.domains[n], mmv.Metric{Text: rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "text")}
}

func (m *model) addCounter(t *rapid.T) {
	name, d, spec := m.register(t)
	m.vecs[name] = d.Counter(name, spec)
}

func (m *model) addText(t *rapid.T) {
	name, d, spec := m.register(t)
	m.texts[name] = d.Text(name, spec)
}

var instanceNames = rapid.StringMatching(`[a-d]{1,2}`)

func (m *model) update(t *rapid.T) {
	for name := range maps.Keys(m.want) {
		inst := instanceNames.Draw(t, "instance")
		if v := m.vecs[name]; v != nil {
			v.With(inst).Inc()
			m.want[name][inst] = fmt.Sprint(v.With(inst).Value())
		} else {
			s := rapid.StringMatching(`[a-z]{0,20}`).Draw(t, "string")
			m.texts[name].With(inst).Set(s)
			m.want[name][inst] = fmt.Sprintf("%q", s)
		}
	}
}

func (m *model) remove(t *rapid.T) {
	n, inst := rapid.IntRange(0, len(m.domains)-1).Draw(t, "domain"), instanceNames.Draw(t, "instance")
	m.domains[n].Remove(inst)
	for name, values := range m.want {
		if m.domainOf[name] == n {
			delete(values, inst)
		}
	}
}

func (m *model) label(t *rapid.T) { m.reg.AddLabels(mmv.Labels{"label": rapid.Int().Draw(t, "value")}) }

func (m *model) publish(t *rapid.T) {
	if err := m.reg.Publish(m.dir); err != nil {
		t.Fatal(err)
	}
	m.published = true
}

func (m *model) close(t *rapid.T) {
	if err := m.reg.Close(); err != nil {
		t.Fatal(err)
	}
	m.published = false
}

func (m *model) check(t *rapid.T) {
	if err := m.reg.Err(); err != nil {
		t.Fatal(err)
	}
	m.compare(t, "source", func() (*mmv.File, error) { return mmv.Read(m.reg.Source()) })
	path := filepath.Join(m.dir, "model")
	if m.published {
		m.compare(t, "file", func() (*mmv.File, error) { return mmv.Open(path) })
	} else if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("a file after Close: %v", err)
	}
}

func (m *model) compare(t *rapid.T, what string, open func() (*mmv.File, error)) {
	f, err := open()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer f.Close()
	s, err := f.Snapshot(time.Now())
	if err != nil || len(f.Problems) > 0 {
		t.Fatalf("%s: %v %v", what, err, f.Problems)
	}
	got := make(map[string]map[string]string)
	for _, metric := range s.Metrics {
		values := make(map[string]string)
		for _, v := range metric.Values {
			values[v.Instance.Name] = v.Value.String()
		}
		got[metric.Metric.Name] = values
	}
	if diff := cmp.Diff(m.want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
