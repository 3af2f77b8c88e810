package pdu_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

const (
	cpuDom  = pdu.InDom(0x0f000001)
	loadDom = pdu.InDom(0x0f000002)
)

// insts returns instances from a to z.
func insts(ids ...pdu.InstID) []pdu.InstID { return ids }

func entry(d pdu.InDom, exclude bool, ids ...pdu.InstID) pdu.InDomProfile {
	return pdu.InDomProfile{InDom: d, Exclude: exclude, Insts: ids}
}

// TestProfileOperations is the table of operations and their effects.
func TestProfileOperations(t *testing.T) {
	include := pdu.Profile{InDoms: []pdu.InDomProfile{entry(cpuDom, true, 9), entry(loadDom, false, 2, 3)}}
	exclude := pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{entry(loadDom, true, 2, 3)}}
	tests := []struct {
		name   string
		start  pdu.Profile
		del    bool
		indom  pdu.InDom
		insts  []pdu.InstID
		want   pdu.Profile
		except error
	}{
		{"add everything", exclude, false, pdu.NoInDom, nil, pdu.Profile{}, nil},
		{"delete everything", include, true, pdu.NoInDom, nil, pdu.Profile{Exclude: true}, nil},
		{"add a list of no domain", include, false, pdu.NoInDom, insts(1), include, pdu.ErrProfileSpec},
		{"delete a list of no domain", exclude, true, pdu.NoInDom, insts(1), exclude, pdu.ErrProfileSpec},
		{"add a domain", exclude, false, loadDom, nil,
			pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{entry(loadDom, false)}}, nil},
		{"add a new domain", exclude, false, cpuDom, nil,
			pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{entry(cpuDom, false), entry(loadDom, true, 2, 3)}}, nil},
		{"delete a domain", include, true, loadDom, nil,
			pdu.Profile{InDoms: []pdu.InDomProfile{entry(cpuDom, true, 9), entry(loadDom, true)}}, nil},
		{"add a list of a new domain", pdu.Profile{}, false, loadDom, insts(5, 1, 5),
			pdu.Profile{InDoms: []pdu.InDomProfile{entry(loadDom, true, 1, 5)}}, nil},
		{"delete a list of a new domain, which excludes all", pdu.Profile{}, true, loadDom, insts(5, 1),
			pdu.Profile{InDoms: []pdu.InDomProfile{entry(loadDom, true)}}, nil},
		{"add a list to what includes", include, false, loadDom, insts(3, 4),
			pdu.Profile{InDoms: []pdu.InDomProfile{entry(cpuDom, true, 9), entry(loadDom, false, 2)}}, nil},
		{"add a list to what excludes", exclude, false, loadDom, insts(3, 1),
			pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{entry(loadDom, true, 1, 2, 3)}}, nil},
		{"delete a list of what includes", include, true, loadDom, insts(3, -4),
			pdu.Profile{InDoms: []pdu.InDomProfile{entry(cpuDom, true, 9), entry(loadDom, false, -4, 2, 3)}}, nil},
		{"delete a list of what excludes", exclude, true, loadDom, insts(3, 4),
			pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{entry(loadDom, true, 2)}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, start := tt.start.Clone(), tt.start.Clone()
			op := p.Add
			if tt.del {
				op = p.Delete
			}
			if err := op(tt.indom, tt.insts...); !errors.Is(err, tt.except) {
				t.Errorf("error %v, want %v", err, tt.except)
			}
			if diff := cmp.Diff(&tt.want, p, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(start, &tt.start); diff != "" {
				t.Errorf("the profile that was cloned has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestProfileIncludes(t *testing.T) {
	p := &pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{
		entry(cpuDom, false, 0, 3), entry(loadDom, true, 1, 5)}}
	tests := []struct {
		profile *pdu.Profile
		indom   pdu.InDom
		inst    pdu.InstID
		want    bool
	}{
		{nil, loadDom, 1, true},
		{&pdu.Profile{}, loadDom, 1, true},
		{&pdu.Profile{Exclude: true}, loadDom, 1, false},
		{&pdu.Profile{Exclude: true}, pdu.NoInDom, pdu.NoInst, true}, // of a singular metric
		{p, cpuDom, 0, false},
		{p, cpuDom, 1, true},
		{p, cpuDom, 3, false},
		{p, loadDom, 1, true},
		{p, loadDom, 2, false},
		{p, loadDom, 5, true},
		{p, loadDom + 1, 5, false},
		{p, 0, 5, false},
	}
	for _, tt := range tests {
		if got := tt.profile.Includes(tt.indom, tt.inst); got != tt.want {
			t.Errorf("%+v of %v, %d: %v, want %v", tt.profile, tt.indom, tt.inst, got, tt.want)
		}
	}
	for _, tt := range []struct {
		e    pdu.InDomProfile
		want bool
	}{{entry(1, false), true}, {entry(1, true), false}, {entry(1, false, 1), false}, {entry(1, true, 1), false}} {
		if got := tt.e.All(); got != tt.want {
			t.Errorf("%+v: All = %v, want %v", tt.e, got, tt.want)
		}
	}
}

// TestProfileEqual: each change of a profile makes it unequal.
func TestProfileEqual(t *testing.T) {
	p := &pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{entry(cpuDom, false, 0, 3), entry(loadDom, true, 1, 5)}}
	if !p.Equal(p.Clone()) || !new(pdu.Profile).Equal(&pdu.Profile{InDoms: []pdu.InDomProfile{}}) {
		t.Error("equal profiles are not")
	}
	for i, change := range []func(q *pdu.Profile){
		func(q *pdu.Profile) { q.Exclude = false },
		func(q *pdu.Profile) { q.InDoms = q.InDoms[:1] },
		func(q *pdu.Profile) { q.InDoms[0].InDom++ },
		func(q *pdu.Profile) { q.InDoms[0].Exclude = true },
		func(q *pdu.Profile) { q.InDoms[1].Insts[1]++ },
		func(q *pdu.Profile) { q.InDoms[1].Insts = q.InDoms[1].Insts[:1] },
	} {
		q := p.Clone()
		if change(q); p.Equal(q) || q.Equal(p) {
			t.Errorf("change %d: equal", i)
		}
	}
}

// TestProfileComplement: two entries with the same list and opposite rules complement each other.
func TestProfileComplement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int32Range(-3, 12), 1, 8).Draw(t, "list")
		ids := make([]pdu.InstID, len(list))
		for i, v := range list {
			ids[i] = pdu.InstID(v)
		}
		var only, but pdu.Profile
		must(t, only.Add(loadDom, ids...))
		must(t, but.Add(loadDom))
		must(t, but.Delete(loadDom, ids...))
		for i := pdu.InstID(-5); i < 15; i++ {
			if only.Includes(loadDom, i) == but.Includes(loadDom, i) {
				t.Fatalf("instance %d: both say %v", i, only.Includes(loadDom, i))
			}
		}
	})
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// TestProfileModel: a profile behaves as the table of operations on plain maps, and survives the
// wire at any moment.
func TestProfileModel(t *testing.T) {
	type rule struct {
		exclude bool
		list    map[pdu.InstID]bool
	}
	rapid.Check(t, func(t *rapid.T) {
		var p pdu.Profile
		global, rules := false, map[pdu.InDom]*rule{}
		change := func(t *rapid.T, del bool) {
			d := rapid.SampledFrom([]pdu.InDom{1, 2, 3, pdu.NoInDom}).Draw(t, "indom")
			var ids []pdu.InstID
			for _, i := range rapid.SliceOfN(rapid.Int32Range(-2, 6), 0, 4).Draw(t, "insts") {
				ids = append(ids, pdu.InstID(i))
			}
			var err error
			if del {
				err = p.Delete(d, ids...)
			} else {
				err = p.Add(d, ids...)
			}
			switch r := rules[d]; {
			case d == pdu.NoInDom && len(ids) > 0:
				if !errors.Is(err, pdu.ErrProfileSpec) {
					t.Fatalf("error %v", err)
				}
				return
			case d == pdu.NoInDom:
				global = del
				clear(rules)
			case len(ids) == 0:
				rules[d] = &rule{exclude: del, list: map[pdu.InstID]bool{}}
			default:
				if r == nil {
					r = &rule{exclude: true, list: map[pdu.InstID]bool{}}
					rules[d] = r
				}
				for _, i := range ids {
					if r.exclude == del {
						delete(r.list, i)
					} else {
						r.list[i] = true
					}
				}
			}
			must(t, err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { change(t, false) },
			"delete": func(t *rapid.T) { change(t, true) },
			"": func(t *rapid.T) {
				sent := pdu.SetProfile{Profile: p}
				var got pdu.SetProfile
				must(t, got.Decode(encode(t, sent)))
				if diff := cmp.Diff(sent, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("over the wire (-sent +got):\n%s", diff)
				}
				for d := range pdu.InDom(5) {
					for i := pdu.InstID(-3); i < 8; i++ {
						want := !global
						if r := rules[d]; r != nil {
							want = r.list[i] == r.exclude
						}
						if got := p.Includes(d, i); got != want {
							t.Fatalf("%v of %v: %v, want %v; %s", i, d, got, want, fmt.Sprintf("%+v", p))
						}
					}
				}
			},
		})
	})
}
