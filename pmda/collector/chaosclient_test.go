//go:build unix

package collector

import (
	"crypto/tls"
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
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// A chaosClient is a client of a chaos run. It checks every reply.
type chaosClient struct {
	*chaos
	rng      *rand.Rand
	network  string // "tcp", "unix", "memory", or "tls" over TCP
	conn     net.Conn
	pdus     *pdu.Conn
	profiles [3]pdu.Profile // by context, as the collector knows them

	// The latest request:
	sent        time.Time
	sentDomains []pdu.Domain
	seen        []domainCode // errors in its reply
}

func newChaosClient(c *chaos, n int) *chaosClient {
	return &chaosClient{chaos: c, rng: rand.New(rand.NewPCG(c.seed, uint64(n))), network: []string{"tcp", "unix", "memory", "tls"}[n%4]}
}

// connect opens a new connection, and sends nothing yet.
func (k *chaosClient) connect() bool {
	var err error
	network := k.network
	if network == "tls" {
		network = "tcp"
	}
	if k.conn, err = k.dial(network); err != nil {
		k.failf("%s: cannot connect: %v", k.network, err)
		return false
	}
	k.pdus = pdu.NewConn(k.conn)
	k.conn.SetDeadline(time.Now().Add(collectortest.ReplyLimit))
	return true
}

// hello connects and exchanges versions.
func (k *chaosClient) hello() bool {
	if !k.connect() {
		return false
	}
	if err := k.greet(); err != nil {
		k.failf("%s: hello: %v", k.network, err)
		k.conn.Close()
		return false
	}
	k.profiles = [3]pdu.Profile{}
	return k.profile(0)
}

// greet exchanges versions, and starts TLS.
func (k *chaosClient) greet() error {
	if k.network != "tls" {
		_, err := pdu.ClientHello(k.pdus, 1, 0)
		return err
	}
	if _, err := pdu.ClientHello(k.pdus, 1, pdu.FeatureSecure|pdu.FeatureSecureAck); err != nil {
		return err
	}
	h, body, err := k.pdus.Read()
	var ack pdu.Status
	if err == nil {
		err = ack.Decode(body)
	}
	if err != nil || h.Kind != pdu.KindError || ack.Code != 0 {
		return fmt.Errorf("no acknowledgement: %v %v, %w", h.Kind, ack.Code, err)
	}
	c := tls.Client(k.conn, &tls.Config{RootCAs: k.ca.Pool(), ServerName: "localhost"})
	k.conn, k.pdus = c, pdu.NewConn(c)
	return c.Handshake()
}

// pause waits a little. It returns false if the run is over.
func (k *chaosClient) pause(d time.Duration) bool {
	select {
	case <-time.After(chance{k.rng}.upTo(2 * d)):
	case <-k.ctx.Done():
	}
	return k.ctx.Err() == nil
}

// runGood runs a good client until the run ends.
func (k *chaosClient) runGood() {
	if !k.hello() {
		return
	}
	defer func() { k.conn.Close() }()
	for k.pause(k.think) {
		if k.rng.IntN(100) == 0 { // another connection
			k.conn.Close()
			if !k.hello() {
				return
			}
		}
		var ok bool
		switch k.rng.IntN(20) {
		case 0:
			ok = k.store()
		case 1:
			ok = k.desc()
		case 2:
			ok = k.descs()
		case 3:
			ok = k.instance()
		case 4:
			ok = k.text()
		case 5:
			ok = k.labels()
		case 6:
			ok = k.lookup()
		case 7:
			ok = k.reverse()
		case 8:
			ok = k.children()
		default:
			ok = k.fetch()
		}
		if !ok {
			return
		}
	}
}

// domain returns a random domain.
func (k *chaosClient) domain() pdu.Domain { return k.domains[k.rng.IntN(len(k.domains))] }

func (k *chaosClient) metric(d pdu.Domain) pdu.PMID {
	return pdu.MakePMID(d, 0, k.rng.IntN(collectortest.ExactItems))
}

func (k *chaosClient) inst() pdu.InstID { return pdu.InstID(k.rng.Int32()) }

// profile selects random instances for a context, in every domain.
func (k *chaosClient) profile(context int) bool {
	p := pdu.Profile{Exclude: true}
	for _, d := range k.domains {
		var insts []pdu.InstID
		for range 1 + k.rng.IntN(3) {
			insts = append(insts, k.inst())
		}
		if err := p.Add(pdu.MakeInDom(d, 0), insts...); err != nil {
			k.failf("profile: %v", err)
		}
	}
	k.profiles[context] = p
	return k.queue(pdu.SetProfile{Context: int32(context), Profile: p})
}

func (k *chaosClient) queue(p pdu.PDU) bool {
	if err := k.pdus.Queue(1, p); err != nil {
		k.failf("%s: send %T: %v", k.network, p, err)
		return false
	}
	return true
}

// request sends a request and reads the reply. The reply must arrive in time, and it must be of
// the kind want or an error that the agents of the domains may have caused.
func (k *chaosClient) request(p pdu.PDU, want pdu.Kind, domains ...pdu.Domain) (body []byte, code pdu.Error, ok bool) {
	k.sent, k.sentDomains, k.seen = time.Now(), domains, nil
	k.conn.SetDeadline(k.sent.Add(collectortest.ReplyLimit))
	if !k.queue(p) {
		return nil, 0, false
	}
	if err := k.pdus.Flush(); err != nil {
		if k.machineStood(k.sent, k.timeout/2) {
			return nil, pdu.ErrTimeout, k.hello()
		}
		k.failf("%s: send %v: %v", k.network, p.Kind(), err)
		return nil, 0, false
	}
	h, body, err := k.pdus.Read()
	var s pdu.Status
	if err == nil && h.Kind == pdu.KindError && want != pdu.KindError && s.Decode(body) == nil && s.Code > 0 {
		h, body, err = k.pdus.Read() // the PDU after a state change
	}
	k.checkWait(p, domains, k.sent, time.Now())
	switch {
	case err != nil && k.machineStood(k.sent, k.timeout/2):
		return nil, pdu.ErrTimeout, k.hello()
	case err != nil:
		k.failf("%s: reply to %v: %v", k.network, p.Kind(), err)
		return nil, 0, false
	case h.Kind == pdu.KindError && s.Decode(body) == nil:
		if want != pdu.KindError {
			k.failedWith(s.Code, domains, fmt.Sprintf("%v", p.Kind()))
		}
		return nil, s.Code, true
	case h.Kind != want:
		k.failf("%s: reply to %v is %v", k.network, p.Kind(), h.Kind)
		return nil, 0, false
	}
	return body, 0, true
}

type domainCode struct {
	domain pdu.Domain
	code   pdu.Error
}

// failedWith records an error that agents of some domains may have caused. An error counts once
// for each request and agent, even if it replaced many values.
func (k *chaosClient) failedWith(code pdu.Error, domains []pdu.Domain, what string) {
	if code == pdu.ErrTimeout || code == lost {
		domains = k.sentDomains // other agents may have used up the time
	}
	if k.delays != nil && k.machineStood(time.Now().Add(-3*k.timeout), k.timeout/6) {
		for _, d := range domains {
			k.faultLog.addFault(d, faultMachine, k.sent, time.Since(k.sent))
		}
	}
	seen := domainCode{domains[0], code}
	if slices.Contains(k.seen, seen) {
		return
	}
	k.seen = append(k.seen, seen)
	k.faultLog.addFailure(failed{domains: slices.Clone(domains), code: code, from: k.sent, to: time.Now(), what: k.network + ": " + what})
}

func (k *chaosClient) fetch() bool {
	context := k.rng.IntN(len(k.profiles))
	if (k.profiles[context].InDoms == nil || k.rng.IntN(2) == 0) && !k.profile(context) {
		return false
	}
	f := pdu.Fetch{HighRes: k.rng.IntN(2) == 0, Context: int32(context)}
	domains := []pdu.Domain{k.domain()}
	if k.rng.IntN(2) == 0 {
		domains = append(domains, k.domain(), k.domain())
	}
	for range 1 + k.rng.IntN(6) {
		f.PMIDs = append(f.PMIDs, k.metric(domains[k.rng.IntN(len(domains))]))
	}
	res := pdu.Result{}
	if f.HighRes {
		res.Format = pdu.FormatHighRes
	}
	body, code, ok := k.request(f, res.Kind(), domains...)
	if !ok || code != 0 {
		if code != 0 && code != pdu.ErrTooBig {
			k.failf("%s: fetch as a whole failed: %v", k.network, code)
		}
		return ok
	}
	err := res.Decode(body)
	if err == nil {
		err = res.Validate()
	}
	if err != nil || res.Len() != len(f.PMIDs) {
		k.failf("%s: %d of %d sets, %v", k.network, res.Len(), len(f.PMIDs), err)
		return false
	}
	for i, id := range f.PMIDs {
		k.check(id, res.At(i), &k.profiles[context])
	}
	return true
}

// check checks the values of a metric in a reply.
func (k *chaosClient) check(id pdu.PMID, s pdu.ValueSet, p *pdu.Profile) {
	if s.PMID != id {
		k.failf("%s: metric %v came in place of %v", k.network, s.PMID, id)
		return
	}
	d := collectortest.ExpectedDesc(id)
	if err := s.Err(); err != nil {
		k.failedWith(pdu.FromError(err), []pdu.Domain{id.Domain()}, fmt.Sprintf("value of %v", id))
		return
	}
	if k.badLocal(id.Domain()) && s.Len() == wrongInsts {
		for i := range s.Len() {
			if !s.Atom(i, d.Type).Equal(pdu.Uint64(collectortest.ExpectedNumber(uint32(id), pdu.InstID(i)))) {
				k.failf("metric %v: instance %d has %v", id, i, s.Atom(i, d.Type))
			}
		}
		k.count("replies with very many instances", 1)
		return
	}
	var got []pdu.InstID
	for i := range s.Len() {
		inst, a := s.Inst(i), s.Atom(i, d.Type)
		got = append(got, inst)
		switch {
		case a.Equal(collectortest.ExpectedAtom(id, inst)):
		case k.badLocal(id.Domain()) && a.Equal(wrongAtom(id, inst)):
			k.count("values of a wrong type", 1)
		default:
			k.failf("%s: metric %v instance %d: %v, want %v", k.network, id, inst, a, collectortest.ExpectedAtom(id, inst))
		}
	}
	if want := collectortest.ExpectedInsts(d.InDom, p); !slices.Equal(got, want) {
		k.failf("%s: metric %v: instances %v, want %v", k.network, id, got, want)
	}
	k.countValue(id.Domain())
}

func (k *chaosClient) store() bool {
	id := pdu.MakePMID(k.domain(), 0, 4*k.rng.IntN(collectortest.ExactItems/4))
	var w pdu.ResultWriter
	var insts []pdu.InstID
	w.Begin(id)
	for range 1 + k.rng.IntN(3) {
		insts = append(insts, k.inst())
		w.Atom(insts[len(insts)-1], collectortest.ExpectedAtom(id, insts[len(insts)-1]))
	}
	_, code, ok := k.request(w.PDU(pdu.FormatLowRes), pdu.KindError, id.Domain())
	if want := collectortest.ExpectedStore(id, insts); ok && code != want {
		if code == 0 || code <= collectortest.ExpectedStoreError {
			k.failf("%s: store of %v: reply %v, want %v", k.network, id, code, want)
		} else {
			k.failedWith(code, []pdu.Domain{id.Domain()}, "store")
		}
	}
	return ok
}

func (k *chaosClient) desc() bool {
	id := k.metric(k.domain())
	body, code, ok := k.request(pdu.DescReq{PMID: id}, pdu.KindDesc, id.Domain())
	var p pdu.DescReply
	return ok && (code != 0 || k.same(p.Decode(body), pdu.DescReply{Desc: collectortest.ExpectedDesc(id)}, &p))
}

// descs requests descriptors from several agents, which together get no more time than one. So a
// good agent that is called last may be late because of others.
func (k *chaosClient) descs() bool {
	var req pdu.DescsReq
	var domains []pdu.Domain
	for range 2 + k.rng.IntN(4) {
		id := k.metric(k.domain())
		req.PMIDs = append(req.PMIDs, id)
		domains = append(domains, id.Domain())
	}
	body, code, ok := k.request(req, pdu.KindDescs, domains...)
	if !ok || code != 0 {
		return ok
	}
	var p pdu.DescsReply
	if err := p.Decode(body); err != nil || len(p.Descs) != len(req.PMIDs) {
		k.failf("%s: %d of %d descriptors, %v", k.network, len(p.Descs), len(req.PMIDs), err)
		return false
	}
	for i, id := range req.PMIDs {
		switch d := p.Descs[i]; {
		case d == collectortest.ExpectedDesc(id):
		case d.PMID == pdu.NoPMID:
			k.failedWith(lost, domains, fmt.Sprintf("descriptor of %v among several", id))
		default:
			k.failf("%s: %v described as %v", k.network, id, d)
		}
	}
	return true
}

func (k *chaosClient) instance() bool {
	d := pdu.MakeInDom(k.domain(), k.rng.IntN(1000))
	i := collectortest.ExpectedInstance(d, k.inst())
	req, want := pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}, pdu.InstanceReply{InDom: d}
	switch k.rng.IntN(3) {
	case 0:
		req.Inst, want.Instances = i.ID, []pdu.Instance{{ID: pdu.NoInst, Name: i.Name}}
	case 1:
		req.Name, want.Instances = i.Name, []pdu.Instance{{ID: i.ID}}
	case 2:
		for _, inst := range collectortest.ExpectedInsts(d, nil) {
			want.Instances = append(want.Instances, collectortest.ExpectedInstance(d, inst))
		}
	}
	body, code, ok := k.request(req, pdu.KindInstance, d.Domain())
	var p pdu.InstanceReply
	return ok && (code != 0 || k.same(p.Decode(body), want, &p))
}

