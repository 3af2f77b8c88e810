//go:build unix

package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// A visitor is a client of the chaos run. It believes nothing.
type visitor struct {
	*chaos
	rng      *rand.Rand
	network  string // "tcp", "unix" or "memory"
	conn     net.Conn
	pdus     *pdu.Conn
	profiles [3]pdu.Profile // by context, as the collector knows them
}

func newVisitor(c *chaos, n int) *visitor {
	return &visitor{chaos: c, rng: rand.New(rand.NewPCG(c.seed, uint64(n))), network: []string{"tcp", "unix", "memory"}[n%3]}
}

// connect makes a new connection, without a word yet.
func (v *visitor) connect() bool {
	var err error
	if v.network == "memory" {
		v.conn, err = v.srv.DialContext(context.Background(), "", "")
	} else {
		v.conn, err = net.DialTimeout(v.network, v.addr[v.network], patience)
	}
	if err != nil {
		v.failf("%s: cannot connect: %v", v.network, err)
		return false
	}
	v.pdus = pdu.NewConn(v.conn)
	v.conn.SetDeadline(time.Now().Add(patience))
	return true
}

// hello connects and introduces itself.
func (v *visitor) hello() bool {
	if !v.connect() {
		return false
	}
	if _, err := pdu.ClientHello(v.pdus, 1, 0); err != nil {
		v.failf("%s: hello: %v", v.network, err)
		v.conn.Close()
		return false
	}
	v.profiles = [3]pdu.Profile{}
	return v.profile(0)
}

// patience is how long a visitor waits for what ought to come at once.
const patience = 30 * time.Second

// pause waits a little; false if the run is over.
func (v *visitor) pause(d time.Duration) bool {
	select {
	case <-time.After(time.Duration(v.rng.Int64N(int64(2*d) + 1))):
	case <-v.ctx.Done():
	}
	return v.ctx.Err() == nil
}

// behave is the life of a good client.
func (v *visitor) behave() {
	if !v.hello() {
		return
	}
	defer func() { v.conn.Close() }()
	for v.pause(v.think) {
		if v.rng.IntN(100) == 0 { // a new life
			v.conn.Close()
			if !v.hello() {
				return
			}
		}
		var ok bool
		switch v.rng.IntN(20) {
		case 0:
			ok = v.store()
		case 1:
			ok = v.desc()
		case 2:
			ok = v.descs()
		case 3:
			ok = v.instance()
		case 4:
			ok = v.text()
		case 5:
			ok = v.labels()
		case 6:
			ok = v.lookup()
		case 7:
			ok = v.reverse()
		case 8:
			ok = v.children()
		default:
			ok = v.fetch()
		}
		if !ok {
			return
		}
	}
}

// domain is a random one.
func (v *visitor) domain() pdu.Domain { return v.domains[v.rng.IntN(len(v.domains))] }

func (v *visitor) metric(d pdu.Domain) pdu.PMID {
	return pdu.MakePMID(d, 0, v.rng.IntN(truthItems))
}

func (v *visitor) inst() pdu.InstID { return pdu.InstID(v.rng.Int32()) }

// profile makes up the instances that a context wants, in every domain.
func (v *visitor) profile(context int) bool {
	p := pdu.Profile{Exclude: true}
	for _, d := range v.domains {
		var insts []pdu.InstID
		for range 1 + v.rng.IntN(3) {
			insts = append(insts, v.inst())
		}
		if err := p.Add(pdu.MakeInDom(d, 0), insts...); err != nil {
			v.failf("profile: %v", err)
		}
	}
	v.profiles[context] = p
	return v.queue(pdu.SetProfile{Context: int32(context), Profile: p})
}

func (v *visitor) queue(p pdu.PDU) bool {
	if err := v.pdus.Queue(1, p); err != nil {
		v.failf("%s: send %T: %v", v.network, p, err)
		return false
	}
	return true
}

