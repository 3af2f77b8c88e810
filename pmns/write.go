package pmns

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// WriteTo writes t as a file that a Loader or the C library reads back to the
// same tree, in the layout of pmnsmerge(1):
//
//	root {
//		cache
//		log	252:*:*
//	}
//
//	cache {
//		hits	251:0:0
//	}
//
// A file cannot hold the PMIDs of derived metrics (pdu.ErrPMID), lines of more
// than 254 bytes, nor names below one called root (pdu.ErrPMNS). Such an error is
// an *[OpError], and the output before it is incomplete. WriteTo implements io.WriterTo.
func (t *Tree) WriteTo(w io.Writer) (int64, error) {
	count := &counter{w: w}
	p := printer{w: bufio.NewWriter(count)}
	p.block("root", t.top())
	if err := p.w.Flush(); p.err == nil && err != nil {
		p.err = &OpError{Op: "write", Err: err}
	}
	return count.n, p.err
}

// A counter counts the bytes that it writes to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// A printer writes lines up to the first error.
type printer struct {
	w   *bufio.Writer
	buf []byte
	err error
}

// block writes the children of n, then a block for each child that has children.
func (p *printer) block(path string, n *node) {
	p.line(path, " {")
	for _, k := range n.kids {
		if k.id == pdu.NoPMID {
			p.line("\t", k.name())
			continue
		}
		id, err := appendPMID(append(p.buf[:0], '\t'), k.id)
		if err != nil && p.err == nil {
			p.err = &OpError{Op: "write", Name: k.full, Err: err}
		}
		p.buf = id
		p.line("\t", k.name(), string(id))
	}
	p.line("}")
	for _, k := range n.kids {
		if k.id != pdu.NoPMID || p.err != nil {
			continue
		}
		if k.full == "root" {
			p.err = &OpError{Op: "write", Name: k.full, Err: fmt.Errorf("reserved for the top node of a file: %w", pdu.ErrPMNS)}
			return
		}
		p.line()
		p.block(k.full, k)
	}
}

func (p *printer) line(parts ...string) {
	n := 0
	for _, s := range parts {
		n += len(s)
	}
	if n > maxLine && p.err == nil {
		p.err = &OpError{Op: "write", Err: fmt.Errorf("line of %d bytes (limit %d) for %.40q...: %w", n, maxLine, parts[0]+parts[1], pdu.ErrPMNS)}
	}
	if p.err != nil {
		return
	}
	for _, s := range parts {
		p.w.WriteString(s) // Flush returns the error
	}
	p.w.WriteByte('\n')
}

func appendPMID(b []byte, id pdu.PMID) ([]byte, error) {
	if d, ok := id.IsDynamicRoot(); ok {
		return append(strconv.AppendInt(b, int64(d), 10), ":*:*"...), nil
	}
	if id.Domain() > pdu.MaxDomain {
		return b, fmt.Errorf("PMID %v of a derived metric: %w", id, pdu.ErrPMID)
	}
	b = append(strconv.AppendInt(b, int64(id.Domain()), 10), ':')
	b = append(strconv.AppendInt(b, int64(id.Cluster()), 10), ':')
	return strconv.AppendInt(b, int64(id.Item()), 10), nil
}
