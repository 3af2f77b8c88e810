package pmlcshell

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// A collector cannot control the terminal by the names of its metrics.
func TestListEscapes(t *testing.T) {
	var out strings.Builder
	l := metricList{Shell: &Shell{Out: &out, Err: &out}}
	l.spec = []*metric{newMetric("evil\x1b[2J", pdu.Desc{InDom: pdu.NoInDom})}
	l.all()
	l.all()
	l.some()
	if text := out.String(); !strings.Contains(text, `evil\x1b[2J has already`) || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}