func (k *chaosClient) text() bool {
	id := k.metric(k.domain())
	kind := []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp}[k.rng.IntN(2)] | pdu.TextPMID
	body, code, ok := k.request(pdu.TextReq{Ident: uint32(id), Text: kind}, pdu.KindText, id.Domain())
	var p pdu.TextReply
	return ok && (code != 0 || k.same(p.Decode(body), pdu.TextReply{Ident: uint32(id), Text: collectortest.ExpectedText(uint32(id), kind)}, &p))
}

func (k *chaosClient) labels() bool {
	d := k.domain()
	req := pdu.LabelReq{Ident: uint32(k.metric(d)), Class: pdu.LabelItem}
	insts := []pdu.InstID{pdu.NoInst}
	if k.rng.IntN(2) == 0 {
		req = pdu.LabelReq{Ident: uint32(pdu.MakeInDom(d, 0)), Class: pdu.LabelInstances}
		// As in the reference, the profile is that of the first context.
		insts = collectortest.ExpectedInsts(pdu.InDom(req.Ident), &k.profiles[0])
	}
	body, code, ok := k.request(req, pdu.KindLabel, d)
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
		want = append(want, fmt.Sprint(inst, " ", collectortest.ExpectedLabels(req.Ident, req.Class, inst)))
	}
	return k.same(err, want, &got)
}

