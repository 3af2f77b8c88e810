//go:build unix

package collector

import (
	"cmp"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

// A faulty is an ExactAgent with faults: a request may fail before the ExactAgent gets it, and a
// fetch may get a wrong reply.
type faulty struct {
	*collectortest.ExactAgent
	fail  func(r *pmda.Request, what string) error
	wrong func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) bool
}

func (m *faulty) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := m.fail(r, "fetch"); err != nil {
		return err
	}
	if m.wrong(r, ids, w) {
		return nil
	}
	return m.ExactAgent.Fetch(ctx, r, ids, w)
}

func (m *faulty) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	if err := m.fail(r, "desc"); err != nil {
		return pdu.Desc{}, err
	}
	return m.ExactAgent.Desc(ctx, r, id)
}

func (m *faulty) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if err := m.fail(r, "instances"); err != nil {
		return nil, err
	}
	return m.ExactAgent.Instances(ctx, r, d, inst, name)
}

func (m *faulty) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if err := m.fail(r, "text"); err != nil {
		return "", err
	}
	return m.ExactAgent.Text(ctx, r, of, kind)
}

func (m *faulty) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if err := m.fail(r, "labels"); err != nil {
		return nil, err
	}
	return m.ExactAgent.Labels(ctx, r, of)
}

func (m *faulty) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	if err := m.fail(r, "store"); err != nil {
		return err
	}
	return m.ExactAgent.Store(ctx, r, values)
}

func (m *faulty) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	if err := m.fail(r, "pmid"); err != nil {
		return pdu.NoPMID, err
	}
	return m.ExactAgent.PMID(ctx, r, name)
}

func (m *faulty) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	if err := m.fail(r, "names"); err != nil {
		return nil, err
	}
	return m.ExactAgent.Names(ctx, r, id)
}

func (m *faulty) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	if err := m.fail(r, "children"); err != nil {
		return nil, err
	}
	return m.ExactAgent.Children(ctx, r, name)
}

func (m *faulty) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	if err := m.fail(r, "children"); err != nil {
		return nil, err
	}
	return m.ExactAgent.Traverse(ctx, r, name)
}

// noWrongReply is the wrong function of a faulty agent that never sends wrong replies.
func noWrongReply(*pmda.Request, []pdu.PMID, *pdu.ResultWriter) bool { return false }

// wrongInsts is the number of instances in a large wrong reply.
const wrongInsts = 20000

// wrongAtom returns a string where a number is expected.
func wrongAtom(id pdu.PMID, inst pdu.InstID) pdu.Atom {
	return pdu.String(fmt.Sprintf("wrong %x", collectortest.ExpectedNumber(uint32(id), inst)))
}

// newBadLocal returns a faulty agent in this process. It delays replies and ignores its context,
// panics, fails and makes wrong replies.
func newBadLocal(c *chaos, d pdu.Domain) *faulty {
	m := &faulty{ExactAgent: collectortest.NewExactAgent(d)}
	m.fail = func(r *pmda.Request, what string) error {
		now := time.Now()
		luck := chanceAt(c.seed, now, uint64(d), r.Client.Seq, uint64(len(what)))
		switch n := luck.IntN(2000); {
		case n < 20:
			lasts := luck.around(c.timeout, 3*c.timeout)
			c.faultLog.addFault(d, faultDelay, now, lasts)
			time.Sleep(lasts)
		case n < 22:
			c.faultLog.addFault(d, faultPanic, now, 0)
			c.panics.Add(1)
			panic("chaos in " + what)
		case n < 40:
			c.faultLog.addFault(d, faultError, now, 0)
			return pdu.ErrAppVersion
		}
		return nil
	}
	m.wrong = func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) bool {
		now := time.Now()
		switch n := chanceAt(c.seed, now, uint64(d), r.Client.Seq).IntN(2000); {
		case n < 60:
			c.faultLog.addFault(d, faultReply, now, 0)
			m.ExactAgent.Fetch(context.Background(), r, wrongIDs(n/20, ids), w)
		case n < 80: // of a wrong type, which is not checked
			for _, id := range ids {
				w.Begin(id)
				for _, inst := range collectortest.ExpectedInsts(collectortest.ExpectedDesc(id).InDom, r.Profile) {
					w.Atom(inst, wrongAtom(id, inst))
				}
			}
		case n < 82: // large
			for _, id := range ids {
				w.Begin(id)
				for i := range pdu.InstID(wrongInsts) {
					w.Uint64(i, collectortest.ExpectedNumber(uint32(id), i))
				}
			}
		default:
			return false
		}
		return true
	}
	return m
}

// wrongIDs returns metrics to reply in place of the requested ones: one too few, one too many, or
// a different one.
func wrongIDs(which int, ids []pdu.PMID) []pdu.PMID {
	ids = slices.Clone(ids)
	switch which {
	case 0:
		return ids[1:]
	case 1:
		return append(ids, ids[0])
	}
	ids[len(ids)-1] ^= 4
	return ids
}

// EndClient panics now and then, which must not affect any client.
func (m *faulty) EndClient(c *pmda.Client) {
	if c.Seq%128 == 5 {
		panic("chaos at the end of a client")
	}
}

// An agentProgram is an agent in another process, or one that acts like it in this process.
type agentProgram struct {
	domain  pdu.Domain
	timeout time.Duration
	seed    uint64
	correct bool // it has no faults
	in      io.Reader
	out     io.Writer
	exit    func(status int)
	fault   func(kind faultKind, lasts time.Duration) // records a fault
}