// ask sends a request and reads the answer, which has to come in time and be of
// the kind wanted or an error that the agents of the domains may cause.
func (v *visitor) ask(p pdu.PDU, want pdu.Kind, domains ...pdu.Domain) (body []byte, code pdu.Error, ok bool) {
	start := time.Now()
	v.conn.SetDeadline(start.Add(patience))
	if !v.queue(p) {
		return nil, 0, false
	}
	if err := v.pdus.Flush(); err != nil {
		if v.standstill(start, v.timeout/2) {
			return nil, pdu.ErrTimeout, v.hello()
		}
		v.failf("%s: send %v: %v", v.network, p.Kind(), err)
		return nil, 0, false
	}
	h, body, err := v.pdus.Read()
	var s pdu.Status
	if err == nil && h.Kind == pdu.KindError && want != pdu.KindError && s.Decode(body) == nil && s.Code > 0 {
		h, body, err = v.pdus.Read() // what it says has changed
	}
	v.waited(p, domains, start, time.Now())
	switch {
	case err != nil && v.standstill(start, v.timeout/2):
		return nil, pdu.ErrTimeout, v.hello()
	case err != nil:
		v.failf("%s: answer to %v: %v", v.network, p.Kind(), err)
		return nil, 0, false
	case h.Kind == pdu.KindError && s.Decode(body) == nil:
		v.countError(s.Code, domains)
		if want != pdu.KindError && !v.excused(s.Code, domains...) {
			v.failf("%s: %v of %v answered %v", v.network, p.Kind(), domains, s.Code)
		}
		return nil, s.Code, true
	case h.Kind != want:
		v.failf("%s: %v answered by %v", v.network, p.Kind(), h.Kind)
		return nil, 0, false
	}
	return body, 0, true
}

func (v *visitor) fetch() bool {
	context := v.rng.IntN(len(v.profiles))
	if (v.profiles[context].InDoms == nil || v.rng.IntN(2) == 0) && !v.profile(context) {
		return false
	}
	f := pdu.Fetch{HighRes: v.rng.IntN(2) == 0, Context: int32(context)}
	domains := []pdu.Domain{v.domain()}
	if v.rng.IntN(2) == 0 {
		domains = append(domains, v.domain(), v.domain())
	}
	for range 1 + v.rng.IntN(6) {
		f.PMIDs = append(f.PMIDs, v.metric(domains[v.rng.IntN(len(domains))]))
	}
	res := pdu.Result{}
	if f.HighRes {
		res.Format = pdu.FormatHighRes
	}
	start := time.Now()
	body, code, ok := v.ask(f, res.Kind(), domains...)
	if !ok || code != 0 {
		if code != 0 && code != pdu.ErrTooBig {
			v.failf("%s: fetch as a whole failed: %v", v.network, code)
		}
		return ok
	}
	err := res.Decode(body)
	if err == nil {
		err = res.Validate()
	}
	if err != nil || res.Len() != len(f.PMIDs) {
		v.failf("%s: %d of %d sets, %v", v.network, res.Len(), len(f.PMIDs), err)
		return false
	}
	for i, id := range f.PMIDs {
		// In a fetch of several, an agent that is asked when another has taken all the
		// time gets little.
		code := pdu.FromError(res.At(i).Err())
		if code == pdu.ErrTimeout && v.anyMoody(domains) && v.standstill(start, extraTime) {
			continue
		}
		v.check(id, res.At(i), &v.profiles[context])
	}
	return true
}

