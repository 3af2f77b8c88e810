package logextract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// epoch is the start of the archives of tests.
var epoch = time.Unix(1_700_000_000, 0)

// at returns the time that is seconds after epoch.
func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds*1e6) * time.Microsecond)
}

var (
	singleID, manyID, textID = pdu.MakePMID(60, 0, 1), pdu.MakePMID(60, 0, 2), pdu.MakePMID(60, 1, 3)
	indomID                  = pdu.MakeInDom(60, 7)
	single                   = archive.Metric{Desc: pdu.Desc{PMID: singleID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, Names: []string{"a.single"}}
	many                     = archive.Metric{Desc: pdu.Desc{PMID: manyID, Type: pdu.TypeU64, InDom: indomID, Sem: pdu.SemCounter}, Names: []string{"a.many"}}
	text                     = archive.Metric{Desc: pdu.Desc{PMID: textID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, Names: []string{"b.text", "c.text"}}
)

// A builder makes an archive in a directory of the test.
type builder struct {
	*archive.Writer
	t testing.TB
}

// build begins an archive with the three metrics.
func build(t testing.TB, base string, version int) *builder {
	t.Helper()
	w, err := archive.WriterOptions{Label: archive.Label{Version: version, PID: 42, Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{w, t}
	for _, m := range []archive.Metric{single, many, text} {
		b.check(w.WriteMetric(m))
	}
	return b
}

func (b *builder) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// instances records the instances ids of the domain.
func (b *builder) instances(t time.Time, ids ...pdu.InstID) {
	b.t.Helper()
	var list []pdu.Instance
	for _, id := range ids {
		list = append(list, pdu.Instance{ID: id, Name: fmt.Sprintf("inst-%d of %d", id, len(ids))})
	}
	b.check(b.WriteInDom(archive.InDomRecord{Time: t, InDom: indomID, Instances: list}))
}

// labels records a label set of the context.
func (b *builder) labels(t time.Time, value string) {
	b.t.Helper()
	set := pdu.LabelSet{Inst: pdu.NoInst, JSON: fmt.Appendf(nil, `{"a":"%s"}`, value),
		Labels: []pdu.Label{{NameOff: 2, NameLen: 1, ValueOff: 5, ValueLen: uint16(len(value) + 2)}}}
	b.check(b.WriteLabels(archive.LabelRecord{Time: t, Class: pdu.LabelContext, Ident: 0xffffffff, Sets: []pdu.LabelSet{set}}))
}

// values records values of all metrics. The value of an instance is its ID.
func (b *builder) values(t time.Time, n uint32, ids ...pdu.InstID) {
	b.t.Helper()
	w := pdu.ResultWriter{Time: t}
	w.Begin(singleID)
	w.Uint32(pdu.NoInst, n)
	w.Begin(manyID)
	for _, id := range ids {
		w.Uint64(id, uint64(n)<<32+uint64(id))
	}
	w.Begin(textID)
	w.String(pdu.NoInst, fmt.Sprint("text ", n))
	b.check(b.WriteSets(&w))
}

// simple makes an archive with a record each second, starting at from.
func simple(t testing.TB, base string, from float64, records int) {
	t.Helper()
	b := build(t, base, 3)
	b.instances(at(from), 5, 6)
	for i := range records {
		b.values(at(from+float64(i)), uint32(i), 5, 6)
	}
	b.check(b.Close())
}

// names returns paths of archives in a directory of the test.
func names(t testing.TB, names ...string) []string {
	dir := t.TempDir()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(dir, name)
	}
	return paths
}

// dump returns all data records of an archive as text, marks as "mark".
func dump(t testing.TB, base string) (lines []string) {
	t.Helper()
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	md := set.Metadata()
	c := set.Cursor()
	for err = c.Next(); err == nil; err = c.Next() {
		line := fmt.Sprint(c.Time().Sub(epoch).Seconds())
		if c.Mark() {
			lines = append(lines, line+" mark")
			continue
		}
		r, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.All() {
			desc, ok := md.Desc(s.PMID)
			if !ok {
				t.Fatalf("%s: no descriptor of %v", base, s.PMID)
			}
			line += fmt.Sprintf(" %v", s.PMID)
			for id, a := range s.All(desc.Type) {
				line += fmt.Sprintf(" %d=%v", id, a)
			}
		}
		if d := md.InDom(indomID); d != nil {
			line += fmt.Sprint(" instances ", d.At(c.Time()))
		}
		if l := md.Labels(pdu.LabelContext, 0xffffffff); l != nil {
			for _, s := range l.At(c.Time()) {
				line += " labels " + string(s.JSON)
			}
		}
		lines = append(lines, line)
	}
	if err != pdu.ErrEOL {
		t.Fatal(err)
	}
	return lines
}

func mustMkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
}
