//go:build unix

package collector

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

// truth is the value of a metric's instance. Instances have no end: a client asks
// for some that it has made up, so that the answer to another request, or of
// another client, is not taken for its own.
func truth(ident uint32, inst pdu.InstID) uint64 {
	x := uint64(ident)<<32 | uint64(uint32(inst))
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// truthItems is how many metrics an oracle has; those from truthStatic on lie
// below its dynamic root.
const (
	truthItems  = 1024
	truthStatic = 8
)

// truthDesc describes a metric of any oracle.
func truthDesc(id pdu.PMID) pdu.Desc {
	d := pdu.Desc{PMID: id, InDom: pdu.MakeInDom(id.Domain(), 0), Sem: pdu.SemInstant}
	switch id.Item() % 4 {
	case 0:
		d.Type = pdu.TypeU64
	case 1:
		d.Type, d.InDom = pdu.TypeU32, pdu.NoInDom
	case 2:
		d.Type = pdu.TypeString
	case 3:
		d.Type = pdu.TypeDouble
	}
	return d
}

func truthAtom(id pdu.PMID, inst pdu.InstID) pdu.Atom {
	v := truth(uint32(id), inst)
	switch truthDesc(id).Type {
	case pdu.TypeU64:
		return pdu.Uint64(v)
	case pdu.TypeU32:
		return pdu.Uint32(uint32(v))
	case pdu.TypeString:
		return pdu.String(fmt.Sprintf("%v of %v is %x", inst, id, v))
	}
	return pdu.Float64(float64(v >> 11))
}

// truthInsts are the instances of a metric under a profile, which selects them
// by name or, if it does not, gets the first four.
func truthInsts(d pdu.InDom, p *pdu.Profile) []pdu.InstID {
	if d == pdu.NoInDom {
		return []pdu.InstID{pdu.NoInst}
	}
	if p != nil {
		if e := p.For(d); e.Exclude {
			return e.Insts
		}
	}
	return []pdu.InstID{0, 1, 2, 3}
}

func truthInstance(d pdu.InDom, inst pdu.InstID) pdu.Instance {
	return pdu.Instance{ID: inst, Name: fmt.Sprintf("i%d-%x", inst, truth(uint32(d), inst))}
}

func truthText(ident uint32, kind pdu.TextKind) string {
	return fmt.Sprintf("text %d of %x", int(kind), ident)
}

func truthLabels(ident uint32, class pdu.LabelClass, inst pdu.InstID) string {
	return fmt.Sprintf(`{"class":%d,"inst":%d,"of":"%x"}`, int(class), inst, ident)
}

// truthStore is the answer to a store: of all that is possible, one that the
// values determine.
func truthStore(id pdu.PMID, insts []pdu.InstID) pdu.Error {
	sum := uint64(id)
	for _, i := range insts {
		sum += truth(uint32(id), i)
	}
	if sum%3 == 0 {
		return 0
	}
	return -20000 - pdu.Error(sum%5000)
}

// truthNames are the names of an oracle's metrics.
func truthNames(b *pmns.Builder, d pdu.Domain) {
	for i := range truthStatic {
		if err := b.Add(fmt.Sprintf("static%d.m%d", d, i), pdu.MakePMID(d, 0, i)); err != nil {
			panic(err)
		}
	}
	if err := b.Add(fmt.Sprintf("dynamic%d", d), pdu.DynamicRoot(d)); err != nil {
		panic(err)
	}
}

// An oracle is an agent that tells the truth.
type oracle struct {
	pmda.Unimplemented
	tree *pmns.Tree // nil if its names are in a file
}

func newOracle(d pdu.Domain) *oracle {
	var b pmns.Builder
	truthNames(&b, d)
	return &oracle{pmda.Unimplemented{Name: fmt.Sprintf("oracle%d", d), Domain: d}, b.Tree()}
}

func (o *oracle) Namespace() *pmns.Tree { return o.tree }

func (o *oracle) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		for _, inst := range truthInsts(truthDesc(id).InDom, r.Profile) {
			w.Atom(inst, truthAtom(id, inst))
		}
	}
	return nil
}

func (o *oracle) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return truthDesc(id), nil
}

func (o *oracle) Instances(_ context.Context, _ *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	switch {
	case inst != pdu.NoInst:
		return []pdu.Instance{truthInstance(d, inst)}, nil
	case name != "":
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "i"), "-")
		n, err := strconv.Atoi(digits)
		if i := truthInstance(d, pdu.InstID(n)); err == nil && i.Name == name {
			return []pdu.Instance{i}, nil
		}
		return nil, pdu.ErrInst
	}
	var all []pdu.Instance
	for _, i := range truthInsts(d, nil) {
		all = append(all, truthInstance(d, i))
	}
	return all, nil
}

func (o *oracle) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	req := of.Request(kind)
	return truthText(req.Ident, req.Text), nil
}