// check looks at the answer for a metric.
func (v *visitor) check(id pdu.PMID, s pdu.ValueSet, p *pdu.Profile) {
	if s.PMID != id {
		v.failf("%s: metric %v came in place of %v", v.network, s.PMID, id)
		return
	}
	d := truthDesc(id)
	if err := s.Err(); err != nil {
		code := pdu.FromError(err)
		v.countError(code, []pdu.Domain{id.Domain()})
		if !v.excused(code, id.Domain()) {
			v.failf("%s: metric %v: %v", v.network, id, err)
		}
		return
	}
	if v.hothead(id.Domain()) && s.Len() == lieInsts {
		for i := range s.Len() {
			if !s.Atom(i, d.Type).Equal(pdu.Uint64(truth(uint32(id), pdu.InstID(i)))) {
				v.failf("metric %v: instance %d has %v", id, i, s.Atom(i, d.Type))
			}
		}
		v.count("absurdly many instances", 1)
		return
	}
	var got []pdu.InstID
	for i := range s.Len() {
		inst, a := s.Inst(i), s.Atom(i, d.Type)
		got = append(got, inst)
		switch {
		case a.Equal(truthAtom(id, inst)):
		case v.hothead(id.Domain()) && a.Equal(lieAtom(id, inst)):
			v.count("wrong types", 1)
		default:
			v.failf("%s: metric %v instance %d: %v, want %v", v.network, id, inst, a, truthAtom(id, inst))
		}
	}
	if want := truthInsts(d.InDom, p); !slices.Equal(got, want) {
		v.failf("%s: metric %v: instances %v, want %v", v.network, id, got, want)
	}
	v.countValue(id.Domain())
}

func (v *visitor) store() bool {
	id := pdu.MakePMID(v.domain(), 0, 4*v.rng.IntN(truthItems/4))
	var w pdu.ResultWriter
	var insts []pdu.InstID
	w.Begin(id)
	for range 1 + v.rng.IntN(3) {
		insts = append(insts, v.inst())
		w.Atom(insts[len(insts)-1], truthAtom(id, insts[len(insts)-1]))
	}
	_, code, ok := v.ask(w.PDU(pdu.FormatLowRes), pdu.KindError, id.Domain())
	if want := truthStore(id, insts); ok && code != want && !v.excused(code, id.Domain()) {
		v.failf("%s: store of %v answered %v, want %v", v.network, id, code, want)
	}
	return ok
}

func (v *visitor) desc() bool {
	id := v.metric(v.domain())
	body, code, ok := v.ask(pdu.DescReq{PMID: id}, pdu.KindDesc, id.Domain())
	var p pdu.DescReply
	return ok && (code != 0 || v.same(p.Decode(body), pdu.DescReply{Desc: truthDesc(id)}, &p))
}

// descs asks for metrics of several agents, which together get no more time than
// one: of those asked last, one in good health may be late for others.
func (v *visitor) descs() bool {
	var ask pdu.DescsReq
	var domains []pdu.Domain
	for range 2 + v.rng.IntN(4) {
		id := v.metric(v.domain())
		ask.PMIDs = append(ask.PMIDs, id)
		domains = append(domains, id.Domain())
	}
	body, code, ok := v.ask(ask, pdu.KindDescs, domains...)
	if !ok || code != 0 {
		return ok
	}
	var p pdu.DescsReply
	if err := p.Decode(body); err != nil || len(p.Descs) != len(ask.PMIDs) {
		v.failf("%s: %d of %d descriptors, %v", v.network, len(p.Descs), len(ask.PMIDs), err)
		return false
	}
	for i, id := range ask.PMIDs {
		if d := p.Descs[i]; d != truthDesc(id) && (d.PMID != pdu.NoPMID || !v.anyMoody(domains)) {
			v.failf("%s: %v described as %v", v.network, id, d)
		}
	}
	return true
}

func (v *visitor) instance() bool {
	d := pdu.MakeInDom(v.domain(), v.rng.IntN(1000))
	i := truthInstance(d, v.inst())
	ask, want := pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}, pdu.InstanceReply{InDom: d}
	switch v.rng.IntN(3) {
	case 0:
		ask.Inst, want.Instances = i.ID, []pdu.Instance{{ID: pdu.NoInst, Name: i.Name}}
	case 1:
		ask.Name, want.Instances = i.Name, []pdu.Instance{{ID: i.ID}}
	case 2:
		for _, inst := range truthInsts(d, nil) {
			want.Instances = append(want.Instances, truthInstance(d, inst))
		}
	}
	body, code, ok := v.ask(ask, pdu.KindInstance, d.Domain())
	var p pdu.InstanceReply
	return ok && (code != 0 || v.same(p.Decode(body), want, &p))
}

