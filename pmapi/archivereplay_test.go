package pmapi_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A replayer makes the requests of internal/pcptest/testdata/archivereplay.c of a context.
type replayer struct {
	c *pmapi.Context
	r pdu.Result
}

// replayArchive does the same as pcptest.ReplayArchive, with the options of the environment.
func replayArchive(t *testing.T, path string, requests []string) []string {
	t.Helper()
	opts, err := pmapi.ArchiveOptionsFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	opts.PriorValues = true // as in the release whose answers are replayed
	c, err := opts.Open(t.Context(), path)
	answers := []string{code(err)}
	if err != nil {
		for range requests {
			answers = append(answers, code(err))
		}
		return answers
	}
	defer c.Close()
	p := &replayer{c: c}
	for _, q := range requests {
		answers = append(answers, p.answer(t.Context(), q))
	}
	return answers
}

// code returns the number of an error, or 0 without an error.
func code(err error) string {
	if err == nil {
		return "0"
	}
	return strconv.Itoa(int(pdu.FromError(err)))
}

func (p *replayer) answer(ctx context.Context, request string) string {
	op, rest, _ := strings.Cut(request, " ")
	switch op {
	case "mode":
		var mode, sec, nsec, dsec, dnsec int64
		fmt.Sscan(rest, &mode, &sec, &nsec, &dsec, &dnsec)
		var origin time.Time
		if sec >= 0 {
			origin = time.Unix(sec, nsec)
		}
		return code(p.c.SetMode(ctx, pmapi.Mode(mode), origin, time.Duration(dsec)*time.Second+time.Duration(dnsec)))
	case "fetch":
		err := p.c.Fetch(ctx, numbers[pdu.PMID](rest), &p.r)
		return p.result(ctx, err)
	case "record":
		return p.result(ctx, p.c.FetchArchive(ctx, &p.r))
	case "add", "del":
		n := numbers[pdu.InstID](rest)
		d := pdu.InDom(numbers[uint32](rest)[0])
		if op == "add" {
			return code(p.c.AddProfile(d, n[1:]...))
		}
		return code(p.c.DelProfile(d, n[1:]...))
	case "end":
		end, err := p.c.ArchiveEnd(ctx)
		if err != nil {
			return code(err)
		}
		return stampText(end)
	case "label":
		l, err := p.c.ArchiveLabel()
		if err != nil {
			return code(err)
		}
		return fmt.Sprintf("%d %d %s %s %s", l.Version, l.PID, stampText(l.Start), escaped(l.Host), escaped(l.TimeZone))
	}
	return p.metadata(ctx, op, rest)
}

func (p *replayer) metadata(ctx context.Context, op, rest string) string {
	first, arg, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseUint(first, 10, 32)
	d, id := pdu.InDom(n), pdu.PMID(n)
	number, _ := strconv.Atoi(arg)
	switch op {
	case "indom":
		list, err := p.c.Instances(ctx, d)
		return instancesText(list, err)
	case "indomall":
		list, err := p.c.InstancesEver(ctx, d)
		return instancesText(list, err)
	case "lookup":
		inst, err := p.c.InstID(ctx, d, arg)
		return numberText(int64(inst), err)
	case "lookupall":
		inst, err := p.c.InstIDEver(ctx, d, arg)
		return numberText(int64(inst), err)
	case "name":
		name, err := p.c.InstName(ctx, d, pdu.InstID(number))
		return stringText(name, err)
	case "nameall":
		name, err := p.c.InstNameEver(ctx, d, pdu.InstID(number))
		return stringText(name, err)
	case "text":
		text, err := p.c.Text(ctx, id, pdu.TextKind(number))
		return stringText(text, err)
	case "indomtext":
		text, err := p.c.InDomText(ctx, d, pdu.TextKind(number))
		return stringText(text, err)
	case "labels":
		ident, _ := strconv.ParseUint(arg, 10, 32)
		return p.labels(ctx, pdu.LabelClass(n), uint32(ident))
	case "desc":
		d, err := p.c.Desc(ctx, id)
		if err != nil {
			return code(err)
		}
		u := d.Units
		return fmt.Sprintf("%d %d %d %d %d,%d,%d,%d,%d,%d", uint32(d.PMID), int(d.Type), uint32(d.InDom), int(d.Sem),
			u.DimSpace(), u.DimTime(), u.DimCount(), u.ScaleSpace(), u.ScaleTime(), u.ScaleCount())
	case "id":
		ids, err := p.c.Lookup(ctx, []string{rest})
		if err != nil {
			return code(err) + " " + strconv.FormatUint(uint64(pdu.NoPMID), 10)
		}
		return fmt.Sprint(1, uint32(ids[0]))
	case "names":
		names, err := p.c.Names(ctx, id)
		if err != nil {
			return code(err)
		}
		return strings.Join(append([]string{strconv.Itoa(len(names))}, names...), " ")
	case "children":
		list, err := p.c.Children(ctx, rest)
		if err != nil {
			return code(err)
		}
		text := strconv.Itoa(len(list))
		for _, c := range list {
			status := 1
			if c.Leaf {
				status = 0
			}
			text += fmt.Sprintf(" %s:%d", c.Name, status)
		}
		return text
	}
	return "?"
}