func (o *oracle) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	insts := []pdu.InstID{pdu.NoInst}
	if of.Class == pdu.LabelInstances {
		insts = truthInsts(of.InDom(), r.Profile)
	}
	var sets []pdu.LabelSet
	for _, inst := range insts {
		set, err := pdu.ParseLabels(of.Class, truthLabels(of.Request().Ident, of.Class, inst), false)
		if err != nil {
			return nil, err
		}
		set.Inst = inst
		sets = append(sets, set)
	}
	return sets, nil
}

func (o *oracle) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	var code pdu.Error
	for _, s := range values.All() {
		var insts []pdu.InstID
		for inst, a := range s.All(truthDesc(s.PMID).Type) {
			if !a.Equal(truthAtom(s.PMID, inst)) {
				return pdu.ErrBadStore
			}
			insts = append(insts, inst)
		}
		code = truthStore(s.PMID, insts)
	}
	if code != 0 {
		return code
	}
	return nil
}

func (o *oracle) dynamicName(id pdu.PMID) string {
	return fmt.Sprintf("dynamic%d.x%d", o.Domain, id.Item())
}

func (o *oracle) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	_, digits, _ := strings.Cut(name, ".x")
	n, err := strconv.Atoi(digits)
	if err != nil || n < truthStatic || n >= truthItems {
		return pdu.NoPMID, pdu.ErrName
	}
	return pdu.MakePMID(o.Domain, 0, n), nil
}

func (o *oracle) Names(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
	return []string{o.dynamicName(id)}, nil
}

func (o *oracle) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "x8", Leaf: true}, {Name: "x9", Leaf: true}}, nil
}

func (o *oracle) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".x8", name + ".x9"}, nil
}

// A moody is an oracle with moods: before it answers, trouble may come, or an
// answer to a fetch that is a lie.
type moody struct {
	*oracle
	trouble func(request string) error
	lie     func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) bool
}

func (m *moody) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := m.trouble("fetch"); err != nil {
		return err
	}
	if m.lie(r, ids, w) {
		return nil
	}
	return m.oracle.Fetch(ctx, r, ids, w)
}

func (m *moody) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	if err := m.trouble("desc"); err != nil {
		return pdu.Desc{}, err
	}
	return m.oracle.Desc(ctx, r, id)
}

func (m *moody) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if err := m.trouble("instances"); err != nil {
		return nil, err
	}
	return m.oracle.Instances(ctx, r, d, inst, name)
}

func (m *moody) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if err := m.trouble("text"); err != nil {
		return "", err
	}
	return m.oracle.Text(ctx, r, of, kind)
}

func (m *moody) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if err := m.trouble("labels"); err != nil {
		return nil, err
	}
	return m.oracle.Labels(ctx, r, of)
}

func (m *moody) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	if err := m.trouble("store"); err != nil {
		return err
	}
	return m.oracle.Store(ctx, r, values)
}

func (m *moody) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	if err := m.trouble("pmid"); err != nil {
		return pdu.NoPMID, err
	}
	return m.oracle.PMID(ctx, r, name)
}

func (m *moody) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	if err := m.trouble("names"); err != nil {
		return nil, err
	}
	return m.oracle.Names(ctx, r, id)
}

func (m *moody) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	if err := m.trouble("children"); err != nil {
		return nil, err
	}
	return m.oracle.Children(ctx, r, name)
}

func (m *moody) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	if err := m.trouble("children"); err != nil {
		return nil, err
	}
	return m.oracle.Traverse(ctx, r, name)
}

// dice are random numbers for several goroutines.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newDice(seed, n uint64) *dice { return &dice{rng: rand.New(rand.NewPCG(seed, n))} }

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// upTo is a random time.
func (d *dice) upTo(t time.Duration) time.Duration { return time.Duration(d.n(int(t))) }

// lieInsts is how many instances a lying agent has.
const lieInsts = 20000

// lieAtom stands where a number is promised.
func lieAtom(id pdu.PMID, inst pdu.InstID) pdu.Atom {
	return pdu.String(fmt.Sprintf("lie %x", truth(uint32(id), inst)))
}

// newHothead is a moody agent in this process: it stalls, without listening to
// its context, panics, fails and lies. panics counts.
func newHothead(d pdu.Domain, timeout time.Duration, luck *dice, panics *atomic.Int64) *moody {
	m := &moody{oracle: newOracle(d)}
	m.trouble = func(request string) error {
		switch n := luck.n(2000); {
		case n < 20:
			time.Sleep(luck.upTo(3 * timeout))
		case n < 22: // each fences it for a while
			panics.Add(1)
			panic("chaos in " + request)
		case n < 40:
			return pdu.ErrAppVersion
		}
		return nil
	}
	m.lie = func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) bool {
		switch n := luck.n(2000); {
		case n < 20: // too few
			m.oracle.Fetch(context.Background(), r, ids[1:], w)
		case n < 40: // too many
			m.oracle.Fetch(context.Background(), r, append(slices.Clone(ids), ids[0]), w)
		case n < 60: // others
			other := slices.Clone(ids)
			other[len(other)-1] ^= 4
			m.oracle.Fetch(context.Background(), r, other, w)
		case n < 80: // of a wrong type
			for _, id := range ids {
				w.Begin(id)
				for _, inst := range truthInsts(truthDesc(id).InDom, r.Profile) {
					w.Atom(inst, lieAtom(id, inst))
				}
			}
		case n < 82: // absurdly many
			for _, id := range ids {
				w.Begin(id)
				for i := range pdu.InstID(lieInsts) {
					w.Uint64(i, truth(uint32(id), i))
				}
			}
		default:
			return false
		}
		return true
	}
	return m
}

