package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// agentArg as its first argument makes the test program an agent that behaves as the
// second one says.
const agentArg = "attack-agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == agentArg {
		os.Exit(playAgent(os.Args[2], os.Args[3:]))
	}
	if len(os.Args) > 4 && os.Args[1] == linksArg {
		os.Exit(plantAll(os.Args[2], os.Args[3], os.Args[4:]))
	}
	os.Exit(m.Run())
}

// An agentPlay is an agent on standard input and output. Its replies need no memory,
// so that the program under attack alone is measured.
type agentPlay struct {
	in  *pdu.Conn
	out *bufio.Writer
}

// stdio is the connection of a pipe agent.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }

// playAgent runs an agent and returns its exit status.
func playAgent(behavior string, args []string) int {
	arg := func(i, otherwise int) int {
		if i < len(args) {
			if n, err := strconv.Atoi(args[i]); err == nil {
				return n
			}
		}
		return otherwise
	}
	a := &agentPlay{in: pdu.NewConn(stdio{}), out: bufio.NewWriterSize(os.Stdout, 64<<10)}
	switch behavior {
	case "huge-hello": // as long as a PDU can be, and never ends
		a.words(pdu.MaxLen, uint32(pdu.KindCreds), 0)
		a.zeros(pdu.MaxLen)
		return 0
	case "dies":
		return 1
	}
	if _, err := pdu.AgentHello(a.in, int32(os.Getpid()), 0); err != nil {
		return 2
	}
	for {
		h, body, err := a.in.Read()
		if err != nil {
			return 0
		}
		if behavior == "wide" && a.longReply(h.Kind, body) {
			continue
		}
		if h.Kind != pdu.KindFetch {
			if h.Kind != pdu.KindProfile && h.Kind != pdu.KindAttr && h.Kind != pdu.KindError {
				a.in.Write(0, pdu.Status{Code: pdu.ErrNYI})
			}
			continue
		}
		var f pdu.Fetch
		if f.Decode(body) != nil {
			return 3
		}
		switch behavior {
		case "wide":
			a.result(f.PMIDs, arg(0, 1))
		case "slow": // a millisecond for each metric
			time.Sleep(time.Duration(len(f.PMIDs)) * time.Millisecond)
			a.result(f.PMIDs, arg(0, 1))
		case "huge-reply": // instances that fill as much as a PDU can have
			a.result(f.PMIDs[:1], (pdu.MaxLen-28)/8/len(f.PMIDs))
		case "endless-reply":
			a.words(pdu.MaxLen, uint32(pdu.KindResult), 0)
			for a.zeros(1<<20) == nil {
				time.Sleep(10 * time.Millisecond)
			}
		case "endless-replies":
			for a.result(f.PMIDs, 1) == nil {
			}
		case "flaps": // is not ready, and then ready, instead of a reply
			a.in.Write(0, pdu.Status{Code: pdu.ErrPMDANotReady})
			a.in.Write(0, pdu.Status{Code: pdu.ErrPMDAReady})
		case "bad-header":
			a.words(3, uint32(pdu.KindResult), 0)
			a.out.Flush()
			io.Copy(io.Discard, os.Stdin)
		}
	}
}

// longReply replies to requests for instances and texts, as many MiB as the instance
// domain or the metric has as its number. It returns false for other requests.
func (a *agentPlay) longReply(kind pdu.Kind, body []byte) bool {
	switch kind {
	case pdu.KindInstanceReq:
		var r pdu.InstanceReq
		if r.Decode(body) != nil {
			return false
		}
		const nameLen = 12
		var name [nameLen]byte
		n := r.InDom.Serial() << 20 / (8 + nameLen)
		a.words(uint32(pdu.HeaderLen+8+n*(8+nameLen)), uint32(pdu.KindInstance), 0, uint32(r.InDom), uint32(n))
		for i := range n {
			a.words(uint32(i), nameLen)
			a.out.Write(strconv.AppendInt(name[:0], 100_000_000_000+int64(i), 10)) // of nameLen digits
		}
	case pdu.KindTextReq:
		var r pdu.TextReq
		if r.Decode(body) != nil {
			return false
		}
		n := pdu.PMID(r.Ident).Item() << 20
		a.words(uint32(pdu.HeaderLen+8+n), uint32(pdu.KindText), 0, r.Ident, uint32(n))
		a.zeros(n)
	default:
		return false
	}
	return a.out.Flush() == nil
}

func (a *agentPlay) words(all ...uint32) {
	var b [4]byte
	for _, w := range all {
		binary.BigEndian.PutUint32(b[:], w)
		a.out.Write(b[:])
	}
}

func (a *agentPlay) zeros(n int) error {
	b := make([]byte, 64<<10)
	for ; n > 0; n -= len(b) {
		if _, err := a.out.Write(b[:min(n, len(b))]); err != nil {
			return err
		}
	}
	return a.out.Flush()
}

// result writes a result with some instances of each metric.
func (a *agentPlay) result(ids []pdu.PMID, instances int) error {
	a.words(uint32(pdu.HeaderLen+12+len(ids)*(12+8*instances)), uint32(pdu.KindResult), 0, 0, 0, uint32(len(ids)))
	for _, id := range ids {
		a.words(uint32(id), uint32(instances), 0)
		for i := range instances {
			a.words(uint32(i), uint32(i))
		}
	}
	return a.out.Flush()
}