func (p *replayer) labels(ctx context.Context, class pdu.LabelClass, ident uint32) string {
	var set pdu.LabelSet
	var sets []pdu.LabelSet
	var err error
	switch class {
	case pdu.LabelContext:
		set, err = p.c.ContextLabels(ctx)
	case pdu.LabelDomain:
		set, err = p.c.DomainLabels(ctx, pdu.Domain(ident))
	case pdu.LabelInDom:
		set, err = p.c.InDomLabels(ctx, pdu.InDom(ident))
	case pdu.LabelCluster:
		set, err = p.c.ClusterLabels(ctx, pdu.PMID(ident))
	case pdu.LabelItem:
		set, err = p.c.ItemLabels(ctx, pdu.PMID(ident))
	default:
		keep := p.c.Profile()
		p.c.SetProfile(nil) // which the C library does not apply to the labels of an archive
		sets, err = p.c.InstanceLabels(ctx, pdu.InDom(ident))
		p.c.SetProfile(keep)
	}
	if err != nil {
		return code(err)
	}
	if class != pdu.LabelInstances && len(set.Labels) > 0 {
		sets = append(sets, set)
	}
	text := strconv.Itoa(len(sets))
	for _, s := range sets {
		text += fmt.Sprintf(" %d:%d:", s.Inst, len(s.Labels))
		if len(s.Labels) > 0 {
			text += escaped(string(s.JSON))
		}
	}
	return text
}

// result is the text of a fetch.
func (p *replayer) result(ctx context.Context, err error) string {
	if err != nil {
		return code(err)
	}
	var b strings.Builder
	b.WriteString(stampText(p.r.Time))
	for _, s := range p.r.All() {
		n := s.Len()
		if err := s.Err(); err != nil {
			n = int(pdu.FromError(err))
		}
		fmt.Fprintf(&b, " %d:%d", uint32(s.PMID), n)
		if n <= 0 {
			continue
		}
		d, _ := p.c.Desc(ctx, s.PMID)
		var values []string
		for i := range n {
			values = append(values, fmt.Sprintf("%d=%s", s.Inst(i), atomText(s.Atom(i, d.Type))))
		}
		b.WriteString("{" + strings.Join(values, ",") + "}")
	}
	return b.String()
}

func atomText(a pdu.Atom) string {
	switch a.Type {
	case pdu.Type32:
		v, _ := pdu.As[int32](a)
		return fmt.Sprintf("%08x", uint32(v))
	case pdu.TypeU32:
		v, _ := pdu.As[uint32](a)
		return fmt.Sprintf("%08x", v)
	case pdu.Type64:
		v, _ := pdu.As[int64](a)
		return fmt.Sprintf("%016x", uint64(v))
	case pdu.TypeU64:
		v, _ := pdu.As[uint64](a)
		return fmt.Sprintf("%016x", v)
	case pdu.TypeFloat:
		v, _ := pdu.As[float32](a)
		return fmt.Sprintf("%08x", math.Float32bits(v))
	case pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		return fmt.Sprintf("%016x", math.Float64bits(v))
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		return "events" + strconv.Itoa(len(a.Bytes()))
	}
	return hex.EncodeToString(a.Bytes())
}

