package pmdatest

import (
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// maxTextLine is the maximum length of a one-line text in bytes. Tools print it beside the name.
const maxTextLine = 255

// checkText requests all help texts.
func (c *checker) checkText() {
	for _, m := range c.metrics {
		c.textsOf(pdu.TextOfMetric(m.desc.PMID), m.name)
	}
	for _, d := range c.indoms {
		c.textsOf(pdu.TextOfInDom(d.id), "instance domain "+d.id.String())
	}
	r := request(0, nil)
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		for _, id := range c.unknownPMIDs() {
			_, err := c.h.Text(c.ctx, r, pdu.TextOfMetric(id), kind)
			c.wantCode(err, pdu.ErrText, "Text(%v, %v) of an unknown metric", id, kind)
		}
		id := c.unknownInDom()
		_, err := c.h.Text(c.ctx, r, pdu.TextOfInDom(id), kind)
		c.wantCode(err, pdu.ErrText, "Text(%v, %v) of an unknown instance domain", id, kind)
	}
}

// textsOf requests both texts of a metric or instance domain.
func (c *checker) textsOf(of pdu.TextTarget, what string) {
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		s, err := c.h.Text(c.ctx, request(0, nil), of, kind)
		switch line := kind == pdu.TextOneLine; {
		case err == errReported:
		case err != nil && line && c.texts && pdu.FromError(err) == pdu.ErrText:
			c.errorf("%s: Text(%v): %s: give it one", what, kind, errorText(err))
		case err != nil && pdu.FromError(err) != pdu.ErrText:
			c.errorf("%s: Text(%v): %s, want pdu.ErrText if there is none", what, kind, errorText(err))
		case err == nil:
			c.checkOneText(what, kind, s)
		}
	}
}

// checkOneText checks a text that the agent has returned.
func (c *checker) checkOneText(what string, kind pdu.TextKind, s string) {
	line := kind == pdu.TextOneLine
	switch {
	case strings.Contains(s, "\x00"), line && strings.ContainsAny(s, "\n\r"):
		c.errorf("%s: Text(%v): %q has characters that it cannot have", what, kind, s)
	case line && strings.TrimSpace(s) == what:
		c.errorf("%s: Text(%v): it is the name again: say what the values mean", what, kind)
	case line && c.texts && strings.TrimSpace(s) == "":
		c.errorf("%s: Text(%v): it is empty: give it one", what, kind)
	case line && len(s) > maxTextLine:
		c.errorf("%s: Text(%v): %d bytes, want at most %d: the rest belongs into the long text", what, kind, len(s), maxTextLine)
	}
	if _, err := (pdu.TextReply{Text: s}).Append(make([]byte, pdu.HeaderLen)); err != nil {
		c.errorf("%s: Text(%v): %d bytes cannot be sent: %v", what, kind, len(s), err)
	}
}