func (v *visitor) text() bool {
	id := v.metric(v.domain())
	kind := []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp}[v.rng.IntN(2)] | pdu.TextPMID
	body, code, ok := v.ask(pdu.TextReq{Ident: uint32(id), Text: kind}, pdu.KindText, id.Domain())
	var p pdu.TextReply
	return ok && (code != 0 || v.same(p.Decode(body), pdu.TextReply{Ident: uint32(id), Text: truthText(uint32(id), kind)}, &p))
}

func (v *visitor) labels() bool {
	d := v.domain()
	ask := pdu.LabelReq{Ident: uint32(v.metric(d)), Class: pdu.LabelItem}
	insts := []pdu.InstID{pdu.NoInst}
	if v.rng.IntN(2) == 0 {
		ask = pdu.LabelReq{Ident: uint32(pdu.MakeInDom(d, 0)), Class: pdu.LabelInstances}
		insts = truthInsts(pdu.InDom(ask.Ident), &v.profiles[0]) // of the first context, as in the reference
	}
	body, code, ok := v.ask(ask, pdu.KindLabel, d)
	if !ok || code != 0 {
		return ok
	}
	var p pdu.LabelReply
	err := p.Decode(body)
	got, want := []string{}, []string{}
	for _, s := range p.Sets {
		got = append(got, fmt.Sprint(s.Inst, " ", string(s.JSON)))
	}
	for _, inst := range insts {
		want = append(want, fmt.Sprint(inst, " ", truthLabels(ask.Ident, ask.Class, inst)))
	}
	return v.same(err, want, &got)
}

// lookup asks for names, which lie below dynamic roots, of several agents.
func (v *visitor) lookup() bool {
	var ask pdu.NameList
	var want []pdu.PMID
	var domains []pdu.Domain
	for range 1 + v.rng.IntN(5) {
		id := v.metric(v.domain())
		name := fmt.Sprintf("dynamic%d.x%d", id.Domain(), id.Item())
		if id.Item() < truthStatic {
			name = fmt.Sprintf("static%d.m%d", id.Domain(), id.Item())
		}
		ask.Names = append(ask.Names, name)
		want = append(want, id)
		domains = append(domains, id.Domain())
	}
	body, code, ok := v.ask(ask, pdu.KindPMNSIDs, domains...)
	if !ok || code != 0 {
		return ok
	}
	var p pdu.PMIDList
	if err := p.Decode(body); err != nil || len(p.PMIDs) != len(want) {
		v.failf("%s: %d of %d metrics of names, %v", v.network, len(p.PMIDs), len(want), err)
		return false
	}
	for i, id := range want {
		if p.PMIDs[i] != id && (p.PMIDs[i] != pdu.NoPMID || !v.anyMoody(domains)) {
			v.failf("%s: %s is %v", v.network, ask.Names[i], p.PMIDs[i])
		}
	}
	return true
}

func (v *visitor) reverse() bool {
	id := v.metric(v.domain())
	want := pdu.NameList{Names: []string{fmt.Sprintf("dynamic%d.x%d", id.Domain(), id.Item())}}
	if id.Item() < truthStatic {
		want.Names[0] = fmt.Sprintf("static%d.m%d", id.Domain(), id.Item())
	}
	body, code, ok := v.ask(pdu.PMIDList{PMIDs: []pdu.PMID{id}}, pdu.KindPMNSNames, id.Domain())
	if !ok || code != 0 {
		return ok
	}
	var p pdu.NameList
	err := p.Decode(body)
	if v.moody(id.Domain()) && err == nil && id.Item() < truthStatic && cmp.Equal(p.Names, []string{fmt.Sprintf("dynamic%d.x%d", id.Domain(), id.Item())}) {
		return true // its names have gone from the collector, and the agent goes
	}
	return v.same(err, want, &p)
}