func numbers[T ~uint32 | ~int32](text string) []T {
	var list []T
	for _, f := range strings.Fields(text) {
		n, _ := strconv.ParseUint(f, 10, 32)
		list = append(list, T(n))
	}
	return list
}

func numberText(n int64, err error) string {
	if err != nil {
		return code(err)
	}
	return strconv.FormatInt(n, 10)
}

func stringText(s string, err error) string {
	if err != nil {
		return code(err)
	}
	return escaped(s)
}

func instancesText(list []pdu.Instance, err error) string {
	if err != nil {
		return code(err)
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	text := strconv.Itoa(len(list))
	for _, i := range list {
		text += fmt.Sprintf(" %d=%s", i.ID, escaped(i.Name))
	}
	return text
}

func stampText(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }

// escaped is a text without blanks.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// A requester makes up requests of an archive.
type requester struct {
	*rand.Rand
	ids        []pdu.PMID
	names      []string
	indoms     []pdu.InDom
	insts      map[pdu.InDom][]pdu.Instance
	start, end time.Time
}

func newRequester(t *testing.T, c *pmapi.Context, seed uint64) *requester {
	t.Helper()
	q := &requester{Rand: rand.New(rand.NewPCG(seed, 1)), insts: map[pdu.InDom][]pdu.Instance{}}
	l, err := c.ArchiveLabel()
	if err != nil {
		t.Fatal(err)
	}
	if q.start = l.Start; true {
		q.end, err = c.ArchiveEnd(t.Context())
	}
	if err != nil || q.end.Sub(q.start) <= 0 {
		q.end = q.start.Add(time.Minute)
	}
	if q.names, err = c.Traverse(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	// The C library interpolates counters that go back so far with differences that overflow.
	q.names = slices.DeleteFunc(q.names, func(n string) bool { return strings.Contains(n, ".wrap.") })
	if q.ids, err = c.Lookup(t.Context(), q.names); err != nil {
		t.Fatal(err)
	}
	q.ids = slices.DeleteFunc(q.ids, func(id pdu.PMID) bool { return id == pdu.EventFlagsPMID || id == pdu.EventMissedPMID })
	for _, id := range q.ids {
		d, err := c.Desc(t.Context(), id)
		if err != nil || d.InDom == pdu.NoInDom || q.insts[d.InDom] != nil {
			continue
		}
		list, _ := c.InstancesEver(t.Context(), d.InDom)
		q.indoms = append(q.indoms, d.InDom)
		q.insts[d.InDom] = list
	}
	return q
}

// requests returns n requests: changes of the mode, series of fetches of a few metrics, and
// sometimes others.
func (q *requester) requests(n int) []string {
	list := []string{"label", "end"}
	for len(list) < n {
		if q.IntN(3) == 0 {
			list = append(list, q.profile())
		}
		list = append(list, q.mode())
		fetch := q.fetch()
		for range 1 + q.IntN(12) {
			list = append(list, fetch)
			if q.IntN(4) == 0 {
				list = append(list, q.metadata())
			}
			if q.IntN(12) == 0 {
				fetch = q.fetch()
			}
			if q.IntN(30) == 0 {
				list = append(list, "record")
			}
		}
	}
	return list[:n]
}

func (q *requester) mode() string {
	span := q.end.Sub(q.start)
	at := q.start.Add(time.Duration(q.Int64N(int64(span)+int64(span)/8+2)) - span/16)
	if q.IntN(3) == 0 {
		at = at.Truncate(time.Second)
	}
	mode := 1 + q.IntN(3)
	if q.IntN(40) == 0 {
		mode = 0
	}
	step := time.Duration(q.Int64N(int64(span)/4 + 2))
	if q.IntN(2) == 0 {
		step /= 50
	}
	if q.IntN(3) == 0 {
		step = -step
	}
	sec := at.Unix()
	if q.IntN(8) == 0 && mode != 2 { // forward from an entry of the index, the C library may leave out a record
		sec = -1
	}
	return fmt.Sprintf("mode %d %d %d %d %d", mode, sec, at.Nanosecond(), step/time.Second, step%time.Second)
}

func (q *requester) fetch() string {
	text := "fetch"
	n := 1 + q.IntN(4)
	if q.IntN(6) == 0 {
		n = min(len(q.ids), 100)
	}
	var ids []pdu.PMID
	for range n {
		if id := q.ids[q.IntN(len(q.ids))]; !slices.Contains(ids, id) { // the C library may loop on repetitions
			ids = append(ids, id)
			text += fmt.Sprintf(" %d", uint32(id))
		}
	}
	if q.IntN(20) == 0 {
		text += " 1234567"
	}
	return text
}

func (q *requester) profile() string {
	if len(q.indoms) == 0 || q.IntN(3) == 0 {
		return "add 4294967295"
	}
	d := q.indoms[q.IntN(len(q.indoms))]
	text := fmt.Sprintf("%s %d", [2]string{"add", "del"}[q.IntN(2)], uint32(d))
	for range q.IntN(4) {
		if list := q.insts[d]; len(list) > 0 {
			text += fmt.Sprintf(" %d", uint32(list[q.IntN(len(list))].ID))
		}
	}
	return text
}

// firstWord returns a name up to its first space. It returns the whole name if the C library would
// find another instance by this word, because the first word of its name is a prefix of it.
func (q *requester) firstWord(d pdu.InDom, name string) string {
	word, _, _ := strings.Cut(name, " ")
	for _, i := range q.insts[d] {
		if other, _, _ := strings.Cut(i.Name, " "); other != word && strings.HasPrefix(word, other) {
			return name
		}
	}
	return word
}

func (q *requester) metadata() string {
	id := uint32(q.ids[q.IntN(len(q.ids))])
	d, inst := uint32(251<<22), pdu.Instance{ID: 3, Name: "x"}
	if len(q.indoms) > 0 && q.IntN(10) > 0 {
		in := q.indoms[q.IntN(len(q.indoms))]
		d = uint32(in)
		if list := q.insts[in]; len(list) > 0 {
			inst = list[q.IntN(len(list))]
		}
	}
	if q.IntN(2) == 0 {
		inst.Name = q.firstWord(pdu.InDom(d), inst.Name)
	}
	switch q.IntN(13) {
	case 0:
		return fmt.Sprint("indom ", d)
	case 1:
		return fmt.Sprint("indomall ", d)
	case 2:
		return fmt.Sprintf("lookup %d %s", d, inst.Name)
	case 3:
		return fmt.Sprintf("lookupall %d %s", d, inst.Name)
	case 4:
		return fmt.Sprintf("name %d %d", d, inst.ID)
	case 5:
		return fmt.Sprintf("nameall %d %d", d, inst.ID)
	case 6:
		return fmt.Sprintf("desc %d", id)
	case 7:
		return fmt.Sprintf("text %d %d", id, 1+q.IntN(2))
	case 8:
		return fmt.Sprintf("indomtext %d %d", d, 1+q.IntN(2))
	case 9:
		return "id " + q.names[q.IntN(len(q.names))]
	case 10:
		return fmt.Sprintf("names %d", id)
	case 11:
		name := q.names[q.IntN(len(q.names))]
		return "children " + name[:max(0, strings.LastIndexByte(name, '.'))]
	}
	class := 1 << q.IntN(6)
	ident := id
	switch class {
	case 1:
		ident = math.MaxUint32
	case 2:
		ident = uint32(pdu.PMID(id).Domain())
	case 4, 32:
		ident = d
	case 8: // the C library finds nothing for another item
		ident = uint32(pdu.MakePMID(pdu.PMID(id).Domain(), pdu.PMID(id).Cluster(), 0))
	}
	return fmt.Sprintf("labels %d %d", class, ident)
}