// lookup requests names below dynamic roots of several agents.
func (k *chaosClient) lookup() bool {
	var req pdu.NameList
	var want []pdu.PMID
	var domains []pdu.Domain
	for range 1 + k.rng.IntN(5) {
		id := k.metric(k.domain())
		name := fmt.Sprintf("dynamic%d.x%d", id.Domain(), id.Item())
		if id.Item() < collectortest.ExactStatic {
			name = fmt.Sprintf("static%d.m%d", id.Domain(), id.Item())
		}
		req.Names = append(req.Names, name)
		want = append(want, id)
		domains = append(domains, id.Domain())
	}
	body, code, ok := k.request(req, pdu.KindPMNSIDs, domains...)
	if !ok || code != 0 {
		return ok
	}
	var p pdu.PMIDList
	if err := p.Decode(body); err != nil || len(p.PMIDs) != len(want) {
		k.failf("%s: %d of %d metrics of names, %v", k.network, len(p.PMIDs), len(want), err)
		return false
	}
	for i, id := range want {
		switch p.PMIDs[i] {
		case id:
		case pdu.NoPMID:
			k.failedWith(lost, domains, "identifier of "+req.Names[i])
		default:
			k.failf("%s: %s is %v", k.network, req.Names[i], p.PMIDs[i])
		}
	}
	return true
}