// children asks for what lies below a root, or, which takes all agents, below
// all.
func (v *visitor) children() bool {
	d := v.domain()
	root := fmt.Sprintf("dynamic%d", d)
	var p pdu.NameList
	switch v.rng.IntN(4) {
	case 0:
		body, code, ok := v.ask(pdu.ChildReq{Name: root, Status: true}, pdu.KindPMNSNames, d)
		want := pdu.NameList{Names: []string{"x8", "x9"}, Statuses: []int32{pdu.Leaf, pdu.Leaf}}
		return ok && (code != 0 || v.same(p.Decode(body), want, &p))
	case 1:
		body, code, ok := v.ask(pdu.TraverseReq{}, pdu.KindPMNSNames, v.domains...)
		if !ok || code != 0 {
			return ok
		}
		err := p.Decode(body)
		for _, d := range v.domains {
			// An agent that was asked when others had taken all the time leaves its root.
			root := fmt.Sprintf("dynamic%d", d)
			if !v.moody(d) && !slices.Contains(p.Names, root+".x9") && !slices.Contains(p.Names, root) {
				v.failf("%s: traversal lacks %s, %v", v.network, root, err)
			}
		}
		return err == nil
	}
	body, code, ok := v.ask(pdu.TraverseReq{Name: root}, pdu.KindPMNSNames, d)
	if !ok || code != 0 {
		return ok
	}
	err := p.Decode(body)
	if v.moody(d) && err == nil && cmp.Equal(p.Names, []string{root}) {
		return true // its agent did not answer
	}
	return v.same(err, pdu.NameList{Names: []string{root + ".x8", root + ".x9"}}, &p)
}

// same compares an answer. It is the end of the conversation if it cannot be
// decoded.
func (v *visitor) same(err error, want, got any) bool {
	if err != nil {
		v.failf("%s: %T: %v", v.network, got, err)
		return false
	}
	if diff := cmp.Diff(want, deref(got)); diff != "" {
		v.failf("%s: wrong answer (-want +got):\n%s", v.network, diff)
	}
	return true
}

func deref(p any) any {
	switch p := p.(type) {
	case *pdu.DescReply:
		return *p
	case *pdu.InstanceReply:
		return *p
	case *pdu.TextReply:
		return *p
	case *pdu.NameList:
		return *p
	case *[]string:
		return *p
	}
	return p
}

// misbehave is the life of a bad client: each of its visits ends badly.
func (v *visitor) misbehave() {
	sins := []func(){
		v.vanish, v.vanish, v.peep, v.neverRead, v.dribble, v.sendHalf, v.sendGarbage, v.forgetHello, v.talkNonsense,
	}
	for v.pause(v.think) {
		sins[v.rng.IntN(len(sins))]()
	}
}

// vanish goes away in the middle of a request.
func (v *visitor) vanish() {
	if !v.hello() {
		return
	}
	defer v.conn.Close()
	var f pdu.Fetch
	for range 20 {
		f.PMIDs = append(f.PMIDs, v.metric(v.domain()))
	}
	v.pdus.Write(1, f)
	if v.rng.IntN(2) == 0 {
		v.pause(5 * time.Millisecond)
	}
	v.broken("vanished", 0, 1)
}

// peep connects and goes.
func (v *visitor) peep() {
	if v.connect() {
		v.conn.Close()
		v.broken("peeped", 0, 1)
	}
}

// neverRead asks for a lot and takes nothing.
func (v *visitor) neverRead() {
	if !v.hello() {
		return
	}
	defer v.conn.Close()
	if c, ok := v.conn.(*net.TCPConn); ok {
		c.SetReadBuffer(4096)
	}
	v.conn.SetDeadline(time.Now().Add(v.timeout / 2))
	var f pdu.Fetch
	for range 2000 {
		f.PMIDs = append(f.PMIDs, pdu.MakePMID(v.healthy[0], 0, 2))
	}
	for v.ctx.Err() == nil && v.pdus.Write(1, f) == nil {
	}
	v.broken("took nothing", 0, 1)
}