func (m *moody) EndClient(c *pmda.Client) {
	if c.Seq%128 == 5 {
		panic("chaos at the end of a client")
	}
}

// TestChaosAgent is no test but the program of an agent, when the collector
// under test starts it with arguments.
func TestChaosAgent(t *testing.T) {
	if flag.Arg(0) != "agent" {
		t.Skip("runs as a program of other tests")
	}
	var d pdu.Domain
	var timeout time.Duration
	var seed uint64
	var sane bool
	if _, err := fmt.Sscan(strings.Join(flag.Args()[1:], " "), &d, &timeout, &seed, &sane); err != nil {
		panic(err)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // its panics are meant
	luck := newDice(seed, uint64(os.Getpid()))
	var h pmda.Handler = newOracle(d)
	out := &dribbler{luck: luck, timeout: timeout}
	if !sane {
		h = newRuffian(d, timeout, luck, out)
	}
	if err := pmda.Serve(context.Background(), h, struct {
		io.Reader
		io.Writer
	}{os.Stdin, out}); err != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

// agentLine is the configuration of such an agent.
func agentLine(d pdu.Domain, timeout time.Duration, seed uint64, sane bool) pmcdconf.Agent {
	return pmcdconf.Agent{Name: fmt.Sprintf("pipe%d", d), Domain: d, Kind: pmcdconf.KindPipe, Argv: []string{
		os.Args[0], "-test.run=^TestChaosAgent$", "agent", fmt.Sprint(d), fmt.Sprint(int64(timeout)), fmt.Sprint(seed), fmt.Sprint(sane),
	}}
}

// A dribbler is the output of an agent, which sometimes writes in pieces.
type dribbler struct {
	luck    *dice
	timeout time.Duration
	next    atomic.Bool // the next PDU comes so
}

func (d *dribbler) Write(b []byte) (int, error) {
	if !d.next.Swap(false) {
		return os.Stdout.Write(b)
	}
	cut := d.luck.n(len(b))
	if _, err := os.Stdout.Write(b[:cut]); err != nil {
		return 0, err
	}
	time.Sleep(d.luck.upTo(2 * d.timeout))
	n, err := os.Stdout.Write(b[cut:])
	return cut + n, err
}

// newRuffian is a moody agent in a process of its own, which may also break the
// protocol.
func newRuffian(d pdu.Domain, timeout time.Duration, luck *dice, out *dribbler) *moody {
	m := &moody{oracle: newOracle(d)}
	raw := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout})
	m.trouble = func(string) error {
		switch n := luck.n(3000); {
		case n < 5:
			time.Sleep(timeout + luck.upTo(2*timeout))
		case n < 15:
			out.next.Store(true)
		case n < 17:
			garbage := binary.BigEndian.AppendUint32(nil, []uint32{0, 11, 13, 1 << 31, 1<<31 - 1, 1<<32 - 1}[luck.n(6)])
			os.Stdout.Write(append(garbage, "garbage of twenty..."...))
		case n < 19:
			raw.Write(0, pdu.Fetch{PMIDs: []pdu.PMID{1}})
		case n < 21:
			os.Exit(luck.n(4))
		case n < 36:
			return pdu.ErrAppVersion
		case n < 42:
			time.AfterFunc(luck.upTo(timeout/2)+timeout/10, func() { raw.Write(0, pdu.Status{Code: pdu.ErrPMDAReady}) })
			return pdu.ErrPMDANotReady
		case n < 50:
			panic("chaos")
		}
		return nil
	}
	m.lie = func(r *pmda.Request, ids []pdu.PMID, _ *pdu.ResultWriter) bool {
		var w pdu.ResultWriter
		switch luck.n(1500) {
		case 0:
			m.oracle.Fetch(context.Background(), r, ids[1:], &w)
		case 1:
			m.oracle.Fetch(context.Background(), r, append(slices.Clone(ids), ids[0]), &w)
		case 2:
			other := slices.Clone(ids)
			other[0] ^= 4
			m.oracle.Fetch(context.Background(), r, other, &w)
		default:
			return false
		}
		raw.Write(0, w.PDU(pdu.FormatLowRes))
		return true
	}
	return m
}