func (k *chaosClient) reverse() bool {
	id := k.metric(k.domain())
	want := pdu.NameList{Names: []string{fmt.Sprintf("dynamic%d.x%d", id.Domain(), id.Item())}}
	if id.Item() < collectortest.ExactStatic {
		want.Names[0] = fmt.Sprintf("static%d.m%d", id.Domain(), id.Item())
	}
	body, code, ok := k.request(pdu.PMIDList{PMIDs: []pdu.PMID{id}}, pdu.KindPMNSNames, id.Domain())
	if !ok || code != 0 {
		return ok
	}
	var p pdu.NameList
	err := p.Decode(body)
	if err == nil && id.Item() < collectortest.ExactStatic && cmp.Equal(p.Names, []string{fmt.Sprintf("dynamic%d.x%d", id.Domain(), id.Item())}) {
		// The collector no longer has the static names, and the agent is being removed.
		k.failedWith(lost, []pdu.Domain{id.Domain()}, "static name")
		return true
	}
	return k.same(err, want, &p)
}

// children requests the names below one root, or below the root of all names, which concerns all
// agents.
func (k *chaosClient) children() bool {
	d := k.domain()
	root := fmt.Sprintf("dynamic%d", d)
	var p pdu.NameList
	switch k.rng.IntN(4) {
	case 0:
		body, code, ok := k.request(pdu.ChildReq{Name: root, Status: true}, pdu.KindPMNSNames, d)
		want := pdu.NameList{Names: []string{"x8", "x9"}, Statuses: []int32{pdu.Leaf, pdu.Leaf}}
		return ok && (code != 0 || k.same(p.Decode(body), want, &p))
	case 1:
		body, code, ok := k.request(pdu.TraverseReq{}, pdu.KindPMNSNames, k.domains...)
		if !ok || code != 0 {
			return ok
		}
		err := p.Decode(body)
		for _, d := range k.domains {
			// The root stays if other agents have used up the time.
			root := fmt.Sprintf("dynamic%d", d)
			if !slices.Contains(p.Names, root+".x9") && !slices.Contains(p.Names, root) {
				k.failedWith(pdu.ErrName, []pdu.Domain{d}, "traversal that lacks "+root)
			}
		}
		return err == nil
	}
	body, code, ok := k.request(pdu.TraverseReq{Name: root}, pdu.KindPMNSNames, d)
	if !ok || code != 0 {
		return ok
	}
	err := p.Decode(body)
	if err == nil && cmp.Equal(p.Names, []string{root}) { // its agent did not reply
		k.failedWith(lost, []pdu.Domain{d}, "names below "+root)
		return true
	}
	return k.same(err, pdu.NameList{Names: []string{root + ".x8", root + ".x9"}}, &p)
}