func (p *agentProgram) run(ctx context.Context) error {
	out := &agentOutput{program: p}
	var h pmda.Handler = collectortest.NewExactAgent(p.domain)
	if !p.correct {
		h = p.newBadRemote(out)
	}
	return pmda.Serve(ctx, h, struct {
		io.Reader
		io.Writer
	}{p.in, out})
}

// An agentOutput is the output of an agent. It sometimes writes a PDU in two pieces.
type agentOutput struct {
	program *agentProgram
	mu      sync.Mutex
	pause   time.Duration // between the pieces of the next PDU
}

func (o *agentOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pause := o.pause
	if o.pause = 0; pause == 0 || len(b) < 2 {
		return o.program.out.Write(b)
	}
	o.program.fault(faultStall, pause)
	if _, err := o.program.out.Write(b[:len(b)/2]); err != nil {
		return 0, err
	}
	time.Sleep(pause)
	n, err := o.program.out.Write(b[len(b)/2:])
	return len(b)/2 + n, err
}

func (o *agentOutput) setPause(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pause = d
}

// newBadRemote returns a faulty agent for a separate process. It may also break the protocol.
func (p *agentProgram) newBadRemote(out *agentOutput) *faulty {
	m := &faulty{ExactAgent: collectortest.NewExactAgent(p.domain)}
	send := func(u pdu.PDU) { // an unsolicited PDU
		pdu.NewConn(struct {
			io.Reader
			io.Writer
		}{p.in, out}).Write(0, u)
	}
	m.fail = func(r *pmda.Request, what string) error {
		luck := chanceAt(p.seed, time.Now(), uint64(p.domain), uint64(len(what)))
		switch n := luck.IntN(3000); {
		case n < 5:
			lasts := luck.around(p.timeout, 3*p.timeout)
			p.fault(faultStall, lasts)
			time.Sleep(lasts)
		case n < 15:
			out.setPause(luck.around(p.timeout, 2*p.timeout))
		case n < 17:
			p.fault(faultBroken, 0)
			garbage := binary.BigEndian.AppendUint32(nil, []uint32{0, 11, 13, 1 << 31, 1<<31 - 1, 1<<32 - 1}[luck.IntN(6)])
			out.Write(append(garbage, "garbage of twenty..."...))
		case n < 19:
			p.fault(faultBroken, 0)
			send(pdu.Fetch{PMIDs: []pdu.PMID{1}})
		case n < 21:
			p.fault(faultBroken, 0)
			p.exit(luck.IntN(4))
		case n < 36:
			p.fault(faultError, 0)
			return pdu.ErrAppVersion
		case n < 42:
			lasts := luck.upTo(p.timeout/2) + p.timeout/10
			p.fault(faultNotReady, lasts)
			time.AfterFunc(lasts, func() { send(pdu.Status{Code: pdu.ErrPMDAReady}) })
			return pdu.ErrPMDANotReady
		case n < 50:
			p.fault(faultPanic, 0)
			panic("chaos")
		}
		return nil
	}
	m.wrong = func(r *pmda.Request, ids []pdu.PMID, _ *pdu.ResultWriter) bool {
		n := chanceAt(p.seed, time.Now(), uint64(p.domain)).IntN(1500)
		if n > 2 {
			return false
		}
		p.fault(faultBroken, 0)
		var w pdu.ResultWriter
		m.ExactAgent.Fetch(context.Background(), r, wrongIDs(n, ids), &w)
		send(w.PDU(pdu.FormatLowRes))
		return true
	}
	return m
}

// TestChaosAgent is not a test. It is the program of an agent when the collector under test
// starts it with arguments.
func TestChaosAgent(t *testing.T) {
	if flag.Arg(0) != "agent" {
		t.Skip("runs as a program of other tests")
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // it panics on purpose
	p := agentProgram{in: os.Stdin, out: os.Stdout, exit: os.Exit, fault: func(faultKind, time.Duration) {}}
	var faults string
	if _, err := fmt.Sscan(strings.Join(flag.Args()[1:], " "), &p.domain, &p.timeout, &p.seed, &p.correct, &faults); err != nil {
		panic(err)
	}
	p.seed += uint64(os.Getpid())
	if !p.correct {
		f, err := os.OpenFile(faults, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			panic(err)
		}
		p.fault = func(kind faultKind, lasts time.Duration) {
			fmt.Fprintln(f, p.domain, time.Now().UnixNano(), int64(lasts), kind)
		}
	}
	if err := p.run(context.Background()); err != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

// agentLine returns the configuration of such an agent. A faulty one appends its faults to a
// file.
func agentLine(d pdu.Domain, timeout time.Duration, seed uint64, faults string) pmcdconf.Agent {
	return pmcdconf.Agent{Name: fmt.Sprintf("agent%d", d), Domain: d, Kind: "pipe", Argv: []string{
		os.Args[0], "-test.run=^TestChaosAgent$", "agent", fmt.Sprint(d), fmt.Sprint(int64(timeout)), fmt.Sprint(seed),
		fmt.Sprint(faults == ""), cmp.Or(faults, "none"),
	}}
}

// readFaults reads the file that agents append their faults to.
func (l *faultLog) readFaults(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		var d pdu.Domain
		var from, lasts int64
		if _, err := fmt.Sscan(line, &d, &from, &lasts); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		kind := strings.Join(strings.Fields(line)[3:], " ")
		l.addFault(d, faultKind(kind), time.Unix(0, from), time.Duration(lasts))
	}
	return nil
}