// dribble sends a request a few bytes at a time, and gets its answer.
func (v *visitor) dribble() {
	if !v.hello() {
		return
	}
	defer v.conn.Close()
	start := time.Now()
	id := v.metric(v.healthy[0])
	b, err := pdu.DescReq{PMID: id}.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		v.failf("dribble: %v", err)
	}
	putHeader(b, pdu.KindDescReq)
	v.pdus.Flush() // the profile
	for chunk := range slices.Chunk(b, 3) {
		v.conn.Write(chunk)
		time.Sleep(v.timeout / 40)
	}
	h, body, err := v.pdus.Read()
	var p pdu.DescReply
	if err == nil {
		err = p.Decode(body)
	}
	if (err != nil || p.Desc != truthDesc(id)) && !v.standstill(start, v.timeout/2) {
		v.failf("%s: dribbled request answered by %v %v, %v", v.network, h.Kind, p, err)
	}
}

// sendHalf begins a PDU and does not end it.
func (v *visitor) sendHalf() {
	if !v.hello() {
		return
	}
	defer v.conn.Close()
	v.pdus.Flush()
	half := putHeader(make([]byte, 40), pdu.KindFetch)
	v.conn.Write(half[:1+v.rng.IntN(39)])
	v.cutOff("sent half")
}

// sendGarbage sends what is no PDU.
func (v *visitor) sendGarbage() {
	if !v.hello() {
		return
	}
	defer v.conn.Close()
	v.pdus.Flush()
	b := make([]byte, 12+v.rng.IntN(20))
	for i := range b {
		b[i] = byte(v.rng.Int())
	}
	b[0] |= 0x01 // longer than any PDU may be, or negative
	v.conn.Write(b)
	v.cutOff("sent garbage")
}

// forgetHello asks before it has introduced itself.
func (v *visitor) forgetHello() {
	if !v.connect() {
		return
	}
	defer v.conn.Close()
	if _, _, err := v.pdus.Read(); err != nil {
		v.failf("%s: no challenge: %v", v.network, err)
		return
	}
	v.pdus.Write(1, pdu.DescReq{PMID: v.metric(v.healthy[0])})
	v.cutOff("forgot to say hello")
}

// talkNonsense sends PDUs that are none for a collector, or malformed, and is
// served all the same.
func (v *visitor) talkNonsense() {
	if !v.hello() {
		return
	}
	defer v.conn.Close()
	v.pdus.Flush()
	start := time.Now()
	for range 5 {
		b := make([]byte, pdu.HeaderLen+4*v.rng.IntN(20))
		for i := pdu.HeaderLen; i < len(b); i++ {
			b[i] = byte(v.rng.Int())
		}
		kind := pdu.Kind(0x7000 + v.rng.IntN(64))
		if kind == pdu.KindCreds || kind == pdu.KindProfile { // have no answer
			continue
		}
		v.conn.Write(putHeader(b, kind))
		if _, _, err := v.pdus.Read(); err != nil && !v.standstill(start, v.timeout/2) {
			v.failf("%s: nonsense of kind %v: %v", v.network, kind, err)
		} else if err != nil {
			return
		}
	}
	v.desc()
}

// cutOff waits for the collector to break the connection off, which leaves a line
// in its log.
func (v *visitor) cutOff(why string) {
	start := time.Now()
	v.conn.SetReadDeadline(start.Add(patience))
	_, err := io.Copy(io.Discard, v.conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		v.failf("%s: client that %s was not cut off", v.network, why)
	}
	if took, slack := time.Since(start), v.metronome.slack(start, time.Now()); took > v.timeout+slack {
		v.failf("%s: client that %s was cut off after %v", v.network, why, took)
	}
	v.broken(why, 1, 1)
}

// broken notes that the log shall have between min and max lines about the
// connection.
func (v *visitor) broken(why string, min, max int) {
	v.count("client "+why, 1)
	if v.network == "tcp" {
		v.expectLines(v.conn.LocalAddr().String(), min, max)
	}
}

// putHeader writes the header of a PDU that fills b.
func putHeader(b []byte, k pdu.Kind) []byte {
	for i, w := range []int{len(b), int(k), 1} {
		b[4*i], b[4*i+1], b[4*i+2], b[4*i+3] = byte(w>>24), byte(w>>16), byte(w>>8), byte(w)
	}
	return b
}