// same compares a reply. It returns false if the reply cannot be decoded, which ends the
// connection.
func (k *chaosClient) same(err error, want, got any) bool {
	if err != nil {
		k.failf("%s: %T: %v", k.network, got, err)
		return false
	}
	if diff := cmp.Diff(want, deref(got)); diff != "" {
		k.failf("%s: wrong reply (-want +got):\n%s", k.network, diff)
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

// runHostile runs a client that breaks the rules on each of its connections.
func (k *chaosClient) runHostile() {
	acts := []func(){
		k.closeDuringRequest, k.closeDuringRequest, k.connectAndClose, k.sendWithoutReading, k.sendInPieces, k.sendHalfRequest, k.sendGarbage, k.skipHello, k.sendInvalidRequests,
	}
	for k.pause(k.think) {
		acts[k.rng.IntN(len(acts))]()
	}
}

// closeDuringRequest closes the connection after sending a request.
func (k *chaosClient) closeDuringRequest() {
	if !k.hello() {
		return
	}
	defer k.conn.Close()
	var f pdu.Fetch
	for range 20 {
		f.PMIDs = append(f.PMIDs, k.metric(k.domain()))
	}
	k.pdus.Write(1, f)
	if k.rng.IntN(2) == 0 {
		k.pause(5 * time.Millisecond)
	}
	k.expectLogged("closed during a request", 0, 1)
}

// connectAndClose closes the connection without sending anything.
func (k *chaosClient) connectAndClose() {
	if k.connect() {
		k.conn.Close()
		k.expectLogged("connected and closed", 0, 1)
	}
}

// sendWithoutReading sends large requests and reads no reply.
func (k *chaosClient) sendWithoutReading() {
	if !k.hello() {
		return
	}
	defer k.conn.Close()
	if c, ok := k.conn.(*net.TCPConn); ok {
		c.SetReadBuffer(4096)
	}
	k.conn.SetDeadline(time.Now().Add(k.timeout / 2))
	var f pdu.Fetch
	for range 2000 {
		f.PMIDs = append(f.PMIDs, pdu.MakePMID(k.good[0], 0, 2))
	}
	for k.ctx.Err() == nil && k.pdus.Write(1, f) == nil {
	}
	k.expectLogged("read nothing", 0, 1)
}

// sendInPieces sends a request a few bytes at a time, and gets its reply.
func (k *chaosClient) sendInPieces() {
	if !k.hello() {
		return
	}
	defer k.conn.Close()
	start := time.Now()
	id := k.metric(k.good[0])
	b, err := pdu.DescReq{PMID: id}.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		k.failf("encode: %v", err)
	}
	collectortest.PutHeader(b, pdu.KindDescReq)
	k.pdus.Flush() // the profile
	for chunk := range slices.Chunk(b, 3) {
		k.conn.Write(chunk)
		time.Sleep(k.timeout / 40)
	}
	h, body, err := k.pdus.Read()
	var p pdu.DescReply
	if err == nil {
		err = p.Decode(body)
	}
	if (err != nil || p.Desc != collectortest.ExpectedDesc(id)) && !k.machineStood(start, k.timeout/2) {
		k.failf("%s: reply to a request in pieces: %v %v, %v", k.network, h.Kind, p, err)
	}
}

// sendHalfRequest sends only the first part of a PDU.
func (k *chaosClient) sendHalfRequest() {
	if !k.hello() {
		return
	}
	defer k.conn.Close()
	k.pdus.Flush()
	half := collectortest.PutHeader(make([]byte, 40), pdu.KindFetch)
	k.conn.Write(half[:1+k.rng.IntN(39)])
	k.expectDisconnect("sent half a request")
}

// sendGarbage sends bytes that are not a PDU.
func (k *chaosClient) sendGarbage() {
	if !k.hello() {
		return
	}
	defer k.conn.Close()
	k.pdus.Flush()
	b := make([]byte, 12+k.rng.IntN(20))
	for i := range b {
		b[i] = byte(k.rng.Int())
	}
	b[0] |= 0x01 // longer than any PDU may be, or negative
	k.conn.Write(b)
	k.expectDisconnect("sent garbage")
}

// skipHello sends a request before its credentials.
func (k *chaosClient) skipHello() {
	if !k.connect() {
		return
	}
	defer k.conn.Close()
	if _, _, err := k.pdus.Read(); err != nil {
		k.failf("%s: no challenge: %v", k.network, err)
		return
	}
	k.pdus.Write(1, pdu.DescReq{PMID: k.metric(k.good[0])})
	k.expectDisconnect("sent a request before its credentials")
}

// sendInvalidRequests sends PDUs that are malformed or not for a collector. The
// connection stays usable.
func (k *chaosClient) sendInvalidRequests() {
	if !k.hello() {
		return
	}
	defer k.conn.Close()
	k.pdus.Flush()
	start := time.Now()
	for range 5 {
		b := make([]byte, pdu.HeaderLen+4*k.rng.IntN(20))
		for i := pdu.HeaderLen; i < len(b); i++ {
			b[i] = byte(k.rng.Int())
		}
		kind := pdu.Kind(0x7000 + k.rng.IntN(64))
		if kind == pdu.KindCreds || kind == pdu.KindProfile { // they have no reply
			continue
		}
		k.conn.Write(collectortest.PutHeader(b, kind))
		if _, _, err := k.pdus.Read(); err != nil && !k.machineStood(start, k.timeout/2) {
			k.failf("%s: invalid request of kind %v: %v", k.network, kind, err)
		} else if err != nil {
			return
		}
	}
	k.desc()
}

// expectDisconnect waits for the collector to disconnect the client, which it logs.
func (k *chaosClient) expectDisconnect(why string) {
	start := time.Now()
	k.conn.SetReadDeadline(start.Add(collectortest.ReplyLimit))
	_, err := io.Copy(io.Discard, k.conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		k.failf("%s: client that %s was not disconnected", k.network, why)
	}
	if took, allowance := time.Since(start), k.allowance(start, time.Now()); took > k.timeout+k.tolerance()+allowance {
		k.failf("%s: client that %s was disconnected after %v", k.network, why, took)
	}
	k.expectLogged(why, 1, 1)
}

// expectLogged records that the log must contain between min and max lines about the connection.
func (k *chaosClient) expectLogged(why string, min, max int) {
	k.count("client "+why, 1)
	if a, ok := k.conn.LocalAddr().(*net.TCPAddr); ok {
		k.expectLines(a.String(), min, max)
	}
}
